"""One pass over all factors of a kind, in place: each tightens the intervals of its atoms.

``lower`` and ``upper`` hold the interval of every atom. ``touched`` is the time when an atom's interval last
changed by more than ``THRESHOLD``, ``visited`` the time when a factor last ran, both by one clock; a factor
none of whose atoms has changed since is skipped. ``clock`` [1]: the time, which is the number of factors that
ran. ``moved`` [1]: the largest change. Each function returns the factor that finds a contradiction, or -1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herbrand.budget import Budget
from herbrand.engines.credal.ariel.conditional_tables import tighten_table
from herbrand.engines.credal.ariel.copies import copy_table
from herbrand.engines.credal.ariel.pairs import tighten_linked, tighten_unlinked
from herbrand.engines.credal.ariel.programs import extremes, tighten
from herbrand.engines.credal.ariel.scopes import Scope
from herbrand.engines.credal.ariel.simplex import Cells, Workspace
from herbrand.loops import loop

Array = NDArray[Any]

THRESHOLD = 1e-8
"""Change of an end up to which the factors of its atom do not run again."""


class Beliefs(NamedTuple):
    """The interval of every atom, and when it last changed."""

    lower: Array  # [atoms]
    upper: Array  # [atoms]
    touched: Array  # [atoms]
    clock: Array  # [1]
    moved: Array  # [1]


@dataclass(frozen=True, eq=False)
class Factors(ABC):
    """Factors of one kind; ``scope`` has their sentences.

    ``atoms`` [factors, k] are the atoms of each in the order of its columns.
    """

    scope: Scope
    atoms: np.ndarray

    @cached_property
    def visited(self) -> np.ndarray:
        """Time when each factor last ran; -1 for never."""
        return np.full(len(self.atoms), -1)

    @abstractmethod
    def sweep(self, beliefs: Beliefs, budget: Budget) -> int:
        """Tighten beliefs in place; return the factor that finds a contradiction, or -1."""


@loop
def visit(factor: int, atoms: Array, visited: Array, beliefs: Beliefs) -> bool:
    """Whether one of a factor's atoms has changed since its last visit; if so, record this visit."""
    latest = -1
    for i in range(atoms.shape[1]):
        latest = max(latest, int(beliefs.touched[atoms[factor, i]]))
    if latest <= visited[factor]:
        return False
    beliefs.clock[0] += 1
    visited[factor] = beliefs.clock[0]
    return True


@loop
def learn(atom: int, low: float, high: float, beliefs: Beliefs) -> None:
    """Intersect an atom's interval with another; swap ends that rounding has crossed."""
    low, high = max(low, beliefs.lower[atom]), min(high, beliefs.upper[atom])
    if low > high:
        low, high = high, low
    change = max(low - beliefs.lower[atom], beliefs.upper[atom] - high)
    if change > THRESHOLD:
        beliefs.touched[atom] = beliefs.clock[0]
    if change > beliefs.moved[0]:
        beliefs.moved[0] = change
    beliefs.lower[atom], beliefs.upper[atom] = low, high


@loop
def sweep_pairs(
    atoms: Array,
    start: Array,
    forms: Array,
    unlinked: Array,
    visited: Array,
    beliefs: Beliefs,
) -> int:
    box = np.empty(4)
    for f in range(len(atoms)):
        if not visit(f, atoms, visited, beliefs):
            continue
        for i in range(2):
            box[2 * i], box[2 * i + 1] = beliefs.lower[atoms[f, i]], beliefs.upper[atoms[f, i]]
        own = forms[start[f] : start[f + 1]]
        if not (tighten_unlinked(own, box) if unlinked[f] else tighten_linked(own, box)):
            return f
        for i in range(2):
            learn(atoms[f, i], box[2 * i], box[2 * i + 1], beliefs)
    return -1


@loop
def sweep_tables(
    atoms: Array, low: Array, high: Array, unlinked: Array, visited: Array, beliefs: Beliefs
) -> int:
    box = np.empty(6)
    for f in range(len(atoms)):
        if not visit(f, atoms, visited, beliefs):
            continue
        for i in range(3):
            box[2 * i], box[2 * i + 1] = beliefs.lower[atoms[f, i]], beliefs.upper[atoms[f, i]]
        if not tighten_table(low[f], high[f], unlinked[f], box):
            return f
        for i in range(3):
            learn(atoms[f, i], box[2 * i], box[2 * i + 1], beliefs)
    return -1


@loop
def sweep_programs(
    atoms: Array,
    start: Array,
    forms: Array,
    lows: Array,
    highs: Array,
    cells: Cells,
    marginals: Array,
    most_nodes: int,
    visited: Array,
    beliefs: Beliefs,
    room: Workspace,
    working_forms: Array,
    first: int,
    last: int,
    again: bool,
) -> int:
    """Sweep the factors from ``first`` to ``last`` by linear programs.

    ``lows``, ``highs``: [factors or 1, k, states]; ``marginals``: [factors, 2 k, k, 2]. ``again``: whether
    the sweep will be repeated if ``room.left`` runs out; then the factor at which it does stays unchanged.
    """
    k = atoms.shape[1]
    box = np.empty((k, 2))
    for f in range(first, last):
        if not visit(f, atoms, visited, beliefs):
            continue
        for i in range(k):
            box[i, 0], box[i, 1] = beliefs.lower[atoms[f, i]], beliefs.upper[atoms[f, i]]
        count = start[f + 1] - start[f]
        copy_table(forms[start[f] :], working_forms, count)
        shared = 0 if len(lows) == 1 else f
        if not tighten(
            working_forms, count, lows[shared], highs[shared], cells, box, marginals[f], most_nodes, room
        ):
            return f
        if again and room.left[0] < 0.0:
            visited[f] = -1
            marginals[f, :, :, :] = np.nan
            return -1
        for i in range(k):
            learn(atoms[f, i], box[i, 0], box[i, 1], beliefs)
    return -1


@loop
def event_intervals(
    forms: Array,
    start: Array,
    truths: Array,
    event: Array,
    given: Array,
    weight: float,
    cells: Cells,
    box: Array,
    most_nodes: int,
    room: Workspace,
    working_forms: Array,
    intervals: Array,
    again: bool,
) -> int:
    """Write the interval of P(event | given) in each factor, with its own box, to ``intervals``.

    ``again``: whether it will be repeated if ``room.left`` runs out; then it stops there.
    """
    for f in range(len(box)):
        count = start[f + 1] - start[f]
        copy_table(forms[start[f] :], working_forms, count)
        if not extremes(
            event,
            given,
            weight,
            working_forms,
            count,
            truths,
            truths,
            cells,
            box[f],
            most_nodes,
            room,
            intervals[f],
        ):
            return f
        if again and room.left[0] < 0.0:
            break
    return -1


def pair_operations(forms: Array) -> float:
    """Estimated operations of factors over two atoms, from the number of forms of each."""
    return float((60 + 20 * forms * (forms + 2) ** 2).sum())


def forms_needed(most_own: int, atoms: int, cells: Cells) -> int:
    """Most forms of a factor's programs: its own, two for each atom's interval, and those of cells."""
    return most_own + 2 * atoms + 4 * len(cells.products) + 2 * len(cells.spread_cell)
