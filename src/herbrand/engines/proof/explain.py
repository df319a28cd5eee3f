"""Why an answer has its weight: its heaviest proofs as trees, which add up to it with the remainder.

They are found best first: the k best of each node from the k best of those below.

"Heaviest" is by the absolute value of the product of the weights used.

>>> from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
>>> from herbrand.program.clauses import Clause
>>> root, clause = Node("p", (0,), None), Clause("p", ("x",), (), {})
>>> one, two = (Instance(clause, (), (Fact("e", (0, place), place),)) for place in (0, 1))
>>> graph = Derivations({root: [one, two]})
>>> [proof.weight for proof in heaviest(graph, root, 5, lambda part: (0.5, 2.0)[part.place], lambda _: 1.0)]
[2.0, 0.5]
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.goals import GOAL, PART_MARK
from herbrand.engines.proof.horn_program import HornProgram, rule_number
from herbrand.language.names import shown_number
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value


@dataclass(frozen=True)
class ProofTree:
    """A proof: an instance of a clause with a proof, or a fact, for each atom of its body."""

    weight: float
    instance: Instance
    parts: tuple[ProofTree | Fact, ...]


def heaviest(
    graph: Derivations,
    root: Node,
    count: int,
    fact_weight: Callable[[Fact], float],
    clause_weight: Callable[[Instance], float],
) -> list[ProofTree]:
    """At most ``count`` proofs, the heaviest first. The graph has no cycle: depth is bounded."""
    best: dict[Node, list[ProofTree]] = {}
    for node in graph.reachable(root):
        candidates = [
            _Candidates(made, clause_weight(made), [_choices(part, best, fact_weight) for part in made.parts])
            for made in graph.instances[node]
        ]
        best[node] = _best_of(candidates, count)
    return best[root]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The proofs that one instance gives: a choice of a proof for each of its parts."""

    instance: Instance
    weight: float
    choices: Sequence[Sequence[tuple[float, ProofTree | Fact]]]

    def weight_at(self, places: tuple[int, ...]) -> float:
        weight = self.weight
        for place, choices in zip(places, self.choices, strict=True):
            weight *= choices[place][0]
        return weight

    def proof(self, places: tuple[int, ...]) -> ProofTree:
        parts = tuple(choices[place][1] for place, choices in zip(places, self.choices, strict=True))
        return ProofTree(self.weight_at(places), self.instance, parts)


def _choices(
    part: Node | Fact, best: dict[Node, list[ProofTree]], fact_weight: Callable[[Fact], float]
) -> list[tuple[float, ProofTree | Fact]]:
    if isinstance(part, Fact):
        return [(fact_weight(part), part)]
    return [(proof.weight, proof) for proof in best.get(part, ())]


def _best_of(candidates: Sequence[_Candidates], count: int) -> list[ProofTree]:
    """Merge the instances' proofs, best first: after a choice come those with one part a rank lower."""
    ticket = itertools.count()
    queue = []
    for one in candidates:
        if all(one.choices):
            first = (0,) * len(one.choices)
            queue.append((-abs(one.weight_at(first)), next(ticket), one, first))
    heapq.heapify(queue)
    seen = {(id(one), places) for _, _, one, places in queue}
    found: list[ProofTree] = []
    while queue and len(found) < count:
        _, _, one, places = heapq.heappop(queue)
        found.append(one.proof(places))
        for turn in range(len(places)):
            after = (*places[:turn], places[turn] + 1, *places[turn + 1 :])
            if after[turn] < len(one.choices[turn]) and (id(one), after) not in seen:
                seen.add((id(one), after))
                heapq.heappush(queue, (-abs(one.weight_at(after)), next(ticket), one, after))
    return found


PROOFS = 10
"""So many proofs are listed unless more are asked for."""


def explanation(
    program: HornProgram, goal: str, graph: Derivations, root: Node, weight: float, top: int | None, note: str
) -> Explanation:
    """The heaviest proofs of a goal without variables that has this weight: ``top`` or ``PROOFS`` of them."""
    telling = _Telling(program, goal)
    proofs = heaviest(graph, root, PROOFS if top is None else top, telling.fact_weight, telling.clause_weight)
    reasons = tuple(telling.reason(proof) for proof in proofs)
    remainder = math.fsum([weight, *(-reason.contribution for reason in reasons)])
    if abs(remainder) <= 1e-12 * abs(weight):
        remainder = 0.0
    return Explanation(
        goal, "weight", weight, "proof", Guarantee.EXACT, reasons, remainder=remainder, note=note
    )


class _Telling:
    def __init__(self, program: HornProgram, goal: str) -> None:
        self._program, self._goal = program, goal

    def fact_weight(self, fact: Fact) -> float:
        weights = self._program.relation(fact.predicate).weights
        return 1.0 if weights is None else float(weights[fact.place])

    def clause_weight(self, made: Instance) -> float:
        return (
            1.0 if made.clause.weight is None or made.clause.rule is None else rule_number(made.clause.rule)
        )

    def reason(self, proof: ProofTree) -> Reason:
        """A proof; the goal's own clause, and the facts of a derived predicate, are shown by their parts."""
        made = proof.instance
        parts = tuple(self._part(part) for part in proof.parts)
        if made.clause.rule is None or PART_MARK in made.clause.predicate:
            if len(parts) == 1:
                return Reason(parts[0].statement, parts[0].grounding, proof.weight, parts[0].parts)
            asked = made.clause.predicate.startswith(GOAL)
            text = self._goal if asked else str(made.clause).partition(" :- ")[2]
            return Reason(text, self._grounding(made), proof.weight, parts)
        text = statement_text(made.clause.rule)
        return Reason(text, self._grounding(made), proof.weight, parts)

    def _part(self, part: ProofTree | Fact) -> Reason:
        if isinstance(part, ProofTree):
            return self.reason(part)
        weight = self.fact_weight(part)
        text = self._program.facts.atom_text(self._program.signature.predicates[part.predicate], part.row)
        return Reason(text if weight == 1 else f"{text} @ {shown_number(weight)}", {}, weight)

    def _grounding(self, made: Instance) -> Mapping[str, Value]:
        """The constants of the variables that the rule's writer named."""
        domains, types = self._program.facts.domains, made.clause.types
        return {
            name: domains[types[name]].value(index)
            for name, index in made.binding
            if PART_MARK not in name and not name.startswith("?")
        }
