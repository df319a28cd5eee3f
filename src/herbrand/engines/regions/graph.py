"""Which regions there are, which pass messages to which, and how often each is counted.

Takes clusters of variables (a variable is the counts of some alike elements) and which variables are told of
one element at a time; gives a :class:`RegionGraph`. A region of counts holds all elements of its variables; a
*single* region is one element of its variable, and stands for as many copies as there are elements. Variables
in ``singles`` are shared between clusters element by element, all others by their joint counts.

>>> graph = region_graph([(0, 1), (1, 2)], frozenset(), [(0, 1), (1, 2)])
>>> [(str(region), graph.counting[i]) for i, region in enumerate(graph.regions)]
[('{0 1}', 1), ('{1 2}', 1), ('{1}', -1)]
>>> graph.acyclic
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Scope = tuple[int, ...]
"""Variables, ascending."""


@dataclass(frozen=True)
class Region:
    """All counts of ``scope``; or, where ``single``, one element of its one variable."""

    scope: Scope
    single: bool = False

    def __str__(self) -> str:
        inside = " ".join(map(str, self.scope))
        return f"one of {inside}" if self.single else f"{{{inside}}}"

    def inside(self, other: Region) -> bool:
        """Whether it is a smaller part of the other region."""
        if other.single or not set(self.scope) <= set(other.scope):
            return False
        return self.single or self.scope != other.scope


@dataclass(frozen=True, eq=False)
class RegionGraph:
    """``edges`` (parent, child) by number: one inside the other with none between. ``counting``: how often
    each copy counts. ``owners``: for each factor the regions that hold it."""

    regions: tuple[Region, ...]
    edges: tuple[tuple[int, int], ...]
    counting: tuple[int, ...]
    owners: tuple[tuple[int, ...], ...]

    @cached_property
    def descendants(self) -> tuple[frozenset[int], ...]:
        """The regions inside each."""
        return tuple(
            frozenset(i for i, region in enumerate(self.regions) if region.inside(other))
            for other in self.regions
        )

    @cached_property
    def entering(self) -> tuple[tuple[int, ...], ...]:
        """For each region the edges whose messages its belief takes: those that come from outside to it or to
        one of its descendants. A message equation without the descendants' messages is wrong from three
        levels on."""
        found = []
        for number in range(len(self.regions)):
            within = self.descendants[number] | {number}
            found.append(tuple(e for e, (p, c) in enumerate(self.edges) if c in within and p not in within))
        return tuple(found)

    @cached_property
    def into(self) -> dict[int, tuple[int, ...]]:
        """The edges into each region that has any, larger regions first."""
        children = sorted({child for _, child in self.edges})
        return {
            child: tuple(e for e, edge in enumerate(self.edges) if edge[1] == child) for child in children
        }

    @cached_property
    def acyclic(self) -> bool:
        """Whether the clusters form a junction tree of counts: then propagation is exact once at rest."""
        scopes = {frozenset(region.scope) for region in self.regions}
        if any(region.single for region in self.regions) or _intersections(scopes) - scopes:
            return False
        return _is_acyclic([set(scope) for scope in scopes])

    @cached_property
    def flat(self) -> bool:
        """Whether there are two levels only: no region both hears from larger ones and tells smaller ones."""
        return not {parent for parent, _ in self.edges} & {child for _, child in self.edges}

    def smallest_with(self, variables: Collection[int]) -> int | None:
        """The smallest region of counts that has all these variables."""
        fitting = [
            (len(region.scope), number)
            for number, region in enumerate(self.regions)
            if not region.single and set(variables) <= set(region.scope)
        ]
        return min(fitting)[1] if fitting else None


def region_graph(
    clusters: Iterable[Scope], singles: Collection[int], factors: Sequence[Scope], deep: bool = True
) -> RegionGraph:
    """The clusters and all that they share; every factor must be inside some cluster. Unless ``deep`` they
    share each variable by itself: coarser, but two levels of messages come to rest more easily."""
    outer = _maximal(clusters)
    shared = [frozenset(scope) - set(singles) for scope in outer]
    inner = (_intersections(shared) if deep else _one_by_one(shared)) - set(map(frozenset, outer))
    alone = sorted(v for v in singles if sum(v in scope for scope in outer) > 1)
    regions = [Region(scope) for scope in outer]
    regions += [Region(tuple(sorted(scope))) for scope in sorted(inner, key=lambda s: (-len(s), sorted(s)))]
    regions += [Region((variable,), single=True) for variable in alone]
    counting: list[int] = []
    for region in regions:  # larger ones come first
        counting.append(
            1 - sum(c for c, other in zip(counting, regions, strict=False) if region.inside(other))
        )
    owners = tuple(_owners(scope, regions, counting) for scope in factors)
    graph = RegionGraph(tuple(regions), tuple(_edges(regions)), tuple(counting), owners)
    _check(graph, factors)
    return graph


def _maximal(scopes: Iterable[Scope]) -> list[Scope]:
    """Without those inside others."""
    distinct = sorted({tuple(sorted(scope)) for scope in scopes}, key=lambda scope: (-len(scope), scope))
    return [s for s in distinct if not any(set(s) < set(other) for other in distinct)]


def _intersections(scopes: Iterable[frozenset[int]]) -> set[frozenset[int]]:
    """Everything that two or more of them have in common."""
    scopes = list(scopes)
    found = {a & b for i, a in enumerate(scopes) for b in scopes[:i] if a & b}
    waiting = list(found)
    while waiting:
        one = waiting.pop()
        more = {one & other for other in found} - found - {frozenset()}
        found |= more
        waiting += more
    return found


def _one_by_one(scopes: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """Each variable that two or more have."""
    return {frozenset((v,)) for scope in scopes for v in scope if sum(v in other for other in scopes) > 1}


def _edges(regions: Sequence[Region]) -> Iterable[tuple[int, int]]:
    for child, small in enumerate(regions):
        above = [number for number, region in enumerate(regions) if small.inside(region)]
        for parent in above:
            if not any(regions[between].inside(regions[parent]) for between in above):
                yield parent, child


def _owners(scope: Scope, regions: Sequence[Region], counting: Sequence[int]) -> tuple[int, ...]:
    """All regions with the scope; one cluster only where what they share is too little to count it once."""
    holding = [i for i, region in enumerate(regions) if not region.single and set(scope) <= set(region.scope)]
    assert holding, "a factor in no cluster"
    return tuple(holding) if sum(counting[i] for i in holding) == 1 else (holding[0],)


def _check(graph: RegionGraph, factors: Sequence[Scope]) -> None:
    """Every variable and every factor must be counted once."""
    for variable in {v for region in graph.regions for v in region.scope}:
        times = sum(c for c, r in zip(graph.counting, graph.regions, strict=True) if variable in r.scope)
        assert times == 1, f"variable {variable} is counted {times} times"
    for scope, owners in zip(factors, graph.owners, strict=True):
        times = sum(graph.counting[owner] for owner in owners)
        assert times == 1, f"a factor over {scope} is counted {times} times"


def _is_acyclic(scopes: list[set[int]]) -> bool:
    """Graham's reduction: take off variables in one scope only and scopes inside others."""
    while True:
        before = sum(map(len, scopes)), len(scopes)
        for scope in scopes:
            scope -= {v for v in scope if sum(v in other for other in scopes) == 1}
        scopes = [s for i, s in enumerate(scopes) if not _covered(s, i, scopes)]
        if (sum(map(len, scopes)), len(scopes)) == before:
            return len(scopes) <= 1


def _covered(scope: set[int], place: int, scopes: Sequence[set[int]]) -> bool:
    """Whether another scope has all of it; of equal ones the last stays."""
    return any(scope < other or (scope == other and i > place) for i, other in enumerate(scopes))
