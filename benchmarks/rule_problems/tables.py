"""Attributes and numbers of single things: what decision trees are made for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.rule_problems.problem import Facts, Labelled, Problem, labelled

HOLDS = {f"q{k}": "thing" for k in range(12)}


def _boolean(holds: Callable[..., bool], size: int = 200) -> Problem:
    """``holds`` is asked of twelve truth values."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        values = {f"x{k}": (rng.random(12) < 0.5).tolist() for k in range(count)}
        facts: Facts = {q: {(x,) for x in values if values[x][k]} for k, q in enumerate(HOLDS)}
        facts["thing"] = {(x,) for x in values}
        return labelled(facts, [(x,) for x in values], lambda x: holds(*values[x]))

    return Problem(HOLDS | {"thing": "thing", "t": "thing"}, draw, size)


MONK = {"a1": 3, "a2": 3, "a3": 2, "a4": 3, "a5": 4, "a6": 2}


def _monk(holds: Callable[..., bool], size: int = 160) -> Problem:
    """``holds`` is asked of the six attributes of the MONK's problems."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        values = {f"x{k}": {a: int(rng.integers(1, n + 1)) for a, n in MONK.items()} for k in range(count)}
        facts: Facts = {a: {(x, f"v{own[a]}") for x, own in values.items()} for a in MONK}
        return labelled(facts, [(x,) for x in values], lambda x: holds(values[x]))

    return Problem(dict.fromkeys(MONK, "thing value") | {"t": "thing"}, draw, size)


PEOPLE = {
    "age": "person years",
    "income": "person money",
    "debt": "person money",
    "city": "person place",
    "speaks": "person language",
    "t": "person",
}
CITIES = [f"city{k}" for k in range(50)]


def _people(holds: Callable[..., bool], size: int = 300) -> Problem:
    """``holds`` is asked of what is known of a person."""

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        own = {}
        facts: Facts = {name: set() for name in PEOPLE if name != "t"}
        for k in range(count):
            p = {
                "age": int(rng.integers(1, 90)),
                "income": round(float(rng.gamma(2, 20000)), 2),
                "debt": round(float(rng.gamma(2, 20000)), 2),
                "city": CITIES[int(50 * rng.random() ** 3)],
                "speaks": [f"lang{int(20 * rng.random() ** 2)}" for _ in range(2)],
            }
            for name in ("age", "income", "debt", "city"):
                facts[name].add((f"x{k}", p[name]))
            facts["speaks"] |= {(f"x{k}", one) for one in p["speaks"]}
            own[f"x{k}"] = p
        return labelled(facts, [(x,) for x in own], lambda x: holds(own[x]))

    return Problem(PEOPLE, draw, size)


PROBLEMS = {
    "table: three terms": _boolean(
        lambda *q: (q[0] and q[1] and q[2]) or (q[3] and not q[4]) or (q[5] and q[6] and not q[7])
    ),
    "table: exclusive or": _boolean(lambda *q: q[0] != q[1]),
    "table: two of three": _boolean(lambda *q: q[0] + q[1] + q[2] >= 2),
    "table: not one of three": _boolean(lambda *q: not (q[0] or q[1] or q[2]), 300),
    "table: monks 1": _monk(lambda v: v["a1"] == v["a2"] or v["a5"] == 1),
    "table: monks 2": _monk(lambda v: sum(one == 1 for one in v.values()) == 2),
    "table: monks 3": _monk(lambda v: (v["a5"] == 3 and v["a4"] == 1) or (v["a5"] != 4 and v["a2"] != 3)),
    "numbers: income from 31,400 on": _people(lambda p: p["income"] >= 31400),
    "numbers: young or rich": _people(lambda p: p["age"] < 25 or p["income"] > 60000),
    "numbers: more debt than income": _people(lambda p: p["debt"] > p["income"]),
    "numbers: age and income": _people(lambda p: 30 <= p["age"] < 55 and p["income"] >= 25000),
    "numbers: lives in city 3": _people(lambda p: p["city"] == "city3"),
    "numbers: city 0 or language 2": _people(lambda p: p["city"] == "city0" or "lang2" in p["speaks"]),
}
