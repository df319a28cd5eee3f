"""Simplification of clauses, and literals that bind the variables of a head.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)], "red": [(0,), (1,)]})])
>>> examples = Examples.of("starts", np.array([[0], [1]]), 1, database)
>>> long = Clause("starts", (0,), (Literal("edge", (0, 1)), Literal("red", (0,))), ((0, 1),))
>>> [literal.predicate for literal in simplified(long, examples, database).body]
['red']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.database import Database
from herbrand.induction.evaluation import Clause, Literal, covered
from herbrand.induction.examples import Examples


def simplified(clause: Clause, examples: Examples, database: Database) -> Clause:
    """Drop comparisons and literals without which the clause loses no example and covers no other
    negative."""
    before = covered(clause, database, examples.rows)
    wrong = before & ~examples.positive

    def as_good(shorter: Clause) -> bool:
        try:
            covers = covered(shorter, database, examples.rows)
        except BudgetError:
            return False
        return not (before & ~covers).any() and not (covers & ~examples.positive & ~wrong).any()

    free = replace(clause, apart=())
    if as_good(free):
        clause = free
    for pair in list(clause.apart):
        shorter = replace(clause, apart=tuple(p for p in clause.apart if p != pair))
        if as_good(shorter):
            clause = shorter
    for one in clause.conditions:
        shorter = replace(clause, conditions=tuple(c for c in clause.conditions if c != one))
        if safe(shorter) and as_good(shorter):
            clause = shorter
    for literal in sorted(
        clause.body, key=lambda one: not one.negated
    ):  # negated ones first: they need the literals that bind their variables
        shorter = _shortened(clause, literal)
        if shorter.body and safe(shorter) and as_good(shorter):
            clause = shorter
    return clause


def _shortened(clause: Clause, literal: Literal) -> Clause:
    """The clause without a literal, and without comparisons of variables that only this one binds."""
    rest = tuple(other for other in clause.body if other != literal)
    kept = {v for other in rest for v in other.named} | set(clause.variables)
    return replace(
        clause,
        body=rest,
        apart=tuple(pair for pair in clause.apart if set(pair) <= kept),
        conditions=tuple(one for one in clause.conditions if set(one.variables) <= kept),
    )


def safe(clause: Clause) -> bool:
    """Whether every variable of the head, of a negated literal and of a comparison is bound, by a positive
    literal or to a constant."""
    needed = set(clause.variables) | {v for x in clause.body if x.negated for v in x.named}
    needed |= {v for pair in clause.apart for v in pair}
    return needed | {v for one in clause.conditions for v in one.variables} <= _bound(clause)


def _bound(clause: Clause) -> set[int]:
    """Variables that a positive literal binds, or that are bound to a constant."""
    bound = {v for literal in clause.body if not literal.negated for v in literal.variables}
    return bound | {one.left for one in clause.conditions if one.binds}


class Guard(NamedTuple):
    """A literal that can bind a variable of the head, in a ``column`` of its ``predicate``. ``holds``:
    whether the value of each example occurs there."""

    predicate: str
    column: int
    arity: int
    holds: np.ndarray


def guards(examples: Examples, database: Database, predicates: Sequence[str]) -> list[list[Guard]]:
    """Literals that could bind each argument of the target: those with fewest arguments first, then those
    with most rows."""
    by_part = []
    for column in examples.rows.T if not examples.of_worlds else ():
        options = [
            (arity, -len(database.tables[name]), Guard(name, place, arity, holds))
            for name in predicates
            for arity in (database.arities[name],)
            for place in range(arity)
            if (holds := np.isin(column, database.tables[name][:, place])).any()
        ]
        by_part.append([guard for *_, guard in sorted(options, key=lambda one: one[:2])])
    return by_part


def guarded(clause: Clause, options: Sequence[Sequence[Guard]], covers: np.ndarray) -> Clause | None:
    """The clause with a literal for each unbound variable of the head, such that all examples that it
    ``covers`` stay; ``None`` if there is none."""
    fresh = 1 + max([*clause.variables, *(v for x in clause.body for v in x.variables)], default=0)
    bound = _bound(clause)
    for variable, own in zip(clause.variables, options, strict=True):
        if variable in bound:
            continue
        guard = next((one for one in own if one.holds[covers].all()), None)
        if guard is None:
            return None
        variables = (variable if c == guard.column else fresh + c for c in range(guard.arity))
        clause = replace(clause, body=(*clause.body, Literal(guard.predicate, tuple(variables))))
        fresh, bound = fresh + guard.arity, bound | {variable}
    return clause if safe(clause) else None


def covering(clauses: Iterable[Clause], examples: Examples, database: Database) -> np.ndarray:
    """Whether some clause of the target derives each example; invented predicates are in ``database``
    already."""
    result = np.zeros(len(examples.rows), bool)
    for clause in clauses:
        if clause.head == examples.target:
            result |= covered(clause, database, examples.rows)
    return result
