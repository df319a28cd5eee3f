"""The factors of a network, each of the cheapest kind that is tight for its shape.

- one atom: its sentences are an interval, taken once (:func:`intervals_of`);
- two atoms: :class:`Pairs`, half-planes or curves in a rectangle;
- a conditional table of a child with two parents, linked or independent: :class:`Tables`, closed forms;
- a conditional table with more parents, and any other scope of up to ``WIDEST`` atoms: :class:`Programs`;
- wider scopes: :class:`Wide`, a relaxation that takes one sentence and one atom at a time.

Each kind can ``sweep``: tighten the intervals of its atoms, and return the factor that finds a contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.ariel.independence import (
    Independences,
    Separations,
    cells_of,
)
from herbrand.engines.credal.ariel.scopes import Scope
from herbrand.engines.credal.ariel.simplex import Cells, Trial, Workspace, tried, workspace
from herbrand.engines.credal.ariel.sweeps import (
    Beliefs,
    Factors,
    event_intervals,
    forms_needed,
    pair_operations,
    sweep_pairs,
    sweep_programs,
    sweep_tables,
)
from herbrand.engines.credal.ariel.wide import Wide
from herbrand.engines.credal.markov import Separation
from herbrand.engines.credal.network import TableRow
from herbrand.engines.credal.rounding import UNIT, opposites
from herbrand.loops import often, plain_left

WIDEST = 12
"""Most atoms of a scope whose cases are enumerated."""
TABLE_OPERATIONS = 300
"""Operations of the closed forms of a table with two parents."""
PROGRAMS_AT_ONCE = 256
"""Programs between two checks of the clock."""
MOST_NODES = {8: 400, 32: 200, 256: 50, 4096: 10}
"""Most nodes of a search, by the largest number of states."""
SECONDS_A_SEARCH = 0.5
"""About the most seconds of the search for both ends of a query; its answer is the bound proved by then."""


@dataclass(frozen=True, eq=False)
class Pairs(Factors):
    """Factors over two atoms; ``unlinked`` [factors] is whether the two atoms are independent."""

    unlinked: np.ndarray

    @cached_property
    def _forms(self) -> tuple[np.ndarray, np.ndarray]:
        return self.scope.forms()

    def sweep(self, beliefs: Beliefs, budget: Budget) -> int:
        forms, start = self._forms
        swept = often(sweep_pairs, pair_operations(np.diff(start)))
        return swept(self.atoms, start, forms, self.unlinked, self.visited, beliefs)


@dataclass(frozen=True, eq=False)
class Tables(Factors):
    """Conditional tables with two parents; ``atoms`` has child, first and second parent of each factor.

    ``low``, ``high`` [factors, 4] are the ends of the table's rows; ``unlinked`` [factors] is whether the
    parents are independent.
    """

    low: np.ndarray
    high: np.ndarray
    unlinked: np.ndarray

    def sweep(self, beliefs: Beliefs, budget: Budget) -> int:
        swept = often(sweep_tables, TABLE_OPERATIONS * len(self.atoms))
        return swept(self.atoms, self.low, self.high, self.unlinked, self.visited, beliefs)


@dataclass(frozen=True, eq=False)
class Programs(Factors):
    """Factors of any other shape that share their independences, as linear programs over states.

    ``lows``, ``highs`` [factors or 1, k, states] bound each atom's probability in each state; ``forms`` of
    factor f, non-negative on its distributions, are ``forms[start[f]:start[f + 1]]``.
    """

    start: np.ndarray
    forms: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    cells: Cells

    @cached_property
    def _marginals(self) -> np.ndarray:
        """[factors, ends, k, 2] Ends of each atom at the best point of each end's search; NaN at first."""
        count, k = self.atoms.shape
        return np.full((count, 2 * k, k, 2), np.nan)

    @property
    def states(self) -> int:
        return self.lows.shape[2]

    def sweep(self, beliefs: Beliefs, budget: Budget) -> int:
        own = int(np.diff(self.start).max(initial=0))
        forms = forms_needed(own, self.atoms.shape[1], self.cells)
        room = workspace(forms, self.states, budget.seconds_left)
        working = np.empty((forms, self.states))
        last = 0
        while last < len(self.atoms):
            at_once = 1 if plain_left(sweep_programs) >= 0 else PROGRAMS_AT_ONCE
            first, last = last, min(last + at_once, len(self.atoms))
            failed = tried(sweep_programs, room, self._sweep_of(first, last, beliefs, working))
            if failed >= 0 or budget.ended:
                return failed
        return -1

    def _sweep_of(self, first: int, last: int, beliefs: Beliefs, working: np.ndarray) -> Trial:
        """A function that sweeps the factors from ``first`` to ``last``."""

        def run(swept: Callable[..., int], room: Workspace, again: bool) -> int:
            return swept(
                self.atoms,
                self.start,
                self.forms,
                self.lows,
                self.highs,
                self.cells,
                self._marginals,
                nodes_for(self.states),
                self.visited,
                beliefs,
                room,
                working,
                first,
                last,
                again,
            )

        return run


def intervals_at_once(
    forms: np.ndarray,
    start: np.ndarray,
    truths: np.ndarray,
    event: np.ndarray,
    given: np.ndarray,
    weight: float,
    cells: Cells,
    box: np.ndarray,
    budget: Budget = UNLIMITED,
) -> tuple[np.ndarray, int]:
    """The interval of P(event | given) in each of many factors with atoms in ``box`` [factors, k, 2].

    Also returns the factor that has no distribution, or -1. ``event`` implies ``given``, whose probability is
    at least ``weight``. Raises OutOfTimeError where the budget's time ends first.
    """
    states = truths.shape[1]
    most = forms_needed(int(np.diff(start).max(initial=0)), len(truths), cells)
    seconds, enough = budget.seconds_left, SECONDS_A_SEARCH * len(box)
    room, working = workspace(most, states, min(seconds, enough)), np.empty((most, states))
    ends, nodes = np.empty((len(box), 2)), nodes_for(states)

    def run(intervals: Callable[..., int], room: Workspace, again: bool) -> int:
        return intervals(
            forms, start, truths, event, given, weight, cells, box, nodes, room, working, ends, again
        )

    failed = tried(event_intervals, room, run)
    if room.left[0] < 0 and seconds < enough:
        raise budget.out_of_time()
    return ends, failed


def nodes_for(states: int) -> int:
    """Most nodes of a search over so many states."""
    return next(nodes for most, nodes in MOST_NODES.items() if states <= most)


def intervals_of(scope: Scope, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The intervals that sentences about single atoms give to all ``count`` atoms; ends may cross."""
    lower, upper = np.zeros(count), np.ones(count)
    forms, start = scope.forms()
    atoms = np.repeat(scope.atoms[:, 0], np.diff(start))
    slope = forms[:, 1] - forms[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = -forms[:, 0] / slope
    root = np.where(slope == 0, np.where(forms[:, 0] < 0, 2.0, -1.0), root)
    rising = slope >= 0
    outward = np.where((forms != 0).all(axis=1), 4 * UNIT, 0.0)  # a form with a 0 has its root at 0 or 1
    root *= np.where(rising, 1 - outward, 1 + outward)
    np.maximum.at(lower, atoms[rising], np.clip(root[rising], 0, 2))
    np.minimum.at(upper, atoms[~rising], np.clip(root[~rising], -1, 1))
    return lower, upper


def factors_of(scopes: tuple[Scope, ...], links: Independences | None) -> Iterator[Factors]:
    """The factors over two atoms or more; ``links`` is ``None`` without independences."""
    for scope in scopes:
        if scope.arity < 2:
            continue
        if scope.arity > WIDEST:
            yield Wide(scope, scope.atoms)
        elif scope.arity == 2:
            yield Pairs(scope, scope.atoms, _independent_pairs(scope, links))
        else:
            yield from _by_separations(scope, links)


def _independent_pairs(scope: Scope, links: Independences | None) -> np.ndarray:
    unlinked = np.zeros(len(scope), bool)
    if links is not None:
        for factors, separations in links.separations(scope.atoms):
            unlinked[factors] = bool(separations)
    return unlinked


def _by_separations(scope: Scope, links: Independences | None) -> Iterator[Factors]:
    groups = [(np.arange(len(scope)), ())] if links is None else links.separations(scope.atoms)
    children = children_of(scope)
    closed: list[tuple[np.ndarray, np.ndarray]] = []
    for factors, separations in groups:
        for child in np.unique(children[factors]).tolist():
            chosen = factors[children[factors] == child]
            among = among_parents(separations, child, scope.arity)
            if child < 0 or among is None:
                yield _generic(scope.part(chosen), separations)
            elif scope.arity == 3:
                closed.append((chosen, np.full(len(chosen), bool(among))))
            else:
                yield _conditional(scope.part(chosen), child, among)
    if closed:
        unlinked = np.zeros(len(scope), bool)
        tabled = np.zeros(len(scope), bool)
        for chosen, independent in closed:
            tabled[chosen], unlinked[chosen] = True, independent
        part = scope.part(tabled)
        atoms = _child_first(part.atoms, children[tabled])
        yield Tables(part, atoms, *_columns_of_tables(part), unlinked[tabled])


def among_parents(separations: Separations, child: int, k: int) -> Separations | None:
    """The separations over the columns of the parents; ``None`` where one involves the child."""
    place = {column: i for i, column in enumerate(c for c in range(k) if c != child)}
    placed = []
    for atom, given, others in separations:
        if child in (atom, *given, *others):
            return None
        placed.append(
            Separation(place[atom], tuple(place[c] for c in given), tuple(place[c] for c in others))
        )
    return tuple(placed)


def children_of(scope: Scope) -> np.ndarray:
    """For each factor the column of its child if all its sentences are rows of one table, else -1."""
    of_pattern = np.array([-1 if row is None else row.child for row in scope.table_rows])
    of_sentence = of_pattern[scope.pattern]
    first = np.minimum.reduceat(of_sentence, scope.start[:-1])
    last = np.maximum.reduceat(of_sentence, scope.start[:-1])
    return np.where(first == last, first, -1)


def _columns_of_tables(scope: Scope) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends of the rows of each factor's table, [factors, 2^(k - 1)]."""
    none = TableRow(0, (0,) * (scope.arity - 1), True)  # for patterns of other factors
    rows = [row or none for row in scope.table_rows]
    case = np.array([row.truths for row in rows])[scope.pattern] @ (1 << np.arange(scope.arity - 1)[::-1])
    holds = np.array([row.positive for row in rows])[scope.pattern]
    lower, upper = (np.where(holds, *ends) for ends in zip(scope.ends, opposites(*scope.ends), strict=True))
    states = 2 ** (scope.arity - 1)
    low, high = np.zeros((len(scope), states)), np.ones((len(scope), states))
    np.maximum.at(low, (scope.factor, case), lower)
    np.minimum.at(high, (scope.factor, case), upper)
    return low, high


def _child_first(atoms: np.ndarray, children: np.ndarray) -> np.ndarray:
    """The atoms of each factor, its child first."""
    order = np.argsort(np.arange(atoms.shape[1]) != children[:, None], axis=1, kind="stable")
    return np.take_along_axis(atoms, order, axis=1)


def _generic(scope: Scope, separations: Separations) -> Programs:
    forms, start = scope.forms()
    truths = truths_of(scope.arity)[None]
    return Programs(scope, scope.atoms, start, forms, truths, truths, cells_of(scope.arity, separations))


def truths_of(columns: int) -> np.ndarray:
    """[columns, states] 1 where the column's atom is true, else 0."""
    cases = np.arange(2**columns)
    return np.array([(cases >> (columns - 1 - c)) & 1 for c in range(columns)], float)


def _conditional(scope: Scope, child: int, among: Separations) -> Programs:
    """Tables with more than two parents as programs over the parents' cases."""
    low, high = _columns_of_tables(scope)
    parents = np.broadcast_to(truths_of(scope.arity - 1), (len(scope), scope.arity - 1, low.shape[1]))
    lows = np.ascontiguousarray(np.concatenate([low[:, None], parents], axis=1))
    highs = np.ascontiguousarray(np.concatenate([high[:, None], parents], axis=1))
    atoms = _child_first(scope.atoms, np.full(len(scope), child))
    start = np.zeros(len(scope) + 1, np.int64)
    forms = np.empty((0, low.shape[1]))
    return Programs(scope, atoms, start, forms, lows, highs, _shifted(cells_of(scope.arity - 1, among)))


def _shifted(cells: Cells) -> Cells:
    """The cells over parents renumbered for columns where the child comes first."""
    return cells._replace(atom=np.where(cells.atom >= 0, cells.atom + 1, -1))
