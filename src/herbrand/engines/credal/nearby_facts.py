"""Facts of open predicates that matter to a query: those of the components that it names.

Two components are independent of each other under the Markov condition if one of them has no cycle, since
its distribution is then a product. Components with cycles may depend on each other; without the condition all
may.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("predicate a\\npredicate b\\npredicate c\\nP(a | b) <= 0.5\\nP(c) <= 0.5\\nb\\nnot c")
>>> facts = NearbyFacts(credal_network(hb.Model(theory).program), markov=True)
>>> facts.relevant_to([0]), facts.relevant_to([2]), list(facts.apart_from([[0]]))
({1: True}, {2: False}, [{2: False}])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.credal.markov import components, graph_of
from herbrand.engines.credal.network import Network

MOST_APART = 1000
"""Most components with facts on which no query depends that are checked, some milliseconds each."""


@dataclass(frozen=True, eq=False)
class NearbyFacts:
    """The facts of a network by component; ``markov``: whether its Markov condition holds."""

    network: Network
    markov: bool

    @cached_property
    def _component(self) -> np.ndarray:
        """The component of each atom."""
        return components(self.network)

    @cached_property
    def _by_component(self) -> dict[int, dict[int, bool]]:
        facts, by_component = self.network.facts, dict[int, dict[int, bool]]()
        rows = facts.atoms.tolist(), facts.truths.tolist(), self._component[facts.atoms].tolist()
        for atom, truth, component in zip(*rows, strict=True):
            by_component.setdefault(component, {})[atom] = truth
        return by_component

    @cached_property
    def _cyclic(self) -> frozenset[int]:
        """The components with cycles."""
        return frozenset(self._component[graph_of(self.network).is_core].tolist())

    def _near(self, atoms: Sequence[int]) -> set[int]:
        """The components with facts that may matter to these atoms."""
        if not self.markov or not self._by_component:
            return set(self._by_component)
        near = set(self._component[np.asarray(atoms, np.int64)].tolist())
        tied = near if near.isdisjoint(self._cyclic) else near | self._cyclic
        return tied & self._by_component.keys()

    def relevant_to(self, atoms: Sequence[int]) -> dict[int, bool]:
        """The facts that may matter to a query over these atoms."""
        near = sorted(self._near(atoms))
        return {atom: truth for one in near for atom, truth in self._by_component[one].items()}

    def apart_from(self, queried: Iterable[Sequence[int]]) -> list[dict[int, bool]]:
        """The facts of each component on which no query depends; empty above ``MOST_APART`` components.

        ``queried`` has the atoms of each query.
        """
        seen = set().union(*map(self._near, queried))
        apart = [facts for one, facts in self._by_component.items() if one not in seen]
        return apart if len(apart) <= MOST_APART else []
