"""The error for statements that contradict each other, once it is proved that they do.

Three things prove it: propagation, which has left some atom without a value; elimination of all hard
statements together, which finds that no world has a weight; and counting of them alone, in the max algebra,
where every number is 0 or minus infinity. What rounded numbers seem to say proves nothing.
"""

from __future__ import annotations

import math

from herbrand.budget import Budget
from herbrand.engines.contradiction import smallest_contradiction
from herbrand.engines.elimination import planned
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, Mistake, UnsupportedError
from herbrand.factors.graph import FactorGraph
from herbrand.language.show import show_statement
from herbrand.program.ground import ground
from herbrand.program.program import Program

MOST_ROWS = 20_000
"""Larger programs are not searched for a smallest set."""

MOST_OPERATIONS = 1e9


def proved_contradiction(program: Program, budget: Budget) -> ContradictionError:
    """For statements that propagation or counting has refuted: names a smallest contradictory set where that
    is affordable, else every hard statement."""
    return _by_elimination(program, budget) or every_hard_statement(program)


def no_weight() -> UnsupportedError:
    """For statements that some world satisfies, though numbers have lost it."""
    return UnsupportedError(
        "some worlds satisfy the hard statements, but the weight of each is 0 in floating-point numbers",
        hint="use smaller weights",
    )


def contradiction(program: Program, budget: Budget, engine: str) -> HerbrandError:
    """For statements that an engine found nothing possible for: the contradiction, if elimination proves it;
    else a refusal, which claims nothing."""
    return _by_elimination(program, budget) or UnsupportedError(
        f"{engine} has lost every world: either no world satisfies the hard statements, which could not be "
        "proved, or its numbers have run away",
        hint="use --engine exact, or bp, whose propagation decides what is impossible without numbers",
    )


def _by_elimination(program: Program, budget: Budget) -> ContradictionError | None:
    """Names a smallest set of which elimination proves that no world satisfies it; ``None`` where that is too
    dear, or there is a world."""

    def satisfiable(graph: FactorGraph, atom_count: int) -> bool:
        plan = planned(graph, atom_count, "maximum", gradient=False)
        if plan.operations > MOST_OPERATIONS or plan.bytes > budget.bytes:
            raise BudgetError("too large to look for a smallest contradiction")
        return plan.run().total > -math.inf

    try:
        return smallest_contradiction(ground(program, budget, MOST_ROWS), satisfiable)
    except ContradictionError as error:
        return error
    except BudgetError:
        return None


def every_hard_statement(program: Program) -> ContradictionError:
    numbers = dict.fromkeys(t.statement for t in program.templates if t.weight is None)
    mistakes = [
        Mistake(
            "with the facts, no world satisfies the hard statements together; this is one of them"
            + ("" if program.statements[n].span else f": {next(show_statement(program.statements[n]))}"),
            program.statements[n].span,
        )
        for n in numbers
    ]
    return ContradictionError(mistakes or Mistake("the facts exclude every value of some atom"))
