"""Probabilities by binary decision diagrams, from the bottom up: of each gate which decisions make it true.

The search from the top (:mod:`~herbrand.engines.circuit.search`) meets a case again where the same
constraints are left. Gates say one thing in many ways where atoms rest on each other, as paths in a graph
with circles do. Here cases that go on alike are one node, however gates say it: a graph that takes the search
minutes has some ten thousand nodes. It is the other way round where clauses exclude much, as in matchings.

A gate with a weight of its own is decided too, and a clause says that it is what its inputs make of it.

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.engines.circuit.choices import ChoiceConstraints
>>> made = ChoiceConstraints()
>>> a, b = (made.choice([0.5]).outcomes[0] for _ in range(2))
>>> made.stipulate(made.net.either([a, b]), "a or b")
>>> (diagrams, _) = in_two_orders(made.task([a]), np.arange(3), UNLIMITED)
>>> total, shares = diagrams.advanced(100, math.inf)
>>> round(math.exp(total), 6), round(shares[a].item(), 6)
(0.75, 0.666667)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from herbrand import loops
from herbrand.budget import Budget, time_beside_compiling
from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.constraints import NO_OWNER, negated
from herbrand.engines.circuit.diagram_loop import (
    DONE,
    GROW,
    NEVER,
    NODES,
    STEPS,
    Diagrams,
    Rows,
    conjoin,
    decide,
    measure,
    rows_of,
)
from herbrand.engines.circuit.factoring import conjunctions
from herbrand.engines.circuit.key_table import larger

STEPS_AT_ONCE = 50_000
"""Between two looks at the clock."""
PLAIN_STEP = 10.0
"""Microseconds of a step in plain Python."""
MOST_NODES = 2_000_000
"""Beyond it tables are copied for longer than a clock may wait, and the search goes on alone."""

Counted = tuple[float, np.ndarray]
"""The logarithm of all weight, and the probability of each literal that is told."""


def fits(task: Task) -> bool:
    """Whether the task is one for diagrams: all restrictions are clauses, and those that define no gate are
    no more than the gates."""
    restrictions = task.net.restrictions
    own = sum(one.owner == NO_OWNER and len(one.literals) > 1 for one in restrictions)
    own += 2 * len(_weighted(task))
    return own <= sum(task.net.gates) and all(one.least == 1 for one in restrictions)


def in_two_orders(task: Task, rank: np.ndarray, budget: Budget) -> list[Making]:
    """Diagrams that decide by ``rank``, and by how near a variable is to what is asked. None may be small
    where the other is a thousand times as large."""
    return [Making(task, rank, budget), Making(task, _nearest_first(task), budget)]


def _nearest_first(task: Task) -> np.ndarray:
    """The rank of each variable by the gates that lie between it and what is told or required."""
    gates = conjunctions(task.net)
    required = (one.literals for one in task.net.restrictions if one.owner == NO_OWNER)
    order = list(dict.fromkeys([*sorted(task.told), *(x >> 1 for literals in required for x in literals)]))
    met = set(order)
    for variable in order:  # which grows
        below = dict.fromkeys(x >> 1 for x in gates.get(variable, ()))
        order += [v for v in below if v not in met]
        met |= below.keys()
    rank = np.full(len(task.net), len(order))
    rank[order] = np.arange(len(order))
    return rank


class Making:
    """Diagrams that are made in one order of decisions, a part at a time."""

    def __init__(self, task: Task, rank: np.ndarray, budget: Budget) -> None:
        self._task, self._budget = task, budget
        weighted = _weighted(task)
        self._decided = [v for v, gate in enumerate(task.net.gates) if not gate] + weighted
        self._decided.sort(key=lambda v: rank[v])
        own = {gate: len(task.net) + number for number, gate in enumerate(weighted)}
        writing = _Writing([own.get(v, v) for v in self._decided], len(task.net) + len(own))
        self._known = writing.knowledge(task, own) >> 1
        told = [x for v in sorted(task.told) for x in (2 * v, 2 * v + 1)]
        self._told = told, [writing.every([x, 2 * self._known]) >> 1 for x in told]
        self._rows, self._made = writing.begun()
        self.lost = False
        """Whether nothing will come of it: it is too large, or all weight is too little for a number."""

    def advanced(self, steps: int, until: float) -> Counted | None:
        """What a circuit gives, if so many steps from the beginning are enough, and the time until then; it
        goes on where it stopped."""
        at = self._made.at
        with np.errstate(over="ignore"):  # keys are numbers modulo 2^64
            while at[STEPS] < steps:
                some = min(steps - int(at[STEPS]), STEPS_AT_ONCE)
                code = loops.run_often(conjoin, PLAIN_STEP * some, self._rows, self._made, some)
                if code == DONE:
                    return self._counted()
                self.lost = at[NODES] > MOST_NODES
                if code == GROW and not self.lost:
                    self._made = _grown(self._made, self._budget)
                if self.lost or self._budget.ended or time_beside_compiling() >= until:
                    break
        return None

    def _counted(self) -> Counted | None:
        made, log_weights = self._made, self._task.log_weights[self._decided]
        sums = np.logaddexp(log_weights[:, 0], log_weights[:, 1])
        numbers = np.empty(2 * int(made.at[NODES]))
        chances = np.exp(log_weights - sums[:, None])
        loops.run_often(measure, 2 * len(numbers), made.nodes, len(numbers) // 2, chances, numbers)
        weight = numbers[made.edges[self._known]]
        self.lost = weight == 0 and made.edges[self._known] != NEVER
        if self.lost:
            return None
        shares = np.zeros(2 * len(self._task.net))
        literals, slots = self._told
        if weight > 0:
            shares[literals] = numbers[made.edges[slots]] / weight
        return float(sums.sum()) + (math.log(weight) if weight > 0 else -math.inf), shares


def _weighted(task: Task) -> list[int]:
    """The gates with weights of their own."""
    return np.flatnonzero(task.log_weights.any(axis=1) & np.array(task.net.gates, bool)).tolist()


class _Writing:
    """Rows as they are written, for decisions at slots by their levels. Literals are those of slots."""

    def __init__(self, decided: Sequence[int], slots: int) -> None:
        self._decided = np.array(decided, np.int64)
        self._levels = [len(decided)] * slots
        """No slot's edge is of a node above its level here."""
        for level, slot in enumerate(decided):
            self._levels[slot] = level
        self._rows: list[list[int]] = []
        self._targets: list[int] = []

    def every(self, literals: Iterable[int], slot: int | None = None) -> int:
        """The literal of all together; the deepest meet first."""
        row = sorted(literals, key=lambda literal: -self._levels[literal >> 1])
        level = self._levels[row[-1] >> 1] if row else len(self._decided)
        if slot is None:
            slot = len(self._levels)
            self._levels.append(level)
        self._levels[slot] = level
        self._rows.append(row)
        self._targets.append(slot)
        return 2 * slot

    def knowledge(self, task: Task, own: dict[int, int]) -> int:
        """The literal of what is known: clauses, and that a gate with a decision of its ``own`` is that."""
        for gate, inputs in conjunctions(task.net).items():
            self.every(inputs, gate)
        clauses = [one.literals for one in task.net.restrictions if one.owner == NO_OWNER]
        clauses += [(2 * gate + no, 2 * slot + 1 - no) for gate, slot in own.items() for no in (0, 1)]
        return self.every(negated(self.every(map(negated, clause))) for clause in clauses)

    def begun(self) -> tuple[Rows, Diagrams]:
        """The rows, and diagrams of the decisions alone."""
        rows = rows_of(self._rows, self._targets)
        made = Diagrams.empty(rows, len(self._decided), len(self._levels))
        with np.errstate(over="ignore"):
            loops.run_often(decide, PLAIN_STEP * len(self._decided), made, self._decided)
        return rows, made


def _grown(made: Diagrams, budget: Budget) -> Diagrams:
    budget.claim(
        4 * (made.nodes.nbytes + made.keys.nbytes + made.values.nbytes), "diagrams of what is uncertain"
    )
    nodes, keys, values = made.nodes, made.keys, made.values
    if made.at[NODES] + 1 > len(nodes):
        nodes = np.concatenate([nodes, np.zeros_like(nodes)])
    else:
        keys, values = larger(keys, values)
    return made._replace(nodes=nodes, keys=keys, values=values)
