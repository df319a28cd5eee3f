"""Recursion without an end: sums beside a solved system of equations, best proofs beside shortest ways."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.errors import BudgetError, UnsupportedError
from tests.engines.proof.roads import CHOICES, taken
from tests.engines.proof.test_against_proofs import told
from tests.laws import tries

quick = settings(
    max_examples=tries(10, 4),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
FORMS = {
    "the call last": "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)",
    "the call first": "p(x, y) :- e(x, y)\np(x, y) :- p(x, z), e(z, y)",
    "by another": "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), q(z, y)\nq(x, y) :- p(x, y)",
    "with a step behind": "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, w), n(w, y)",
}
SIZE = 4


def matrix(rng: np.random.Generator, largest: float) -> np.ndarray:
    """Links between a few numbers whose rows add up to less than ``largest``."""
    links = rng.random((SIZE, SIZE)) * (rng.random((SIZE, SIZE)) < 0.6)
    return links * largest / max(1e-9, links.sum(axis=1).max())


def model(rules: str, links: np.ndarray) -> hb.Model:
    rows, columns = np.nonzero(links)
    table = pa.table({"a": rows, "b": columns, "weight": links[rows, columns]})
    declared = "predicate e(node, node): observed\npredicate n(node, node): observed\ntype node = 0..3\n"
    same = pa.table({"a": np.arange(SIZE), "b": np.arange(SIZE)})
    heads = "predicate p(node, node)\npredicate q(node, node)\n"
    return hb.Model(hb.parse(f"{declared}{heads}{rules}"), {"e": table, "n": same})


def entries(found: np.ndarray) -> dict[tuple[int, ...], float]:
    return {(x, y): found[x, y] for x, y in itertools.product(range(SIZE), repeat=2) if found[x, y]}


@pytest.mark.parametrize("form", FORMS)
@quick
@given(st.integers(0, 2**32 - 1).map(np.random.default_rng), st.sampled_from([2**28, 0]))
def test_sums_over_all_proofs_solve_their_equations(form: str, rng: np.random.Generator, dense: int) -> None:
    links = matrix(rng, 0.7)
    expected = entries(np.linalg.inv(np.eye(SIZE) - links) @ links)
    usual = {name: values[0] for name, values in CHOICES.items()}
    with taken({**usual, "order": None, "fixpoint.DENSE_BYTES": dense}):
        answer = model(FORMS[form], links).query("p(x, y)", depth="fixpoint")
    assert answer.status.converged and answer.guarantee is Guarantee.EXACT and not answer.truncated
    found = told(answer)
    assert found.keys() <= expected.keys() | found.keys()
    assert {**dict.fromkeys(found, 0.0), **expected} == pytest.approx(
        {**dict.fromkeys(expected, 0.0), **found}, rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
@quick
@given(st.integers(0, 2**32 - 1).map(np.random.default_rng))
def test_best_proofs_are_the_shortest_ways(form: str, rng: np.random.Generator) -> None:
    """By logarithms, links of at most 1 are lengths of at least 0."""
    links = rng.choice([0.0, 0.25, 0.5, 1.0], (SIZE, SIZE))
    best = links.copy()
    for middle in range(SIZE):
        best = np.maximum(best, best[:, [middle]] * best[[middle], :])
    asked = model(FORMS[form], links)
    answer = asked.query("p(x, y)", algebra="max", depth="fixpoint")
    assert answer.status.converged and told(answer) == pytest.approx(entries(best))
    for x in range(SIZE):
        alone = told(asked.query(f"p({x}, y)", algebra="max", depth="fixpoint"))
        assert alone == pytest.approx({row[1:]: w for row, w in entries(best).items() if row[0] == x})
    reached = told(asked.query("p(x, y)", algebra="boolean", depth="fixpoint"))
    assert reached == dict.fromkeys(entries(best), 1.0)


def test_a_probability_to_the_fixpoint_is_no_sum() -> None:
    asked = model(FORMS["the call last"], np.eye(SIZE) * 0.5)
    assert told(asked.query("p(1, y)", algebra="probability", depth="fixpoint")) == {(1,): 0.5}
    assert told(asked.query("p(1, y)", depth="fixpoint")) == pytest.approx({(1,): 1.0})


@pytest.mark.parametrize(("weight", "converged"), [(0.9, True), (1.0, False), (1.5, False)])
def test_a_ring_converges_where_it_shrinks(weight: float, converged: bool) -> None:
    links = np.zeros((SIZE, SIZE))
    links[0, 1] = links[1, 0] = weight
    answer = model(FORMS["the call last"], links).query("p(0, y)", depth="fixpoint")
    assert answer.status.converged == converged
    assert (answer.guarantee is Guarantee.EXACT) == converged
    assert bool(answer.status.advice) != converged
    if converged:
        assert answer[0] == pytest.approx(weight**2 / (1 - weight**2)) and answer[1] == pytest.approx(
            weight / (1 - weight**2)
        )
    best = model(FORMS["the call last"], links).query("p(0, y)", algebra="max", depth="fixpoint")
    assert best.status.converged == (weight <= 1)


def test_weights_that_cancel_are_summed_to_the_end() -> None:
    links = np.zeros((SIZE, SIZE))
    links[0, 1], links[1, 0], links[0, 2] = 0.5, -0.5, 1.0
    answer = model(FORMS["the call last"], links).query("p(0, y)", depth="fixpoint")
    whole = np.linalg.inv(np.eye(SIZE) - links) @ links
    assert told(answer) == pytest.approx({(y,): whole[0, y] for y in (0, 1, 2)})


def test_sums_along_a_long_chain_are_done_at_its_end() -> None:
    """They were given up after 1,000 rounds, though each met a new row: a chain of 1,010 had no answer."""
    rules = hb.parse("r(x, y) :- e(x, y)\nr(x, z) :- e(x, y), r(y, z)")
    links = [(f"n{i}", f"n{i + 1}") for i in range(1200)]
    found = hb.Model(rules, {"e": links}).query('r("n0", "n1200")', depth="fixpoint")
    assert [row.weight for row in found] == [1.0]
    assert found.status.converged and found.guarantee.value == "exact"


def test_what_has_no_fixpoint_says_so() -> None:
    asked = model(FORMS["the call last"], np.eye(SIZE))
    with pytest.raises(
        UnsupportedError, match="independent takes a depth\n  boolean, max, count and probability"
    ):
        asked.query("p(0, y)", algebra="independent", depth="fixpoint")
    with pytest.raises(UnsupportedError, match="exact count takes a depth"):
        asked.query("p(0, y)", exact=True, depth="fixpoint")
    with pytest.raises(BudgetError, match=r"not done after 0\.0 s"):
        asked.query("p(0, y)", depth="fixpoint", time_limit=0)


@pytest.mark.filterwarnings("error")
def test_a_sum_that_overflows_is_told_in_the_answer_alone() -> None:
    links = 'e("a", "b") @ 1.2\ne("b", "a") @ 1.2\ne("a", "a") @ 1.2\n'
    model = hb.Model(hb.parse(links + "p(x, y) :- e(x, y)\np(x, z) :- p(x, y), e(y, z)"))
    found = model.query("p(x, y)", depth="fixpoint")
    assert not found.status.converged and "grows without end" in found.status.advice


def test_rows_of_a_fixpoint_are_refused_above_the_budget() -> None:
    rows = [(f"a{i}", f"b{j}") for i in range(60) for j in range(60)]
    far = hb.Model(hb.parse("far(x, y, u) :- e(x, y), e(u, _)\nfar(x, y, u) :- far(y, x, u)"), {"e": rows})
    with pytest.raises(BudgetError, match="rows on the way to the answer need about"):
        far.query("far(x, y, u)", depth="fixpoint", algebra="boolean", memory="1MB")


def test_a_goal_asked_twice_and_of_nothing() -> None:
    links = np.zeros((SIZE, SIZE))
    links[0, 1] = 0.5
    asked = model(FORMS["by another"], links)
    answers = asked.query(["p(0, y)", "p(3, y)", "p(0, y)", "p(0, 1)", "p(0, 0)"], depth="fixpoint")
    assert list(map(told, answers)) == [{(1,): 0.5}, {}, {(1,): 0.5}, {(): 0.5}, {}]
    bound = asked.query("p(x, y)", bindings={"x": [0, 3, 0]}, depth="fixpoint")
    assert [tuple(row.bindings.values()) for row in bound.rows()] == [(0, 1), (0, 1)]
    assert math.isclose(sum(row.weight for row in bound.rows()), 1.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("algebra", ["boolean", "max"])
def test_questions_that_come_while_a_frontier_waits(seed: int, algebra: str) -> None:
    """`path` is asked about more constants while what it has reached, a small grid, waits to be taken up."""
    rng = np.random.default_rng(seed)
    links = zip(rng.integers(0, 12, (40, 2)).tolist(), rng.random(40).tolist(), strict=True)
    weights = {(a, b): weight for (a, b), weight in links}
    facts = "\n".join(f"edge({a}, {b}) @ {weight!r}" for (a, b), weight in weights.items())
    rules = "path(x, y) :- edge(x, y)\npath(x, y) :- edge(x, z), path(z, y)"
    model = hb.Model(hb.parse(f"{rules}\nnear(x, y) :- path(x, y), path(y, _)\n{facts}"))
    for goal in ("near(1, y)", "near(x, y)"):
        whole, deep = (told(model.query(goal, depth=depth, algebra=algebra)) for depth in ("fixpoint", 40))
        assert whole == pytest.approx(deep)
