"""Explanation of an answer's weight: its heaviest proofs as trees, and the remainder of the weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.proof.best_proofs import ProofTree, heaviest
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.goals import GOAL, PART_MARK
from herbrand.engines.proof.horn_program import HornProgram, rule_number
from herbrand.language.names import shown_number
from herbrand.language.show import only_names_values, statement_text
from herbrand.language.syntax import Value

PROOFS = 10
"""Number of proofs in an explanation where ``top`` is not given."""


def explanation(
    program: HornProgram, goal: str, graph: Derivations, root: Node, weight: float, top: int | None, note: str
) -> Explanation:
    """Explain a goal without variables that has this weight by its heaviest proofs.

    There are ``top`` of them, ``PROOFS`` if that is None; the rest of the weight is the remainder.
    """
    builder = _ReasonBuilder(program, goal)
    proofs = heaviest(graph, root, builder.fact_weight, builder.clause_weight)
    reasons = tuple(builder.reason(proof) for proof in islice(proofs, PROOFS if top is None else top))
    remainder = math.fsum([weight, *(-reason.contribution for reason in reasons)])
    if abs(remainder) <= 1e-12 * abs(weight):
        remainder = 0.0
    return Explanation(
        goal, "weight", weight, "proof", Guarantee.EXACT, reasons, remainder=remainder, note=note
    )


class _ReasonBuilder:
    def __init__(self, program: HornProgram, goal: str) -> None:
        self._program, self._goal = program, goal

    def fact_weight(self, fact: Fact) -> float:
        return self._program.relation(fact.predicate).weight(fact.place)

    def clause_weight(self, instance: Instance) -> float:
        rule = instance.clause.weighted
        return 1.0 if rule is None else rule_number(rule)

    def reason(self, proof: ProofTree) -> Reason:
        """The reason for a proof; clauses of goals, parts of bodies and stated facts show their parts."""
        instance = proof.instance
        parts = tuple(self._part(part) for part in proof.parts if not only_names_values(_predicate(part)))
        if instance.clause.rule is None or PART_MARK in instance.clause.predicate:
            if len(parts) == 1:
                return Reason(parts[0].statement, parts[0].grounding, proof.weight, parts[0].parts)
            is_goal = instance.clause.predicate.startswith(GOAL)
            text = self._goal if is_goal else str(instance.clause).partition(" :- ")[2]
            return Reason(text, self._grounding(instance), proof.weight, parts)
        text = statement_text(instance.clause.rule)
        return Reason(text, self._grounding(instance), proof.weight, parts)

    def _part(self, part: ProofTree | Fact) -> Reason:
        if isinstance(part, ProofTree):
            return self.reason(part)
        weight = self.fact_weight(part)
        text = self._program.facts.atom_text(self._program.signature.predicates[part.predicate], part.row)
        return Reason(text if weight == 1 else f"{text} @ {shown_number(weight)}", {}, weight)

    def _grounding(self, instance: Instance) -> Mapping[str, Value]:
        """The constants of the variables that the rule's writer named."""
        domains, types = self._program.facts.domains, instance.clause.types
        return {
            name: domains[types[name]].value(index)
            for name, index in instance.binding
            if PART_MARK not in name and not name.startswith("?")
        }


def _predicate(part: ProofTree | Fact) -> str:
    return part.predicate if isinstance(part, Fact) else part.instance.clause.predicate
