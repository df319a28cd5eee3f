"""Exact probabilities of atoms by a compiled circuit: P(q | e).

Each atom becomes a literal, defined by the choices under which it holds; atoms that rest on each other are
solved together, and an absent atom is complete before what rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence, Set
from functools import cached_property

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.cycles import Body, least_model
from herbrand.engines.proof.arithmetic import rule_number
from herbrand.engines.proof.chances import ChanceEvidence, PossibleWorlds, Row
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node


def probabilities(
    worlds: PossibleWorlds,
    graph: Derivations,
    roots: Sequence[Node],
    observed: Sequence[Node],
    budget: Budget,
) -> list[float]:
    """The probability of each atom, given the evidence. ``observed``: the nodes of the worlds'
    :meth:`~herbrand.engines.proof.chances.PossibleWorlds.observed_nodes`.

    Raises ``ContradictionError`` where the evidence holds in no world.
    """
    literals = _Literals(worlds, graph, budget)
    literals.observe(observed)
    return literals.made.shares([literals.of(root) for root in roots], budget)


class _Literals:
    """The literal of each atom and of each choice's outcomes."""

    def __init__(self, worlds: PossibleWorlds, graph: Derivations, budget: Budget) -> None:
        self.made = ChoiceConstraints()
        self._worlds, self._program, self._graph = worlds, worlds.program, graph
        self._outcomes: dict[Hashable, tuple[int, ...]] = {}
        self._nodes: dict[Node, int] = {}
        below = {
            node: [p for made in own for p in (*made.parts, *made.absent) if isinstance(p, Node)]
            for node, own in graph.instances.items()
        }
        least_model(self.made.net, below, self._bodies, self._nodes, budget)

    def observe(self, observed: Sequence[Node]) -> None:
        """Evidence for or against atoms; an opinion counts in proportion."""
        nodes = iter(observed)
        for known in self._worlds.evidence:
            derived = known.predicate in self._program.clauses
            self._observe(self.of(next(nodes)) if derived else self._base(known), known)

    def of(self, part: Node | Fact) -> int:
        """A derived atom, or the outcome of a choice that a fact is."""
        if isinstance(part, Node):
            return self._nodes[part]
        weights = self._program.relation(part.predicate).weights
        chance = 1.0 if weights is None else float(weights[part.place])
        values = self._values.get(part.predicate)
        if values is None or chance in (0.0, 1.0):
            return self._outcome((part.predicate, part.row), 0, (chance,))
        places, chances = values[part.row[:-1]]
        return self._outcome((part.predicate, part.row[:-1]), places[part.row[-1]], chances)

    def _observe(self, literal: int, known: ChanceEvidence) -> None:
        if known.holds in (0.0, 1.0):
            self.made.stipulate(literal if known.holds else negated(literal), known.text)
        else:
            self.made.weigh(literal, math.log(known.holds))
            self.made.weigh(negated(literal), math.log1p(-known.holds))

    def _base(self, known: ChanceEvidence) -> int:
        """An atom that no rule derives."""
        index = self._program.relation(known.predicate).index(tuple(range(len(known.row))))
        first, counts = index.ranges([np.array([value]) for value in known.row], 1)
        if not counts[0]:
            return FALSE
        return self.of(Fact(known.predicate, known.row, int(index.entries(first)[0])))

    def _bodies(self, node: Node, members: Set[Node]) -> list[Body[Node]]:
        return [self._body(made, members) for made in self._graph.instances[node]]

    def _body(self, made: Instance, members: Set[Node]) -> Body[Node]:
        """What an instance needs of atoms of the same component, and the literal of all else."""
        needed = frozenset(part for part in made.parts if isinstance(part, Node) and part in members)
        held = [self.of(part) for part in made.parts if part not in needed]
        absent = [negated(self.of(part)) for part in made.absent]
        return needed, self.made.net.every([self._weight(made), *held, *absent])

    def _weight(self, made: Instance) -> int:
        rule, weight = made.clause.rule, made.clause.weight
        if rule is None or weight is None:
            return TRUE
        return self._outcome((weight, made.binding), 0, (rule_number(rule),))

    def _outcome(self, choice: Hashable, place: int, chances: tuple[float, ...]) -> int:
        if chances[place] in (0.0, 1.0):
            return TRUE if chances[place] else FALSE
        if choice not in self._outcomes:
            self._outcomes[choice] = self.made.choice(chances).outcomes
        return self._outcomes[choice][place]

    @cached_property
    def _values(self) -> dict[str, dict[Row, tuple[dict[int, int], tuple[float, ...]]]]:
        """For each many-valued predicate and each uncertain atom of it, the places of its values among the
        outcomes, and their probabilities."""
        found: dict[str, dict[Row, tuple[dict[int, int], tuple[float, ...]]]] = {}
        for name, predicate in self._program.signature.predicates.items():
            weights = self._program.facts.tables[name].weights
            if predicate.value_type is None:
                continue
            atoms: dict[Row, dict[int, float]] = {}
            rows = self._program.facts.tables[name].true
            uncertain = np.flatnonzero(weights != 1) if weights is not None else []
            for place in uncertain:
                *atom, value = rows[place].tolist()
                atoms.setdefault(tuple(atom), {})[value] = float(weights[place])  # type: ignore[index]
            found[name] = {
                atom: ({value: place for place, value in enumerate(values)}, tuple(values.values()))
                for atom, values in atoms.items()
            }
        return found
