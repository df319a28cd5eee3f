"""What is given may be as rare as one likes: intervals stay right, and nobody is told of a contradiction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import herbrand as hb
from herbrand.engines.credal import interval
from herbrand.engines.credal.ariel.simplex import least, workspace
from herbrand.engines.credal.interval import Clock, LocalQuery, ends_of, one_end
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import graph_of
from herbrand.engines.credal.part import Part
from herbrand.engines.credal.sentence import sentences_of
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


def test_a_search_proves_no_more_than_its_numbers_can_bear() -> None:
    """Some programs with rare conditions are beyond the search: their intervals are outer, and say so."""
    pytest.importorskip("pyscipopt")
    for most in RARE:
        for least_of_it in (0.0, most):
            lower, upper, guarantee = ends(collider(most, least_of_it), "P(x1 | x0 and x2)", "exact")
            assert lower <= LEAST + 1e-6 and upper >= MOST - 1e-6, (most, lower, upper)
            assert (lower, upper) == pytest.approx((LEAST, MOST), abs=1e-5)
            assert guarantee == ("exact" if most > 1e-5 else "bound")


def test_of_an_interval_that_is_not_proved_the_gap_is_told() -> None:
    pytest.importorskip("pyscipopt")
    model = hb.Model(hb.parse(collider(1e-8).text))
    found = model.bound("P(x1 | x0 and x2)", engine="exact")
    (row,) = found.rows()
    assert row.gap == pytest.approx(MOST - LEAST, abs=1e-5)
    assert not found.status.converged and found.status.advice.startswith("1 of 1 intervals are bounds")


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_what_is_impossible_is_refused(engine: str) -> None:
    for network, query in ((chain(0.0), "P(x1 | x0)"), (collider(0.0), "P(x1 | x0 and x2)")):
        with pytest.raises(ContradictionError) as raised:
            ends(network, query, engine)
        assert f"the upper probability of what is given in {query} is 0, so it cannot be given" in str(
            raised.value
        )
    # the other way round nothing is rare
    assert ends(chain(0.0), "P(x1 | not x0)", engine)[:2] == pytest.approx((0.5, 0.6), abs=1e-6)


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


def local(network: IntervalNetwork, event: int, given: tuple[int, ...]) -> tuple[Part, LocalQuery]:
    """P(one atom | others all true) over the whole of a network."""
    made = credal_network(hb.Model(hb.parse(network.text)).program)
    count = len(made.atoms)
    part = Part(graph_of(made), tuple(sentences_of(made)), tuple(range(count)), True)
    told = np.zeros((2,) * count, bool)
    told[tuple(1 if atom in given else slice(None) for atom in range(count))] = True
    holds = np.zeros((2,) * count, bool)
    holds[tuple(1 if atom == event else slice(None) for atom in range(count))] = True
    return part, LocalQuery(tuple(range(count)), holds, told)


def test_what_is_known_of_an_answer_ends_the_search_sooner() -> None:
    pytest.importorskip("pyscipopt")
    part, query = local(collider(0.4, 0.1), 1, (0, 2))
    told = LocalQuery(query.atoms, query.event, query.given, (LEAST - 1e-7, MOST + 1e-7))
    alone, helped = ends_of(part, query, Clock(most=0.3)), ends_of(part, told, Clock(most=20))
    assert (helped.lower.bound, helped.upper.bound) == pytest.approx((LEAST, MOST), abs=1e-5)
    assert alone.lower.bound <= LEAST + 1e-6 and alone.upper.bound >= MOST - 1e-6
    assert helped.gap <= 1e-6 and helped.gap <= alone.gap + 1e-6
    for least_end, value in ((True, LEAST), (False, MOST)):
        assert one_end(part, told, least_end, Clock(most=20)).bound == pytest.approx(value, abs=1e-5)


def test_troubles_of_a_search_with_a_condition_are_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program scaled to its condition is possible, for the condition is; who says no has lost its way."""
    pytest.importorskip("pyscipopt")
    part, query = local(collider(0.4, 0.1), 1, (0, 2))
    solved = interval._solved

    def lost(program: interval.Program, asked: object, least: bool, *more: object) -> interval.Optimum:
        if np.isinf(program.upper).any() or (program.upper > 1).any():
            raise interval.InfeasibleError
        return solved(program, asked, least, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(interval, "_solved", lost)
    found = ends_of(part, query, Clock(most=20))
    assert (found.lower.bound, found.upper.bound) == (0.0, 1.0)
    assert found.lower.value is None and found.gap == 1.0


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


def test_a_linear_program_that_has_no_point_with_its_condition_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where rounding lets a condition seem possible that is not: no contradiction, and no empty interval."""
    part, query = local(chain(0.4), 1, (0,))
    solved = interval._solved

    def seems(program: interval.Program, asked: object, least: bool, *more: object) -> interval.Optimum:
        if (program.upper > 1).any():
            raise interval.InfeasibleError
        return solved(program, asked, least, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(interval, "_solved", seems)
    with pytest.raises(interval.ImpossibleConditionError):
        ends_of(part, query, Clock(most=20))


def test_features_as_evidence_are_answered_by_messages() -> None:
    """Four ordinary features together are rarer than 1e-12; formulas are bounded by their literals."""
    rows = [f"P(f{i} | y) in [0.001, 0.002]\nP(f{i} | not y) in [0.0001, 0.0002]" for i in range(4)]
    model = hb.Model(hb.parse("P(y) in [0.01, 0.02]\n" + "\n".join(rows)))
    given = "f1 and f2 and f3"
    one, either, both = model.bound(
        [f"P(y | f0 and {given})", f"P(y or f0 | {given})", f"P(y and not f0 | {given})"], engine="ariel"
    ).rows()
    low, high = 0.01 / 0.99 * 5**4, 0.02 / 0.98 * 20**4
    assert (one.lower, one.upper) == pytest.approx((low / (1 + low), high / (1 + high)), rel=1e-9)
    low, high = 0.01 / 0.99 * 5**3, 0.02 / 0.98 * 20**3
    assert low / (1 + low) - 1e-9 <= either.lower and either.upper < 1
    assert both.upper <= high / (1 + high) + 1e-9 and both.lower >= low / (1 + low) - 0.003
