"""Things made of parts: structures of pieces, trains of cars, molecules of atoms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.rule_problems.problem import Facts, Labelled, Problem, Row, labelled

PIECES = {
    "piece": "structure piece",
    "touches": "piece piece",
    "red": "piece",
    "blue": "piece",
    "green": "piece",
    "upright": "piece",
    "flat": "piece",
    "size": "piece amount",
    "column": "piece amount",
    "row": "piece amount",
    "t": "structure",
}


def _structures(rng: np.random.Generator, count: int) -> tuple[Facts, dict[str, list[dict[str, Any]]]]:
    facts: Facts = {name: set() for name in PIECES if name != "t"}
    own = {}
    for s in range(count):
        pieces = []
        for p in range(int(rng.integers(2, 6))):
            piece = {
                "name": f"p{s}_{p}",
                "colour": ("red", "blue", "green")[int(rng.integers(3))],
                "way": ("upright", "flat")[int(rng.integers(2))],
                "size": int(rng.integers(1, 11)),
                "column": int(rng.integers(0, 8)),
                "row": int(rng.integers(0, 8)),
            }
            pieces.append(piece)
            facts["piece"].add((f"s{s}", piece["name"]))
            facts[piece["colour"]].add((piece["name"],))
            facts[piece["way"]].add((piece["name"],))
            for number in ("size", "column", "row"):
                facts[number].add((piece["name"], piece[number]))
        for one in pieces:
            for other in pieces:
                if one["name"] < other["name"] and rng.random() < 0.3:
                    facts["touches"] |= {(one["name"], other["name"]), (other["name"], one["name"])}
        own[f"s{s}"] = pieces
    return facts, own


def _structure_problem(holds: Callable[..., bool], size: int = 150) -> Problem:
    """``holds`` is asked of a structure's pieces, all pairs of them, and which touch."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts, own = _structures(rng, count)
        touches = facts["touches"]

        def pairs(pieces):
            return [(a, b) for a in pieces for b in pieces if a is not b]

        return labelled(facts, [(s,) for s in own], lambda s: holds(own[s], pairs(own[s]), touches))

    return Problem(PIECES, draw, size)


def _touching(touches: set[Row], a: dict[str, Any], b: dict[str, Any]) -> bool:
    return (a["name"], b["name"]) in touches


ZENDO = {
    "a red one touches a flat one": _structure_problem(
        lambda own, pairs, touches: any(
            a["colour"] == "red" and b["way"] == "flat" and _touching(touches, a, b) for a, b in pairs
        )
    ),
    "red and upright blue in one column": _structure_problem(
        lambda own, pairs, touches: any(
            a["colour"] == "red"
            and b["colour"] == "blue"
            and b["way"] == "upright"
            and a["column"] == b["column"]
            for a, b in pairs
        ),
        400,
    ),
    "a red one larger than one that it touches": _structure_problem(
        lambda own, pairs, touches: any(
            a["colour"] == "red" and a["size"] > b["size"] and _touching(touches, a, b) for a, b in pairs
        )
    ),
    "a large green one": _structure_problem(
        lambda own, pairs, touches: any(a["colour"] == "green" and a["size"] >= 7 for a in own)
    ),
    "no red one": _structure_problem(lambda own, pairs, touches: all(a["colour"] != "red" for a in own)),
    "no upright red one, and a blue one": _structure_problem(
        lambda own, pairs, touches: (
            not any(a["colour"] == "red" and a["way"] == "upright" for a in own)
            and any(a["colour"] == "blue" for a in own)
        )
    ),
    "two blue ones": _structure_problem(
        lambda own, pairs, touches: any(a["colour"] == b["colour"] == "blue" for a, b in pairs)
    ),
    "one blue one": _structure_problem(
        lambda own, pairs, touches: sum(a["colour"] == "blue" for a in own) == 1
    ),
    "one of three reasons": _structure_problem(
        lambda own, pairs, touches: (
            any(a["colour"] == "red" and a["size"] <= 2 for a in own)
            or any(
                a["colour"] == "blue" and b["colour"] == "green" and _touching(touches, a, b)
                for a, b in pairs
            )
            or any(a["way"] == b["way"] == "upright" and a["row"] == b["row"] for a, b in pairs)
        ),
        300,
    ),
    "all touch something": _structure_problem(
        lambda own, pairs, touches: all(any(_touching(touches, a, b) for b in own) for a in own), 200
    ),
}

CARS = {
    "has_car": "train car",
    "after": "car car",
    "short": "car",
    "long": "car",
    "closed": "car",
    "open": "car",
    "wheels": "car amount",
    "load": "car shape amount",
    "t": "train",
}


def _train_problem(holds: Callable[..., bool], size: int = 150) -> Problem:
    """``holds`` is asked of a train's cars in their order."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts: Facts = {name: set() for name in CARS if name != "t"}
        own = {}
        for t in range(count):
            cars = []
            for c in range(int(rng.integers(2, 6))):
                car = {
                    "name": f"c{t}_{c}",
                    "length": ("short", "long")[int(rng.integers(2))],
                    "roof": ("closed", "open")[int(rng.random() < 0.6)],
                    "wheels": int(rng.integers(2, 4)),
                    "shape": ("circle", "triangle", "rectangle", "hexagon")[int(rng.integers(4))],
                    "many": int(rng.integers(0, 5)),
                }
                facts["has_car"].add((f"t{t}", car["name"]))
                facts[car["length"]].add((car["name"],))
                facts[car["roof"]].add((car["name"],))
                facts["wheels"].add((car["name"], car["wheels"]))
                facts["load"].add((car["name"], car["shape"], car["many"]))
                if cars:
                    facts["after"].add((cars[-1]["name"], car["name"]))
                cars.append(car)
            own[f"t{t}"] = cars
        return labelled(facts, [(t,) for t in own], lambda t: holds(own[t]))

    return Problem(CARS, draw, size)


TRAINS = {
    "a short closed car": _train_problem(
        lambda cars: any(c["length"] == "short" and c["roof"] == "closed" for c in cars)
    ),
    "a closed car behind one with three triangles": _train_problem(
        lambda cars: any(
            b["roof"] == "closed" and a["shape"] == "triangle" and a["many"] >= 2 for a, b in pairwise(cars)
        ),
        300,
    ),
    "no long car": _train_problem(lambda cars: all(c["length"] == "short" for c in cars), 300),
    "two closed cars": _train_problem(lambda cars: sum(c["roof"] == "closed" for c in cars) >= 2),
    "two cars of one shape": _train_problem(lambda cars: len({c["shape"] for c in cars}) < len(cars)),
    "three reasons": _train_problem(
        lambda cars: (
            any(c["length"] == "long" and c["roof"] == "closed" and c["shape"] == "hexagon" for c in cars)
            or any(c["wheels"] == 3 and c["shape"] == "triangle" and c["many"] >= 2 for c in cars)
            or any(
                a["length"] == b["length"] == "short"
                and a["shape"] == "circle"
                and b["roof"] == "open"
                and b["shape"] == "rectangle"
                for a, b in pairwise(cars)
            )
        ),
        400,
    ),
}

ATOMS = {
    "atom": "molecule atom",
    "element": "atom element",
    "charge": "atom real",
    "bond": "atom atom kind",
    "t": "molecule",
}


def _molecule_problem(holds: Callable[..., bool], size: int = 150) -> Problem:
    """``holds`` is asked of a molecule's atoms, their elements and charges, and its bonds."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts: Facts = {name: set() for name in ATOMS if name != "t"}
        own = {}
        for m in range(count):
            atoms = [f"a{m}_{i}" for i in range(int(rng.integers(4, 9)))]
            element = {a: ("c", "c", "c", "n", "o", "o", "cl", "s")[int(rng.integers(8))] for a in atoms}
            charge = {a: round(float(rng.normal()), 3) for a in atoms}
            bonds = {}
            for i, a in enumerate(atoms[1:], 1):
                bonds[atoms[int(rng.integers(i))], a] = int(rng.integers(1, 3))
            for _ in range(2):
                a, b = rng.choice(len(atoms), 2, replace=False)
                if (atoms[a], atoms[b]) not in bonds and (atoms[b], atoms[a]) not in bonds:
                    bonds[atoms[a], atoms[b]] = int(rng.integers(1, 4))
            bonds |= {(b, a): kind for (a, b), kind in bonds.items()}
            for a in atoms:
                facts["atom"].add((f"m{m}", a))
                facts["element"].add((a, element[a]))
                facts["charge"].add((a, charge[a]))
            facts["bond"] |= {(a, b, f"b{kind}") for (a, b), kind in bonds.items()}
            own[f"m{m}"] = (atoms, element, charge, bonds)
        return labelled(facts, [(m,) for m in own], lambda m: holds(*own[m]))

    return Problem(ATOMS, draw, size)


MOLECULES = {
    "nitrogen with two oxygens": _molecule_problem(
        lambda atoms, element, charge, bonds: any(
            element[n] == "n"
            and element[a] == element[b] == "o"
            and a < b
            and (n, a) in bonds
            and (n, b) in bonds
            for n in atoms
            for a in atoms
            for b in atoms
        ),
        300,
    ),
    "a double bond of carbon and oxygen": _molecule_problem(
        lambda atoms, element, charge, bonds: any(
            element[a] == "c" and element[b] == "o" and kind == 2 for (a, b), kind in bonds.items()
        )
    ),
    "a charged sulphur": _molecule_problem(
        lambda atoms, element, charge, bonds: any(element[a] == "s" and charge[a] >= 0.3 for a in atoms), 200
    ),
    "a ring of three": _molecule_problem(
        lambda atoms, element, charge, bonds: any(
            (a, b) in bonds and (b, c) in bonds and (c, a) in bonds
            for a in atoms
            for b in atoms
            for c in atoms
        )
    ),
}

PROBLEMS = (
    {f"zendo: {k}": v for k, v in ZENDO.items()}
    | {f"trains: {k}": v for k, v in TRAINS.items()}
    | {f"molecules: {k}": v for k, v in MOLECULES.items()}
)
