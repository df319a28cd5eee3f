"""The heaviest proofs of an atom as trees, best first, computed lazily.

The best proofs of each node are combined from those of the nodes below, when they are needed (lazy k-best
parsing, Huang and Chiang 2005). Proofs are compared by the absolute value of the product of their weights.

>>> from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
>>> from herbrand.program.clauses import Clause
>>> root, clause = Node("p", (0,), None), Clause("p", ("x",), (), {})
>>> one, two = (Instance(clause, (), (Fact("e", (0, place), place),)) for place in (0, 1))
>>> graph = Derivations({root: [one, two]})
>>> [proof.weight for proof in heaviest(graph, root, lambda part: (0.5, 2.0)[part.place], lambda _: 1.0)]
[2.0, 0.5]
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from herbrand.deep_calls import room_for
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.quick_values import quickly_made

FRAMES = 3
"""Nested Python calls that a proof takes for each node of the graph, for the recursion limit."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ProofTree:
    """A proof: an instance of a clause with a proof, or a fact, for each atom of its body."""

    weight: float
    instance: Instance
    parts: tuple[ProofTree | Fact, ...]


Acceptance = Callable[[ProofTree, Sequence[ProofTree]], bool]
"""A function that decides whether to keep a proof of a node, given the heavier ones of that node."""


def heaviest(
    graph: Derivations,
    root: Node,
    fact_weight: Callable[[Fact], float],
    clause_weight: Callable[[Instance], float],
    accept: Acceptance = lambda proof, before: True,
) -> Iterator[ProofTree]:
    """Yield all proofs of ``root``, the heaviest first. The graph must have no cycle."""
    ranked: dict[Node, _Ranked] = {}

    def part(one: Node | Fact) -> _Part:
        return _Known(fact_weight(one), one) if isinstance(one, Fact) else ranked[one]

    for node in graph.reachable(root):
        ways = [
            _Way(instance, clause_weight(instance), tuple(map(part, instance.parts)))
            for instance in graph.instances[node]
        ]
        ranked[node] = _Ranked(ways, accept)
        ranked[node].at(0)  # children first, so that calls nest less deeply
    for place in itertools.count():
        with room_for(FRAMES * len(ranked)):
            proof = ranked[root].at(place)
        if proof is None:
            return
        yield proof[1]


Weighed = tuple[float, "ProofTree | Fact"]


@dataclass(frozen=True)
class _Known:
    """A fact, the only proof of its atom."""

    weight: float
    fact: Fact

    def at(self, place: int) -> Weighed | None:
        return None if place else (self.weight, self.fact)


_Part: TypeAlias = "_Known | _Ranked"
"""The ranked proofs of an atom of a body: ``at`` a rank, the heaviest first."""


@dataclass(frozen=True, eq=False)
class _Way:
    """One instance of a clause; its proofs are choices of a ranked proof for each of its parts."""

    instance: Instance
    weight: float
    parts: tuple[_Part, ...]

    def at(self, places: tuple[int, ...]) -> tuple[float, list[Weighed]] | None:
        """Weight and parts of the proof with these ranks of its parts; ``None`` if a rank does not exist."""
        weight, parts = self.weight, list[Weighed]()
        for place, part in zip(places, self.parts, strict=True):
            one = part.at(place)
            if one is None:
                return None
            weight *= one[0]
            parts.append(one)
        return weight, parts


Waiting = tuple[float, int, float, _Way, tuple[int, ...], list[Weighed]]
"""An entry of the heap: the negated absolute weight, a number that breaks ties, and a candidate proof."""


class _Ranked:
    """The proofs of a node, the heaviest first, on demand.

    A proof's successors, with one of its parts a rank lower, become candidates only after it.
    """

    def __init__(self, ways: Sequence[_Way], accept: Acceptance) -> None:
        self._accept, self._found = accept, list[ProofTree]()
        self._numbers = itertools.count()
        self._waiting = list[Waiting]()
        self._seen = set[tuple[int, tuple[int, ...]]]()
        self._last: tuple[_Way, tuple[int, ...]] | None = None
        for way in ways:
            self._add(way, (0,) * len(way.parts))

    def at(self, place: int) -> tuple[float, ProofTree] | None:
        while len(self._found) <= place and (proof := self._next()) is not None:
            if self._accept(proof, self._found):
                self._found.append(proof)
        return (self._found[place].weight, self._found[place]) if place < len(self._found) else None

    def _next(self) -> ProofTree | None:
        if self._last is not None:
            way, places = self._last
            for turn in range(len(places)):
                self._add(way, (*places[:turn], places[turn] + 1, *places[turn + 1 :]))
            self._last = None
        if not self._waiting:
            return None
        _, _, weight, way, places, parts = heapq.heappop(self._waiting)
        self._last = way, places
        return ProofTree(weight, way.instance, tuple(part for _, part in parts))

    def _add(self, way: _Way, places: tuple[int, ...]) -> None:
        key = id(way), places
        if key not in self._seen:
            self._seen.add(key)
            if (weighed := way.at(places)) is not None:
                waiting = -abs(weighed[0]), next(self._numbers), weighed[0], way, places, weighed[1]
                heapq.heappush(self._waiting, waiting)
