"""Sum constraints that link variables narrowly by eliminating one variable after the other.

A long hidden chain is of this kind. Its circuit has nodes for each step and all that was observed before it,
while the tables here are as small as the links are narrow, however long the chain is. All marginals come from
one sweep back.

>>> import math
>>> from herbrand.budget import UNLIMITED
>>> from herbrand.engines.circuit.choices import ChoiceConstraints
>>> made = ChoiceConstraints()
>>> a, b = (made.choice([0.5]).outcomes[0] for _ in range(2))
>>> made.stipulate(made.net.either([a, b]), "a or b")
>>> log_total, shares = eliminated(made.task([a]), UNLIMITED)
>>> round(math.exp(log_total), 6), round(shares[a].item(), 6)
(0.75, 0.666667)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.circuit import Counted
from herbrand.engines.circuit.constraints import Constraints
from herbrand.engines.elimination import planned
from herbrand.engines.exact import Exact
from herbrand.errors import BudgetError
from herbrand.factors.graph import FORBIDDEN, Assembly, FactorGraph, Tables

NARROW = 8
"""Most neighbours of a variable when it is eliminated. Beyond it circuits, which use what excludes what, are
smaller than tables."""
PLANNING = 0.4
"""Most of the time left that planning may take; the sums then take about as long."""
Literals = tuple[int, ...]
"""A number for each literal of a restriction."""


def is_narrow(net: Constraints, width: float) -> bool:
    """Whether all tables stay small; ``width``: the largest number of neighbours in the elimination order."""
    return width <= NARROW and all(len(one.literals) <= NARROW + 1 for one in net.restrictions)


def eliminated(task: Task, budget: Budget) -> Counted | None:
    """The log-weight and shares of a narrow task; ``None`` where its tables would take too much time or
    memory. Raises ``OutOfTimeError`` once the time is over."""
    try:
        plan = planned(_graph(task), len(task.net), "log", budget=budget.share(PLANNING))
        Exact(budget).refuse_too_much(plan)
    except BudgetError:
        budget.check()
        return None
    sums = plan.run()
    return sums.total, sums.shares[:, ::-1].reshape(-1)  # a literal comes before its negation


def _graph(task: Task) -> FactorGraph:
    """The factor graph with an axis for each variable (0: false) and a table for each restriction."""
    net, alike = task.net, defaultdict[tuple[Literals, int, Literals | None], list[list[int]]](list)
    assembly = Assembly(np.full(len(net), 2))
    weights, named = task.log_weights.copy(), np.zeros(len(net), bool)
    for one in net.restrictions:
        scope = [literal >> 1 for literal in one.literals]
        named[scope] = True
        alike[tuple(literal & 1 for literal in one.literals), one.least, one.weights].append(scope)
    idle = np.array(net.gates, bool) & ~named
    idle[list(task.written)] = False
    # An unused gate, whose definition is gone, must contribute a factor of 1 and not of 2.
    weights[idle] = 0.0, FORBIDDEN
    assembly.add_unary(np.arange(len(net)), weights)
    for (signs, least, weighed), scopes in alike.items():
        table = _table(signs, weighed, least)
        assembly.add_tables(Tables(np.array(scopes), np.zeros(len(scopes), np.int64), table[None]))
    return assembly.build()


def _table(signs: Sequence[int], weights: Sequence[int] | None, least: int) -> np.ndarray:
    """A table of 0 where enough literals hold, else ``FORBIDDEN``, over values of their variables; ``signs``:
    1 for negated."""
    values = np.indices((2,) * len(signs))
    held = sum(
        weight * (value != sign)
        for weight, value, sign in zip(weights or [1] * len(signs), values, signs, strict=True)
    )
    return np.where(held >= least, 0.0, FORBIDDEN)
