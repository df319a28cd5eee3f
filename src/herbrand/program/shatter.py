"""Split conjunctions so that different literals are different ground atoms.

Where a = b, ``not s(a) or not f(a, b) or s(b)`` contains one atom twice, and a product of messages that
treats the two as independent is wrong. So two literals of one latent predicate that some assignment makes
equal split their conjunction into a part in which the arguments are equal (and the literals merge), and a
part in which they differ. Only the equalities that unify two literals are split.

>>> there, back = Literal("f", ("x", "y"), (1,)), Literal("f", ("y", "x"), (1,))
>>> pair = Conjunction((("x", "t"), ("y", "t")), (there, back))
>>> for part in shattered(pair, lambda predicate: 2):
...     print(part)
{x: t}  f(x, x)
{x: t, y: t}  [x != y]  f(x, y) and f(y, x)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from herbrand.errors import Span, UnsupportedError
from herbrand.program.program import (
    Block,
    Conjunction,
    Literal,
    Pair,
    different,
    in_both,
    substituted,
)

ValueCount = Callable[[str], int | None]
"""Number of values of a latent predicate's atoms; ``None`` for an observed one, which needs no splitting."""


MOST_PARTS = 50_000
"""Most parts of one formula: ten atoms of one predicate over as many variables already make about twice as
many."""


def shattered(
    conjunction: Conjunction,
    value_count: ValueCount,
    outer_distinct: frozenset[Pair] = frozenset(),
    span: Span | None = None,
) -> list[Conjunction]:
    """Disjoint conjunctions that together hold exactly where the given one does.

    ``outer_distinct``: pairs that differ in the enclosing conjunctions. ``span``: position of the formula,
    for the error raised if there are too many parts.
    """
    parts: list[Conjunction] = []
    waiting = [conjunction]
    while waiting:
        merged = _merged(waiting.pop(), value_count)
        if merged is None:
            continue
        # Blocks first: what is split inside may leave atoms that are equal or not by what is split out here.
        merged = _with_shattered_blocks(merged, value_count, outer_distinct)
        pair = next(_splits(merged, outer_distinct, value_count), None)
        if pair is not None:
            waiting += reversed(list(split(merged, pair)))
            continue
        parts.append(merged)
        if len(parts) > MOST_PARTS:
            raise UnsupportedError(
                f"the formula's atoms are equal or different in more than {MOST_PARTS:,} ways",
                span=span,
                hint="say which variables differ: 'where x != y'",
            )
    return parts


def split(conjunction: Conjunction, pair: Pair) -> Iterator[Conjunction]:
    """Yield the part where two arguments are equal, if any, and the part where they differ."""
    left, right = pair
    own = conjunction.types
    name, other = (right, left) if isinstance(right, str) and right in own else (left, right)
    assert isinstance(name, str)
    equal = substituted(conjunction, name, other)
    if equal is not None:
        yield equal
    yield replace(conjunction, distinct=conjunction.distinct | {different(left, right)})


def _merged(conjunction: Conjunction, value_count: ValueCount) -> Conjunction | None:
    """Merge literals of one atom; ``None`` if they exclude each other."""
    allowed: dict[tuple[object, ...], Literal] = {}
    for literal in conjunction.literals:
        known = allowed.get(literal.atom)
        values = literal.allowed
        if known is not None:
            values = in_both(known.allowed, values)
        if not values:
            return None
        allowed[literal.atom] = replace(literal, allowed=values)
    literals = tuple(x for x in allowed.values() if len(x.allowed) != value_count(x.predicate))
    return replace(conjunction, literals=literals)


def _splits(
    conjunction: Conjunction, outer_distinct: frozenset[Pair], value_count: ValueCount
) -> Iterator[Pair]:
    """Yield pairs of arguments, one a variable of this conjunction, whose equality decides whether atoms are
    equal."""
    for pair in _unifying_pairs(conjunction, outer_distinct, value_count):
        if any(isinstance(argument, str) and argument in conjunction.types for argument in pair):
            yield pair


def _unifying_pairs(
    conjunction: Conjunction, outer_distinct: frozenset[Pair], value_count: ValueCount
) -> Iterator[Pair]:
    distinct = conjunction.distinct | outer_distinct
    yield from conjunction.equal - distinct
    for left, right in combinations(conjunction.literals, 2):
        if left.predicate == right.predicate and value_count(left.predicate) is not None:
            pair = _first_difference(left, right, distinct)
            if pair is not None:
                yield pair
    for block in conjunction.blocks:
        for piece in block.pieces:
            for pair in _unifying_pairs(piece, distinct, value_count):
                if not any(argument in piece.types for argument in pair):
                    yield pair


def _first_difference(left: Literal, right: Literal, distinct: frozenset[Pair]) -> Pair | None:
    """The first pair of arguments that must be equal for the atoms to be; ``None`` if they cannot be equal,
    or are."""
    pairs = [different(a, b) for a, b in zip(left.arguments, right.arguments, strict=True) if a != b]
    for pair in pairs:
        if pair in distinct or all(isinstance(argument, int) for argument in pair):
            return None
    return pairs[0] if pairs else None


def _with_shattered_blocks(
    conjunction: Conjunction, value_count: ValueCount, outer_distinct: frozenset[Pair]
) -> Conjunction:
    """The conjunction with its blocks' pieces shattered; a piece that needs arguments to be equal which
    differ in an enclosing conjunction is dropped."""
    distinct = conjunction.distinct | outer_distinct
    blocks = tuple(
        Block(
            tuple(
                part
                for piece in block.pieces
                if not piece.equal & distinct
                for part in shattered(piece, value_count, distinct)
            ),
            block.some,
        )
        for block in conjunction.blocks
    )
    return replace(conjunction, blocks=blocks)
