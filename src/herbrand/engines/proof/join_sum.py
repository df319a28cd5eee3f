"""Joins that sum out their join variable without materialising the joined rows.

The state's other live columns define groups; each group's constants are pushed through compressed rows at
once: ``groups`` are pointers into ``pivots``, the constants that are pushed, and ``values``, their weights.
Each push has a backward pass, for gradients. The last results are cached, because the clauses of a predicate
often begin with the same joins.

>>> workspace = Workspace()
>>> of_four = workspace.of(4)
>>> of_four.marks.tolist(), of_four.base.tolist(), workspace.of(4) is of_four
([-1, -1, -1, -1], [0], True)
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from herbrand.engines.proof import kernels
from herbrand.engines.proof.arithmetic import Arithmetic, Values
from herbrand.engines.proof.horn_program import Index, IndexedFacts
from herbrand.engines.proof.kernels import JoinedRows, Marks, Mask, Taken
from herbrand.engines.proof.plan import Ask, Join
from herbrand.engines.proof.table import ROW, Answers, Grid, State, Table
from herbrand.loops import most_at_once, often
from herbrand.row_keys import ascend, row_keys, run_starts, stable_order

CHUNK = 2**20
"""Least number of result entries allocated for one chunk of a push that may have as many."""
REMEMBERED = 4
"""Number of cached results. Their states are kept alive, so that no other object gets their identity."""
NO_WEIGHTS = np.empty(0)


class Workspace(threading.local):
    """Working memory of the kernels, reused for all questions of one thread.

    All marks are below the base, which only kernels move. So an interrupt between two steps leaves no mark
    that a later kernel could mistake for its own.
    """

    def __init__(self) -> None:
        self._spaces: dict[int, Marks] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """Pickle without arrays: a copy allocates its own."""
        return Workspace, ()

    def of(self, width: int) -> Marks:
        """The marks for this many constants."""
        if width not in self._spaces:
            self._spaces[width] = Marks.none(width)
        return self._spaces[width]


@dataclass(frozen=True, eq=False)
class Push:
    """One push and its backward pass; ``width``: the number of constants it may lead to."""

    taken: Taken
    width: int
    workspace: Workspace

    @np.errstate(over="ignore", invalid="ignore")  # overflow is reported when answers are read
    def forward(
        self, best: bool, check_size: Callable[[float, int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of entries of each group, the entries' constants, and their totals, computed in chunks.

        ``check_size`` raises where they exceed the budget.
        """
        marks, number = self.workspace.of(self.width), len(self.taken.groups) - 1
        counts, bound = np.zeros(number, np.int64), _steps(self.taken)
        capacity = max(1, min(bound, max(CHUNK, self.width)))
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        push = often(kernels.push, bound + len(self.taken.pivots))
        group, total = 0, 0
        while group < number:
            output = JoinedRows(counts, np.empty(capacity, np.int64), np.empty(capacity))
            group, filled = push(self.taken, marks, best, group, most_at_once(push), output)
            parts.append(_first(filled, output))
            total += filled
            check_size(total, 4)
        if not parts:
            return counts, np.empty(0, np.int64), np.empty(0)
        if len(parts) == 1:
            return counts, *parts[0]
        return counts, np.concatenate([f for f, _ in parts]), np.concatenate([t for _, t in parts])

    def back(
        self, counts: np.ndarray, columns: np.ndarray, slope: np.ndarray, needed: Sequence[bool]
    ) -> tuple[np.ndarray | None, ...]:
        return MaskedPush(self.taken, kernels.NO_MASK, self.width, self.workspace).back(
            counts, columns, slope, (*needed, False)
        )[:2]


@dataclass(frozen=True, eq=False)
class MaskedPush:
    """A push whose results are restricted to the rows of a second relation, and its backward pass."""

    taken: Taken
    mask: Mask
    width: int
    workspace: Workspace

    @np.errstate(over="ignore", invalid="ignore")  # overflow is reported when answers are read
    def forward(
        self, best: bool, check_size: Callable[[float, int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of entries of each group, the entries' constants, and their totals."""
        marks, most = self.workspace.of(self.width), int(self.mask.length.sum())
        check_size(most, 4)
        output = JoinedRows(
            np.zeros(len(self.mask.first), np.int64), np.empty(most, np.int64), np.empty(most)
        )
        push = often(kernels.push_where, _steps(self.taken) + 2 * most)
        group, filled = 0, 0
        while group < len(output.counts):
            group, filled = push(
                self.taken, self.mask, marks, best, group, filled, most_at_once(push), output
            )
            check_size(filled, 4)
        return output.counts, output.found[:filled], output.totals[:filled]

    def back(
        self, counts: np.ndarray, columns: np.ndarray, slope: np.ndarray, needed: Sequence[bool]
    ) -> tuple[np.ndarray | None, ...]:
        of_values = np.zeros(len(self.taken.values))
        of_weights = np.zeros(len(self.taken.weights)) if needed[1] else kernels.NONE
        of_allowed = np.zeros(len(self.mask.weights)) if needed[2] else kernels.NONE
        ends, (sums, slopes) = np.append(0, np.cumsum(counts)), np.zeros((2, self.width))
        steps = 4 * _steps(self.taken) + 3 * len(columns) + 2 * int(self.mask.length.sum())
        often(kernels.push_back, steps)(
            self.taken, self.mask, ends, columns, slope, sums, slopes, of_values, of_weights, of_allowed
        )
        return of_values, of_weights if needed[1] else None, of_allowed if needed[2] else None


def _first(filled: int, output: JoinedRows) -> tuple[np.ndarray, np.ndarray]:
    """The filled entries and their totals; copied if they fill less than half, to free the memory."""
    columns, totals = output.found[:filled], output.totals[:filled]
    return (columns, totals) if 2 * filled >= len(output.found) else (columns.copy(), totals.copy())


def _steps(taken: Taken) -> int:
    """Number of facts that a push visits."""
    return int((taken.pointers[taken.pivots + 1] - taken.pointers[taken.pivots]).sum())


def pull_back(
    pointers: np.ndarray,
    sources: np.ndarray,
    weights: np.ndarray,
    state: np.ndarray,
    active: np.ndarray | None,
    slope: np.ndarray,
    needed: Sequence[bool],
) -> tuple[np.ndarray | None, ...]:
    reached = np.any(state, axis=1) if active is None else active
    of_state = np.zeros(state.shape) if needed[0] else kernels.NO_MATRIX
    of_weights = np.zeros(len(weights)) if needed[1] else kernels.NONE
    pulled_back = often(kernels.pull_back, 2 * len(sources) * state.shape[1])
    pulled_back(pointers, sources, weights, state, reached, slope, of_state, of_weights)
    return of_state if needed[0] else None, of_weights if needed[1] else None


class JoinSums:
    """The pushes of one run, with a cache of the last results."""

    def __init__(
        self, arithmetic: Arithmetic, check_size: Callable[[float, int], None], workspace: Workspace
    ) -> None:
        self._arithmetic, self._check_size, self._workspace = arithmetic, check_size, workspace
        self._recent: deque[tuple[object, State, State]] = deque(maxlen=REMEMBERED)

    def pushed(self, step: Join, index: Index, weights: Values | None, state: State) -> State | None:
        """The state after a join step, or ``None`` where no push or pull computes this step."""
        if not self._arithmetic.compiled or not index.is_unary or len(step.arguments) > 2:
            return None
        key = (step.signature(state.names), state.identity)
        for known, _, joined in self._recent:
            if known == key:
                return joined.named((ROW, *step.live))
        joined = self._made(step, index, weights, state)
        if joined is not None:
            self._recent.append((key, state, joined))
        return joined

    def _made(self, step: Join, index: Index, weights: Values | None, state: State) -> State | None:
        pivot = step.arguments[step.bound[0]]
        free = [name for place, name in enumerate(step.arguments) if place not in step.bound]
        if isinstance(state, Grid):
            return self._from_grid(step, index, weights, state, pivot, free)
        if free == [] or free[0] == pivot:
            return None
        if pivot in step.live or free[0] not in step.live:
            return None
        return self._from_table(step, index, weights, state, pivot, free[0])

    # Sparse

    def _from_table(
        self, step: Join, index: Index, weights: Values | None, state: Table, pivot: str, new: str
    ) -> Table:
        groups, place = _Groups.of(state, step.live, new, self._arithmetic), 1 - step.bound[0]
        weights, width = self._arithmetic.ordered(index, weights), index.relation.sizes[place]
        joined = self._push(groups, groups.column(pivot), index.pointers, index.column(place), weights, width)
        return joined.arranged((ROW, *step.live))

    def pushed_answers(self, step: Ask, answers: Answers, width: int, table: Table) -> Table | None:
        """The rows joined with answers, if the step has one output and no input is needed afterwards.

        ``None`` for other steps. ``width``: the number of constants of the output.
        """
        if not self._arithmetic.compiled or len(step.found) != 1 or step.found[0] not in step.live:
            return None
        if set(step.inputs) & set(step.live):
            return None
        groups = _Groups.of(table, step.live, step.found[0], self._arithmetic)
        pivots = answers.questions.places([groups.column(name) for name in step.inputs], len(groups.table))
        joined = self._push(
            groups, pivots, answers.pointers, answers.only_column, answers.table.values, width
        )
        return joined.arranged((ROW, *step.live))

    def pushed_where(
        self, step: Join, index: Index, weights: Values | None, mask: Join, masks: IndexedFacts,
        mask_weights: Values | None, state: State,
    ) -> Table | None:  # fmt: skip
        """Two joins as one push, restricted to rows of a second relation that close a cycle.

        Such a row links a column of the group with the constant that the push reached. ``None`` where the
        steps do not have this shape.
        """
        shape = self._mask_shape(step, index, mask, state)
        if shape is None:
            return None
        pivot, new, known = shape
        groups, place = _Groups.of(state.sparse(), step.live, new, self._arithmetic), 1 - step.bound[0]
        allowed = masks.index((mask.arguments.index(known),))
        first, length = allowed.ranges([groups.key(known)], len(groups.pointers) - 1)
        weights, mask_weights = (
            self._arithmetic.ordered(one, own) for one, own in ((index, weights), (allowed, mask_weights))
        )
        taken = self._taken(groups, groups.column(pivot), index.pointers, index.column(place), weights)
        masked = Mask(first, length, allowed.column(mask.arguments.index(new)), self._numbers(mask_weights))
        call = MaskedPush(taken, masked, index.relation.sizes[place], self._workspace)
        return self._summed(call, groups, weights, mask_weights)

    def _mask_shape(self, step: Join, index: Index, mask: Join, state: State) -> tuple[str, str, str] | None:
        """The pushed variable, the new one, and the group's column that the mask links with the new one.

        ``None`` where the steps do not have this shape.
        """
        if not self._arithmetic.dense or not index.is_unary or len(step.arguments) != 2:
            return None
        pivot, new = step.arguments[step.bound[0]], step.arguments[1 - step.bound[0]]
        if len(mask.bound) != 2 or len(mask.arguments) != 2 or new not in mask.arguments or new == pivot:
            return None
        known = mask.arguments[1 - mask.arguments.index(new)]
        if known in (new, pivot) or pivot in step.live or known not in state.names:
            return None
        return pivot, new, known

    def _push(
        self,
        groups: _Groups,
        pivots: np.ndarray,
        pointers: np.ndarray,
        columns: np.ndarray,
        weights: Values | None,
        width: int,
    ) -> Table:
        taken = self._taken(groups, pivots, pointers, columns, weights)
        return self._summed(Push(taken, width, self._workspace), groups, weights)

    def _taken(
        self, groups: _Groups, pivots: np.ndarray, pointers: np.ndarray, columns: np.ndarray, weights: Values
    ) -> Taken:
        values = self._arithmetic.numbers(groups.table.values)
        return Taken(groups.pointers, pivots, values, pointers, columns, self._numbers(weights))

    def _summed(self, call: Push | MaskedPush, groups: _Groups, *weights: Values | None) -> Table:
        """The table of each group with the constants it reaches, and their sums."""
        counts, reached, totals = call.forward(self._arithmetic.best, self._check_size)
        way_back = partial(call.back, counts, reached)
        columns = (np.repeat(column, counts) for column in groups.keys)
        values = self._arithmetic.made(totals, way_back, groups.table.values, *weights)
        return Table((*groups.kept, groups.new), (*columns, reached), values)

    def _numbers(self, weights: Values | None) -> np.ndarray:
        """Weights as the kernels take them: an empty array if all are 1."""
        return NO_WEIGHTS if weights is None else self._arithmetic.numbers(weights)

    # Dense

    def _from_grid(
        self, step: Join, index: Index, weights: Values | None, state: Grid, pivot: str, free: list[str]
    ) -> State | None:
        if step.live == (pivot,) and free != [pivot]:
            return state.scaled(self._totals(index, weights), self._arithmetic)
        if not free or free[0] == pivot or step.live != (free[0],):
            return None
        return self._pulled(step, index, weights, state)

    @np.errstate(over="ignore", invalid="ignore")  # overflow is reported when answers are read
    def _pulled(self, step: Join, index: Index, weights: Values | None, state: Grid) -> Grid:
        place = step.bound[0]
        other = index.relation.index((1 - place,))
        ordered = self._arithmetic.ordered(other, weights)
        numbers = state.numbers
        pulled = (other.pointers, other.column(place), self._numbers(ordered))
        size, best = index.relation.sizes[1 - place], self._arithmetic.best
        touched = None
        output = np.empty((size, state.rows))
        if state.rows == 1:
            filled = often(kernels.pull_one, len(pulled[1]))(*pulled, numbers.ravel(), best, output.ravel())
        else:
            touched = np.zeros(size, bool)
            filled = often(kernels.pull, len(pulled[1]) * state.rows)(
                *pulled, numbers, state.active, best, output, touched
            )
        way_back = partial(pull_back, *pulled, numbers, state.active if touched is not None else None)
        values = self._arithmetic.made(output, way_back, state.matrix, ordered)
        return Grid((ROW, step.arguments[1 - place]), values, bool(filled), touched)

    def _totals(self, index: Index, weights: Values | None) -> Values:
        """[constants, 1] ⊕ of the weights of each constant's rows."""
        ordered = self._arithmetic.ordered(index, weights)
        entries = self._arithmetic.ones(index.relation.count) if ordered is None else ordered
        counts = np.diff(index.pointers)
        linked = np.flatnonzero(counts)
        totals = self._arithmetic.group(
            entries, np.repeat(np.arange(len(linked)), counts[linked]), len(linked)
        )
        return self._arithmetic.spread(totals, (linked, np.zeros_like(linked)), (len(counts), 1))


@dataclass(frozen=True, eq=False)
class _Groups:
    """A table's rows grouped by the columns that a push to a ``new`` variable keeps.

    ``keys`` has the kept columns' values of each group; ``pointers`` delimit the groups' rows in ``table``.
    """

    kept: tuple[str, ...]
    new: str
    keys: tuple[np.ndarray, ...]
    pointers: np.ndarray
    table: Table

    def column(self, name: str) -> np.ndarray:
        return self.table.column(name)

    def key(self, name: str) -> np.ndarray:
        """The value of each group in a kept column."""
        return self.keys[self.kept.index(name)]

    @classmethod
    def of(cls, table: Table, live: Sequence[str], new: str, arithmetic: Arithmetic) -> _Groups:
        kept = tuple(name for name in (ROW, *live) if name != new)
        columns = [table.column(name) for name in kept]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        keys = row_keys(columns, sizes)
        if not ascend(keys):
            order = stable_order(keys, math.prod(sizes))
            table, keys = table.take(order, arithmetic), keys[order]
        starts = run_starts(keys)
        firsts = tuple(table.column(name)[starts] for name in kept)
        return cls(kept, new, firsts, np.append(starts, len(table)), table)
