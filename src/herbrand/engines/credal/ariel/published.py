"""The messages as published (equations 17 to 24 of the ARIEL paper), for comparison.

A factor's message to an atom takes the factor's other atoms to be pairwise independent, implied or not, so
intervals may be too narrow, and a factor may have no distribution left where the network has one. Messages
are solved globally, all from the values of the pass before; an atom's message to a factor leaves out that
factor's message to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.factors import WIDEST, intervals_at_once, truths_of
from herbrand.engines.credal.ariel.independence import cells_of, pairwise
from herbrand.engines.credal.ariel.messages import CROSSED, FoundContradictionError, single_atoms
from herbrand.engines.credal.ariel.scopes import Scope
from herbrand.errors import UnsupportedError
from herbrand.loops import loop, often

Array = NDArray[Any]


def messages_of(scope: Scope, incoming: np.ndarray) -> np.ndarray:
    """Messages [factors, k, 2] of a scope's factors to atoms, from the atoms' messages ``incoming``.

    Raises ``FoundContradictionError`` where a factor has no distribution left.
    """
    forms, start = scope.forms()
    k = scope.arity
    truths, everywhere = truths_of(k), np.ones(2**k)
    sent = np.empty_like(incoming)
    for target in range(k):
        cells = cells_of(k, pairwise(i for i in range(k) if i != target))
        box = incoming.copy()
        box[:, target] = 0.0, 1.0
        sent[:, target], failed = intervals_at_once(
            forms, start, truths, truths[target], everywhere, 1.0, cells, box
        )
        if failed >= 0:
            raise FoundContradictionError.in_factor(scope, failed)
    return sent


@dataclass(frozen=True, eq=False)
class PublishedState:
    """The state of the messages: those ``sent`` by the factors of each number of atoms, two or more.

    ``single`` has the intervals by sentences about single atoms; ``moved``: the largest change in a pass.
    """

    factors: tuple[Scope, ...]
    single: np.ndarray  # [atoms, 2]
    sent: tuple[np.ndarray, ...]
    moved: float = np.inf

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end of every atom: the intersection of all messages to it."""
        lower, upper = self.single.copy().T
        for factors, sent in zip(self.factors, self.sent, strict=True):
            np.maximum.at(lower, factors.atoms, sent[..., 0])
            np.minimum.at(upper, factors.atoms, sent[..., 1])
        return lower, upper


@dataclass(frozen=True)
class PublishedMessages:
    """The published messages, with ``step`` and ``residual`` as an engine has."""

    def start(self, scopes: tuple[Scope, ...], count: int) -> PublishedState:
        widest = max((scope.arity for scope in scopes), default=0)
        if widest > WIDEST:
            raise UnsupportedError(
                f"a bound names {widest} open atoms, and --mode paper solves messages of at most {WIDEST}",
                hint="--mode sound takes bounds of more",
            )
        factors = tuple(scope for scope in scopes if scope.arity > 1)
        single = np.stack(single_atoms(scopes, count), axis=1)
        vacuous = tuple(np.tile([0.0, 1.0], (*f.atoms.shape, 1)) for f in factors)
        return PublishedState(factors, single, vacuous)

    def step(self, state: PublishedState) -> PublishedState:
        atoms = np.concatenate([f.atoms.reshape(-1) for f in state.factors] or [np.empty(0, np.int64)])
        spoken = np.concatenate([sent.reshape(-1, 2) for sent in state.sent] or [np.empty((0, 2))])
        least = often(_least_of_others, 2.0 * len(atoms))
        incoming = np.stack(
            [
                -least(atoms, -spoken[:, 0], -state.single[:, 0]),
                least(atoms, spoken[:, 1], state.single[:, 1]),
            ],
            axis=1,
        )
        _refuse_crossed(state, atoms, incoming)
        moved, first, sent = 0.0, 0, []
        for factors, before in zip(state.factors, state.sent, strict=True):
            size = factors.atoms.size
            mine = messages_of(factors, incoming[first : first + size].reshape(before.shape))
            moved = max(moved, float(np.abs(mine - before).max(initial=0.0)))
            sent.append(mine)
            first += size
        return replace(state, sent=tuple(sent), moved=moved)

    def residual(self, state: PublishedState) -> float:
        return state.moved


def _refuse_crossed(state: PublishedState, atoms: np.ndarray, incoming: np.ndarray) -> None:
    """Raise ``FoundContradictionError`` if the messages to an atom have an empty intersection."""
    lower, upper = state.intervals
    crossed = (lower > upper + CROSSED)[atoms] | (incoming[:, 0] > incoming[:, 1] + CROSSED)
    if crossed.any():
        link = int(np.flatnonzero(crossed)[0])
        for factors in state.factors:
            if link < factors.atoms.size:
                raise FoundContradictionError.in_factor(factors, link // factors.arity)
            link -= factors.atoms.size


@loop
def _least_of_others(atoms: Array, spoken: Array, single: Array) -> Array:
    """For each link the minimum of the messages to its atom, without that of the link itself."""
    least, second = single.copy(), np.full(len(single), np.inf)
    whose = np.full(len(single), -1)
    for e in range(len(atoms)):
        atom = atoms[e]
        if spoken[e] < least[atom]:
            least[atom], second[atom], whose[atom] = spoken[e], least[atom], e
        elif spoken[e] < second[atom]:
            second[atom] = spoken[e]
    incoming = np.empty(len(atoms))
    for e in range(len(atoms)):
        incoming[e] = second[atoms[e]] if whose[atoms[e]] == e else least[atoms[e]]
    return incoming
