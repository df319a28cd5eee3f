"""Region graphs: regions, their edges, and counting numbers.

A variable is a set of interchangeable elements, and a region takes a number of them: all, so that it is about
their counts, or a few, so that it represents one ground region for each choice. Nothing is grounded: the
number of ground regions that contain a smaller one, and so every exponent and counting number, is a product
of binomial coefficients. Elements that evidence distinguishes are together one element of a separate
variable.

Takes clusters, the number of elements of each variable, and the variables of which messages are about one
element at a time; gives a :class:`RegionGraph`.

>>> graph = region_graph([whole((0, 1), [3, 3]), whole((1, 2), [3, 3, 3])], [3, 3, 3], [])
>>> [(str(region), graph.counting[i]) for i, region in enumerate(graph.regions)]
[('{3 of 0, 3 of 1}', 1), ('{3 of 1, 3 of 2}', 1), ('{3 of 1}', -1)]
>>> graph.acyclic
True
>>> pairs = region_graph([Region(((0, 2),))], [5], [])
>>> [(str(region), pairs.counting[i], pairs.copies(i)) for i, region in enumerate(pairs.regions)]
[('{2 of 0}', 1, 10), ('{1 of 0}', -3, 5)]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

from herbrand.budget import UNLIMITED, Budget

Scope = tuple[int, ...]
"""Numbers of variables, ascending."""

Elements = Sequence[int]
"""Number of elements of each variable."""


@dataclass(frozen=True, order=True)
class Region:
    """A region: ``taken`` lists (variable, number of its elements, at least one), variables ascending."""

    taken: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{number} of {variable}" for variable, number in self.taken) + "}"

    @cached_property
    def numbers(self) -> dict[int, int]:
        return dict(self.taken)

    @cached_property
    def scope(self) -> Scope:
        return tuple(variable for variable, _ in self.taken)

    @property
    def size(self) -> int:
        """Number of elements that it takes."""
        return sum(number for _, number in self.taken)

    def fits(self, other: Region) -> bool:
        """Whether the other region takes at least as many elements of every variable."""
        return all(number <= other.numbers.get(variable, 0) for variable, number in self.taken)

    def inside(self, other: Region) -> bool:
        """Whether it fits in the other region and differs from it."""
        return self != other and self.fits(other)


class RegionIndex:
    """Index of regions by the variables that they take, to find regions that fit in one, or that
    one fits in."""

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self.all: dict[Region, None] = {}
        self.taking: dict[int, dict[Region, None]] = {}
        for region in regions:
            self.add(region)

    def add(self, region: Region) -> None:
        self.all[region] = None
        for variable in region.scope:
            self.taking.setdefault(variable, {})[region] = None

    def remove(self, region: Region) -> None:
        del self.all[region]
        for variable in region.scope:
            del self.taking[variable][region]

    def sharing(self, region: Region) -> dict[Region, None]:
        """Regions that take elements of one of the region's variables."""
        return {other: None for v in region.scope for other in self.taking.get(v, ())}

    def inside(self, region: Region) -> list[Region]:
        """Regions that take something and fit in the region, itself included if it is here."""
        return [other for other in self.sharing(region) if other.fits(region)]

    def around(self, region: Region) -> list[Region]:
        """Regions that the region fits in, itself included if it is here."""
        fewest = min((self.taking.get(v, {}) for v in region.scope), key=len, default=self.all)
        return [other for other in fewest if region.fits(other)]


def whole(scope: Iterable[int], elements: Elements) -> Region:
    """Region of all elements of some variables."""
    return Region(tuple((variable, elements[variable]) for variable in sorted(scope)))


def joined(one: Region, other: Region) -> Region:
    """Smallest region in which both fit."""
    scope = sorted({*one.scope, *other.scope})
    return Region(tuple((v, max(one.numbers.get(v, 0), other.numbers.get(v, 0))) for v in scope))


def choices(small: Region, large: Region, elements: Elements) -> int:
    """Number of ground regions of the large kind that contain a given one of the small kind."""
    ways = 1
    for variable, number in large.taken:
        here = small.numbers.get(variable, 0)
        ways *= math.comb(elements[variable] - here, number - here)
    return ways


@dataclass(frozen=True, eq=False)
class RegionGraph:
    """Region graph. ``edges`` (parent, child) by number: the child fits in the parent with no region between.
    ``counting``: counting number of each ground region. ``owners``: for each factor the regions that hold it,
    and the share of it that each ground region has. ``index``: the regions by their variables; ``numbers``:
    number of each region."""

    elements: tuple[int, ...]
    regions: tuple[Region, ...]
    edges: tuple[tuple[int, int], ...]
    counting: tuple[int, ...]
    owners: tuple[tuple[tuple[int, ...], float], ...]
    index: RegionIndex
    numbers: Mapping[Region, int]

    def copies(self, number: int) -> int:
        """Number of ground regions of a region."""
        return choices(Region(()), self.regions[number], self.elements)

    @cached_property
    def entering(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each region the edges whose messages enter its belief, with the number of ground edges into
        each smaller ground region: those from outside into it or a descendant. A message equation without the
        descendants' messages is wrong from three levels on."""
        entering = []
        for region in self.regions:
            inside = [self.numbers[child] for child in self.index.inside(region)]
            edges = sorted(edge for child in inside for edge in self.into.get(child, ()))
            ends = [(edge, *(self.regions[end] for end in self.edges[edge])) for edge in edges]
            times = [(edge, self._outside(region, parent, child)) for edge, parent, child in ends]
            entering.append(tuple((edge, many) for edge, many in times if many))
        return tuple(entering)

    def _outside(self, region: Region, parent: Region, child: Region) -> int:
        """Number of ground parents of a child inside a region that are not inside it."""
        times = choices(child, parent, self.elements)
        if parent.fits(region):
            inside = [region.numbers[variable] for variable in region.scope]
            limits = dict(zip(region.scope, inside, strict=True))
            times -= choices(child, parent, [limits.get(v, 0) for v in range(len(self.elements))])
        return times

    @cached_property
    def into(self) -> dict[int, tuple[int, ...]]:
        """Edges into each region that has any, larger regions first."""
        into: dict[int, list[int]] = {}
        for edge, (_, child) in enumerate(self.edges):
            into.setdefault(child, []).append(edge)
        return {child: tuple(into[child]) for child in sorted(into)}

    @cached_property
    def acyclic(self) -> bool:
        """Whether the clusters form a junction tree, so that propagation is exact once at rest.

        A cluster that takes one element of one variable, which no other cluster contains, is a chain of
        copies that share everything else; any more such elements are assumed to form cycles.
        """
        if _intersections(self.regions, self.elements) - set(self.regions):
            return False
        inner = {child for _, child in self.edges}
        outer = [region for number, region in enumerate(self.regions) if number not in inner]
        apart = [[v for v, number in r.taken if number < self.elements[v]] for r in outer]
        for region, variables in zip(outer, apart, strict=True):
            for variable in variables:
                alone = sum(variable in other.scope for other in outer) == 1
                if len(variables) > 1 or region.numbers[variable] > 1 or not alone:
                    return False
        return _is_acyclic([region.scope for region in outer])

    @cached_property
    def flat(self) -> bool:
        """Whether there are two levels: no region receives from larger ones and sends to smaller ones."""
        return not {parent for parent, _ in self.edges} & {child for _, child in self.edges}

    def smallest_with(self, needed: Region) -> int | None:
        """Number of the smallest region in which ``needed`` fits; None if there is none."""
        fitting = [(region.size, self.numbers[region]) for region in self.index.around(needed)]
        return min(fitting)[1] if fitting else None


def region_graph(
    clusters: Iterable[Region],
    elements: Elements,
    factors: Sequence[Region],
    singles: Collection[int] = (),
    deep: bool = True,
    budget: Budget = UNLIMITED,
) -> RegionGraph:
    """Graph of the clusters and all intersections of their ground regions; every factor must fit
    in some cluster.

    Unless ``deep``, clusters share each variable by itself: coarser, but two levels come to rest more easily.
    Variables in ``singles`` are shared one element at a time, apart from all others.
    """
    outer = maximal(clusters)
    shared = [Region(tuple(t for t in region.taken if t[0] not in singles)) for region in outer]
    if deep:
        inner = _intersections(shared, elements, budget) | _repeated(shared, outer, elements)
    else:
        inner = _one_by_one(outer, elements, singles)
    ones = [Region(((variable, 1),)) for variable in singles]
    held = [sum(choices(one, r, elements) for r in outer if one.fits(r)) for one in ones]
    inner |= {one for one, times in zip(ones, held, strict=True) if times > 1}
    inner -= {*outer, Region(())}
    regions = [*outer, *sorted(inner, key=lambda region: (-region.size, region.scope, region))]
    index, counted = RegionIndex(regions), dict[Region, int]()
    for region in budget.each(regions):  # larger ones come first
        above = [other for other in index.around(region) if other != region]
        counted[region] = 1 - sum(counted[other] * choices(region, other, elements) for other in above)
    numbers, counting = {region: number for number, region in enumerate(regions)}, tuple(counted.values())
    around = [sorted(numbers[other] for other in index.around(factor)) for factor in budget.each(factors)]
    owners = tuple(
        _owners(factor, [(i, choices(factor, regions[i], elements)) for i in holding], counting)
        for factor, holding in zip(factors, around, strict=True)
    )
    edges = tuple(_edges(regions, index, numbers))
    graph = RegionGraph(tuple(elements), tuple(regions), edges, counting, owners, index, numbers)
    _check(graph, factors)
    return graph


def maximal(regions: Iterable[Region]) -> list[Region]:
    """Regions that are not inside others, larger ones first."""
    distinct = sorted(set(regions), key=lambda region: (-region.size, region.scope, region))
    index = RegionIndex(distinct)
    return [region for region in distinct if index.around(region) == [region]]


def _common(one: Region, other: Region, elements: Elements) -> Iterator[Region]:
    """Yield all intersections that ground regions of two kinds can have."""
    ranges = []
    for variable, number in one.taken:
        if variable in other.numbers:
            also = other.numbers[variable]
            least = max(0, number + also - elements[variable])
            ranges.append([(variable, shared) for shared in range(least, min(number, also) + 1)])
    for taken in product(*ranges):
        yield Region(tuple(pair for pair in taken if pair[1]))


def _intersections(regions: Iterable[Region], elements: Elements, budget: Budget = UNLIMITED) -> set[Region]:
    """All intersections of two or more ground regions, closed under intersection."""
    waiting, known = list(dict.fromkeys(regions)), RegionIndex()
    met, shared = set(waiting), set[Region]()
    while waiting:
        budget.check()
        one = waiting.pop()
        known.add(one)
        for other in known.sharing(one):
            for common in _common(one, other, elements):
                if one == other == common or not common.taken:
                    continue
                shared.add(common)
                if common not in met:
                    met.add(common)
                    waiting.append(common)
    return shared


def _one_by_one(regions: Sequence[Region], elements: Elements, singles: Collection[int]) -> set[Region]:
    """Intersections of two or more ground regions, for each variable by itself."""
    shared: set[Region] = set()
    for variable, taking in RegionIndex(regions).taking.items():
        if variable in singles:
            continue
        holding = list(taking)
        parts = [Region(((variable, region.numbers[variable]),)) for region in holding]
        shared |= _intersections(parts, elements) | _repeated(parts, holding, elements)
    return shared


def _repeated(parts: Sequence[Region], regions: Sequence[Region], elements: Elements) -> set[Region]:
    """Parts of regions that more than one ground region contains."""
    pairs, times = zip(parts, regions, strict=True), Counter(parts)
    return {p for p, region in pairs if times[p] > 1 or choices(p, region, elements) > 1}


def _edges(
    regions: Sequence[Region], index: RegionIndex, numbers: Mapping[Region, int]
) -> Iterable[tuple[int, int]]:
    for child, small in enumerate(regions):
        above = sorted(numbers[region] for region in index.around(small) if region != small)
        for parent in above:
            if not any(regions[between].inside(regions[parent]) for between in above):
                yield parent, child


def _owners(
    factor: Region, holding: Sequence[tuple[int, int]], counting: Sequence[int]
) -> tuple[tuple[int, ...], float]:
    """Regions that hold a factor, and the share of each ground region: all that it fits in, or the first
    one in equal shares if counting numbers do not add up to 1. ``holding``: these regions, and how many of
    each hold it."""
    assert holding, "a factor in no cluster"
    if sum(counting[i] * times for i, times in holding) == 1:
        return tuple(i for i, _ in holding), 1.0
    first, times = holding[0]
    return (first,), 1 / times


def _check(graph: RegionGraph, factors: Sequence[Region]) -> None:
    """Check that every element and every factor is counted once."""
    for variable, taking in graph.index.taking.items():
        times = _times(graph, Region(((variable, 1),)), map(graph.numbers.__getitem__, taking))
        assert times == 1, f"an element of {variable} is counted {times} times"
    for factor, (owners, share) in zip(factors, graph.owners, strict=True):
        times = share * _times(graph, factor, owners)
        assert math.isclose(times, 1), f"a factor over {factor} is counted {times} times"


def _times(graph: RegionGraph, small: Region, holders: Iterable[int]) -> int:
    """Sum of the counting numbers of the ground regions of ``holders`` that contain a given small one."""
    return sum(
        graph.counting[i] * choices(small, graph.regions[i], graph.elements)
        for i in holders
        if small.fits(graph.regions[i])
    )


def _is_acyclic(scopes: Collection[Collection[int]]) -> bool:
    """Graham's reduction: remove variables in a single scope and scopes inside others,
    until nothing changes."""
    while True:
        before = sum(map(len, scopes)), len(scopes)
        times = Counter(chain.from_iterable(scopes))
        left = {frozenset(v for v in scope if times[v] > 1) for scope in scopes}
        taking: dict[int, set[frozenset[int]]] = {}
        for scope in left:
            for variable in scope:
                taking.setdefault(variable, set()).add(scope)
        scopes = [s for s in left if s and not any(s < o for o in min((taking[v] for v in s), key=len))]
        if (sum(map(len, scopes)), len(scopes)) == before:
            return len(scopes) <= 1
