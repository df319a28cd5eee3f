"""Generalized belief propagation on a ground region graph, by plain loops: every message a dictionary.

The slow, obviously right version. A region is a set of ground variables; its messages are those of the
parent-to-child algorithm with the full set of exponents: a region's belief takes every message that enters
it or one of its descendants from outside. It reads nothing of the project but the oracle's factors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.oracles.belief import Factor, log_sum

Region = frozenset[Hashable]
Values = tuple[int, ...]
Table = dict[Values, float]


def intersections(outer: Collection[Region]) -> list[Region]:
    """The regions and all that they have in common, again and again; without the empty one."""
    found = set(outer)
    while True:
        more = {a & b for a in found for b in found if a & b} - found
        if not more:
            return sorted(found, key=lambda region: (-len(region), sorted(map(str, region))))
        found |= more


@dataclass
class RegionGraph:
    """``regions`` with an edge wherever one is inside another and no third one is between them."""

    sizes: Mapping[Hashable, int]
    factors: Sequence[Factor]
    regions: Sequence[Region]
    messages: dict[tuple[Region, Region], Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = [
            (parent, child)
            for parent in self.regions
            for child in self.regions
            if child < parent and not any(child < between < parent for between in self.regions)
        ]
        self.descendants = {r: {d for d in self.regions if d < r} for r in self.regions}
        self.counting: dict[Region, int] = {}
        for region in sorted(self.regions, key=len, reverse=True):
            above = [r for r in self.regions if region < r]
            self.counting[region] = 1 - sum(self.counting[r] for r in above)
        for variable in self.sizes:
            assert sum(c for r, c in self.counting.items() if variable in r) == 1, variable
        self.owners = [self._owners(factor) for factor in self.factors]
        self.messages = {edge: dict.fromkeys(self._choices(edge[1]), 0.0) for edge in self.edges}

    def _owners(self, factor: Factor) -> list[Region]:
        """All regions that hold the factor; one of them, if counted together they are not one."""
        holding = [r for r in self.regions if set(factor.scope) <= r]
        return holding if sum(self.counting[r] for r in holding) == 1 else holding[:1]

    @property
    def chooses(self) -> bool:
        """Whether a factor that several regions could have is given to one of them, any one."""
        held = [sum(set(f.scope) <= r for r in self.regions) for f in self.factors]
        return any(len(owners) < count for owners, count in zip(self.owners, held, strict=True))

    def _names(self, region: Region) -> list[Hashable]:
        return sorted(region, key=str)

    def _choices(self, region: Region) -> list[Values]:
        return list(itertools.product(*(range(self.sizes[name]) for name in self._names(region))))

    def potential(self, region: Region) -> Table:
        """The factors of a region, for each choice of values."""
        found = {}
        own = [f for f, owners in zip(self.factors, self.owners, strict=True) if region in owners]
        for values in self._choices(region):
            chosen = dict(zip(self._names(region), values, strict=True))
            found[values] = sum(f.table[tuple(chosen[name] for name in f.scope)] for f in own)
        return found

    def belief(self, region: Region) -> Table:
        """Log-probabilities."""
        found = self.weighed(region)
        total = log_sum(list(found.values()))
        return {values: weight - total for values, weight in found.items()}

    def weighed(self, region: Region) -> Table:
        """Its factors and all messages that enter it."""
        inside = {region, *self.descendants[region]}
        entering = [(p, c) for p, c in self.edges if c in inside and p not in inside]
        found = self.potential(region)
        for values in found:
            chosen = dict(zip(self._names(region), values, strict=True))
            for parent, child in entering:
                found[values] += self.messages[parent, child][
                    tuple(chosen[name] for name in self._names(child))
                ]
        return found

    def marginal(self, belief: Table, region: Region, names: Sequence[Hashable]) -> Table:
        """Log-probabilities of some of a region's variables."""
        places = [self._names(region).index(name) for name in names]
        terms: dict[Values, list[float]] = {}
        for values, weight in belief.items():
            terms.setdefault(tuple(values[place] for place in places), []).append(weight)
        return {values: log_sum(weights) for values, weights in terms.items()}

    def round(self, damping: float = 0.0) -> float:
        """Every message anew from those before; how far parents and children disagreed."""
        beliefs = {region: self.belief(region) for region in self.regions}
        moved, fresh = 0.0, {}
        for parent, child in self.edges:
            told = self.marginal(beliefs[parent], parent, self._names(child))
            new = {}
            for values, before in self.messages[parent, child].items():
                here = beliefs[child][values]
                moved = max(moved, abs(math.exp(told[values]) - math.exp(here)))
                if told[values] == -math.inf or here == -math.inf:
                    new[values] = -math.inf
                else:
                    new[values] = before + (1 - damping) * (told[values] - here)
            scale = max(new.values())
            fresh[parent, child] = {values: weight - scale for values, weight in new.items()}
        self.messages = fresh
        return moved

    def run(self, rounds: int, damping: float = 0.0) -> float:
        """So many rounds, or fewer if nothing moves; the last one's disagreement."""
        moved = math.inf
        for _ in range(rounds):
            moved = self.round(damping)
            if moved < 1e-13:
                break
        return moved

    def marginals(self) -> dict[Hashable, list[float]]:
        """Of each variable, from the smallest region with it."""
        found = {}
        for name, size in self.sizes.items():
            region = min((r for r in self.regions if name in r), key=lambda r: (len(r), sorted(map(str, r))))
            belief = self.marginal(self.belief(region), region, [name])
            found[name] = [math.exp(belief[value,]) for value in range(size)]
        return found

    def log_sums(self) -> float:
        """The log-partition as regions see it at rest: what each sums to, messages and all, each counted."""
        return sum(
            count * log_sum(list(self.weighed(region).values())) for region, count in self.counting.items()
        )

    def free_energy(self) -> float:
        """The same from beliefs: averages of log-weights and entropies, each counted."""
        total = 0.0
        for region, count in self.counting.items():
            potential = self.potential(region)
            for values, log_belief in self.belief(region).items():
                if log_belief > -math.inf:
                    total += count * math.exp(log_belief) * (potential[values] - log_belief)
        return total
