"""Families, graphs, films and lists: targets of relations, some of them recursive."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np

from benchmarks.rule_problems.problem import Facts, Labelled, Problem, labelled, sampled

Kin = dict[str, Any]
"""Who is above, below or beside whom, who is married, and who is a man."""

FAMILY = {
    "father": "person person",
    "mother": "person person",
    "man": "person",
    "woman": "person",
    "married": "person person",
}


def _family(rng: np.random.Generator, count: int) -> tuple[Facts, dict[str, tuple[str, str]]]:
    """Families over four generations, and the parents of each person who has any."""
    facts: Facts = {name: set() for name in FAMILY}
    parents: dict[str, tuple[str, str]] = {}
    made = 0

    def person():
        nonlocal made
        made += 1
        name = f"n{made}"
        facts["man" if rng.random() < 0.5 else "woman"].add((name,))
        return name

    def man(name):
        return (name,) in facts["man"]

    while made < count:
        layer = [person() for _ in range(4)]
        for _ in range(3):
            men = [p for p in layer if man(p)]
            women = [p for p in layer if not man(p)]
            pairs = [
                (m, w)
                for m, w in zip(rng.permutation(men), rng.permutation(women), strict=False)
                if parents.get(m, m) != parents.get(w, w)
            ]
            below = []
            for m, w in pairs:
                m, w = str(m), str(w)
                facts["married"] |= {(m, w), (w, m)}
                for _ in range(int(rng.integers(1, 4))):
                    child = person()
                    parents[child] = (m, w)
                    facts["father"].add((m, child))
                    facts["mother"].add((w, child))
                    below.append(child)
            layer = below + [person() for _ in range(3)]
    return facts, parents


def _related(holds: Callable[..., bool], unary: bool = False, size: int = 120) -> Problem:
    """``holds`` is asked of who is related how, and a person or two."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts, parents = _family(rng, count)
        people = sorted({p for (p,) in facts["man"] | facts["woman"]})
        above = {p: set(parents.get(p, ())) for p in people}
        below = {p: {c for c in people if p in above[c]} for p in people}
        siblings = {p: {s for q in above[p] for s in below[q]} - {p} for p in people}
        spouse = {p: {b for a, b in facts["married"] if a == p} for p in people}
        kin = {
            "above": above,
            "below": below,
            "siblings": siblings,
            "spouse": spouse,
            "man": {p for (p,) in facts["man"]},
        }
        rows = [(p,) for p in people] if unary else list(product(people, people))
        found = labelled(facts, rows, lambda *row: holds(kin, *row))
        return Labelled(facts, sampled(rng, found.labels, 600))

    return Problem(FAMILY | {"t": "person" if unary else "person person"}, draw, size)


def _up(kin: Kin, p: str, steps: int) -> set[str]:
    """Ancestors so many steps up."""
    found = {p}
    for _ in range(steps):
        found = {q for x in found for q in kin["above"][x]}
    return found


def _ancestors(kin: Kin, p: str) -> set[str]:
    found, new = set(), set(kin["above"][p])
    while new:
        found |= new
        new = {q for x in new for q in kin["above"][x]} - found
    return found


FAMILIES = {
    "grandparent": _related(lambda kin, x, y: y in _up(kin, x, 2)),
    "great-grandparent": _related(lambda kin, x, y: y in _up(kin, x, 3), size=120),
    "cousin": _related(
        lambda kin, x, y: any(y in kin["below"][s] for p in kin["above"][x] for s in kin["siblings"][p]),
        size=120,
    ),
    "aunt or uncle": _related(lambda kin, x, y: any(y in kin["siblings"][p] for p in kin["above"][x])),
    "uncle by marriage": _related(
        lambda kin, x, y: (
            y in kin["man"]
            and any(y in kin["spouse"][s] for p in kin["above"][x] for s in kin["siblings"][p])
        ),
        size=200,
    ),
    "sister": _related(lambda kin, x, y: y in kin["siblings"][x] and y not in kin["man"]),
    "ancestor": _related(lambda kin, x, y: y in _ancestors(kin, x)),
    "only child": _related(lambda kin, x: bool(kin["above"][x]) and not kin["siblings"][x], True, 150),
    "parent of daughters alone": _related(
        lambda kin, x: bool(kin["below"][x]) and not kin["below"][x] & kin["man"], True, 150
    ),
    "without children": _related(lambda kin, x: not kin["below"][x], True, 100),
    "mother-in-law": _related(
        lambda kin, x, y: any(y in kin["above"][s] and y not in kin["man"] for s in kin["spouse"][x]),
        size=120,
    ),
}

GRAPH = {"edge": "node node", "red": "node", "blue": "node", "weight": "node amount", "label": "node label"}


def _graph(rng: np.random.Generator, count: int, degree: float) -> tuple[list[str], Facts]:
    names = [f"n{k}" for k in range(count)]
    edge = {(a, b) for a in names for b in names if a != b and rng.random() < degree / count}
    facts: Facts = {"edge": edge, "red": set(), "blue": set()}
    for name in names:
        if rng.random() < 0.6:
            facts[("red", "blue")[int(rng.integers(2))]].add((name,))
    facts["weight"] = {(name, int(rng.integers(0, 100))) for name in names}
    facts["label"] = {(name, "abcdefghijklmnopqrstuvwxyz"[int(rng.integers(26))]) for name in names}
    return names, facts


def _of_nodes(
    holds: Callable[..., bool], places: int = 1, degree: float = 2.0, size: int = 120, most: int = 600
) -> Problem:
    """``holds`` is asked of a graph and so many of its nodes."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        names, facts = _graph(rng, count, degree)
        after = {name: set() for name in names}
        before = {name: set() for name in names}
        for a, b in facts["edge"]:
            after[a].add(b)
            before[b].add(a)
        world = {
            "after": after,
            "before": before,
            "red": {n for (n,) in facts["red"]},
            "blue": {n for (n,) in facts["blue"]},
            "weight": dict(facts["weight"]),
            "label": dict(facts["label"]),
            "names": names,
        }
        found = labelled(facts, product(names, repeat=places), lambda *row: holds(world, *row))
        return Labelled(facts, sampled(rng, found.labels, most))

    return Problem(GRAPH | {"t": " ".join(["node"] * places)}, draw, size)


def _reached(world: Any, x: str, through: set[str] | None = None) -> set[str]:
    found, new = set(), {x}
    while new:
        new = {z for y in new for z in world["after"][y] if through is None or z in through} - found
        found |= new
    return found


def _distances(world: Any, x: str) -> set[tuple[str, int]]:
    """Lengths modulo two of walks from x."""
    found, new = set(), {(x, 0)}
    while new:
        new = {(z, 1 - k) for y, k in new for z in world["after"][y]} - found
        found |= new
    return found


GRAPHS = {
    "in a triangle": _of_nodes(
        lambda w, x: any(x in w["after"][z] for y in w["after"][x] for z in w["after"][y]), degree=3.0
    ),
    "an end": _of_nodes(lambda w, x: bool(w["before"][x]) and not w["after"][x], size=200),
    "two red ones after it": _of_nodes(lambda w, x: len(w["after"][x] & w["red"]) >= 2, degree=3.0),
    "two steps and no one": _of_nodes(
        lambda w, x, y: x != y and y not in w["after"][x] and any(y in w["after"][z] for z in w["after"][x]),
        2,
        size=60,
    ),
    "all after it are red": _of_nodes(
        lambda w, x: bool(w["after"][x]) and w["after"][x] <= w["red"], degree=1.5, size=200
    ),
    "neither red nor blue": _of_nodes(lambda w, x: x not in w["red"] and x not in w["blue"]),
    "heavier than one after it": _of_nodes(
        lambda w, x: any(w["weight"][x] > w["weight"][y] for y in w["after"][x])
    ),
    "weight from 63 on": _of_nodes(lambda w, x: w["weight"][x] >= 63, size=150),
    "weight from 20 to 60": _of_nodes(lambda w, x: 20 <= w["weight"][x] <= 60, size=150),
    "after one called k": _of_nodes(
        lambda w, x: any(w["label"][y] == "k" for y in w["before"][x]), degree=5.0, size=150
    ),
    "same label two steps on": _of_nodes(
        lambda w, x: any(w["label"][x] == w["label"][z] for y in w["after"][x] for z in w["after"][y]),
        degree=3.0,
        size=300,
    ),
    "reached": _of_nodes(lambda w, x, y: y in _reached(w, x), 2, 1.2, 40),
    "reached by red nodes": _of_nodes(lambda w, x, y: y in _reached(w, x, through=w["red"]), 2, 2.5, 40),
    "reached by an even way": _of_nodes(lambda w, x, y: (y, 0) in _distances(w, x), 2, 1.0, 40),
    "a red one can be reached": _of_nodes(lambda w, x: bool(_reached(w, x) & w["red"]), 1, 0.8, 150),
    "reached by ever heavier nodes": _of_nodes(lambda w, x, y: _heavier(w, x, y), 2, 3.0, 40),
}


def _heavier(w: Any, x: str, y: str) -> bool:
    found, new = set(), {x}
    while new:
        new = {b for a in new for b in w["after"][a] if w["weight"][b] > w["weight"][a]} - found
        found |= new
    return y in found


FILMS = {
    "acts": "film person",
    "directs": "film person",
    "genre": "film genre",
    "woman": "person",
    "man": "person",
    "year": "film years",
}


def _film(holds: Callable[..., bool], size: int = 80) -> Problem:
    """``holds`` is asked of who made what, and two people."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts: Facts = {name: set() for name in FILMS}
        people = [f"p{k}" for k in range(count)]
        for p in people:
            facts["woman" if rng.random() < 0.5 else "man"].add((p,))
        for f in range(count // 2):
            for p in rng.choice(people, 4, replace=False):
                facts["acts"].add((f"f{f}", str(p)))
            facts["directs"].add((f"f{f}", str(rng.choice(people[: count // 4]))))
            facts["genre"].add(
                (f"f{f}", ("drama", "comedy", "thriller", "western", "war")[int(rng.integers(5))])
            )
            facts["year"].add((f"f{f}", int(rng.integers(1950, 2020))))
        films = {p: {f for f, q in facts["acts"] if q == p} for p in people}
        made = {p: {f for f, q in facts["directs"] if q == p} for p in people}
        world = {
            "films": films,
            "made": made,
            "genre": dict(facts["genre"]),
            "year": dict(facts["year"]),
            "woman": {p for (p,) in facts["woman"]},
        }
        found = labelled(facts, product(people, people), lambda x, y: holds(world, x, y))
        return Labelled(facts, sampled(rng, found.labels, 1000))

    return Problem(FILMS | {"t": "person person"}, draw, size)


FILM = {
    "worked under": _film(lambda w, x, y: bool(w["films"][x] & w["made"][y])),
    "women who acted together in a drama": _film(
        lambda w, x, y: (
            x != y
            and {x, y} <= w["woman"]
            and any(w["genre"][f] == "drama" for f in w["films"][x] & w["films"][y])
        ),
        150,
    ),
    "together before 1970": _film(
        lambda w, x, y: x != y and any(w["year"][f] < 1970 for f in w["films"][x] & w["films"][y]), 100
    ),
    "same director": _film(
        lambda w, x, y: (
            x != y and any(w["films"][x] & w["made"][d] and w["films"][y] & w["made"][d] for d in w["made"])
        ),
        60,
    ),
}


def _lists(target: str, holds: Callable[..., bool], size: int = 60) -> Problem:
    """``holds`` is asked of what a list contains."""
    types = {"cons": "list item list", "nil": "list", "value": "item amount", "t": target}

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts: Facts = {"cons": set(), "nil": {("nil",)}, "value": set()}
        items = [f"i{k}" for k in range(10)]
        facts["value"] = {(item, k) for k, item in enumerate(items)}
        contents = {"nil": []}
        for number in range(count):
            own = [items[int(k)] for k in rng.integers(0, 10, int(rng.integers(1, 6)))]
            if rng.random() < 0.4:
                own = sorted(own)
            tail = "nil"
            for place in range(len(own) - 1, -1, -1):
                name = f"l{number}_{place}"
                facts["cons"].add((name, own[place], tail))
                contents[name] = own[place:]
                tail = name
        rows = [(name,) for name in contents] if target == "list" else list(product(contents, items))
        found = labelled(facts, rows, lambda name, *rest: holds(contents[name], *rest))
        return Labelled(facts, sampled(rng, found.labels, 600))

    return Problem(types, draw, size)


LISTS = {
    "member": _lists("list item", lambda own, item: item in own),
    "last": _lists("list item", lambda own, item: own[-1:] == [item]),
    "first": _lists("list item", lambda own, item: own[:1] == [item]),
    "sorted": _lists("list", lambda own: own == sorted(own)),
    "even length": _lists("list", lambda own: len(own) % 2 == 0),
    "two equal ones in a row": _lists("list", lambda own: any(a == b for a, b in pairwise(own)), 150),
    "contains 7": _lists("list", lambda own: "i7" in own),
    "all at least 3": _lists("list", lambda own: all(int(i[1:]) >= 3 for i in own)),
}

PROBLEMS = (
    {f"family: {k}": v for k, v in FAMILIES.items()}
    | {f"graph: {k}": v for k, v in GRAPHS.items()}
    | {f"film: {k}": v for k, v in FILM.items()}
    | {f"list: {k}": v for k, v in LISTS.items()}
)
