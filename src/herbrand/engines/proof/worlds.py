"""What rules with probabilities mean: a distribution over worlds, for whatever computes with it.

Choices are independent of each other. A boolean fact with a probability is a choice of one outcome, the
values of a many-valued atom are the outcomes of one choice, so that they exclude each other, and each
instance of a weighted rule is a choice of its own. In the world that the choices give, what rules derive is
their least model, stratum by stratum. Probabilities are those of the worlds in which the evidence holds.

>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("wet :- rain\\nwet :- not rain @ 0.1\\nrain @ 0.3\\nwet")
>>> worlds = PossibleWorlds.of(HornProgram.of(theory.rules, *load_facts(theory.facts, check(theory))))
>>> sorted(worlds.uncertain), [known.text for known in worlds.evidence]
(['rain', 'wet'], ['wet'])
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.engines.proof.arithmetic import rule_number
from herbrand.engines.proof.chances import ChanceEvidence, chances_of, refuse_wrong_sums
from herbrand.engines.proof.derivations import Node
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.errors import UnsupportedError
from herbrand.language.syntax import FactRows
from herbrand.program.clauses import Absence, Clause


@dataclass(frozen=True, eq=False)
class PossibleWorlds:
    """``program`` derives all that holds in some world: atoms whose absence is uncertain are left out of its
    bodies (:attr:`~herbrand.program.clauses.Clause.unless`), and facts weigh their probability."""

    program: HornProgram
    uncertain: frozenset[str]
    evidence: tuple[ChanceEvidence, ...]

    @classmethod
    def of(cls, program: HornProgram, given: Sequence[FactRows] = ()) -> PossibleWorlds:
        facts, evidence = chances_of(program, given)
        whole = HornProgram.of(program.rules, program.signature, facts)
        uncertain = frozenset(_uncertain(whole))
        clauses = {
            name: tuple(_relaxed(clause, uncertain) for clause in known)
            for name, known in whole.clauses.items()
        }
        return cls(replace(whole, clauses=clauses), uncertain, evidence)

    def relaxed(self, clause: Clause) -> Clause:
        """A goal's clause as the program's own."""
        return _relaxed(clause, self.uncertain)

    def observed_nodes(self) -> list[Node]:
        """The derived atoms of the evidence."""
        derived = self.program.clauses
        return [
            Node(known.predicate, known.row, None) for known in self.evidence if known.predicate in derived
        ]


def check_probabilities(program: HornProgram, predicates: Collection[str]) -> None:
    """Raise where a weight of these predicates' facts or rules is no probability."""
    for name in predicates:
        weights = program.relation(name).weights
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() <= 1):
            worst = weights[np.argmax(np.abs(weights - 0.5))]
            raise UnsupportedError(
                f"a fact of {name} weighs {worst:g}, which is no probability",
                hint="--algebra count takes any weights",
            )
        refuse_wrong_sums(program.signature.predicates[name], program.facts)
    for rule in program.weighted:
        if rule.head.predicate in predicates and not 0 <= rule_number(rule) <= 1:
            raise UnsupportedError(
                f"this rule weighs {rule_number(rule):g}, which is no probability",
                span=rule.span,
                hint="--algebra count takes any weights",
            )


def refuse_uncertain_absence(program: HornProgram, clauses: Sequence[Clause]) -> None:
    """Raise where ``not`` stands before what is uncertain in what the clauses rest on."""
    uncertain = _uncertain(program)
    for clause, predicate in program.absences(clauses):
        if predicate in uncertain:
            raise UnsupportedError(
                f"'not' stands before {predicate}, which is uncertain",
                span=clause.rule.span if clause.rule else None,
                hint="--algebra probability takes it",
            )


def _relaxed(clause: Clause, uncertain: Collection[str]) -> Clause:
    doubted = tuple(p for p in clause.body if isinstance(p, Absence) and p.predicate in uncertain)
    if not doubted:
        return clause
    return replace(clause, body=tuple(part for part in clause.body if part not in doubted), unless=doubted)


def _uncertain(program: HornProgram) -> set[str]:
    """The predicates that rest on a fact or a rule with a probability other than 1."""
    found = set[str]()
    for name in program.facts.tables:
        weights = program.relation(name).weights
        if weights is not None and (weights != 1).any():
            found.add(name)
    found |= {rule.head.predicate for rule in program.weighted if rule_number(rule) != 1}
    while True:
        more = {
            name
            for name, clauses in program.clauses.items()
            if name not in found and any(found & set(clause.predicates()) for clause in clauses)
        }
        if not more:
            return found
        found |= more
