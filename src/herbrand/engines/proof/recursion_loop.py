"""Runs a linear recursion: translates its rounds to numbers, allocates memory, and collects the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.engines.proof import recursion_kernels as rounds
from herbrand.engines.proof.recursion import FRONTIER, AddedSlot, LinearRecursion, RelationKey, Round
from herbrand.engines.proof.steps import Runner, outputs_named
from herbrand.engines.proof.table import Table
from herbrand.loops import most_at_once, often, spend
from herbrand.row_keys import run_starts

MOST_RELATIONS = 4
"""Number of relations that the loop is compiled for; a tuple of each length would be compiled anew."""
CHUNK = 2**20
"""Most answers in one array, unless a block may have more."""
BLOCK = 64
"""Most questions in a block that shares its walk where frontiers are full."""
LARGEST_BLOCK = 2**22
"""Most amounts of a block in one slot."""
DENSE_SHARE = 0.08
"""Share of all facts that a question visits in each call, on average, above which frontiers are full."""
SLOT_BYTES = 16
"""Bytes of a constant in a slot, for each question."""


@dataclass(frozen=True, eq=False)
class Iterated:
    """The answers as ``table`` with columns (row, answer).

    ``left``: the frontier (row, constant) at which the first question that needs more calls was cut, or None.
    """

    table: Table
    left: Table | None


def fits(recursion: LinearRecursion, runner: Runner) -> bool:
    """Whether the loop is compiled for as many relations, and the memory for one question is allowed."""
    if not 0 < len(recursion.relations) <= MOST_RELATIONS:
        return False
    return _slots(recursion) * _width(recursion, runner) * SLOT_BYTES <= runner.budget.bytes


def iterate(recursion: LinearRecursion, runner: Runner, frontier: Table, calls: int) -> Iterated:
    """Compute all answers of a frontier (row, input) within ``calls``.

    Raises ``BudgetError`` where answers or slots do not fit, or time is over.
    """
    return _Iteration(recursion, runner, frontier, calls).run()


class _Iteration:
    """One run of a recursion over all questions.

    The first question of each block is run alone: the facts it visits decide whether the others share a walk.
    """

    def __init__(self, recursion: LinearRecursion, runner: Runner, frontier: Table, calls: int) -> None:
        self._runner, self._frontier, self._calls = runner, frontier, calls
        relations = [runner.program.relation(name) for name, _ in recursion.relations]
        self._width = _width(recursion, runner)
        self._facts = sum(relation.count for relation in relations)
        rows, pivots = (np.ascontiguousarray(column, np.int64) for column in frontier.columns)
        self._starts = run_starts(rows)
        starts = np.append(self._starts, len(rows))
        self._questions = rounds.Questions(starts, pivots, np.ascontiguousarray(frontier.values))
        self._slots = _slots(recursion)
        self._moves = _all_moves(recursion, runner, self._slots - 1)
        self._relations = _relations(recursion, runner)
        self._counts = np.zeros(len(self._starts), np.int64)
        self._rest = np.empty(self._width, np.int32)
        self._state = np.array([0, rounds.TO_ASK, 0, -1, 0, 0])
        self._rooms: dict[int, rounds.Slots] = {}
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._written = 0

    def run(self) -> Iterated:
        """Answer all questions."""
        number, block = len(self._starts), self._block()
        self._new_part(1)
        while self._state[rounds.QUESTION] < number:
            first = int(self._state[rounds.QUESTION])
            self._state[rounds.WALKED] = 0
            self._answer(first + 1, 1)
            share = self._state[rounds.WALKED] / (self._calls * max(1, self._facts))
            wide = block if share > DENSE_SHARE else 1
            self._answer(min(first + 1 + block, number), wide)
        reached, totals = zip(*self._parts, strict=True)
        filled = int(self._state[rounds.FILLED])
        reached, totals = (*reached[:-1], reached[-1][:filled]), (*totals[:-1], totals[-1][:filled])
        rows = np.repeat(self._frontier.columns[0][self._starts], self._counts)
        table = Table(outputs_named(1), (rows, _joined(reached)), _joined(totals))
        return Iterated(table, self._left())

    def _block(self) -> int:
        """Most questions in a block, by memory too."""
        allowed = self._runner.budget.bytes // (self._slots * self._width * SLOT_BYTES)
        return max(1, min(BLOCK, LARGEST_BLOCK // self._width, allowed))

    @np.errstate(over="ignore", invalid="ignore")  # overflow is reported when answers are read
    def _answer(self, until: int, block: int) -> None:
        """Answer the questions before ``until``, in blocks of ``block``."""
        if block not in self._rooms:
            self._rooms[block] = _room(self._slots, self._width, block)
        best = self._runner.arithmetic.best
        while self._state[rounds.QUESTION] < until:
            self._runner.budget.check()
            reached, totals = self._parts[-1]
            run = often(rounds.run, 0)
            answers = rounds.Answers(reached, totals, self._counts, self._rest)
            before = self._state[rounds.WALKED]
            run(
                self._questions,
                self._moves,
                self._relations,
                best,
                until,
                self._calls,
                most_at_once(run),
                self._rooms[block],
                answers,
                self._state,
            )
            spend(rounds.run, block * float(self._state[rounds.WALKED] - before))
            filled = int(self._state[rounds.FILLED])
            self._runner.check_size(self._written + filled, 2)
            if filled + block * self._width > len(reached):
                self._parts[-1] = reached[:filled], totals[:filled]
                self._written += filled
                self._new_part(block)

    def _new_part(self, block: int) -> None:
        """Allocate arrays for the answers of further questions."""
        capacity = max(block * self._width, min(CHUNK, len(self._starts) * self._width))
        self._parts.append((np.empty(capacity, np.int64), np.empty(capacity)))
        self._state[rounds.FILLED] = 0

    def _left(self) -> Table | None:
        if self._state[rounds.CUT] < 0:
            return None
        constants = self._rest[: self._state[rounds.REST]].astype(np.int64)
        rows = np.full(len(constants), self._frontier.columns[0][self._starts[self._state[rounds.CUT]]])
        return Table(self._frontier.names, (rows, constants), np.ones(len(constants)))


def _width(recursion: LinearRecursion, runner: Runner) -> int:
    """Upper bound of the number of constants of each type in the recursion."""
    sizes = [size for name, _ in recursion.relations for size in runner.program.relation(name).sizes]
    return max(1, *sizes)


def _slots(recursion: LinearRecursion) -> int:
    """Number of slots: those of a round, one more for a next frontier, and one for the answers."""
    return max(one.slots for one in recursion.rounds) + 2


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _room(slots: int, width: int, block: int) -> rounds.Slots:
    """Allocate empty slots."""
    shape = (slots, width)
    return rounds.Slots(
        amounts=np.zeros((*shape, block)),
        inside=np.zeros(shape, np.bool_),
        members=np.empty(shape, np.int32),
        counts=np.zeros(slots, np.int64),
        places=np.arange(slots),
    )


# Names become numbers


def _all_moves(recursion: LinearRecursion, runner: Runner, answers: int) -> rounds.Moves:
    """The moves of the first round, then those of each call; ``answers``: the last slot."""
    relations = {key: place for place, key in enumerate(recursion.relations)}
    first = ([], [], 0) if recursion.first is None else _moves(recursion.first, relations, runner, answers)
    call = _moves(recursion.call, relations, runner, answers)
    moves = np.array([*first[0], *call[0]], np.int64).reshape(-1, 3)
    factors = np.array([*first[1], *call[1]], np.float64)
    return rounds.Moves(moves, factors, len(first[0]), np.array([first[2], call[2]]))


def _moves(
    one: Round, relations: dict[RelationKey, int], runner: Runner, answers: int
) -> tuple[list[tuple[int, int, int]], list[float], int]:
    """A round's moves with their factors, and the slot of the next frontier.

    If a single slot goes onward with factor 1, it becomes the next frontier without a copy.
    """
    alone = one.onward[0].slot if len(one.onward) == 1 and _factor(one.onward[0], runner) == 1.0 else FRONTIER
    onward = one.slots if alone == FRONTIER else alone
    parts = [(part, answers) for part in one.answers]
    parts += [] if alone == onward else [(part, onward) for part in one.onward]
    links = [(link.source, relations[link.relation], link.target) for link in one.links]
    added = [(part.slot, rounds.AS_IT_IS, target) for part, target in parts]
    return [*links, *added], [*[1.0] * len(links), *(_factor(part, runner) for part, _ in parts)], onward


def _factor(part: AddedSlot, runner: Runner) -> float:
    weight = None if part.clause is None else runner.rule_weight(part.clause)
    return 1.0 if weight is None else weight


def _relations(recursion: LinearRecursion, runner: Runner) -> rounds.Relations:
    """The relations as arrays, filled up with empty ones to the number that the loop is compiled for."""
    none = np.empty(0)
    pointers, columns, weights = [], [], []
    for predicate, bound in recursion.relations:
        index = runner.program.relation(predicate).index((bound,))
        ordered = runner.arithmetic.ordered(index, runner.known_weights(predicate))
        pointers.append(index.pointers)
        columns.append(_read_only(index.column(len(index.relation.columns) - 1 - bound), np.int32))
        weights.append(_read_only(none if ordered is None else ordered, np.float64))
    more = MOST_RELATIONS - len(pointers)
    return rounds.Relations(
        (*pointers, *[np.zeros(1, np.int64)] * more),
        (*columns, *[_read_only(none, np.int32)] * more),
        (*weights, *[_read_only(none, np.float64)] * more),
    )


def _read_only(numbers: np.ndarray, kind: type) -> np.ndarray:
    """A read-only view of one type: numba compiles anew for arrays that differ in being writable."""
    view = numbers.astype(kind, copy=False).view()
    view.flags.writeable = False
    return view
