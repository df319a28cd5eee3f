"""Ground proofs as a graph: the instances of clauses that derive an atom, and the atoms and facts of each.

A node is an atom with its remaining number of nested calls (``None`` where the depth bound has no effect); an
instance is one clause for one choice of constants. Instances are computed by running the clauses with every
variable kept, all atoms of a predicate at once. The graph is for single proofs, such as the heaviest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from herbrand.engines.proof.goals import is_part
from herbrand.engines.proof.horn_program import remaining_depth
from herbrand.engines.proof.plan import Ask, ClausePlan, Mode
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.steps import Runner
from herbrand.engines.proof.table import ROW, Answers, State, Table
from herbrand.errors import BudgetError
from herbrand.graphs import reached, strong_components
from herbrand.program.clauses import Clause, Lookup
from herbrand.row_keys import zipped

MOST_INSTANCES = 300_000
"""Most instances in a graph of proofs."""
Row = tuple[int, ...]
Provider = Callable[[str, Mode, list[np.ndarray], int | None], Answers]
"""A function of predicate, mode, input columns and calls left that gives the provable answers."""


@dataclass(frozen=True)
class Node:
    """An atom to prove with ``left`` nested calls; ``None`` where the depth bound has no effect."""

    predicate: str
    row: Row
    left: int | None


@dataclass(frozen=True)
class Fact:
    """A stated fact; ``place`` is its row number in the predicate's relation."""

    predicate: str
    row: Row
    place: int


@dataclass(frozen=True)
class Instance:
    """A clause for one choice of constants; ``parts`` are in the order of its body's atoms."""

    clause: Clause
    binding: tuple[tuple[str, int], ...]
    parts: tuple[Node | Fact, ...]


@dataclass(eq=False)
class Derivations:
    """A graph of proofs: the ``instances`` of each node; a node without any has no proof."""

    instances: dict[Node, list[Instance]] = field(default_factory=dict)

    def reachable(self, root: Node) -> list[Node]:
        """The root and all nodes that it depends on, each after its dependencies unless there is a cycle."""
        below = {node: self._below(node) for node in reached([root], self._below)}
        return [node for part in strong_components(below) for node in reversed(part)]

    def _below(self, node: Node) -> list[Node]:
        return [
            part for instance in self.instances[node] for part in instance.parts if isinstance(part, Node)
        ]


def refuse_many(count: int) -> None:
    """Raise BudgetError if there are more than ``MOST_INSTANCES`` instances."""
    if count > MOST_INSTANCES:
        raise BudgetError(
            f"there are more than {MOST_INSTANCES:,} steps of proofs to look at one by one",
            hint="ask for fewer answers, or take a smaller --depth",
        )


def derivations(runner: Runner, provider: Provider, goal: Node) -> tuple[Derivations, Node]:
    """Compute the graph of all ground proofs of an atom, and the atom's node in it.

    Raises ``BudgetError`` where there are too many instances.
    """
    search = _Search(runner, provider)
    node = Node(goal.predicate, goal.row, search.calls(goal.predicate, goal.left))
    search.wanted(node)
    return search.found, node


class _Search:
    def __init__(self, runner: Runner, provider: Provider) -> None:
        self._runner, self._provider = runner, provider
        self._plans: Plans = runner.plans
        self._whole: dict[int, ClausePlan] = {}
        self._count = 0
        self.found = Derivations()

    def calls(self, predicate: str, left: int | None) -> int | None:
        return remaining_depth(left, self._plans.height(predicate))

    def wanted(self, root: Node) -> None:
        """Compute the instances of a node and of all nodes it depends on, one predicate at a time."""
        waiting = [root]
        while waiting:
            groups: dict[tuple[str, int | None], list[Node]] = {}
            for node in dict.fromkeys(waiting):
                if node not in self.found.instances:
                    self.found.instances[node] = []
                    groups.setdefault((node.predicate, node.left), []).append(node)
            waiting = [part for same in groups.values() for part in self._expand(same)]

    def _expand(self, nodes: list[Node]) -> list[Node]:
        """Compute the instances of nodes of one predicate; return the nodes in their parts."""
        self._runner.budget.check()
        predicate, left = nodes[0].predicate, nodes[0].left
        if left == 0:
            return []
        below: list[Node] = []
        for clause in self._plans.clauses(predicate):
            for number, instance in self._instances(clause, nodes, left):
                self.found.instances[nodes[number]].append(instance)
                below += [part for part in instance.parts if isinstance(part, Node)]
        return below

    def _instances(self, clause: Clause, nodes: list[Node], left: int | None) -> list[tuple[int, Instance]]:
        plan = self._plan(clause)
        kept = [number for number, node in enumerate(nodes) if _fits(clause, node.row)]
        if not kept:
            return []
        values = {
            name: np.array([nodes[number].row[place] for number in kept], np.int64)
            for place, name in enumerate(clause.head)
        }
        columns = (np.array(kept), *(values[name] for name in plan.inputs))
        start = Table((ROW, *plan.inputs), columns, self._runner.arithmetic.ones(len(kept)))
        table = self._run(plan, start, left, len(nodes))
        self._count += len(table)
        refuse_many(self._count)
        return self._read_instances(clause, table, left) if len(table) else []

    def _plan(self, clause: Clause) -> ClausePlan:
        if id(clause) not in self._whole:
            self._whole[id(clause)] = self._plans.whole(clause, tuple(range(len(clause.head))))
        return self._whole[id(clause)]

    def _run(self, plan: ClausePlan, state: State, left: int | None, rows: int) -> Table:
        position = 0
        while True:
            position, state = self._runner.advance(plan, position, state, rows)
            table = state.sparse()
            if position == len(plan.steps) or not len(table):
                return table
            step = plan.steps[position]
            assert isinstance(step, Ask)
            columns = [table.column(name) for name in step.inputs]
            below = self._below(step.predicate, left, step.deeper)
            answers = self._provider(step.predicate, step.bound, columns, below)
            state = self._runner.with_answers(step, plan, table, answers, rows)
            position += 1

    def _below(self, predicate: str, left: int | None, deeper: bool) -> int | None:
        return self.calls(predicate, left if left is None or not deeper else left - 1)

    def _read_instances(self, clause: Clause, table: Table, left: int | None) -> list[tuple[int, Instance]]:
        names = [name for name in table.names if name != ROW]
        columns = {name: table.column(name).tolist() for name in names}
        columns |= {name: [index] * len(table) for name, index in clause.constants.items()}
        lookups = [part for part in clause.body if isinstance(part, Lookup)]
        parts = [self._parts(part, columns, left, len(table)) for part in lookups]
        variables = clause.variables()
        bindings = zipped([[(name, value) for value in columns[name]] for name in variables], len(table))
        rows = zip(table.columns[0].tolist(), bindings, zipped(parts, len(table)), strict=True)
        return [(number, Instance(clause, binding, rest)) for number, binding, rest in rows]

    def _parts(
        self, literal: Lookup, columns: dict[str, list[int]], left: int | None, count: int
    ) -> list[Node] | list[Fact]:
        """The node or fact of an atom of the body, for each row."""
        name = literal.predicate
        rows = zipped([columns[argument] for argument in literal.arguments], count)
        if literal.stated or not self._plans.is_queried(name):
            index = self._plans.program.relation(name).index(tuple(range(len(literal.arguments))))
            keys = [np.array(columns[argument], np.int64) for argument in literal.arguments]
            places = index.entries(index.ranges(keys, count)[0]).tolist()
            return [Fact(name, row, place) for row, place in zip(rows, places, strict=True)]
        below = self._below(name, left, not is_part(name))
        return [Node(name, row, below) for row in rows]


def _fits(clause: Clause, row: Row) -> bool:
    """Whether a row matches the head's constants and repeated variables."""
    known = dict(clause.constants)
    return all(known.setdefault(name, value) == value for name, value in zip(clause.head, row, strict=True))
