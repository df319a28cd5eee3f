"""Clauses that say no more than they need, and no more clauses than needed.

>>> from herbrand.induction.database import World
>>> from herbrand.induction.evaluation import Literal
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)], "red": [(0,), (1,)]})])
>>> examples = Examples.of("starts", np.array([[0], [1]]), 1, database)
>>> long = Clause("starts", (0,), (Literal("edge", (0, 1)), Literal("red", (0,))), ((0, 1),))
>>> [literal.predicate for literal in simplified(long, examples, database).body]
['red']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.database import Database
from herbrand.induction.evaluation import Clause, covered
from herbrand.induction.examples import Examples


def simplified(clause: Clause, examples: Examples, database: Database) -> Clause:
    """Without inequalities and literals whose absence makes no negative true and no positive false."""
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
    for literal in sorted(clause.body, key=lambda one: not one.negated):  # these keep others that bind theirs
        rest = tuple(other for other in clause.body if other != literal)
        kept = {v for other in rest for v in other.variables} | set(clause.variables)
        shorter = replace(clause, body=rest, apart=tuple(p for p in clause.apart if set(p) <= kept))
        if rest and safe(shorter) and as_good(shorter):
            clause = shorter
    return clause


def safe(clause: Clause) -> bool:
    """Every variable of the head and of a negated literal stands in a positive one."""
    bound = {v for literal in clause.body if not literal.negated for v in literal.variables}
    needed = set(clause.variables) | {v for x in clause.body if x.negated for v in x.variables}
    return needed <= bound


def without_redundant(clauses: Sequence[Clause], examples: Examples, database: Database) -> list[Clause]:
    """Without clauses that the others make needless, later ones first to stay."""
    kept = list(clauses)
    whole = covering(kept, examples, database)
    for clause in [c for c in clauses if c.head == examples.target]:
        rest = [other for other in kept if other is not clause]
        if np.array_equal(covering(rest, examples, database), whole):
            kept = rest
    needed = {literal.predicate for clause in kept for literal in clause.body}
    return [clause for clause in kept if clause.head == examples.target or clause.head in needed]


def covering(clauses: Iterable[Clause], examples: Examples, database: Database) -> np.ndarray:
    """Which examples some clause of the target derives; helpers are in the database already."""
    result = np.zeros(len(examples.rows), bool)
    for clause in clauses:
        if clause.head == examples.target:
            result |= covered(clause, database, examples.rows)
    return result
