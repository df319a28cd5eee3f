"""Assignments of constants to logical variables over facts in memory: a table of index columns.

The joins are those of :mod:`herbrand.program.conjunction_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import Budget
from herbrand.errors import BudgetError, Span
from herbrand.memory import readable
from herbrand.program.body_rows import BodyRelation, columns_of
from herbrand.program.conjunction_rows import Listed, Variables, possible_rows
from herbrand.program.evidence import Evidence, codes_of
from herbrand.program.template import Argument, Conjunction, Literal
from herbrand.relations.memory import Memory

ORIGIN = "origin"


@dataclass(frozen=True)
class Bindings:
    """``columns[name][i]`` is the constant of a variable in row i; ``origin`` the row each came from."""

    columns: Mapping[str, np.ndarray]
    origin: np.ndarray

    @staticmethod
    def nothing(count: int = 1) -> Bindings:
        """Rows that bind no variable."""
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

    def take(self, rows: np.ndarray, new: Mapping[str, np.ndarray] | None = None) -> Bindings:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Bindings({**columns, **(new or {})}, self.origin[rows])


@dataclass(frozen=True)
class Limit:
    """How many rows a table of bindings may have, and whose it is."""

    budget: Budget
    rows: float = math.inf
    span: Span | None = None

    def check(self) -> None:
        """Raise where the time has ended."""
        self.budget.check()

    def claim_rows(self, rows: int, columns: int, what: str) -> None:
        """Raise before more rows are made than are allowed."""
        if rows > self.rows:
            raise BudgetError(
                f"grounding needs {rows:,} rows, and at most {int(self.rows):,} are taken by this engine",
                span=self.span,
                hint="use an engine that does not ground",
            )
        needed = 8.0 * rows * (columns + 1) * 2
        if needed > self.budget.bytes:
            raise BudgetError(
                f"grounding needs {rows:,} rows, about {readable(needed)}, and "
                f"{readable(self.budget.bytes)} are allowed",
                span=self.span,
                hint="allow more by --memory, or use an engine that does not ground",
            )


def enumerate_bindings(
    conjunction: Conjunction,
    start: Bindings,
    evidence: Evidence,
    limit: Limit,
) -> Bindings:
    """All assignments under which nothing known rules the conjunction out."""
    names = dict.fromkeys([*start.columns, *(name for name, _ in conjunction.variables)])
    columns = {name: f"x{place}" for place, name in enumerate(names)}
    sizes = {columns[name]: len(evidence.program.domain(kind)) for name, kind in conjunction.variables}
    begun = {columns[name]: values for name, values in start.columns.items()}
    if begun or len(start) != 1:
        begun[ORIGIN] = start.origin
    sizes |= {name: 1 + int(values.max(initial=0)) for name, values in begun.items()}
    found = possible_rows(
        conjunction,
        lambda literal: _listed(literal, evidence, limit),
        Variables(columns, sizes, lambda name, size: Memory({name: np.arange(size)}, size, limit)),
        BodyRelation(Memory(begun, len(start), limit), len(start)),
    )
    rows = found.arrays()
    origin = rows[ORIGIN] if begun else np.zeros(found.count(), np.int64)
    return Bindings({name: rows[columns[name]] for name in names}, origin)


def _listed(literal: Literal, evidence: Evidence, limit: Limit) -> Listed | None:
    """What is known of a literal's atoms."""
    found = evidence.listed(literal.predicate, literal.allowed)
    if found is None:
        return None
    rows, needed = found
    columns = columns_of(rows.shape[1])
    data = {name: rows[:, place].astype(np.int64) for place, name in enumerate(columns)}
    return Listed(Memory(data, len(rows), limit), len(rows), needed)
