"""The facts around an example, of which the body of a clause can be made, and ways that lead through them.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(4, {"edge": [(0, 1), (1, 2), (2, 3)]})])
>>> near = facts_around(np.array([0, 2]), False, database, ["edge"], enough=9, hub=None)
>>> sorted(near)
[('edge', (0, 1)), ('edge', (1, 2)), ('edge', (2, 3))]
>>> [sorted(path) for path in paths((0, 2), near, longest=3, most=5)]
[[('edge', (0, 1)), ('edge', (1, 2))]]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from herbrand.induction.database import Database, Rows

Fact = tuple[str, tuple[int, ...]]


def facts_around(
    seed: Rows,
    of_worlds: bool,
    database: Database,
    predicates: Sequence[str],
    enough: int,
    hub: int | None,
) -> list[Fact]:
    """Facts nearest to the example's objects first, until there are ``enough``; of a symmetric relation's
    pairs one direction each.

    Of an object that leads on by more than ``hub`` facts, only those about objects that are near anyway."""
    if of_worlds:
        world = int(seed[0])
        reached = dict.fromkeys(range(database.starts[world], database.starts[world + 1]))
    else:
        world = int(database.world_of[seed[0]])
        reached = dict.fromkeys(int(v) for v in seed)
    found: dict[Fact, None] = {}
    for name in predicates:
        if database.arities[name] == 0 and world in database.tables[name][:, 0]:
            found[name, ()] = None
    waiting = list(reached)
    while waiting and len(found) < enough:
        around = list(_facts_of(waiting.pop(0), database, predicates))
        near = [fact for fact in around if reached.keys() >= set(fact[1])]
        if hub is not None and len(around) - len(near) > hub:
            around = near
        for fact in around:
            if not _said(fact, found, database):
                found[fact] = None
            waiting += [v for v in dict.fromkeys(fact[1]) if v not in reached]
            reached |= dict.fromkeys(fact[1])
    return list(found)


def _facts_of(centre: int, database: Database, predicates: Sequence[str]) -> Iterator[Fact]:
    for name in predicates:
        table = database.tables[name]
        for column in range(database.arities[name]):
            order, offsets = database.by_column(name, column)
            for row in table[order[offsets[centre] : offsets[centre + 1]]]:
                yield name, tuple(int(v) for v in row)


def _said(fact: Fact, found: Mapping[Fact, None], database: Database) -> bool:
    """Whether the same pair of a symmetric relation is there, the other way round."""
    name, objects = fact
    turned = (name, objects[::-1])
    return len(objects) == 2 and objects[0] != objects[1] and turned in found and _symmetric(name, database)


def _symmetric(name: str, database: Database) -> bool:
    table = database.tables[name]
    codes = database.codes(table)
    return bool(np.isin(database.codes(table[:, ::-1]), codes).all())


def next_facts(chosen: Collection[Fact], facts: Sequence[Fact], head: tuple[int, ...]) -> list[Fact]:
    """The facts that speak of an object of those chosen, or of the head."""
    known = set(head) | {o for _, objects in chosen for o in objects}
    return [f for f in facts if f not in chosen and (not f[1] or not known or known & set(f[1]))]


def link(facts: Collection[Fact], head: tuple[int, ...]) -> bool:
    """Whether facts lead from each object of the example to every other."""
    reached = {head[0]} if head else set()
    for _ in facts:
        reached |= {o for _, objects in facts if reached & set(objects) for o in objects}
    return set(head) <= reached


def paths(head: tuple[int, ...], facts: Sequence[Fact], longest: int, most: int) -> list[frozenset[Fact]]:
    """Chains of facts that lead from the first object of the example to the last, the shortest first.

    ``most`` of them; of beginnings that lead elsewhere five times as many are followed."""
    if len(head) < 2:
        return []
    beside: dict[int, list[tuple[int, Fact]]] = {}
    for fact in facts:
        for left, right in combinations(dict.fromkeys(fact[1]), 2):
            beside.setdefault(left, []).append((right, fact))
            beside.setdefault(right, []).append((left, fact))
    found: list[frozenset[Fact]] = []
    waiting: list[tuple[tuple[int, ...], tuple[Fact, ...]]] = [((head[0],), ())]
    for _ in range(longest):
        longer = []
        for places, path in waiting:
            for place, fact in beside.get(places[-1], []):
                if place == head[-1]:
                    found.append(frozenset((*path, fact)))
                elif place not in places:
                    longer.append(((*places, place), (*path, fact)))
        waiting = longer[: 5 * most]
    return list(dict.fromkeys(found))[:most]
