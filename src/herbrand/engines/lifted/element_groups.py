"""Groups of elements that are counted together, and hubs, the few elements that are not.

A pair with unusual evidence links its two elements. Hubs are a set of elements that meets every link; all
other elements have links to hubs only, and those of one class with the same links are an
:class:`ElementGroup`: given the hubs' states, they are exchangeable, and independent except through terms
over counts.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.lifted.tabulated import Tabulated
from herbrand.engines.lifted.terms import NotLiftableError

MOST_LINKS = 20_000

Node = tuple[int, int]
"""A family and an element."""


@dataclass(frozen=True, order=True)
class Tie:
    """A link of an element to a hub: a pattern of a pair group; ``left``: whether the element is the left
    one."""

    hub: int
    group: int
    pattern: int
    left: bool


@dataclass(frozen=True, eq=False)
class ElementGroup:
    """Elements of a pool and a class with the same ties. A hub is a group of one."""

    pool: int
    klass: int
    elements: np.ndarray
    ties: tuple[Tie, ...] = ()

    def __len__(self) -> int:
        return len(self.elements)


@dataclass(frozen=True, eq=False)
class ElementGroups:
    """All element groups. ``hubs`` have ties to hubs before them only. ``settled``: number of unusual pairs
    whose elements have one state each, by group, pattern and pools. ``sizes``: number of elements of each
    pool."""

    hubs: tuple[ElementGroup, ...]
    others: tuple[ElementGroup, ...]
    settled: Mapping[tuple[int, int, int, int], int]
    sizes: tuple[int, ...]

    @cached_property
    def all(self) -> tuple[ElementGroup, ...]:
        """All groups, hubs first, so that they keep their numbers."""
        return (*self.hubs, *self.others)

    @cached_property
    def last_of(self) -> dict[int, int]:
        """The last group of each pool, which is its only one where evidence on pairs distinguishes none."""
        return {element_group.pool: number for number, element_group in enumerate(self.all)}

    @cached_property
    def whole_pools(self) -> frozenset[int]:
        """Groups without ties that contain all elements of their pool."""
        return frozenset(
            number
            for number, element_group in enumerate(self.all)
            if number >= len(self.hubs)
            and not element_group.ties
            and len(element_group) == self.sizes[element_group.pool]
        )

    @cached_property
    def largest(self) -> frozenset[int]:
        """The largest group of each pool."""
        best: dict[int, int] = {}
        for number, element_group in enumerate(self.all):
            if element_group.pool not in best or len(element_group) > len(self.all[best[element_group.pool]]):
                best[element_group.pool] = number
        return frozenset(best.values())


def element_groups_of(tabulated: Tabulated) -> ElementGroups:
    model = tabulated.model
    links, settled = _links(tabulated)
    hubs = _cover(links)
    number = {node: i for i, node in enumerate(hubs)}
    ties: dict[Node, list[Tie]] = defaultdict(list)
    for (left, right), linked in links.items():
        as_hub = [number.get(left), number.get(right)]
        for group, pattern in linked:
            if as_hub[1] is not None and (as_hub[0] is None or as_hub[1] < as_hub[0]):
                ties[left].append(Tie(as_hub[1], group, pattern, True))
            else:
                assert as_hub[0] is not None
                ties[right].append(Tie(as_hub[0], group, pattern, False))
    hub_groups = tuple(_element_group(tabulated, [node], ties[node]) for node in hubs)
    alike: dict[object, list[Node]] = defaultdict(list)
    for node in ties:
        if node not in number:
            pool, klass = _place(tabulated, node)
            alike[pool, klass, tuple(sorted(ties[node]))].append(node)
    others = [_element_group(tabulated, nodes, ties[nodes[0]]) for nodes in alike.values()]
    tied = [
        np.array([e for f, e in {*ties, *number} if f == family], np.int64)
        for family in range(len(model.families))
    ]
    for index, pool in enumerate(model.pools):
        free = np.setdiff1d(pool.elements, tied[pool.family])
        classes = model.elements[pool.family].class_of[free]
        others += [ElementGroup(index, int(k), free[classes == k]) for k in np.unique(classes)]
    return ElementGroups(hub_groups, tuple(others), settled, tuple(map(len, model.pools)))


def _element_group(tabulated: Tabulated, nodes: list[Node], ties: list[Tie]) -> ElementGroup:
    pool, klass = _place(tabulated, nodes[0])
    return ElementGroup(pool, klass, np.array([element for _, element in nodes]), tuple(sorted(ties)))


def _place(tabulated: Tabulated, node: Node) -> tuple[int, int]:
    """Pool and class of an element."""
    family, element = node
    model = tabulated.model
    return int(model.pool_of[family][element]), int(model.elements[family].class_of[element])


def _links(
    tabulated: Tabulated,
) -> tuple[dict[tuple[Node, Node], list[tuple[int, int]]], dict[tuple[int, int, int, int], int]]:
    """Unusual pairs by their elements; pairs whose elements have one state each are only counted."""
    model = tabulated.model
    links: dict[tuple[Node, Node], list[tuple[int, int]]] = defaultdict(list)
    settled: dict[tuple[int, int, int, int], int] = {}
    states = np.array([cells.states for cells in tabulated.cells])
    for group, knowledge in enumerate(model.knowledge):
        if not len(knowledge.pairs):
            continue
        left, right = model.groups[group].families
        pools = np.column_stack(
            [model.pool_of[left][knowledge.pairs[:, 0]], model.pool_of[right][knowledge.pairs[:, 1]]]
        )
        single = (states[pools] <= 1).all(1)
        rows = np.column_stack([pools, knowledge.pattern_of])[single]
        for (one, other, pattern), count in zip(*np.unique(rows, axis=0, return_counts=True), strict=True):
            settled[group, int(pattern), int(one), int(other)] = int(count)
        if (~single).sum() > MOST_LINKS:
            raise NotLiftableError(
                f"the facts distinguish {int((~single).sum()):,} pairs; at most {MOST_LINKS:,} are taken"
            )
        pairs = zip(knowledge.pairs[~single].tolist(), knowledge.pattern_of[~single].tolist(), strict=True)
        for (one, other), pattern in pairs:
            links[(left, one), (right, other)].append((group, pattern))
    return links, settled


def _cover(links: Mapping[tuple[Node, Node], object]) -> list[Node]:
    """A vertex cover of the links, chosen greedily: elements with the most links first."""
    around: dict[Node, set[Node]] = defaultdict(set)
    for one, other in links:
        around[one].add(other)
        around[other].add(one)
    cover: list[Node] = []
    queue = [(-len(near), -family, -element) for (family, element), near in around.items()]
    heapq.heapify(queue)
    while queue:
        most, *turned = heapq.heappop(queue)
        node = (-turned[0], -turned[1])
        if len(around[node]) != -most or not most:  # it has lost links since, or all of them
            continue
        cover.append(node)
        for other in around[node]:
            around[other].discard(node)
            heapq.heappush(queue, (-len(around[other]), -other[0], -other[1]))
        around[node].clear()
    return cover
