"""Compile constraints into a circuit: the order of decisions, the search, and the growth of its memory.

>>> from herbrand.engines.circuit.constraints import Constraints
>>> net = Constraints()
>>> a, b = net.variable(), net.variable()
>>> net.require([2 * a, 2 * b])
>>> circuit = compiled(net, UNLIMITED)
>>> round(float(np.exp(circuit.total(np.log([[0.5, 0.5], [0.5, 0.5]])))), 2)
0.75
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from herbrand import loops
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.constraints import Constraints
from herbrand.engines.circuit.diagrams import Beside, Subject
from herbrand.engines.circuit.key_table import larger, table
from herbrand.engines.circuit.search import (
    CACHED,
    DEPTH,
    DONE,
    FULL,
    GROW,
    HIGH,
    KIDS,
    LOW,
    NODES,
    NORMAL,
    PARTS,
    PAUSE,
    POOL,
    ROOT,
    SILENT,
    STORE,
    TRAIL_BASE,
    WORK,
    Problem,
    SearchState,
    begin,
    search,
)
from herbrand.errors import BudgetError

PLAIN_WORK = 200_000
"""Work up to which the search runs as plain Python, about a second: compiling it takes twenty, once a
machine, and loading the compiled loop more than half of one."""
LOOKS = 50
"""Times that a search looks at each literal of its problem, at the least: fifty in a chain of 20 steps, and
hundreds where problems are larger."""
WORK_AT_ONCE = 2_000_000
"""Work between two looks at the clock: some hundredths of a second."""
CIRCUITS_FROM = 250_000
"""Work of the search after which diagrams are made beside it; late, as circuits of diagrams are longer."""
WIDE = 4
"""A constraint over more variables than this links them through one vertex for the constraint, as deciding
its gate cuts it."""
THIN = 2
"""Degrees up to this count as equal: chains are then halved again and again, and not cut off link by link."""
DENSE = 30
"""Degree above which elimination by degree ends, since degrees say nothing more; the remaining variables keep
the order of the program."""
LEAST_DENSE, CORE = 10, 5
"""Where no gates are left it ends earlier: from degree ``LEAST_DENSE`` on, if more than one in ``CORE`` of
the remaining vertices is a neighbour, as among pairs of elements under transitivity. Gates have no order in
the program, and stay ordered by degree."""
FEW = 1000
"""Random keys are cached for problems of at most so many variables and constraints."""
SEED = 20261123


def compiled(
    net: Constraints,
    budget: Budget,
    written: Collection[int] = (),
    normal: Collection[int] = (),
    maximized: Collection[int] = (),
    assumed: Collection[int] = (),
    one_world: bool = False,
    most_work: float = math.inf,
) -> Circuit:
    """The circuit of all assignments that satisfy the constraints.

    ``written``: gates whose literals are written; those of other gates are not, as their weights are 1.
    ``normal``: variables whose two weights add up to 1 and that are not queried. ``maximized``: variables
    whose best values are wanted while the others are summed out; they are decided before all others, so that
    no sum stands above a maximum. ``assumed``: literals that hold. ``one_world``: stop at the first
    satisfying assignment, if any, and compile only what it leaves open. Raises ``BudgetError`` where the
    search takes more than ``most_work``.

    Diagrams are made beside the search, as the diagram of all constraints is a circuit as well.
    """
    if not net.consistent:
        return Circuit.nothing(len(net))
    problem = problem_of(net, written, normal, maximized, one_world)
    compilation, beside = Compilation(problem, budget, assumed), None
    while (circuit := compilation.advanced(_next_work(compilation.work, most_work))) is None:
        budget.check()
        if compilation.work >= most_work:
            raise BudgetError(f"the search for a circuit takes more than {most_work:.0e} steps")
        if maximized or assumed:
            continue
        if beside is None:
            gates = frozenset(variable for variable in written if net.gates[variable])
            beside = Beside(Subject(net, gates), problem.rank, budget)
        diagrams = beside.advanced(compilation.work, math.inf)
        if diagrams is not None:
            return diagrams.circuit(problem.written)
    return circuit


def _next_work(done: int, most: float) -> int:
    """Work until diagrams are made or go on: as much again as is done, within bounds."""
    return int(min(max(CIRCUITS_FROM, min(done, WORK_AT_ONCE)), most))


def is_possible(net: Constraints, budget: Budget) -> bool:
    """Whether some assignment satisfies the constraints; the search ends at the first that does."""
    return compiled(net, budget, one_world=True).total(np.zeros((len(net), 2))) > -math.inf


class Compilation:
    """One resumable search for a circuit. ``assumed``: literals that hold from the beginning."""

    def __init__(self, problem: Problem, budget: Budget, assumed: Iterable[int] = ()) -> None:
        self._problem, self._budget = problem, budget
        self._state = _state(problem)
        begin(problem, self._state, assumed)

    @property
    def rank(self) -> np.ndarray:
        """Rank of each variable in the order of decisions."""
        return self._problem.rank

    @property
    def work(self) -> int:
        return int(self._state.at[WORK])

    @property
    def is_large(self) -> bool:
        """Whether any search is too long for plain Python: its loop is compiled before the first step."""
        return LOOKS * len(self._problem.literals) > PLAIN_WORK

    def advanced(self, work: int) -> Circuit | None:
        """The circuit, or ``None`` if it takes more than ``work`` from here on; a later call goes on from
        there."""
        before = self.work
        circuit = self._advanced(before + work)
        loops.spend(search, self.work - before)  # many small searches are worth compiling the loop as well
        return circuit

    def _advanced(self, limit: int) -> Circuit | None:
        problem, code = self._problem, PAUSE
        with np.errstate(over="ignore"):  # keys are numbers modulo 2^64
            while not self.is_large and (code := self._in_python(min(limit, PLAIN_WORK))) != DONE:
                if code == GROW:
                    self._state = _grown(self._state, len(problem.rank), self._budget)
                elif self.work >= limit:
                    return None
                else:
                    break
        while code != DONE:
            code = loops.compiled(search)(problem, self._state, limit)
            if code == GROW:
                self._state = _grown(self._state, len(problem.rank), self._budget)
            elif code != DONE:
                return None
        return self._circuit()

    def _in_python(self, limit: int) -> int:
        """Search by the plain loop, unless it is compiled by now."""
        return loops.run_often(search, 0, self._problem, self._state, limit)

    def begun(self) -> tuple[np.ndarray, np.ndarray]:
        """For an unfinished search: the variables of the outermost part being compiled, and the literals
        fixed before it."""
        first = self._state.frames[1]
        part = self._state.pool[int(first[LOW]) : int(first[HIGH])].copy()
        return part, self._state.trail[: int(first[TRAIL_BASE])].copy()

    def forget(self) -> None:
        """Free the memory of a search that will not go on."""
        self._state = _state(self._problem)

    def _circuit(self) -> Circuit:
        problem, state = self._problem, self._state
        nodes = int(state.at[NODES])
        return Circuit(
            len(problem.rank),
            state.node_kind[:nodes].copy(),
            state.node_start[: nodes + 1].copy(),
            state.store[: int(state.at[STORE])].copy(),
            int(state.at[ROOT]),
            problem.written,
            problem.maximized,
        )


def problem_of(
    net: Constraints,
    written: Collection[int],
    normal: Collection[int],
    maximized: Collection[int],
    one_world: bool = False,
    order: Order | None = None,
) -> Problem:
    rows = net.restrictions
    counts = [len(row.literals) for row in rows]
    starts = np.array([*accumulate(counts, initial=0)], np.int64)
    literals = np.fromiter(chain.from_iterable(row.literals for row in rows), np.int64, int(starts[-1]))
    least, total = np.array([row.least for row in rows], np.int64), np.array(counts, np.int64)
    weights, widest = np.ones(len(literals), np.int64), np.ones(len(rows), np.int64)
    for number, row in enumerate(rows):
        if row.weights:
            weights[starts[number] : starts[number + 1]] = row.weights
            total[number], widest[number] = sum(row.weights), max(row.weights)
    constraint = np.arange(len(rows)).repeat(counts)
    by_literal = literals.argsort(kind="stable")
    occurs_starts = np.zeros(2 * len(net) + 1, np.int64)
    np.bincount(literals, minlength=2 * len(net)).cumsum(out=occurs_starts[1:])
    gate = np.array(net.gates, bool)
    shown = np.where(gate, SILENT, FULL)
    shown[list(written)] = FULL
    shown[list(normal)] = NORMAL
    first = np.zeros(len(net), bool)
    first[list(maximized)] = True
    return Problem(
        starts,
        literals,
        weights,
        least,
        total - least,
        widest,
        np.array([row.owner for row in rows], np.int64),
        occurs_starts,
        constraint[by_literal],
        weights[by_literal],
        np.where(first, 0, len(net)) + (order or Order.of(net)).ranks,
        gate,
        shown,
        first,
        *_keys(len(net), len(rows)),
        one_world,
    )


def _keys(variables: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Random keys of variables and of constraints, the same for every problem."""
    most = max(variables, rows)
    drawn = _few_keys() if most <= FEW else _drawn_keys(most)
    return drawn[0, :variables], drawn[1, :rows]


@cache
def _few_keys() -> np.ndarray:
    """Keys drawn once per process: making a generator takes as long as compiling a small program."""
    return _drawn_keys(FEW)


def _drawn_keys(count: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(0, 2**64, (2, count, 2), np.uint64)


class Order(NamedTuple):
    """The order of decisions: the reverse of an elimination order by least degree, so that the first
    decisions cut the rest into parts.

    Where every vertex has many neighbours no order by degree is better than another one, and variables keep
    the order of the program, element by element: the relation of one element with all others leaves sets of
    elements, each of which is then one case. ``width``: the largest degree of a vertex when it is eliminated,
    infinite where some vertices are not eliminated.
    """

    ranks: np.ndarray
    width: float

    @classmethod
    def of(cls, net: Constraints, budget: Budget = UNLIMITED) -> Order:
        """The order by least degree; that of the program from where the time of ``budget`` ends."""
        variables, width = len(net), 0.0
        around = _neighbours(net)
        height = [0] * len(around)
        heap = [  # of restrictions only wide ones are vertices
            (max(len(neighbours), THIN), 0, v)
            for v, neighbours in enumerate(around)
            if neighbours or v < variables
        ]
        heapq.heapify(heap)
        done = [False] * len(around)
        open_ones, gates = len(heap), sum(net.gates)
        later: dict[int, set[int]] = {}
        while heap:
            degree, level, v = heapq.heappop(heap)
            if done[v] or level != height[v] or degree != max(len(around[v]), THIN):
                continue
            dense = degree > DENSE or (degree >= LEAST_DENSE and not gates and CORE * degree > open_ones)
            if dense or budget.ended:
                width = math.inf
                break
            done[v] = True
            width = max(width, degree)
            open_ones -= 1
            gates -= v < variables and net.gates[v]
            later[v] = around[v]
            for other in around[v]:
                around[other] |= around[v]
                around[other] -= {v, other}
                height[other] = max(height[other], level + 1)
                heapq.heappush(heap, (max(len(around[other]), THIN), height[other], other))
        order = [v for v in range(variables) if not done[v]]
        order += [v for v in _depth_first(later) if v < variables]
        ranks = np.empty(variables, np.int64)
        ranks[order] = np.arange(variables)
        return cls(ranks, width)


def _depth_first(later: Mapping[int, set[int]]) -> list[int]:
    """The vertices in reverse order of elimination, each followed by its whole subtree of the elimination
    tree."""
    place = {v: number for number, v in enumerate(later)}
    below: dict[int, list[int]] = {}
    for v, others in later.items():
        above = min((place[other] for other in others if other in place), default=len(place))
        below.setdefault(above, []).append(v)
    order, stack = list[int](), below.get(len(place), [])
    while stack:
        v = stack.pop()
        order.append(v)
        stack += below.get(place[v], [])
    return order


def _neighbours(net: Constraints) -> list[set[int]]:
    """Neighbours of each vertex; vertices are variables and wide restrictions.

    A wide restriction links its variables through an additional vertex, since they depend on each other only
    through it.
    """
    variables = len(net)
    around: list[set[int]] = [set() for _ in range(variables + len(net.restrictions))]
    for number, row in enumerate(net.restrictions):
        members = {literal >> 1 for literal in row.literals}
        if len(members) > WIDE:
            around[variables + number] |= members
            for v in members:
                around[v].add(variables + number)
        else:
            for v in members:
                around[v] |= members
    for v, neighbours in enumerate(around):
        neighbours.discard(v)
    return around


def _state(problem: Problem) -> SearchState:
    variables, rows = len(problem.rank), len(problem.least)
    few = min(variables, 128)  # a small problem begins with small arrays, which grow where needed
    cached = 1 << (8 * few + 32).bit_length()
    return SearchState(
        np.zeros(11, np.int64),
        np.full(variables, -1, np.int8),
        problem.least.copy(),
        problem.spare.copy(),
        np.zeros(variables, np.int64),
        np.zeros(variables, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((16, 11), np.int64),
        np.zeros((16, 2), np.uint64),
        np.zeros(4 * variables + 64, np.int64),
        np.zeros(8 * variables + 64, np.int64),
        np.zeros((2 * variables + 64, 2), np.int64),
        np.zeros((2 * variables + 64, 2), np.uint64),
        np.zeros(3 * variables + 8 * few + 64, np.int8),
        np.zeros(3 * variables + 8 * few + 65, np.int64),
        np.zeros(8 * variables + 24 * few + 64, np.int64),
        *table(cached),
    )


def _grown(state: SearchState, variables: int, budget: Budget) -> SearchState:
    """The same state in larger arrays, so that the search has room again."""
    at = state.at
    budget.claim(2 * sum(array.nbytes for array in state), "the circuit")
    kinds = _longer(state.node_kind, int(at[NODES]) + 4)
    changed = {
        "pool": _longer(state.pool, int(at[POOL]) + variables),
        "kids": _longer(state.kids, int(at[KIDS]) + 2 * variables + 4),
        "parts": _longer(state.parts, int(at[PARTS]) + variables),
        "part_keys": _longer(state.part_keys, int(at[PARTS]) + variables),
        "node_kind": kinds,
        "node_start": _longer(state.node_start, len(kinds) + 1),
        "store": _longer(state.store, int(at[STORE]) + 2 * variables + 8),
        "frames": _longer(state.frames, int(at[DEPTH]) + 1),
        "frame_keys": _longer(state.frame_keys, int(at[DEPTH]) + 1),
    }
    if 2 * at[CACHED] + 2 > len(state.cache_values):
        keys, values = larger(state.cache_keys, state.cache_values)
        changed |= {"cache_keys": keys, "cache_values": values}
    return state._replace(**changed)


def _longer(array: np.ndarray, needed: int) -> np.ndarray:
    """The array itself if it is long enough, else a copy of at least twice its length."""
    if needed <= len(array):
        return array
    longer = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
