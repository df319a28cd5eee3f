"""Exact probabilities of atoms by a compiled circuit: P(q | e).

Each atom becomes a literal, defined by the choices under which it holds; atoms that rest on each other are
solved together, and an absent atom is complete before what rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.cycles import acyclic, components
from herbrand.engines.proof.derivations import Node
from herbrand.engines.proof.worlds import Choice, Ground, GroundProgram, GroundRule, Observed


def probabilities(program: GroundProgram, roots: Sequence[Node], budget: Budget) -> list[float]:
    """The probability of each atom, given the evidence.

    Raises ``ContradictionError`` where the evidence holds in no world.
    """
    worlds = _Worlds(program)
    worlds.solve(budget)
    for observed in program.observed:
        worlds.observe(observed)
    return worlds.made.shares([worlds.literal(root) for root in roots], budget)


class _Worlds:
    """The literal of each atom and of each choice's outcomes."""

    def __init__(self, program: GroundProgram) -> None:
        self.made = ChoiceConstraints()
        self._program = program
        self._outcomes: dict[Choice, list[int]] = {}
        self._literals: dict[Node, int] = {}

    def solve(self, budget: Budget) -> None:
        rules = self._program.rules
        below = {
            node: [part for rule in own for part in (*rule.held, *rule.absent) if isinstance(part, Node)]
            for node, own in rules.items()
        }
        for component in components(below):
            budget.check()
            members = set(component)
            bodies = {node: [self._body(rule, members) for rule in rules[node]] for node in component}
            self._literals.update(acyclic(self.made.net, bodies, budget))

    def observe(self, observed: Observed) -> None:
        """Evidence for or against an atom; an opinion counts in proportion."""
        literal, holds, text = self.literal(observed.atom), observed.evidence.holds, observed.evidence.text
        if holds in (0.0, 1.0):
            self.made.stipulate(literal if holds else negated(literal), text)
        else:
            self.made.weigh(literal, math.log(holds))
            self.made.weigh(negated(literal), math.log1p(-holds))

    def literal(self, part: Ground | bool) -> int:
        if isinstance(part, bool):
            return TRUE if part else FALSE
        if isinstance(part, Node):
            return self._literals[part]
        if part.choice not in self._outcomes:
            self._outcomes[part.choice] = self.made.choice(self._program.choices[part.choice])
        return self._outcomes[part.choice][part.place]

    def _body(self, rule: GroundRule, members: set[Node]) -> tuple[frozenset[Node], int]:
        """What a rule needs of atoms of the same component, and the literal of all else."""
        needed = frozenset(part for part in rule.held if isinstance(part, Node) and part in members)
        parts = [self.literal(part) for part in rule.held if part not in needed]
        return needed, self.made.net.every([*parts, *(negated(self.literal(part)) for part in rule.absent)])
