"""Points, which represent any constant of their class, and counts of the ground atoms over them.

A :data:`Point` is one constant of a class, different from all points of the class with another number. An
atom over points represents a ground atom for each choice of different constants for the points.

>>> x, y = ("t", 0, 4), ("t", 0, 2)
>>> canonical(("f", (x, y, x)))
('f', (('t', 0, 0), ('t', 0, 1), ('t', 0, 0)))
>>> choices([x, y], {("t", 0): 10})
90
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

Point = tuple[str, int, int]
"""Type, class of its constants, and number among the points of the class."""

PointAtom = tuple[str, tuple[Point, ...]]
Kind = tuple[str, int]


def canonical(atom: PointAtom) -> PointAtom:
    """The atom with the points of each class numbered in the order of their first occurrence."""
    seen: dict[Point, Point] = {}
    used: dict[Kind, int] = {}
    for point in atom[1]:
        if point not in seen:
            kind = point[:2]
            seen[point] = (*kind, used.get(kind, 0))
            used[kind] = used.get(kind, 0) + 1
    return atom[0], tuple(seen[point] for point in atom[1])


def choices(points: Iterable[Point], sizes: Mapping[Kind, int], taken: Iterable[Point] = ()) -> int:
    """Number of ways to choose distinct constants for the points, after constants for those ``taken``."""
    chosen: dict[Kind, int] = {}
    before = set(taken)
    for point in before:
        chosen[point[:2]] = chosen.get(point[:2], 0) + 1
    ways = 1
    for point in set(points) - before:
        already = chosen.get(point[:2], 0)
        ways *= max(0, sizes[point[:2]] - already)
        chosen[point[:2]] = already + 1
    return ways


@dataclass(frozen=True)
class Ordered:
    """Atoms in canonical form, and all orders of the given atoms that yield it.

    ``orders``: place j of the form is the given atom ``order[j]``.
    """

    atoms: tuple[PointAtom, ...]
    orders: tuple[tuple[int, ...], ...]

    @property
    def orbits(self) -> list[int]:
        """Orbit of each place under the symmetries of the form, named by its first place."""
        first = self.orders[0]
        orbits = list(range(len(first)))
        for order in self.orders[1:]:
            at = {atom: place for place, atom in enumerate(order)}
            for place, atom in enumerate(first):
                orbits[place] = min(orbits[place], at[atom])
        return orbits


def ordered(atoms: Sequence[PointAtom], fixed: frozenset[Point] = frozenset()) -> Ordered:
    """Smallest form of distinct atoms under exchanges of points of a class that are not ``fixed``."""
    free: dict[Kind, list[Point]] = {}
    for point in dict.fromkeys(point for _, points in atoms for point in points):
        if point not in fixed:
            free.setdefault(point[:2], []).append(point)
    best: tuple[PointAtom, ...] | None = None
    orders: list[tuple[int, ...]] = []
    for renaming in _renamings(free, fixed):
        seen = [(name, tuple(renaming.get(p, p) for p in points)) for name, points in atoms]
        order = tuple(sorted(range(len(seen)), key=seen.__getitem__))
        form = tuple(seen[i] for i in order)
        if best is None or form < best:
            best, orders = form, [order]
        elif form == best:
            orders.append(order)
    assert best is not None
    return Ordered(best, tuple(orders))


def _renamings(free: Mapping[Kind, list[Point]], fixed: frozenset[Point]) -> Iterator[Mapping[Point, Point]]:
    """All renumberings of the free points of each class, after the fixed ones."""
    after = {kind: 1 + max((p[2] for p in fixed if p[:2] == kind), default=-1) for kind in free}
    ways = [permutations(points) for points in free.values()]
    for chosen in product(*ways):
        yield {
            point: (*kind, after[kind] + number)
            for kind, points in zip(free, chosen, strict=True)
            for number, point in enumerate(points)
        }


def assignments(
    types: Sequence[str], sizes: Mapping[Kind, int], taken: Iterable[Point] = ()
) -> Iterator[tuple[Point, ...]]:
    """All ways, up to exchanges of constants of a class, to assign points to variables of these types.

    A variable is one of the points before it, one of those ``taken``, or a new one of some class.
    """
    kinds: dict[str, list[Kind]] = {}
    for kind in sizes:
        kinds.setdefault(kind[0], []).append(kind)
    used: dict[Kind, int] = {}
    for point in taken:
        used[point[:2]] = max(used.get(point[:2], 0), point[2] + 1)
    yield from _assigned(types, kinds, sizes, used)


def _assigned(
    types: Sequence[str],
    kinds: Mapping[str, list[Kind]],
    sizes: Mapping[Kind, int],
    used: dict[Kind, int],
) -> Iterator[tuple[Point, ...]]:
    if not types:
        yield ()
        return
    for kind in kinds.get(types[0], ()):
        before = used.get(kind, 0)
        for number in range(min(before + 1, sizes[kind])):
            now = {**used, kind: max(before, number + 1)}
            for rest in _assigned(types[1:], kinds, sizes, now):
                yield ((*kind, number), *rest)
