"""The most probable world by integer programs: matchings, gaps, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.budget import Budget
from herbrand.engines.highs import Optimum, optimum
from herbrand.engines.integer.engine import exclusive_place
from herbrand.errors import ContradictionError, HerbrandError
from herbrand.program.evidence import Evidence
from tests.laws import tries

ONE_TO_ONE = """
predicate m(a, b)
hard: m(x, y) and m(x, z) => y = z
hard: m(x, z) and m(y, z) => x = y
"""


def matching(scores: np.ndarray) -> Marginals:
    rows = [(f"a{i}", f"b{j}", p) for (i, j), p in np.ndenumerate(scores)]
    frame = pd.DataFrame(rows, columns=["a", "b", "probability"])
    return hb.Model(hb.parse(ONE_TO_ONE), {"m": frame}).infer(map=True, engine="integer")


def best_assignment(scores: np.ndarray) -> float:
    worth = np.maximum(np.log(scores / (1 - scores)), 0)
    return float(worth[linear_sum_assignment(-worth)].sum())


@settings(max_examples=tries(30))
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 7))
def test_matchings_are_those_of_the_assignment_problem(seed: int, left: int, right: int) -> None:
    scores = np.random.default_rng(seed).uniform(0.02, 0.98, (left, right))
    found = matching(scores)
    assert found.guarantee.value == "exact"
    assert found.log_weight == pytest.approx(best_assignment(scores), abs=1e-7)
    chosen = [row.arguments for row in found.rows() if row.probability]
    assert len({a for a, _ in chosen}) == len({b for _, b in chosen}) == len(chosen)


def test_two_hundred_by_two_hundred() -> None:
    scores = np.random.default_rng(0).uniform(0.02, 0.98, (200, 200))
    found = matching(scores)
    assert found.log_weight == pytest.approx(best_assignment(scores), abs=1e-6)
    assert found.to_dict()["diagnostics"]["gap"] == 0


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("m(x, y) and m(x, z) => y = z", 1),
        ("m(x, z) and m(y, z) => x = y", 0),
        ("not (m(x, y) and m(x, z)) or y = z", 1),
        ("m(x, y) and m(y, z) => x = z", None),
        ('m(x, y) and m("k", z) => y = z', None),
        ("m(x, y) and n(x, z) => y = z", None),
        ("m(x, y) and m(x, z) => false", 1),
    ],
)
def test_cliques_are_seen_in_the_formula(formula: str, place: int | None) -> None:
    theory = hb.parse(f'predicate m(t, t)\npredicate n(t, t)\ntype t = {{"k", "l"}}\nhard: {formula}')
    program = hb.Model(theory).program
    found = {exclusive_place(template, Evidence(program)) for template in program.templates}
    assert (place in found) if place is not None else found <= {None}


SHADES = ("a", "b", "c")


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("shared", [0, 1, 2])
@pytest.mark.parametrize("liked", [0, 1, 2])
@pytest.mark.parametrize("fact", [None, 0, 1, 2])
def test_values_that_few_may_have_are_cliques(values: int, shared: int, liked: int, fact: int | None) -> None:
    """Of atoms with three values another one was bounded: the best world was refused, or missed as exact."""
    if max(shared, liked, fact or 0) >= values:
        return
    said = f'q("s") = "{SHADES[fact]}"' if fact is not None else ""
    theory = hb.parse(f"""
type t = {{"r", "s", "u"}}
predicate q(t) in {{{", ".join(f'"{shade}"' for shade in SHADES[:values])}}}
hard: q(x) = "{SHADES[shared]}" => q(y) != "{SHADES[shared]}" where x != y
1.5: q(x) = "{SHADES[liked]}"
0.4: q("u") = "{SHADES[0]}"
{said}""")
    found = hb.Model(theory).infer(map=True, engine="integer")
    assert found.log_weight == pytest.approx(hb.Model(theory).infer(map=True, engine="exact").log_weight)
    assert found.guarantee.value == "exact"


def test_queens_that_threaten_none_are_found_by_auto() -> None:
    theory = hb.parse("""
type r = 1..10
predicate q(r) in r
hard: q(x) = v => q(y) != v where x != y
hard: q(x) = v and q(y) = w and x < y => abs(v - w) != y - x""")
    rows = [row for row in hb.Model(theory).infer(map=True).rows() if row.probability]
    queens = [(row.arguments[0], row.value) for row in rows]
    assert len(queens) == len({v for _, v in queens}) == 10
    assert len({x + v for x, v in queens}) == len({x - v for x, v in queens}) == 10


def test_a_fact_takes_the_place_of_its_clique() -> None:
    theory = hb.parse(ONE_TO_ONE + 'type a = {"1", "2"}\ntype b = {"1", "2"}\nm("1", "1")\n2: m(x, y)')
    world = hb.Model(theory).infer(map=True, engine="integer")
    assert {row.arguments for row in world.rows() if row.probability} == {("2", "2")}
    twice = hb.parse(ONE_TO_ONE + 'm("1", "1")\nm("1", "2")\npredicate p(a)\n1: p(x)')
    with pytest.raises(ContradictionError):
        hb.Model(twice).infer(map=True, engine="integer")


def test_a_contradiction_is_refused() -> None:
    theory = hb.parse('type t = {"a"}\npredicate p(t)\nhard: p(x)\nhard: not p(x)')
    with pytest.raises(ContradictionError, match="no world satisfies"):
        hb.Model(theory).infer(map=True, engine="integer")


def test_only_worlds_are_served() -> None:
    model = hb.Model(hb.parse("1: p(x) => q(x)"), {"p": ["a"]})
    with pytest.raises(HerbrandError, match="--map"):
        model.infer(engine="integer")


def test_auto_takes_it_for_a_matching_that_is_too_wide_to_eliminate() -> None:
    theory = hb.parse(ONE_TO_ONE + "1: m(x, y)")
    names = [(f"a{i}", f"b{i}", 0.6) for i in range(40)]
    frame = pd.DataFrame(names, columns=["a", "b", "probability"])
    found = hb.Model(theory, {"m": frame}).infer(map=True)
    assert found.engine == "integer"
    assert sum(row.probability for row in found.rows()) == 40


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_known_alone_is_exact(sign: int) -> None:
    """HiGHS solves it without a search, which alone has a bound: it said that a better world may exist."""
    text = f'predicate o(t): observed\npredicate p(t)\no("a")\np("a")\n{-1.2 * sign}: o(x)\n0.1: p(x)'
    found = hb.Model(hb.parse(text)).infer(map=True, engine="integer")
    assert found.log_weight == pytest.approx(0.1 - 1.2 * sign)
    assert (found.guarantee.value, found.status.converged) == ("exact", True)


@pytest.mark.parametrize(
    ("limit", "part", "most"), [(None, 1e9, 300.0), (None, 60.0, 60.0), (400.0, 60.0, 60.0)]
)
def test_the_solver_stops_where_its_part_of_the_time_does(
    limit: float | None, part: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the five seconds of lint's search; only the limit of the whole call counted."""
    given: list[float] = []

    def solved(*program: Any, seconds: float, **options: Any) -> Optimum:
        given.append(seconds)
        return optimum(*program, seconds=seconds, **options)

    monkeypatch.setattr("herbrand.engines.integer.engine.optimum", solved)
    budget = Budget(seconds=limit) if part > most else Budget(seconds=limit).at_most(part)
    hb.Model(hb.parse(ONE_TO_ONE + '0.5: m("a", "b")')).infer(map=True, engine="integer", within=budget)
    assert given and all(most - 20 < seconds <= most for seconds in given)
