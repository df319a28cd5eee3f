"""Interval messages to a fixed point: every factor tightens the intervals of its atoms until none moves.

An atom has one interval, the intersection of the messages of all its factors. (The published method keeps a
message for each link and leaves out the receiver's own; since intervals are intersected, a factor's own
message changes nothing when it returns.) Intervals only shrink and are valid at every moment, so a run may be
stopped at any time. Factors none of whose atoms moved are skipped.

:class:`Messages` has ``step`` and ``residual`` as an engine has, for :func:`herbrand.engines.loop.settle`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.ariel.factors import factors_of, intervals_of
from herbrand.engines.credal.ariel.independence import Independences
from herbrand.engines.credal.ariel.scopes import Scope
from herbrand.engines.credal.ariel.sweeps import Beliefs, Factors

CROSSED = 1e-7
"""Amount by which ends may cross through rounding; more is a contradiction."""


@dataclass(frozen=True, eq=False)
class FoundContradictionError(Exception):
    """Raised where these ground sentences, by number, contradict the intervals of their ``atoms``."""

    sentences: np.ndarray
    atoms: np.ndarray

    @classmethod
    def in_factor(cls, scope: Scope, factor: int) -> FoundContradictionError:
        """The error for one factor of a scope."""
        return cls(scope.sentences(factor), scope.atoms[factor])


@dataclass(frozen=True, eq=False)
class ArielState:
    """The state of the messages; ``moved``: the largest change of an end in the last pass.

    ``beliefs`` is changed in place, so a state must not be stepped twice.
    """

    factors: tuple[Factors, ...]
    beliefs: Beliefs
    moved: float = np.inf

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end of every atom."""
        return self.beliefs.lower, self.beliefs.upper


@dataclass(frozen=True)
class Messages:
    """The sound messages, within a budget."""

    budget: Budget = UNLIMITED

    def start(self, scopes: tuple[Scope, ...], links: Independences | None, count: int) -> ArielState:
        """The first state: the intervals of sentences about single atoms, and the factors of the others."""
        return self.resumed(tuple(factors_of(scopes, links)), *single_atoms(scopes, count))

    def resumed(self, factors: tuple[Factors, ...], lower: np.ndarray, upper: np.ndarray) -> ArielState:
        """A state from these intervals, in which every factor is still to run."""
        beliefs = Beliefs(lower, upper, np.zeros(len(lower), np.int64), np.zeros(1, np.int64), np.zeros(1))
        return ArielState(factors, beliefs)

    def step(self, state: ArielState) -> ArielState:
        """Run all factors some of whose atoms have changed, in one pass.

        Raises ``FoundContradictionError``.
        """
        beliefs = state.beliefs
        beliefs.moved[0] = 0.0
        for factors in state.factors:
            failed = factors.sweep(beliefs, self.budget)
            if failed >= 0:
                raise FoundContradictionError.in_factor(factors.scope, failed)
            if self.budget.ended:
                break
        return ArielState(state.factors, beliefs, float(beliefs.moved[0]))

    def residual(self, state: ArielState) -> float:
        """The largest change of an end in the last pass."""
        return state.moved


def single_atoms(scopes: tuple[Scope, ...], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each atom by the sentences about it alone.

    Raises ``FoundContradictionError`` where one is empty.
    """
    lower, upper = np.zeros(count), np.ones(count)
    for scope in scopes:
        if scope.arity == 1:
            lower, upper = intervals_of(scope, count)
            crossed = np.flatnonzero(lower > upper + CROSSED)
            if len(crossed):
                mine = scope.atoms[:, 0] == crossed[0]
                raise FoundContradictionError(
                    scope.sentence[np.repeat(mine, np.diff(scope.start))], crossed[:1]
                )
        if scope.arity == 0:
            refuse_settled(scope)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def refuse_settled(scope: Scope) -> None:
    """Raise ``FoundContradictionError`` if observed facts settle an event against its bounds."""
    holds = np.array([bool(p.event[0]) for p in scope.patterns])[scope.pattern]
    wrong = np.flatnonzero(np.where(holds, scope.upper < 1, scope.lower > 0))
    if len(wrong):
        raise FoundContradictionError(scope.sentence[wrong[:1]], np.empty(0, np.int64))
