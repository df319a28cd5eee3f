"""The heaviest proofs of an atom, best first: the k best of each node from the k best of those below.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node


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
