"""Families, graphs and towers by plain loops: what is asked of random worlds, answered slowly."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import product

Pairs = set[tuple[int, int]]


def parents_of(father: Sequence[int], mother: Sequence[int]) -> Pairs:
    """``(child, parent)``; -1 is nobody."""
    return {(c, p) for who in (father, mother) for c, p in enumerate(who) if p >= 0}


def family_answers(
    father: Sequence[int], mother: Sequence[int], man: Sequence[bool]
) -> dict[str, set[tuple[int, ...]]]:
    """Everything that the family tasks ask, person by person."""
    people, parents = range(len(father)), parents_of(father, mother)
    son = {(p, c) for c, p in parents if man[c]}
    grand = {(x, z) for x, y in parents for w, z in parents if w == y}
    grandmother = {(x, z) for x, y in parents for z in people if mother[y] == z}
    return {
        "has_father": {(x,) for x in people if father[x] >= 0},
        "has_sister": {
            (x,)
            for x, y in product(people, people)
            if x != y and father[x] >= 0 and father[x] == father[y] and not man[y]
        },
        "grandparents": grand,
        "uncle": {(x, u) for x, g in grand for h, u in son if h == g and father[x] != u},
        "maternal_great_uncle": {(x, u) for x, g in grandmother for h, u in son if h == mother[g]},
    }


def distances(edges: Pairs, nodes: int, start: int) -> list[int | None]:
    """How many edges away each node is, ``None`` where there is no way: breadth first."""
    found: list[int | None] = [None] * nodes
    found[start] = 0
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there in range(nodes):
            if (here, there) in edges and found[there] is None:
                found[there] = 1 + (found[here] or 0)
                waiting.append(there)
    return found


class Blocks:
    """Towers as lists of blocks from below; block and ground by number, the ground is 0."""

    def __init__(self, under: Sequence[int]) -> None:
        self.towers = [[block] for block in range(1, len(under)) if under[block] == 0]
        placed = {tower[0] for tower in self.towers}
        while len(placed) < len(under) - 1:
            for tower in self.towers:
                for block in range(1, len(under)):
                    if block not in placed and under[block] == tower[-1]:
                        tower.append(block)
                        placed.add(block)
        self.count = len(under)

    def may(self, block: int, onto: int) -> bool:
        tops = {tower[-1] for tower in self.towers}
        return block != onto and block in tops and (onto == 0 or onto in tops)

    def move(self, block: int, onto: int) -> None:
        if not self.may(block, onto):
            return
        next(tower for tower in self.towers if tower[-1] == block).pop()
        self.towers = [tower for tower in self.towers if tower]
        if onto == 0:
            self.towers.append([block])
        else:
            next(tower for tower in self.towers if tower[-1] == onto).append(block)

    def under(self) -> list[int]:
        found = [0] * self.count
        for tower in self.towers:
            for low, high in zip([0, *tower], tower, strict=False):
                found[high] = low
        return found

    def places(self) -> list[tuple[int, int]]:
        """Of each object: the number of the block that its tower stands on, and how high it is."""
        found = [(0, 0)] * self.count
        for tower in self.towers:
            for height, block in enumerate(tower, 1):
                found[block] = (tower[0], height)
        return found
