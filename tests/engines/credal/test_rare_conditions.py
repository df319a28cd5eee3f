"""What is given may be as rare as one likes: intervals stay right, and nobody is told of a contradiction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import herbrand as hb
from herbrand.engines.credal.ariel.simplex import least, workspace
from herbrand.errors import ContradictionError
from tests.oracles.interval_networks import IntervalNetwork, Table

RARE = [1e-2, 1e-4, 1e-6, 1e-7, 1e-8, 2e-9]


def chain(most: float, least_of_it: float = 0.0) -> IntervalNetwork:
    """x1 given a rare x0."""
    return IntervalNetwork((Table((), ((least_of_it, most),)), Table((0,), ((0.5, 0.6), (0.2, 0.3)))))


def collider(most: float, least_of_it: float = 0.0) -> IntervalNetwork:
    """x2 below a rare x0 and a common x1: its program has products."""
    rows = ((0.1, 0.2), (0.1, 0.2), (0.5, 0.6), (0.2, 0.3))
    return IntervalNetwork((Table((), ((least_of_it, most),)), Table((), ((0.3, 0.4),)), Table((0, 1), rows)))


def ends(network: IntervalNetwork, query: str, engine: str) -> tuple[float, float, str]:
    found = hb.Model(hb.parse(network.text)).bound(query, engine=engine, time_limit=20)
    return float(found.lower[0]), float(found.upper[0]), found.guarantee


# By Bayes: x1 has 0.3 to 0.4, and x2 0.2 to 0.3 with it, 0.5 to 0.6 without
LEAST = 0.3 * 0.2 / (0.3 * 0.2 + 0.7 * 0.6)
MOST = 0.4 * 0.3 / (0.4 * 0.3 + 0.6 * 0.5)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_linear_program_is_right_however_rare_its_condition_is(engine: str) -> None:
    for most in RARE:
        for least_of_it in (0.0, most):
            lower, upper, _ = ends(chain(most, least_of_it), "P(x1 | x0)", engine)
            assert (lower, upper) == pytest.approx((0.2, 0.3), abs=1e-6), (most, least_of_it)


def test_messages_hold_what_a_rare_condition_allows() -> None:
    for most in RARE:
        for least_of_it in (0.0, most):
            lower, upper, guarantee = ends(collider(most, least_of_it), "P(x1 | x0 and x2)", "ariel")
            assert lower <= LEAST + 1e-9 and upper >= MOST - 1e-9, (most, lower, upper)
            assert (lower, upper) == pytest.approx((LEAST, MOST), abs=1e-5)
            assert guarantee == "bound"


def test_a_rare_condition_is_as_good_as_any_other() -> None:
    """However rare, the interval is the tightest, proved, and its gap is a matter of rounding."""
    for most in (*RARE, 1e-10, 1e-12, 1e-30, 1e-150):
        for least_of_it in (0.0, most / 2, most):
            model = hb.Model(hb.parse(collider(most, least_of_it).text))
            found = model.bound("P(x1 | x0 and x2)", engine="exact")
            (row,) = found.rows()
            assert (row.lower, row.upper) == pytest.approx((LEAST, MOST), rel=1e-12)
            assert row.lower <= LEAST * (1 + 1e-15) and row.upper >= MOST * (1 - 1e-15)
            assert row.certified and row.gap is not None and row.gap <= 1e-14
            assert found.guarantee == "exact" and found.status.converged


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_only_what_is_proved_impossible_is_refused(engine: str) -> None:
    for network, query in ((chain(0.0), "P(x1 | x0)"), (collider(0.0), "P(x1 | x0 and x2)")):
        with pytest.raises(ContradictionError) as raised:
            ends(network, query, engine)
        assert f"the upper probability of what is given in {query} is 0, so it cannot be given" in str(
            raised.value
        )
    for most in (1e-9, 1e-12, 1e-100):
        assert ends(chain(most), "P(x1 | x0)", engine)[:2] == pytest.approx((0.2, 0.3), abs=1e-6)
    # the other way round nothing is rare
    assert ends(chain(0.0), "P(x1 | not x0)", engine)[:2] == pytest.approx((0.5, 0.6), abs=1e-6)


@pytest.mark.parametrize("query", ["P(f6 | {})", "P(f6 and f7 | {})", "P(f1 | {})"])
def test_a_condition_of_many_literals_is_refused_where_one_excludes_another(query: str) -> None:
    """Whether its literals can hold together was looked at for four of them and fewer."""
    tables = "".join(f"P(f{i} | c) = 0.{i}\nP(f{i} | not c) in [0.2, 0.3]\n" for i in range(1, 8))
    model = hb.Model(hb.parse(f"P(c) in [0.1, 0.2]\n{tables}P(f0 | c) = 0\nP(f0 | not c) = 0.5"))
    several = " and ".join(f"f{i}" for i in range(1, 6))
    with pytest.raises(ContradictionError, match="is 0, so it cannot be given"):
        model.bound(query.format(f"c and f0 and {several}"), engine="ariel")
    assert model.bound(query.format(f"not c and f0 and {several}"), engine="ariel").status.converged


@pytest.mark.parametrize("most", [1e-9, 1e-12, 1e-100, 1e-300])
def test_messages_answer_however_rare_a_condition_is(most: float) -> None:
    for least_of_it in (0.0, most):
        lower, upper, _ = ends(chain(most, least_of_it), "P(x1 | x0)", "ariel")
        assert lower <= 0.2 and upper >= 0.3 and (lower, upper) == pytest.approx((0.2, 0.3), abs=1e-6)
        lower, upper, _ = ends(collider(most, least_of_it), "P(x1 | x0 and x2)", "ariel")
        assert lower <= LEAST and upper >= MOST and (lower, upper) == pytest.approx((LEAST, MOST), abs=1e-6)


def test_one_impossible_condition_loses_no_other_answer() -> None:
    model = hb.Model(hb.parse("P(a) = 0\nP(b | a) in [0.2, 0.3]\nP(b | not a) in [0.4, 0.5]"))
    found = model.bound(["P(b | a)", "P(b)"], engine="ariel")
    refused, answered = found.rows()
    assert np.isnan(refused.lower) and not refused.certified and refused.to_dict()["lower"] is None
    assert found.to_arrow()["upper"].to_pylist()[0] is None
    assert "what is given is impossible" in str(found)
    assert (answered.lower, answered.upper) == pytest.approx((0.4, 0.5), abs=1e-9) and answered.certified
    assert not found.status.converged and "is 0, so it cannot be given" in found.status.advice


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_an_impossible_condition_loses_only_its_own_answer(engine: str) -> None:
    text = "P(d) = 1e-10\nP(t | d) = 0.99\nP(t | not d) = 0.01\nP(z) = 0"
    model = hb.Model(hb.parse(text))
    found = model.bound(["P(t | d)", "P(t | z and d)", "P(t)"], engine=engine)
    first, refused, last = found.rows()
    assert (first.lower, first.upper) == pytest.approx((0.99, 0.99), abs=1e-9)
    assert first.lower <= 0.99 <= first.upper and last.lower <= 0.010000000098 <= last.upper
    assert refused.impossible and not refused.certified
    assert refused.to_dict()["lower"] is None and refused.to_dict()["upper"] is None
    assert not found.status.converged
    assert "upper probability of what is given in P(t | d and z) is 0" in found.status.advice.replace(
        "z and d", "d and z"
    )
    assert "what is given is impossible" in repr(found)
    assert found.to_arrow().column("lower").null_count == 1
    with pytest.raises(ContradictionError, match="is 0, so it cannot be given"):
        model.bound(["P(t | z)", "P(d | z)"], engine=engine)


def test_prices_of_what_is_outside_a_rare_event_are_paid_in_full() -> None:
    """P(b | a) with P(a) of 1e-7: what the prices gain outside the event they lose ten million times."""
    weight = 1e-7
    a, b = np.array([0, 0, 1.0, 1]), np.array([0, 1.0, 0, 1])
    both = a * b
    forms = np.array([both - 0.2 * a, 0.3 * a - both, a - weight, weight + 1e-10 - a])
    for costs, truth in ((both, 0.2), (-both, -0.3)):
        bound, _ = least(costs, forms, len(forms), a, weight, workspace(len(forms), 4))
        assert bound == pytest.approx(truth, abs=1e-8) and bound <= truth + 1e-12


def test_without_a_least_weight_bounds_are_those_of_the_linear_program() -> None:
    """Over masses that sum to 1 inside the event and are free outside, beside HiGHS."""
    rng = np.random.default_rng(3)
    tight = tried = 0
    for _ in range(200):
        scale = (rng.random(6) < 0.5).astype(float)
        p = rng.dirichlet(np.ones(6))
        if not scale.any():
            continue
        forms = rng.normal(size=(4, 6)).round(3)
        forms = forms[forms @ p >= 0]
        costs = rng.random(6) * scale
        bound, optimal = least(costs, forms, len(forms), scale, 0.0, workspace(len(forms) + 1, 6))
        told = linprog(costs, -forms, np.zeros(len(forms)), scale[None], [1.0])
        assert told.status == 0
        assert bound <= told.fun + 1e-7
        tried += 1
        tight += optimal and bound >= told.fun - 1e-7
    assert tight == tried


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("P(a) = 0\na", "b"),
        ("P(a) = 1\nnot a", "b"),
        ("P(a and b) = 0\na\nb", "a"),  # though the query is itself among the facts
        ("P(a xor b) = 0\na\nnot b\nP(c | a) >= 0.4", "c"),
        ("P(a and b) = 0", "P(a | a and b)"),
        ("P(a or b) = 1\nP(a) = 0.3\nP(b) = 0.7\nP(c | a) >= 0.1\nP(a and b) <= 0", "P(c | a and b)"),
    ],
)
def test_facts_and_conditions_that_cannot_be_together_are_refused(text: str, query: str, engine: str) -> None:
    pytest.importorskip("pyscipopt")
    model = hb.Model(hb.parse(f"predicate a\npredicate b\npredicate c\n{text}\nP(b | a) <= 1\nP(c | a) <= 1"))
    for independence in ("none", "markov"):
        if independence == "markov" and "or b" in text:
            continue  # a or b for sure, and independent: one of them is sure, and the bounds contradict
        with pytest.raises(ContradictionError, match="is 0, so it cannot be given"):
            model.bound(query, engine=engine, independence=independence)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("event", ["true", "a", "a and not a", "b"])
def test_what_cannot_be_is_no_condition_whatever_is_asked(engine: str, event: str) -> None:
    """Also of what is settled without it, as an event that never holds."""
    model = hb.Model(hb.parse("P(a) = 0\nP(b) <= 0.5"))
    for condition in ("a", "b and not b", "a xor (a and b)"):
        with pytest.raises(ContradictionError, match=r"cannot be given|is false by"):
            model.bound(f"P({event} | {condition})", engine=engine)


def test_what_has_no_limit_times_nothing_is_nothing() -> None:
    """The condition may be as rare as it likes, and a row is 0: limits that were NaN proved nothing."""
    text = (
        "P(((b or c) and (not e or not e))) in [0.0, 0.027210942391211537] independent\n"
        "P(not d | (e or a or d)) in [0.02720998801864937, 1.0]\n"
        "P((not a xor (c <=> e)) | (e xor not a)) in [0.028, 0.798]\n"
        "P(not ((b xor e)) | not a) in [0.0, 1.0]\n"
        "P(d | not e) in [0.0, 0.0]"
    )
    found = hb.Model(hb.parse(text)).bound("P(d | not c and not e and not b and a)", engine="exact")
    assert (found.lower[0], found.upper[0], found.guarantee) == (0.0, 0.0, "exact")


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("query", ["P(true | rain)", "P(rain and b | rain)", "P(b | rain)"])
def test_what_a_fact_excludes_is_no_condition_though_nothing_is_asked_beside_it(
    query: str, engine: str
) -> None:
    model = hb.Model(hb.parse("predicate a\npredicate b\npredicate rain\nP(b | a) in [0.5, 0.7]"))
    with pytest.raises(ContradictionError, match="is 0, so it cannot be given"):
        model.bound(query, given="not rain", engine=engine)
