"""Assignments of constants to logical variables, found by joining what is known: a table of index columns.

The one place where conjunctions meet data. Relations that are known are joined, what is left is crossed with
its domain, and rows are dropped as soon as something settles that they cannot hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from herbrand.budget import Budget
from herbrand.errors import BudgetError, Span
from herbrand.memory import readable
from herbrand.program.evidence import LATENT, Evidence, codes_of
from herbrand.program.template import TRUE, Argument, Conjunction, Literal, Pair


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


class Test(Protocol):
    """A condition on rows, once its arguments are bound."""

    @property
    def arguments(self) -> Sequence[Argument]: ...

    def kept(self, rows: Bindings, evidence: Evidence) -> np.ndarray: ...


@dataclass(frozen=True)
class Limit:
    """How many rows a table of bindings may have, and whose it is."""

    budget: Budget
    rows: float = math.inf
    span: Span | None = None

    def check(self, rows: int, columns: int) -> None:
        """Raise before more rows are made than are allowed."""
        self.budget.check()
        if rows > self.rows:
            raise BudgetError(
                f"grounding needs {rows:,} rows, and at most {int(self.rows):,} are taken by this engine",
                span=self.span,
                hint="use an engine that does not ground",
            )
        needed = 8.0 * rows * (columns + 2) * 2
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
    relations = [x for x in conjunction.literals if _is_relation(x, evidence)]
    waiting = _tests_of(conjunction, evidence)
    unbound = [name for name, _ in conjunction.variables if name not in start.columns]
    found, waiting = _filtered(start, waiting, evidence)
    while unbound:
        literal = _best_relation(relations, found, unbound, evidence)
        if literal is not None:
            relations.remove(literal)
            found = _joined(found, literal, evidence, limit)
            waiting = [test for test in waiting if test != Possible(literal)]
        else:
            name = min(unbound, key=lambda name: len(evidence.program.domain(conjunction.types[name])))
            found = _crossed(found, name, len(evidence.program.domain(conjunction.types[name])), limit)
        unbound = [name for name in unbound if name not in found.columns]
        found, waiting = _filtered(found, waiting, evidence)
    return found


def _is_relation(literal: Literal, evidence: Evidence) -> bool:
    """Whether the rows that make a literal true are all listed."""
    known = evidence.known(literal.predicate)
    if known.latent_count():
        return False
    return evidence.is_valued(literal.predicate) or literal.allowed == TRUE


@dataclass(frozen=True)
class Differ:
    """The two arguments stand for different constants."""

    arguments: Pair

    def kept(self, rows: Bindings, evidence: Evidence) -> np.ndarray:
        return rows.column(self.arguments[0]) != rows.column(self.arguments[1])


@dataclass(frozen=True)
class Possible:
    """Nothing known makes the literal false."""

    literal: Literal

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.literal.arguments

    def kept(self, rows: Bindings, evidence: Evidence) -> np.ndarray:
        known = evidence.known(self.literal.predicate)
        values = known.lookup(rows.codes(self.arguments, known.sizes))
        return np.isin(values, [LATENT, *self.literal.allowed])


def _tests_of(conjunction: Conjunction, evidence: Evidence) -> list[Test]:
    pairs = sorted(conjunction.distinct, key=repr)
    unsettled = (x for x in conjunction.literals if not evidence.known(x.predicate).all_latent)
    return [*map(Differ, pairs), *map(Possible, unsettled)]


def _filtered(rows: Bindings, waiting: list[Test], evidence: Evidence) -> tuple[Bindings, list[Test]]:
    """Apply every test whose arguments are bound; the others wait."""
    later = []
    for test in waiting:
        if not rows.binds(test.arguments):
            later.append(test)
            continue
        kept = test.kept(rows, evidence)
        if not kept.all():
            rows = rows.take(np.flatnonzero(kept))
    return rows, later


def _best_relation(
    relations: Sequence[Literal], rows: Bindings, unbound: Sequence[str], evidence: Evidence
) -> Literal | None:
    """The relation to join next: one that shares bound variables, the smaller the better."""
    useful = [x for x in relations if any(argument in unbound for argument in x.arguments)]
    if not useful:
        return None

    def badness(literal: Literal) -> tuple[bool, int]:
        shares = any(isinstance(a, int) or a in rows.columns for a in literal.arguments)
        return not shares, len(evidence.program.table(literal.predicate).true)

    return min(useful, key=badness)


def _joined(rows: Bindings, literal: Literal, evidence: Evidence, limit: Limit) -> Bindings:
    listed, names = _selected(literal, evidence)
    shared = [name for name in names if name in rows.columns]
    if not shared:
        limit.check(len(rows) * len(listed), len(rows.columns) + len(names))
        every = {name: np.tile(listed[:, i].astype(np.int64), len(rows)) for i, name in enumerate(names)}
        return rows.take(np.repeat(np.arange(len(rows)), len(listed)), every)
    sizes = [int(listed[:, names.index(name)].max(initial=0)) + 1 for name in shared]
    sizes = [
        max(size, int(rows.columns[n].max(initial=0)) + 1) for size, n in zip(sizes, shared, strict=True)
    ]
    keys = codes_of(listed[:, [names.index(name) for name in shared]], sizes)
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    wanted = rows.codes(shared, sizes)
    first = np.searchsorted(sorted_keys, wanted, side="left")
    counts = np.searchsorted(sorted_keys, wanted, side="right") - first
    limit.check(int(counts.sum()), len(rows.columns) + len(names))
    left = np.repeat(np.arange(len(rows)), counts)
    steps = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(first, counts) + steps]
    new = {n: listed[right, i].astype(np.int64) for i, n in enumerate(names) if n not in rows.columns}
    return rows.take(left, new)


def _selected(literal: Literal, evidence: Evidence) -> tuple[np.ndarray, list[str]]:
    """The relation's rows that fit the literal's constants and repeated variables, a column a variable."""
    listed = evidence.rows(literal.predicate, literal.allowed)
    first: dict[str, int] = {}
    for position, argument in enumerate(literal.arguments):
        if isinstance(argument, int):
            listed = listed[listed[:, position] == argument]
        elif argument in first:
            listed = listed[listed[:, position] == listed[:, first[argument]]]
        else:
            first[argument] = position
    return listed[:, list(first.values())], list(first)


def _crossed(rows: Bindings, name: str, size: int, limit: Limit) -> Bindings:
    limit.check(len(rows) * size, len(rows.columns) + 1)
    return rows.take(np.repeat(np.arange(len(rows)), size), {name: np.tile(np.arange(size), len(rows))})
