"""Small random worlds whose target is known by plain loops, to see which rules ``induce`` finds in them.

>>> world = WORLDS["reachability"](np.random.default_rng(0), 5)
>>> sorted(world), world["t"] >= world["edge"]
(['edge', 't'], True)
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

World = dict[str, set[tuple[str, ...]]]
"""The tuples of each predicate; ``t`` is the target."""


def _names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def _pairs(table: np.ndarray) -> set[tuple[str, ...]]:
    return {(f"n{row}", f"n{column}") for row, column in np.argwhere(table).tolist()}


def _some(rng: np.random.Generator, names: Iterable[str], share: float) -> set[tuple[str, ...]]:
    return {(name,) for name in names if rng.random() < share}


def _closure(pairs: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The transitive closure, step by step."""
    found = set(pairs)
    while True:
        more = {(x, z) for x, y in found for other, z in pairs if y == other} - found
        if not more:
            return found
        found |= more


def reachability(rng: np.random.Generator, size: int) -> World:
    edge = _pairs(rng.random((size, size)) < 1.1 / size)
    return {"edge": edge, "t": _closure(edge)}


def undirected_reachability(rng: np.random.Generator, size: int) -> World:
    """Edges are listed in one direction and lead both ways; the target is of different nodes."""
    edge = _pairs(np.triu(rng.random((size, size)) < 1.1 / size, 1))
    both = _closure(edge | {(y, x) for x, y in edge})
    return {"edge": edge, "t": {(x, y) for x, y in both if x != y}}


def _family(rng: np.random.Generator, size: int) -> World:
    """Of each person but the first three, one or two parents who were born before."""
    man = rng.random(size) < 0.5
    father, mother = set(), set()
    for child in range(3, size):
        for parents, fits in ((father, man), (mother, ~man)):
            older = np.flatnonzero(fits[:child])
            if len(older) and rng.random() < 0.8:
                parents.add((f"n{rng.choice(older)}", f"n{child}"))
    return {"father": father, "mother": mother}


def ancestor(rng: np.random.Generator, size: int) -> World:
    family = _family(rng, size)
    return family | {"t": _closure(family["father"] | family["mother"])}


def ancestor_by_parent(rng: np.random.Generator, size: int) -> World:
    family = _family(rng, size)
    parent = family["father"] | family["mother"]
    return {"parent": parent, "t": _closure(parent)}


def same_generation(rng: np.random.Generator, size: int) -> World:
    """Different people as many steps below one ancestor, in a tree."""
    up = [-1, *(int(rng.integers(max(0, child // 2), child)) for child in range(1, size))]
    depth = [0]
    for child in range(1, size):
        depth.append(depth[up[child]] + 1)
    parent = {(f"n{up[child]}", f"n{child}") for child in range(1, size)}
    names = _names(size)
    same = {
        (x, y) for i, x in enumerate(names) for j, y in enumerate(names) if i != j and depth[i] == depth[j]
    }
    return {"parent": parent, "t": same}


def even(rng: np.random.Generator, size: int) -> World:
    """Every second place of one chain, from its beginning."""
    names = [f"n{place}" for place in rng.permutation(size)]
    after = set(pairwise(names))
    return {"after": after, "first": {(names[0],)}, "t": {(name,) for name in names[::2]}}


def even_length(rng: np.random.Generator, size: int) -> World:
    """Pairs an even number of steps apart on several chains of different lengths."""
    after, same = set(), set()
    start = 0
    while start < size:
        length = int(rng.integers(2, 8))
        chain = _names(size)[start : start + length]
        after |= set(pairwise(chain))
        same |= {(x, y) for i, x in enumerate(chain) for y in chain[i + 2 :: 2]}
        start += length
    return {"after": after, "t": same}


def same_colour_path(rng: np.random.Generator, size: int) -> World:
    """A path all of whose nodes are of the first one's colour."""
    names = _names(size)
    colour = {name: ("red", "blue")[int(rng.integers(2))] for name in names}
    edge = _pairs(rng.random((size, size)) < 2.2 / size)
    alike = {(x, y) for x, y in edge if colour[x] == colour[y]}
    return {"edge": edge, "colour": set(colour.items()), "t": _closure(alike)}


def red_path(rng: np.random.Generator, size: int) -> World:
    """A path by red nodes alone."""
    red = _some(rng, _names(size), 0.6)
    edge = _pairs(rng.random((size, size)) < 2.0 / size)
    inner = {(x, y) for x, y in edge if (x,) in red and (y,) in red}
    return {"edge": edge, "red": red, "t": _closure(inner)}


def connected_to_exit(rng: np.random.Generator, size: int) -> World:
    """Nodes from which an exit can be reached through open nodes."""
    names = _names(size)
    edge = _pairs(rng.random((size, size)) < 1.4 / size)
    leave, shut = _some(rng, names, 0.2), _some(rng, names, 0.3)
    found = set(leave)
    while True:
        more = {(x,) for x, y in edge if (y,) in found and (x,) not in shut} - found
        if not more:
            return {"edge": edge, "exit": leave, "shut": shut, "t": found}
        found |= more


def traffic(rng: np.random.Generator, size: int) -> World:
    """To an emergency vehicle one yields, else to the right, unless priority or a red light say not."""
    names = _names(size)
    shares = {"priority": 0.4, "red_light": 0.3, "emergency": 0.25, "bus": 0.3, "blue": 0.3}
    world = {name: _some(rng, names, share) for name, share in shares.items()}
    right = {(x, y) for x in names for y in names if x != y and rng.random() < 0.4}
    must = set()
    for x in names:
        for y in names:
            if x == y or (x,) in world["emergency"]:
                continue
            goes_first = (x,) in world["priority"] and (y,) not in world["priority"]
            by_side = (x, y) in right and not goes_first and (y,) not in world["red_light"]
            if (y,) in world["emergency"] or by_side:
                must.add((x, y))
    return world | {"car": {(name,) for name in names}, "right_of": right, "t": must}


def _structure(rng: np.random.Generator, size: int) -> World:
    """Structures of three to five pieces with colour, size, orientation, and contacts."""
    world: World = {"piece": set(), "contact": set()}
    world |= {name: set() for name in ("red", "blue", "green", "upright", "flat", "small", "large")}
    for structure in range(size):
        pieces = [f"p{structure}_{number}" for number in range(int(rng.integers(3, 6)))]
        for piece in pieces:
            world["piece"].add((f"s{structure}", piece))
            world[("red", "blue", "green")[int(rng.integers(3))]].add((piece,))
            world[("upright", "flat")[int(rng.integers(2))]].add((piece,))
            world[("small", "large")[int(rng.integers(2))]].add((piece,))
        for one in pieces:
            for other in pieces:
                if one < other and rng.random() < 0.25:
                    world["contact"] |= {(one, other), (other, one)}
    return world


def zendo(rng: np.random.Generator, size: int) -> World:
    """A structure counts if a small red piece touches a blue one."""
    world = _structure(rng, size)
    good = {p for (p,) in world["red"] & world["small"]}
    touching = {one for one, other in world["contact"] if one in good and (other,) in world["blue"]}
    return world | {"t": {(s,) for s, piece in world["piece"] if piece in touching}}


def trains(rng: np.random.Generator, size: int) -> World:
    """A train goes east if it has a short closed car, or a long car with a triangle."""
    world: World = {n: set() for n in ("has_car", "load", "short", "long", "closed", "triangle", "circle")}
    east = set()
    for train in range(size):
        for number in range(int(rng.integers(2, 5))):
            car, load = f"c{train}_{number}", f"l{train}_{number}"
            world["has_car"].add((f"t{train}", car))
            world["load"].add((car, load))
            length = ("short", "long")[int(rng.integers(2))]
            shape = ("triangle", "circle")[int(rng.random() < 0.7)]
            closed = rng.random() < 0.35
            world[length].add((car,))
            world[shape].add((load,))
            if closed:
                world["closed"].add((car,))
            if (length == "short" and closed) or (length == "long" and shape == "triangle"):
                east.add((f"t{train}",))
    return world | {"t": east}


def uncle(rng: np.random.Generator, size: int) -> World:
    """Brothers of a parent."""
    family = _family(rng, size)
    parent = family["father"] | family["mother"]
    names = _names(size)
    men = {x for x, _ in family["father"]} | {name for name in names if rng.random() < 0.4}
    men -= {x for x, _ in family["mother"]}
    found = set()
    for above, own in parent:
        for top, child in parent:
            if child == above:
                found |= {(y, own) for x, y in parent if x == top and y != above and y in men}
    return {"parent": parent, "man": {(name,) for name in men}, "t": found}


WORLDS: dict[str, Callable[[np.random.Generator, int], World]] = {
    "reachability": reachability,
    "undirected reachability": undirected_reachability,
    "ancestor (father, mother)": ancestor,
    "ancestor (parent)": ancestor_by_parent,
    "same generation": same_generation,
    "even": even,
    "even length": even_length,
    "same colour path": same_colour_path,
    "red path": red_path,
    "way to an exit": connected_to_exit,
    "traffic": traffic,
    "zendo": zendo,
    "trains": trains,
    "uncle": uncle,
}


def write(world: World, folder: Path, labels: dict[tuple[str, ...], bool] | None = None) -> None:
    """The world as a folder of tables; with ``labels``, these are all that is known of the target."""
    folder.mkdir(parents=True)
    for name, rows in world.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            if name == "t" and labels is not None:
                places = len(next(iter(labels)))
                header = [*(f"a{place}" for place in range(places)), "truth"]
                csv.writer(file).writerow(header)
                csv.writer(file).writerows([*row, str(truth).lower()] for row, truth in labels.items())
            else:
                csv.writer(file).writerows(sorted(rows))
