"""Bounds of several queries, each from a compilation of its own, while one circuit for all takes too long.

Dividing worlds into cases along the ways to one query leaves the others open, and a query alone needs only
the part of a program below it and the evidence. So the queries take turns, with twice the time in each
round. A few unfinished compilations are kept from turn to turn; others begin again, as each may be large.

>>> from herbrand.budget import UNLIMITED
>>> constraints = ChoiceConstraints()
>>> a, b = (constraints.choice([chance]).outcomes[0] for chance in (0.3, 0.6))
>>> some = constraints.net.either([a, b])
>>> apart = Apart(constraints, [a, some], UNLIMITED)
>>> found = apart.narrowed(math.inf)
>>> found.done, round(found.lower[some].item(), 6), round(found.upper[some].item(), 6)
(True, 0.72, 0.72)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from herbrand.budget import Budget, time_beside_compiling
from herbrand.engines.circuit.bounds import Bounded, Unfinished
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.constraints import negated
from herbrand.errors import BudgetError

FIRST_TURN = 0.03
"""Seconds of a query's first turn, about what it takes to begin: the first cases narrow most."""
MOST_KEPT = 16
"""Unfinished compilations that are kept."""


class Apart:
    """Lower and upper probabilities of literals, narrowed for one after the other."""

    def __init__(self, constraints: ChoiceConstraints, literals: Sequence[int], budget: Budget) -> None:
        self._constraints, self._budget = constraints, budget
        self._lower, self._upper = np.zeros(2 * len(constraints.net)), np.ones(2 * len(constraints.net))
        self._log_total, self._is_total = -math.inf, False
        self._turn, self._left, self._next = FIRST_TURN, deque(literals), list[int]()
        self._kept: dict[int, Unfinished] = {}

    @property
    def _is_done(self) -> bool:
        """Whether every probability is known, or that no world has weight."""
        known = not self._left and not self._next
        return self._is_total and (known or self._log_total == -math.inf)

    def narrowed(self, seconds: float) -> Bounded:
        """The bounds after turns of about ``seconds``, at least one turn."""
        until = time_beside_compiling() + seconds
        while not self._is_done and not self._budget.ended:
            if not self._left:
                self._left, self._next, self._turn = deque(self._next), [], 2 * self._turn
            self._take_turn(self._left.popleft(), min(self._turn, max(seconds, FIRST_TURN)))
            if time_beside_compiling() >= until:
                break
        return Bounded(self._lower, self._upper, self._log_total, self._is_done)

    def _take_turn(self, literal: int, seconds: float) -> None:
        """Solve for one literal, or narrow its bounds; what is kept goes where memory ends beside it."""
        try:
            left = self._kept.pop(literal, None) or self._begun(literal)
            counted = left.solved(seconds)
            found = left.narrowed(seconds / 2) if counted is None else Bounded.known(*counted)
        except BudgetError:
            if not self._kept and not self._budget.ended:
                raise
            self._kept.clear()
            self._next.append(literal)
            return
        self._note(literal, found)
        if not found.done:
            self._next.append(literal)
            if len(self._kept) < MOST_KEPT:
                self._kept[literal] = left

    def _begun(self, literal: int) -> Unfinished:
        return Unfinished.of(self._constraints.task([literal]), self._budget)

    def _note(self, literal: int, found: Bounded) -> None:
        both = [literal, negated(literal)]
        self._lower[both] = np.maximum(self._lower[both], found.lower[both])
        self._upper[both] = np.minimum(self._upper[both], found.upper[both])
        if found.done or not self._is_total:
            self._log_total, self._is_total = max(self._log_total, found.log_total), found.done
