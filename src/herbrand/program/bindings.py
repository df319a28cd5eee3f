"""Evaluate conjunctions as joins: the rows for which they hold, and the assignments that facts leave
possible.

This is the one evaluation of rule bodies, in memory and in databases, in any semiring. Relations are joined
in the order of :mod:`herbrand.program.join_order`; a condition is applied as soon as its columns are
available, and a column that nothing needs any more is summed out at once.

Possible assignments of a conjunction's variables are those that no evidence rules out. The evidence on a
literal is a list of rows: of the only atoms for which it can hold, or of the atoms for which it cannot hold.
:class:`Body` joins with the former and anti-joins the latter.

For facts in memory the result is a table of index columns: :class:`Bindings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from herbrand.budget import Budget, refuse_beyond
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.errors import BudgetError, Span
from herbrand.program.evidence import Evidence, codes_of
from herbrand.program.join_order import Candidate, best_order
from herbrand.program.program import Argument, Conjunction, Literal
from herbrand.relations.expression import Expression, column, literal
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation

WEIGHT = "weight"
_OTHER = "other_weight"

TRUTH = algebra_named("boolean")
"""Semiring of rows without weights."""


def columns_of(arity: int) -> tuple[str, ...]:
    """Column names of a predicate's rows."""
    return tuple(f"a{place}" for place in range(arity))


def fitting(rows: Relation, arguments: Sequence[str | int]) -> tuple[Relation, dict[str, str]]:
    """Select a predicate's rows that match an atom's constants and repeated variables; also return the column
    of each variable."""
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
    """A relation whose columns are variables, and :data:`WEIGHT` where its rows have weights; ``rows``:
    estimated number of rows."""

    relation: Relation
    rows: float

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name in self.relation.columns if name != WEIGHT)


@dataclass(frozen=True)
class Condition:
    """A filter of rows, applicable once the ``columns`` are available."""

    columns: frozenset[str]
    kept: Callable[[Relation], Relation]

    @staticmethod
    def that(columns: frozenset[str], holds: Expression) -> Condition:
        """The condition that an expression over these columns holds."""
        return Condition(columns, lambda rows: rows.where(holds))


@dataclass(frozen=True)
class Body:
    """A join to evaluate: ``outputs`` are kept, all other variables summed out; ``domain`` gives the values
    of a variable that no part binds, and ``size`` how many values a variable has."""

    parts: Sequence[BodyRelation]
    conditions: Sequence[Condition]
    domain: Callable[[str], Relation]
    size: Callable[[str], int]
    outputs: Sequence[str]
    semiring: Algebra = TRUTH

    def rows(self) -> Relation:
        """Evaluate the join: the distinct rows of the outputs, with their weights."""
        parts, conditions = self._ordered(), list(self.conditions)
        rows, first, parts = parts[0].relation, parts[0], parts[1:]
        kept = {*self.outputs, *_names(parts, conditions)} & set(first.variables)
        if math.prod(map(self.size, kept)) < first.rows:  # summing first leaves far fewer rows to filter
            rows = self._summed(rows, [name for name in first.variables if name in kept])
        while True:
            rows, conditions = _filtered(rows, conditions)
            needed = {*self.outputs, *_names(parts, conditions)}
            rows = self._summed(rows, [name for name in rows.columns if name in needed])
            missing = needed.difference(rows.columns, *(part.variables for part in parts))
            if not parts and not missing:
                return rows
            smallest = min(missing, key=lambda name: (self.size(name), name), default="")
            rows = self._joined(rows, parts.pop(0).relation if parts else self.domain(smallest))

    def _ordered(self) -> list[BodyRelation]:
        candidates = [Candidate(part.variables, part.rows) for part in self.parts]
        kept = {*self.outputs, *_names((), self.conditions)}
        sizes = {name: self.size(name) for name in kept | _names(self.parts, ())}
        return [self.parts[place] for place in best_order(candidates, (), kept, sizes).places]

    def _joined(self, rows: Relation, part: Relation) -> Relation:
        shared = [name for name in part.columns if name in rows.columns and name != WEIGHT]
        if WEIGHT not in rows.columns or WEIGHT not in part.columns:
            return rows.join(part, shared)
        joined = rows.join(part.renamed(**{_OTHER: WEIGHT}), shared)
        weight = self.semiring.times(column(WEIGHT), column(_OTHER))
        names = [name for name in joined.columns if name != _OTHER]
        return joined.let(**{WEIGHT: weight}).only(*names)

    def _summed(self, rows: Relation, kept: Sequence[str]) -> Relation:
        """Sum out the variables that are not in ``kept``."""
        if not set(rows.columns).difference(kept, (WEIGHT,)):
            return rows
        if not self.semiring.weighs:
            return rows.only(*kept).distinct()
        if WEIGHT not in rows.columns:
            rows = rows.let(**{WEIGHT: self.semiring.constant(self.semiring.one)})
        return rows.group(kept, **{WEIGHT: self.semiring.fold(column(WEIGHT))})


def _names(parts: Iterable[BodyRelation], conditions: Iterable[Condition]) -> set[str]:
    names = {name for part in parts for name in part.variables}
    return names.union(*(condition.columns for condition in conditions))


def _filtered(rows: Relation, conditions: Sequence[Condition]) -> tuple[Relation, list[Condition]]:
    """Apply every condition whose columns are available; return the others."""
    later = []
    for condition in conditions:
        if condition.columns <= set(rows.columns):
            rows = condition.kept(rows)
        else:
            later.append(condition)
    return rows, later


@dataclass(frozen=True)
class Listed:
    """Listed atoms of a literal's predicate: ``rows`` has a column ``a0``, ``a1``, ... for each argument.
    ``needed``: the literal can hold for these only; otherwise for all but these."""

    rows: Relation
    count: int
    needed: bool


@dataclass(frozen=True)
class Variables:
    """Columns of a conjunction's variables. ``columns``: the column of each variable; ``sizes``: how many
    values a column may have; ``numbers``: builds the relation of all values of a column."""

    columns: Mapping[str, str]
    sizes: Mapping[str, int]
    numbers: Callable[[str, int], Relation]

    def all_values(self, name: str) -> Relation:
        return self.numbers(name, self.sizes[name])


def possible_rows(
    conjunction: Conjunction,
    known: Callable[[Literal], Listed | None],
    variables: Variables,
    begun: BodyRelation,
) -> Relation:
    """Distinct possible assignments, a column for each variable and for each column of ``begun``, which must
    have one row if it has no columns; ``known`` gives ``None`` for a literal that evidence does not
    constrain."""
    conditions = [_apart(pair, variables.columns) for pair in sorted(conjunction.distinct, key=repr)]
    parts: list[BodyRelation] = []
    for one in conjunction.literals:
        listed = known(one)
        if listed is None:
            continue
        rows, first = fitting(listed.rows, one.arguments)
        rows = rows.select(**{variables.columns[name]: column(place) for name, place in first.items()})
        if listed.needed:
            parts.append(BodyRelation(rows, max(1, listed.count)))
        else:
            conditions.append(Condition(frozenset(rows.columns), partial(_without, rows, rows.columns)))
    if begun.variables or not parts:
        parts.insert(0, begun)
    outputs = dict.fromkeys(
        [*(variables.columns[name] for name, _ in conjunction.variables), *begun.variables]
    )
    return Body(parts, conditions, variables.all_values, variables.sizes.__getitem__, list(outputs)).rows()


def _apart(pair: Sequence[str | int], columns: Mapping[str, str]) -> Condition:
    """Condition that two arguments differ."""
    left, right = (column(columns[x]) if isinstance(x, str) else literal(x) for x in pair)
    needed = frozenset(columns[x] for x in pair if isinstance(x, str))
    return Condition.that(needed, left != right)


def _without(listed: Relation, on: Sequence[str], rows: Relation) -> Relation:
    return rows.without(listed, on)


ORIGIN = "origin"


@dataclass(frozen=True)
class Bindings:
    """Assignments as columns: ``columns[name][i]`` is the constant of a variable in row i; ``origin`` the
    index of the row that each was extended from."""

    columns: Mapping[str, np.ndarray]
    origin: np.ndarray

    @staticmethod
    def nothing(count: int = 1) -> Bindings:
        """``count`` rows that bind no variable."""
        return Bindings({}, np.arange(count))

    def __len__(self) -> int:
        return len(self.origin)

    def column(self, argument: Argument) -> np.ndarray:
        if isinstance(argument, int):
            return np.full(len(self), argument)
        return self.columns[argument]

    def binds(self, arguments: Iterable[Argument]) -> bool:
        return all(isinstance(argument, int) or argument in self.columns for argument in arguments)

    def codes(self, arguments: Sequence[Argument], sizes: Sequence[int]) -> np.ndarray:
        rows = np.empty((len(self), len(arguments)), dtype=np.int64)
        for position, argument in enumerate(arguments):
            rows[:, position] = self.column(argument)
        return codes_of(rows, sizes)

    def take(self, rows: np.ndarray) -> Bindings:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Bindings(columns, self.origin[rows])


@dataclass(frozen=True)
class Limit:
    """Budget and most rows of a table of bindings; ``span``: position of the statement, and ``hint``: advice
    where there are more rows, for errors."""

    budget: Budget
    rows: float = math.inf
    span: Span | None = None
    hint: str = "use an engine that does not ground"

    def check(self) -> None:
        """Raise if the time of the budget has run out."""
        self.budget.check()

    def claim_rows(self, rows: int, columns: int, what: str) -> None:
        """Raise BudgetError before more rows are allocated than are allowed."""
        if rows > self.rows:
            raise BudgetError(
                f"grounding needs {rows:,} rows, and at most {int(self.rows):,} are taken by this engine",
                span=self.span,
                hint=self.hint,
            )
        needed = 8.0 * rows * (columns + 1) * 2
        hint = "allow more by --memory, or use an engine that does not ground"
        refuse_beyond(needed, self.budget.bytes, f"grounding needs {rows:,} rows,", hint, self.span)


def enumerate_bindings(
    conjunction: Conjunction,
    start: Bindings,
    evidence: Evidence,
    limit: Limit,
) -> Bindings:
    """List all assignments for which evidence does not rule out the conjunction, extending the rows of
    ``start``."""
    names = dict.fromkeys([*start.columns, *(name for name, _ in conjunction.variables)])
    columns = {name: f"x{place}" for place, name in enumerate(names)}
    sizes = {columns[name]: len(evidence.program.domain(kind)) for name, kind in conjunction.variables}
    begun = {columns[name]: values for name, values in start.columns.items()}
    if begun or len(start) != 1:
        begun[ORIGIN] = start.origin
    sizes |= {name: 1 + int(values.max(initial=0)) for name, values in begun.items()}
    possible = possible_rows(
        conjunction,
        lambda literal: _listed(literal, evidence, limit),
        Variables(columns, sizes, lambda name, size: Memory({name: np.arange(size)}, size, limit)),
        BodyRelation(Memory(begun, len(start), limit), len(start)),
    )
    rows = possible.arrays()
    origin = rows[ORIGIN] if begun else np.zeros(possible.count(), np.int64)
    return Bindings({name: rows[columns[name]] for name in names}, origin)


def _listed(literal: Literal, evidence: Evidence, limit: Limit) -> Listed | None:
    """Rows that constrain a literal, or ``None`` if evidence does not."""
    listing = evidence.listed(literal.predicate, literal.allowed)
    if listing is None:
        return None
    rows, needed = listing
    return Listed(Memory.of_indices(rows, columns_of(rows.shape[1]), limit), len(rows), needed)
