"""``x ≠ y`` between axes, rewritten away: one constrained contraction becomes unconstrained terms.

Takes a :class:`Contraction` with distinct pairs; returns :class:`Term` values whose signed sum is the same
result and which name no pairs any more. A pair is settled in the cheapest way that is open to it:

1. both axes within one operand: the diagonal of that operand is set to zero;
2. both axes in the output: the diagonal of the result is set to zero;
3. otherwise, where the algebra has subtraction, all assignments minus those where the two axes agree
   (deletion and contraction on the graph of the pairs, which is Möbius inversion over the set partitions that
   the pairs can distinguish); without subtraction, by one more operand that is zero on its diagonal and one
   elsewhere.

>>> edges = Contraction.parse("a b, b c -> a", {"a": 5, "b": 5, "c": 5}, distinct=[("a", "c"), ("a", "b")])
>>> for term in expand(edges, has_subtraction=True):
...     print(f"{term.sign:+d}", term.contraction.operands, term.hollow)
+1 (('a', 'b'), ('b', 'c')) ((0, 0, 1),)
-1 (('a', 'b'), ('b', 'a')) ((0, 0, 1),)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from herbrand.contraction.expression import Axes, Contraction, Pair

Hollow = tuple[int, int, int]
"""Operand, and two of its dimensions: entries where both have the same index count as zero."""


@dataclass(frozen=True)
class Term:
    """One unconstrained contraction of a signed sum, with the diagonals that are zero in it."""

    sign: int
    contraction: Contraction
    hollow: tuple[Hollow, ...] = ()
    apart: tuple[Pair, ...] = ()
    """Pairs of output axes: the result is zero where they agree."""
    unequal: tuple[Axes, ...] = ()
    """Axes of further operands that are one off the diagonal and zero on it."""

    @cached_property
    def diagonals(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """The pairs of dimensions that are hollow, for every operand that has any."""
        found: dict[int, list[tuple[int, int]]] = {}
        for operand, left, right in self.hollow:
            found.setdefault(operand, []).append((left, right))
        return found


def expand(
    contraction: Contraction, has_subtraction: bool, unmaskable: frozenset[int] = frozenset()
) -> tuple[Term, ...]:
    """The terms whose signed sum is ``contraction``; like terms are merged.

    ``unmaskable`` operands cannot have their diagonals set to zero (their background would have to change).
    """
    if not contraction.distinct:
        return (Term(1, contraction),)
    signs: Counter[Term] = Counter()
    for term in _terms(Term(1, contraction), has_subtraction, unmaskable):
        signs[replace(term, sign=1)] += term.sign
    return tuple(replace(term, sign=sign) for term, sign in signs.items() if sign)


def _terms(term: Term, has_subtraction: bool, unmaskable: frozenset[int]) -> Iterator[Term]:
    term = _settle_locally(term, unmaskable)
    pairs = sorted(term.contraction.distinct)
    if not pairs:
        yield term
    elif not has_subtraction:
        freed = replace(term.contraction, distinct=frozenset())
        yield replace(term, contraction=freed, unequal=tuple(pairs))
    else:
        pair = pairs[0]
        without = replace(term.contraction, distinct=term.contraction.distinct - {pair})
        yield from _terms(replace(term, contraction=without), True, unmaskable)
        merged = _merge(replace(term, contraction=without), pair)
        if merged is not None:
            yield from _terms(replace(merged, sign=-merged.sign), True, unmaskable)


def _settle_locally(term: Term, unmaskable: frozenset[int]) -> Term:
    """Turn pairs that lie within one operand, or within the output, into zero diagonals."""
    contraction, hollow, apart, left = term.contraction, list(term.hollow), list(term.apart), []
    holders_of = _holders(contraction.operands, unmaskable)
    for pair in sorted(contraction.distinct):
        holders = sorted(holders_of[pair[0]] & holders_of[pair[1]])
        if holders:
            smallest = min(holders, key=lambda one: math.prod(contraction.shape(contraction.operands[one])))
            axes = contraction.operands[smallest]
            hollow.append((smallest, axes.index(pair[0]), axes.index(pair[1])))
        elif set(pair) <= set(contraction.output):
            apart.append(pair)
        else:
            left.append(pair)
    contraction = replace(contraction, distinct=frozenset(left))
    return replace(
        term, contraction=contraction, hollow=tuple(sorted(set(hollow))), apart=tuple(sorted(set(apart)))
    )


def _holders(operands: Sequence[Axes], but: Collection[int]) -> Mapping[str, set[int]]:
    """Which operands have each axis."""
    found = defaultdict[str, set[int]](set)
    for operand, axes in enumerate(operands):
        if operand not in but:
            for axis in axes:
                found[axis].add(operand)
    return found


def _merge(term: Term, pair: Pair) -> Term | None:
    """The term where both axes are one; nothing if a pair or a zero diagonal forbids that."""
    contraction = term.contraction
    kept, gone = sorted(pair, key=lambda axis: (axis not in contraction.output, axis))

    def swapped(axis: str) -> str:
        return kept if axis == gone else axis

    operands = tuple(tuple(map(swapped, axes)) for axes in contraction.operands)
    distinct = [(swapped(left), swapped(right)) for left, right in contraction.distinct]
    if any(left == right for left, right in distinct):
        return None
    if any(operands[operand][left] == operands[operand][right] for operand, left, right in term.hollow):
        return None
    sizes = {axis: size for axis, size in contraction.sizes.items() if axis != gone}
    merged = Contraction(operands, contraction.output, sizes, frozenset(distinct), contraction.algebra)
    return replace(term, contraction=merged)
