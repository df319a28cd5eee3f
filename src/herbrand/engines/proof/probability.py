"""Exact probabilities of atoms over independent facts: the semantics of ProbLog.

A fact holds with its weight as its probability (or that of its soft evidence), an instance of a weighted rule
with the rule's weight, all independently; an atom holds where some proof does. The ground proofs become one
decision diagram; atoms that rest on each other are gone through until none changes, which is their least
model in every world at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.proof.arithmetic import rule_number
from herbrand.engines.proof.clauses import Absence, Lookup
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.diagrams import FALSE, TRUE, Diagrams
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.rules import HornProgram
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.syntax import Rule

MOST_NODES = 2_000_000
MOST_CHOICES = 100_000


def check_probabilities(program: HornProgram) -> None:
    """Raise where a weight is no probability, or ``not`` stands before what is uncertain."""
    for name in program.facts.tables:
        weights = program.relation(name).weights
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() <= 1):
            worst = weights[np.argmax(np.abs(weights - 0.5))]
            raise UnsupportedError(
                f"a fact of {name} weighs {worst:g}, which is no probability",
                hint="--algebra count takes any weights",
            )
    for rule in program.weighted:
        if not 0 <= rule_number(rule) <= 1:
            raise UnsupportedError(
                f"this rule weighs {rule_number(rule):g}, which is no probability",
                span=rule.span,
                hint="--algebra count takes any weights",
            )
    uncertain = _uncertain(program)
    for clauses in program.clauses.values():
        for clause in clauses:
            for literal in clause.body:
                if isinstance(literal, Absence) and literal.predicate in uncertain:
                    raise UnsupportedError(
                        f"'not' stands before {literal.predicate}, which is uncertain",
                        span=clause.rule.span if clause.rule else None,
                        hint="probabilities take 'not' before what is certain",
                    )


def _uncertain(program: HornProgram) -> set[str]:
    """The predicates that rest on a fact or a rule with a probability below 1."""
    found = set()
    for name in program.facts.tables:
        weights = program.relation(name).weights
        if weights is not None and (weights < 1).any():
            found.add(name)
    found |= {rule.head.predicate for rule in program.weighted if rule_number(rule) < 1}
    grown = True
    while grown:
        more = {
            name
            for name, clauses in program.clauses.items()
            for clause in clauses
            for literal in clause.body
            if isinstance(literal, Lookup | Absence) and literal.predicate in found
        }
        grown = not more <= found
        found |= more
    return found


def probabilities(plans: Plans, graph: Derivations, roots: Sequence[Node]) -> list[float]:
    """The probability of each atom. Raises ``BudgetError`` where the diagram grows too large."""
    return _Compilation(plans, graph).probabilities(roots)


class _Compilation:
    def __init__(self, plans: Plans, graph: Derivations) -> None:
        self._program, self._graph = plans.program, graph
        self._diagrams = Diagrams(MOST_NODES)
        self._choices: dict[object, int] = {}
        self._chances: list[float] = []

    def probabilities(self, roots: Sequence[Node]) -> list[float]:
        order = self._order(roots)
        known = dict.fromkeys(order, FALSE)
        steps = {node: [self._step(made) for made in self._graph.instances[node]] for node in order}
        changed = True
        while changed:
            changed = False
            for node in order:
                found = known[node]
                for choices, below in steps[node]:
                    if found == TRUE:
                        break
                    found = self._diagrams.either(found, self._held(choices, below, known))
                changed |= found != known[node]
                known[node] = found
        return [self._diagrams.probability(known[root], self._chances) for root in roots]

    def _order(self, roots: Sequence[Node]) -> list[Node]:
        return list(dict.fromkeys(node for root in roots for node in self._graph.reachable(root)))

    def _held(self, choices: Sequence[int], below: Sequence[Node], known: dict[Node, int]) -> int:
        found = TRUE
        for part in (*(known[node] for node in below), *choices):
            found = self._diagrams.both(found, part)
            if found == FALSE:
                break
        return found

    def _step(self, made: Instance) -> tuple[list[int], list[Node]]:
        """The choices an instance rests on, as diagrams, and its atoms."""
        choices = []
        rule, weight = made.clause.rule, made.clause.weight
        if rule is not None and weight is not None:
            choices.append(self._choice((weight, made.binding), _chance_of(rule)))
        for part in made.parts:
            if isinstance(part, Fact):
                weights = self._program.relation(part.predicate).weights
                chance = 1.0 if weights is None else float(weights[part.place])
                choices.append(self._choice(part, chance))
        return choices, [part for part in made.parts if isinstance(part, Node)]

    def _choice(self, key: object, chance: float) -> int:
        if chance >= 1:
            return TRUE
        if chance <= 0:
            return FALSE
        if key not in self._choices:
            if len(self._chances) >= MOST_CHOICES:
                raise BudgetError(
                    f"the exact probability rests on more than {MOST_CHOICES:,} uncertain facts",
                    hint="--algebra independent approximates it",
                )
            self._choices[key] = len(self._chances)
            self._chances.append(chance)
        return self._diagrams.variable(self._choices[key])


def _chance_of(rule: Rule) -> float:
    return rule_number(rule)
