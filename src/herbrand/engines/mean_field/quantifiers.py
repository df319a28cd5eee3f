"""Decide where a quantifier's probability is a product over its assignments: they must share no ground atom.

``none[f(x, y)]`` has probability ∏ over y of 1 - Q(f(x, y)) because different y are different atoms. That
fails where an assignment's atoms occur in another one, or outside the quantifier; such templates are left to
:mod:`herbrand.engines.mean_field.circuit`. Everything here is decided on variables, without data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from herbrand.graphs import Classes
from herbrand.program.evidence import Evidence
from herbrand.program.program import (
    Argument,
    Block,
    Conjunction,
    Literal,
    Pair,
    differing,
    literals_of,
    renamed,
    variables_of,
)


@dataclass(frozen=True)
class ExclusivePieces:
    """Pieces over the same variables that exclude each other for every assignment."""

    variables: tuple[tuple[str, str], ...]
    pieces: tuple[Conjunction, ...]


def groups(block: Block) -> tuple[ExclusivePieces, ...]:
    """The pieces of a block, grouped so that those of a group exclude each other under every assignment."""
    exclusive: list[list[Conjunction]] = []
    for piece in block.pieces:
        for group in exclusive:
            if all(_exclusive(piece, other) for other in group):
                group.append(piece)
                break
        else:
            exclusive.append([piece])
    return tuple(ExclusivePieces(group[0].variables, tuple(group)) for group in exclusive)


def _exclusive(left: Conjunction, right: Conjunction) -> bool:
    if left.variables != right.variables:
        return False
    return any(
        one.atom == other.atom and not set(one.allowed) & set(other.allowed)
        for one, other in product(left.literals, right.literals)
    ) or any(
        one.pieces == other.pieces and one.some != other.some
        for one, other in product(left.blocks, right.blocks)
    )


def independent(conjunction: Conjunction, evidence: Evidence) -> bool:
    """Whether all blocks, at every depth, can be multiplied: no ground atom occurs in two factors."""
    return _independent(conjunction, frozenset(), evidence)


def _independent(conjunction: Conjunction, around: frozenset[Pair], evidence: Evidence) -> bool:
    distinct = around | conjunction.distinct
    own = _latent(conjunction.literals, evidence)
    inside = [group for block in conjunction.blocks for group in groups(block)]
    for group in inside:
        if any(_meet(a, b, distinct | pairs) for a in own for b, pairs in _members(group, evidence)):
            return False
        if not _separate(group, distinct, evidence):
            return False
        if not all(_independent(piece, distinct, evidence) for piece in group.pieces):
            return False
    return not any(
        _meet(a, b, distinct | first | second)
        for left, right in combinations(inside, 2)
        for a, first in _members(left, evidence)
        for b, second in _members(_apart(right), evidence)
    )


def _members(group: ExclusivePieces, evidence: Evidence) -> Iterator[tuple[Literal, frozenset[Pair]]]:
    """The latent literals of a group, each with the pairs that must differ around it."""
    for piece in group.pieces:
        pairs = frozenset(differing(piece))
        for literal in _latent(literals_of(piece), evidence):
            yield literal, pairs


def _latent(literals: Iterable[Literal], evidence: Evidence) -> list[Literal]:
    return [x for x in literals if evidence.known(x.predicate).latent_count()]


def _separate(group: ExclusivePieces, distinct: frozenset[Pair], evidence: Evidence) -> bool:
    """Whether two different assignments of the group's variables never share an atom."""
    for (a, first), (b, second) in product(_members(group, evidence), _members(_apart(group), evidence)):
        classes = _unified(a, b, distinct | first | second)
        if classes is None:
            continue
        if any(classes.leader(name) != classes.leader(_primed(name)) for name, _ in group.variables):
            return False
    return True


def _meet(left: Literal, right: Literal, distinct: frozenset[Pair]) -> bool:
    return _unified(left, right, distinct) is not None


def _unified(left: Literal, right: Literal, distinct: Iterable[Pair]) -> Classes[Argument] | None:
    """The arguments that must be equal for two literals to be one atom; ``None`` where they never are."""
    if left.predicate != right.predicate:
        return None
    classes = Classes[Argument]()
    for one, other in zip(left.arguments, right.arguments, strict=True):
        ends = classes.leader(one), classes.leader(other)
        if ends[0] != ends[1] and all(isinstance(end, int) for end in ends):
            return None
        classes.join(*sorted(ends, key=lambda end: isinstance(end, int)))  # a constant leads its class
    if any(classes.leader(a) == classes.leader(b) for a, b in distinct):
        return None
    return classes


def _apart(group: ExclusivePieces) -> ExclusivePieces:
    """The group with fresh names for all variables inside it."""
    pieces = tuple(
        renamed(piece, {name: _primed(name) for name in variables_of(piece)}) for piece in group.pieces
    )
    return ExclusivePieces(tuple((_primed(name), kind) for name, kind in group.variables), pieces)


def _primed(name: str) -> str:
    return f"{name}'"
