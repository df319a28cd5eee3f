"""The rows for which a conjunction holds: joins in a planned order, over relations anywhere, in any semiring.

The one evaluation of rule bodies, in memory and in databases. Relations are joined in the order of
:mod:`herbrand.program.join_order`; a condition is applied once its columns are there, and a column that
nothing needs any more is summed out at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.program.join_order import Candidate, best_order
from herbrand.relations.expression import column
from herbrand.relations.relation import Relation

WEIGHT = "weight"
_OTHER = "other_weight"

TRUTH = algebra_named("boolean")
"""The semiring of rows that hold and weigh nothing."""


def columns_of(arity: int) -> tuple[str, ...]:
    """The columns of a predicate's rows."""
    return tuple(f"a{place}" for place in range(arity))


def fitting(rows: Relation, arguments: Sequence[str | int]) -> tuple[Relation, dict[str, str]]:
    """Of a predicate's rows those that fit an atom's constants and repeated variables, and the column of each
    variable."""
    first: dict[str, str] = {}
    for argument, name in zip(arguments, columns_of(len(arguments)), strict=True):
        if isinstance(argument, int):
            rows = rows.where(column(name) == argument)
        elif argument in first:
            rows = rows.where(column(name) == column(first[argument]))
        else:
            first[argument] = name
    return rows, first


@dataclass(frozen=True)
class BodyRelation:
    """A relation whose columns are variables, and :data:`WEIGHT` where its rows have weights; ``rows``: about
    how many there are."""

    relation: Relation
    rows: float

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name in self.relation.columns if name != WEIGHT)


@dataclass(frozen=True)
class Condition:
    """Keeps rows, once these columns are there."""

    columns: frozenset[str]
    kept: Callable[[Relation], Relation]


@dataclass(frozen=True)
class Body:
    """``outputs`` are kept, all other variables summed out; ``domain`` gives the values of a variable that no
    part binds, and ``size`` how many a variable has."""

    parts: Sequence[BodyRelation]
    conditions: Sequence[Condition]
    domain: Callable[[str], Relation]
    size: Callable[[str], int]
    outputs: Sequence[str]
    semiring: Algebra = TRUTH

    def rows(self) -> Relation:
        """The distinct rows of the outputs, with their weights."""
        parts, conditions = self._ordered(), list(self.conditions)
        found, first, parts = parts[0].relation, parts[0], parts[1:]
        kept = {*self.outputs, *_names(parts, conditions)} & set(first.variables)
        if math.prod(map(self.size, kept)) < first.rows:  # much fewer rows are left for the conditions
            found = self._summed(found, [name for name in first.variables if name in kept])
        while True:
            found, conditions = _filtered(found, conditions)
            needed = {*self.outputs, *_names(parts, conditions)}
            found = self._summed(found, [name for name in found.columns if name in needed])
            missing = needed.difference(found.columns, *(part.variables for part in parts))
            if not parts and not missing:
                return found
            smallest = min(missing, key=lambda name: (self.size(name), name), default="")
            found = self._joined(found, parts.pop(0).relation if parts else self.domain(smallest))

    def _ordered(self) -> list[BodyRelation]:
        candidates = [Candidate(part.variables, part.rows) for part in self.parts]
        kept = {*self.outputs, *_names((), self.conditions)}
        sizes = {name: self.size(name) for name in kept | _names(self.parts, ())}
        return [self.parts[place] for place in best_order(candidates, (), kept, sizes)]

    def _joined(self, found: Relation, part: Relation) -> Relation:
        shared = [name for name in part.columns if name in found.columns and name != WEIGHT]
        if WEIGHT not in found.columns or WEIGHT not in part.columns:
            return found.join(part, shared)
        joined = found.join(part.renamed(**{_OTHER: WEIGHT}), shared)
        weight = self.semiring.times(column(WEIGHT), column(_OTHER))
        names = [name for name in joined.columns if name != _OTHER]
        return joined.let(**{WEIGHT: weight}).only(*names)

    def _summed(self, found: Relation, kept: Sequence[str]) -> Relation:
        """Without variables that nothing needs."""
        if not set(found.columns).difference(kept, (WEIGHT,)):
            return found
        if not self.semiring.weighs:
            return found.only(*kept).distinct()
        if WEIGHT not in found.columns:
            found = found.let(**{WEIGHT: self.semiring.constant(self.semiring.one)})
        return found.group(kept, **{WEIGHT: self.semiring.fold(column(WEIGHT))})


def _names(parts: Iterable[BodyRelation], conditions: Iterable[Condition]) -> set[str]:
    names = {name for part in parts for name in part.variables}
    return names.union(*(condition.columns for condition in conditions))


def _filtered(found: Relation, conditions: Sequence[Condition]) -> tuple[Relation, list[Condition]]:
    """Apply every condition whose columns are there; the others wait."""
    later = []
    for condition in conditions:
        if condition.columns <= set(found.columns):
            found = condition.kept(found)
        else:
            later.append(condition)
    return found, later
