"""Probabilities by binary decision diagrams, built bottom up: each gate as a function of the decisions.

The search from the top (:mod:`~herbrand.engines.circuit.search`) recognises a case only where the same
constraints are left. Where atoms depend on each other, as paths in a graph with circles do, different gates
express the same function, and the search repeats work. In a diagram equal functions are one node, whatever
gates express them: a graph that takes the search minutes has some ten thousand nodes. The search is better
where clauses exclude much, as in matchings.

A gate may be decided too, as those with weights must be: then clauses equate it with its definition. Where
all written variables are decided, the diagram of all constraints is a circuit.

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.engines.circuit.choices import ChoiceConstraints
>>> made = ChoiceConstraints()
>>> a, b = (made.choice([0.5]).outcomes[0] for _ in range(2))
>>> made.stipulate(made.net.either([a, b]), "a or b")
>>> task = made.task([a])
>>> diagrams = Making(Subject(task.net, written=[a]), np.arange(3), UNLIMITED)
>>> diagrams.advanced(100, math.inf)
True
>>> total, shares = diagrams.counted(task.log_weights)
>>> round(math.exp(total), 6), round(shares[a].item(), 6)
(0.75, 0.666667)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand import loops
from herbrand.budget import Budget, time_beside_compiling
from herbrand.engines.circuit.circuit import Circuit, Counted
from herbrand.engines.circuit.constraints import Constraints, negated
from herbrand.engines.circuit.diagram_circuit import circuit_of
from herbrand.engines.circuit.diagram_loop import (
    NEVER,
    NODES,
    ROW,
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
from herbrand.engines.circuit.search import DONE, GROW
from herbrand.errors import BudgetError

STEPS_AT_ONCE = 20_000
"""Steps between two looks at the clock."""
PLAIN_STEP = 10.0
"""Microseconds of a step in plain Python."""
STEPS_A_WORK, AHEAD, BEHIND = 0.25, 0.5, 0.125
"""Steps of each order for each work of the search beside them: together they take a few times as long as it.
Beyond ``EVEN`` steps the order that has come further gets more, the other fewer."""
EVEN = 40_000
MOST_NODES = 2_000_000
"""Nodes beyond which copying tables takes longer than a clock may wait, so that the search goes on alone."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The constraints that diagrams are built for. ``gates``: those to be decided; ``written``: literals
    whose probabilities are wanted without being decided."""

    net: Constraints
    gates: frozenset[int] = frozenset()
    written: Sequence[int] = ()

    @cached_property
    def conjunctions(self) -> dict[int, list[int]]:
        return conjunctions(self.net)

    @cached_property
    def clauses(self) -> list[tuple[int, ...]]:
        """The clauses that define no gate."""
        return [one.literals for one in self.net.required]

    @property
    def fits(self) -> bool:
        """Whether diagrams may be small: all restrictions are clauses, and those of two or more literals that
        define no gate, with two for each of ``gates``, are no more than the gates."""
        own = sum(len(clause) > 1 for clause in self.clauses) + 2 * len(self.gates)
        return own <= sum(self.net.gates) and all(one.least == 1 for one in self.net.restrictions)


class Beside:
    """Diagrams beside a search, if they may be small, in two orders of decisions: the search's, and the
    nearest to the written literals first. In one of them they may be a thousand times as large as in the
    other."""

    def __init__(self, subject: Subject, rank: np.ndarray, budget: Budget) -> None:
        self._left: list[Making] = []
        if subject.fits:
            self._left = [Making(subject, order, budget) for order in (rank, _nearest_first(subject))]

    def advanced(self, work: int, until: float) -> Making | None:
        """The diagrams that are complete, if the steps allowed for the search's ``work`` are enough."""
        for making, steps in [(each, self._allowed(each, work)) for each in self._left]:
            try:
                if making.advanced(steps, until):
                    return making
            except BudgetError:  # the search may do with less memory
                self._left.remove(making)
                continue
            if making.too_large:
                self._left.remove(making)
        return None

    def _allowed(self, making: Making, work: int) -> int:
        """Total number of steps that one order may have taken by now."""
        alike = int(STEPS_A_WORK * work)
        if alike <= EVEN:
            return alike
        ahead = making is max(self._left, key=lambda each: each.part)
        return max(EVEN, int((AHEAD if ahead else BEHIND) * work))

    def give_up(self) -> None:
        """Drop both diagrams; the search goes on alone."""
        self._left.clear()


def _nearest_first(subject: Subject) -> np.ndarray:
    """Rank of each variable by the number of gates between it and what is written or required."""
    written = sorted({*subject.gates, *(x >> 1 for x in subject.written)})
    order = list(dict.fromkeys([*written, *(x >> 1 for clause in subject.clauses for x in clause)]))
    met = set(order)
    for variable in order:  # the list grows while it is walked
        below = dict.fromkeys(x >> 1 for x in subject.conjunctions.get(variable, ()))
        order += [v for v in below if v not in met]
        met.update(below)  # `|=` with keys makes a new set
    rank = np.full(len(subject.net), len(order))
    rank[order] = np.arange(len(order))
    return rank


class Making:
    """Diagrams built in one order of decisions, a part at a time."""

    def __init__(self, subject: Subject, rank: np.ndarray, budget: Budget) -> None:
        net, gates = subject.net, subject.gates
        self._variables, self._budget = len(net), budget
        self._decided = [v for v, gate in enumerate(net.gates) if not gate or v in gates]
        self._decided.sort(key=lambda v: rank[v])
        own = {gate: len(net) + number for number, gate in enumerate(sorted(gates))}
        writing = _Writing([own.get(v, v) for v in self._decided], len(net) + len(own))
        self._known = writing.knowledge(subject, own) >> 1
        self._written = list(subject.written)
        self._slots = [writing.every([x, 2 * self._known]) >> 1 for x in self._written]
        self._rows, self._made = writing.begun()
        self.too_large = False

    def advanced(self, steps: int, until: float) -> bool:
        """Whether building is complete after ``steps`` in all or at the time ``until``; a later call
        continues."""
        at = self._made.at
        with np.errstate(over="ignore"):  # keys are numbers modulo 2^64
            while at[STEPS] < steps:
                before = int(at[STEPS])
                some = min(steps - before, STEPS_AT_ONCE)
                code = loops.run_often(conjoin, 0, self._rows, self._made, some)
                loops.spend(conjoin, PLAIN_STEP * (int(at[STEPS]) - before))
                if code == DONE:
                    return True
                self.too_large = at[NODES] > MOST_NODES
                if code == GROW and not self.too_large:
                    self._made = _grown(self._made, self._budget)
                if self.too_large or self._budget.ended or time_beside_compiling() >= until:
                    break
        return False

    @property
    def part(self) -> float:
        """Fraction of the conjunctions that are made."""
        return self._made.at[ROW] / len(self._rows.targets)

    def counted(self, log_weights: np.ndarray) -> Counted | None:
        """The log-weight and the shares; ``None`` where the total weight underflows to 0."""
        diagrams, weights = self._made, log_weights[self._decided]
        sums = np.logaddexp(weights[:, 0], weights[:, 1])
        numbers = np.empty(2 * int(diagrams.at[NODES]))
        chances = np.exp(weights - sums[:, None])
        loops.run_often(measure, 2 * len(numbers), diagrams.nodes, len(numbers) // 2, chances, numbers)
        weight, shares = numbers[diagrams.edges[self._known]], np.zeros(2 * self._variables)
        if weight > 0:
            shares[self._written] = numbers[diagrams.edges[self._slots]] / weight
        elif diagrams.edges[self._known] != NEVER:
            return None
        return float(sums.sum()) + (math.log(weight) if weight > 0 else -math.inf), shares

    def circuit(self, written: np.ndarray) -> Circuit:
        """The circuit of all constraints. ``written``: how each variable is written, as in the search."""
        edge = int(self._made.edges[self._known])
        return circuit_of(self._made.nodes, edge, self._decided, written)


class _Writing:
    """Writer of rows, whose literals are those of slots. ``decided``: the slot of each level's decision."""

    def __init__(self, decided: Sequence[int], slots: int) -> None:
        self._decided = np.array(decided, np.int64)
        self._levels = [len(decided)] * slots
        """For each slot a level above which its edge has no node."""
        for level, slot in enumerate(decided):
            self._levels[slot] = level
        self._rows: list[list[int]] = []
        self._targets: list[int] = []

    def every(self, literals: Iterable[int], slot: int | None = None) -> int:
        """The literal of the conjunction of all, written to ``slot`` or a new one; literals of the deepest
        level meet first."""
        row = sorted(literals, key=lambda literal: -self._levels[literal >> 1])
        level = self._levels[row[-1] >> 1] if row else len(self._decided)
        if slot is None:
            slot = len(self._levels)
            self._levels.append(level)
        self._levels[slot] = level
        self._rows.append(row)
        self._targets.append(slot)
        return 2 * slot

    def knowledge(self, subject: Subject, own: dict[int, int]) -> int:
        """The literal of all constraints: clauses, and each gate with a decision (in ``own``) equal to its
        definition."""
        for gate, inputs in subject.conjunctions.items():
            self.every(inputs, gate)
        decided = [(2 * gate + no, 2 * slot + 1 - no) for gate, slot in own.items() for no in (0, 1)]
        clauses = (*subject.clauses, *decided)
        return self.every(negated(self.every(map(negated, clause))) for clause in clauses)

    def begun(self) -> tuple[Rows, Diagrams]:
        """The rows, and diagrams that hold the decisions alone."""
        rows = rows_of(self._rows, self._targets)
        diagrams = Diagrams.empty(rows, len(self._decided), len(self._levels))
        with np.errstate(over="ignore"):
            loops.run_often(decide, PLAIN_STEP * len(self._decided), diagrams, self._decided)
        return rows, diagrams


def _grown(diagrams: Diagrams, budget: Budget) -> Diagrams:
    budget.claim(
        4 * (diagrams.nodes.nbytes + diagrams.keys.nbytes + diagrams.values.nbytes),
        "diagrams of what is uncertain",
    )
    nodes, keys, values = diagrams.nodes, diagrams.keys, diagrams.values
    if diagrams.at[NODES] + 1 > len(nodes):
        nodes = np.concatenate([nodes, np.zeros_like(nodes)])
    else:
        keys, values = larger(keys, values)
    return diagrams._replace(nodes=nodes, keys=keys, values=values)
