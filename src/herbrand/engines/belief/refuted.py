"""The error for statements that contradict each other, when messages have found that they do.

A value that messages exclude is excluded in every world, so an atom without values means that there is none.
"""

from __future__ import annotations

import math

from herbrand.engines.contradiction import smallest_contradiction
from herbrand.engines.elimination import planned
from herbrand.engines.ground_network import Network
from herbrand.errors import BudgetError, ContradictionError, Mistake
from herbrand.language.show import show_statement
from herbrand.program.ground import ground
from herbrand.program.program import Program

MOST_ROWS = 20_000
"""Larger programs are not searched for a smallest set."""

MOST_OPERATIONS = 1e9


def contradiction(program: Program, memory: int) -> ContradictionError:
    """Names a smallest contradictory set where that is affordable, else every hard statement."""

    def satisfiable(network: Network) -> bool:
        plan = planned(network, "maximum", gradient=False)
        if plan.operations > MOST_OPERATIONS or plan.bytes > memory:
            raise BudgetError("too large to look for a smallest contradiction")
        return plan.run().total > -math.inf

    try:
        return smallest_contradiction(ground(program, memory, MOST_ROWS), satisfiable)
    except ContradictionError as error:
        return error
    except BudgetError:
        return every_hard_statement(program)


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
