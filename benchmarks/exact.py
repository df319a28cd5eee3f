"""Exact inference on a tree of people, beside the two passes of messages that one would write by hand for it.

python -m benchmarks exact
"""

from __future__ import annotations

import math

import numpy as np

import herbrand as hb
from benchmarks.measurement import Measurement, race

RULE, PRIOR = 1.5, -1.0
THEORY = f"""\
predicate smokes(person)
predicate friends(person, person): observed
{RULE}: smokes(x) and friends(x, y) => smokes(y)
{PRIOR}: smokes(x)
"""


def measure() -> list[Measurement]:
    return [_tree(2_000), _tree(20_000), _formulas(100, "exact", 100), _formulas(100, "lifted", 0)]


def _formulas(people: int, engine: str, friends: int) -> Measurement:
    """A formula of every person, beside everybody's atoms alone; ``friends`` in a ring, or unknown."""
    links = [(f"p{one:03}", f"p{(one + 1) % friends:03}") for one in range(friends)]
    persons = ", ".join(f'"p{one:03}"' for one in range(people))
    world = ": observed" if friends else ""
    theory = (
        f"type person = {{{persons}}}\npredicate smokes(person)\npredicate cancer(person)\n"
        f"predicate friends(person, person){world}\n0.8: smokes(x) => cancer(x)\n"
        f"{0.9 if friends else 0.01}: smokes(x) and friends(x, y) => smokes(y)\n{PRIOR}: smokes(x)\n"
    )
    model = hb.Model(hb.parse(theory), {"friends": links} if friends else None)
    formula = "smokes(x) and not cancer(x)"
    joint = {row.probability for row in model.infer(formula, engine=engine).rows()}
    smoking = next(iter(model.infer("smokes", engine=engine).rows())).probability
    assert np.allclose(list(joint), smoking / (1 + math.exp(0.8)), atol=1e-9)
    return race(
        f"a formula of each person by {engine}, and two atoms each",
        f"{people} people",
        lambda: model.infer(["smokes", "cancer", formula], engine=engine),
        "the atoms alone",
        lambda: model.infer(["smokes", "cancer"], engine=engine),
        repeats=5,
    )


def _tree(people: int) -> Measurement:
    """Everybody has one friend, met earlier; the answers agree before they are raced."""
    rng = np.random.default_rng(people)
    friend = [0, *(int(rng.integers(0, person)) for person in range(1, people))]
    links = [(f"p{person:06}", f"p{friend[person]:06}") for person in range(1, people)]
    model = hb.Model(hb.parse(THEORY), {"friends": links})
    ours = model.infer(engine="exact")
    not_linked = RULE * (people**2 - len(links))  # these groundings of the rule are true in every world
    assert math.isclose(ours.log_partition or 0.0, _by_hand(friend)[0] + not_linked, rel_tol=1e-12)
    assert np.allclose([row.probability for row in ours.rows()], _by_hand(friend)[1], atol=1e-9)
    return race(
        "log partition and all marginals of a tree",
        f"{people:,} latent atoms",
        lambda: model.infer(engine="exact"),
        "two passes of messages, by hand",
        lambda: _by_hand(friend),
        repeats=3,
    )


def _by_hand(friend: list[int]) -> tuple[float, list[float]]:
    """Log-odds messages up to the first person and down again."""
    people = len(friend)
    table = [[RULE, RULE], [0.0, RULE]]  # [person smokes][friend smokes]
    up = [[0.0, PRIOR] for _ in range(people)]
    sent = [[0.0, 0.0] for _ in range(people)]
    for person in range(people - 1, 0, -1):
        sent[person] = [_log_sum(up[person][0] + table[0][v], up[person][1] + table[1][v]) for v in (0, 1)]
        for value in (0, 1):
            up[friend[person]][value] += sent[person][value]
    total = _log_sum(*up[0])
    belief = [up[0], *([] for _ in range(people - 1))]
    for person in range(1, people):
        above = [belief[friend[person]][v] - sent[person][v] for v in (0, 1)]
        belief[person] = [
            up[person][v] + _log_sum(above[0] + table[v][0], above[1] + table[v][1]) for v in (0, 1)
        ]
    return total, [math.exp(b[1] - _log_sum(*b)) for b in belief]


def _log_sum(a: float, b: float) -> float:
    high, low = (a, b) if a > b else (b, a)
    return high + math.log1p(math.exp(low - high))
