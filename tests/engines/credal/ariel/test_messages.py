"""Sound messages: never narrower than the truth, as tight as the scheme allows, exact on polytrees."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.bounds import Bounds
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.engines.credal.ariel.engine import Ariel
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.question import read_bound_question
from herbrand.engines.engine import first_state
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.laws import tries
from tests.oracles.ariel import Sentence, extremes, markov, sound_messages

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1)
NARROW = 1e-7


def holds_the_truth(hidden: Hidden, **options: Any) -> None:
    for row in hidden.bound(**options).rows():
        truth = hidden.chance(row.query)
        assert row.lower - NARROW <= truth <= row.upper + NARROW, (row, truth)
        assert row.certified


@laws
@given(seeds, st.integers(2, 6), st.integers(1, 4))
def test_hidden_networks_lie_inside(seed: int, n: int, parents: int) -> None:
    holds_the_truth(bayesian(seed, n, parents))


@laws
@given(seeds, st.integers(3, 5), st.integers(1, 6))
def test_formulas_of_any_shape(seed: int, n: int, count: int) -> None:
    holds_the_truth(independent(seed, n, count))


@laws
@given(seeds, st.integers(1, 3))
def test_stopped_runs_are_sound(seed: int, passes: int) -> None:
    holds_the_truth(bayesian(seed, 6), iterations=passes)


@laws
@given(seeds)
def test_narrow_intervals_do_not_contradict(seed: int) -> None:
    """Points for intervals: rounding must not be taken for a contradiction."""
    holds_the_truth(bayesian(seed, 6, width=0.0))


SMALL = [(3, 1), *(pytest.param(3, seed, marks=pytest.mark.slow) for seed in (0, 2, 3))]
SIZES = [*SMALL, *(pytest.param(4, seed, marks=pytest.mark.slow) for seed in range(6))]
"""Atoms and seeds; of the raw program over all cases SCIP proves no more than three atoms in good time."""


@pytest.fixture
def scip() -> None:
    pytest.importorskip("pyscipopt", reason="the oracle needs pyscipopt")


def exact(hidden: Hidden) -> Bounds:
    """By the exact engine, which is checked against the raw program elsewhere; every end proved."""
    found = hb.Model(hb.parse(hidden.text)).bound(engine="exact")
    assert found.guarantee is Guarantee.EXACT
    return found


@pytest.mark.usefixtures("scip")
@pytest.mark.parametrize(("n", "seed"), SMALL)
def test_polytrees_are_exact(n: int, seed: int) -> None:
    hidden = bayesian(seed, n, tree=True)
    found = hidden.bound()
    statements = markov(n, hidden.sentences)
    for atom in range(n):
        truth = extremes(range(n), hidden.sentences, statements, f"x{atom}")
        assert truth is not None
        got = found[f"x{atom}"]
        assert (got.lower, got.upper) == pytest.approx(truth, abs=1e-4)


@pytest.mark.usefixtures("scip")
@pytest.mark.parametrize("parents", [2, 3])
@pytest.mark.parametrize(
    ("n", "seed"),
    [(5, 0), (7, 1), *(pytest.param(n, n, marks=pytest.mark.slow) for n in range(4, 9))],
)
def test_larger_polytrees_equal_the_exact_engine(n: int, seed: int, parents: int) -> None:
    hidden = bayesian(seed, n, parents, tree=True)
    found, truth = hidden.bound(tolerance=1e-9), exact(hidden)
    assert found.lower == pytest.approx(truth.lower, abs=1e-4)
    assert found.upper == pytest.approx(truth.upper, abs=1e-4)


@pytest.mark.usefixtures("scip")
@pytest.mark.parametrize(("n", "seed"), SIZES)
def test_dags_are_as_tight_as_messages_solved_globally(n: int, seed: int) -> None:
    compare_with_messages(bayesian(seed + 100, n, most_parents=3), n)


@pytest.mark.usefixtures("scip")
@pytest.mark.parametrize(("n", "seed"), SIZES)
def test_formulas_are_as_tight_as_messages_solved_globally(n: int, seed: int) -> None:
    compare_with_messages(independent(seed, n, n), n)


def compare_with_messages(hidden: Hidden, n: int) -> None:
    oracle = sound_messages(n, hidden.sentences)
    found, truths = hidden.bound(), exact(hidden)
    for atom, (low, high) in enumerate(oracle):
        got, truth = found[f"x{atom}"], truths[f"x{atom}"]
        assert got.lower >= low - 1e-4 and got.upper <= high + 1e-4, (atom, got, (low, high))
        assert got.lower <= truth.lower + 1e-5 and got.upper >= truth.upper - 1e-5, (atom, got, truth)


def test_unlinked_pairs_use_their_independence() -> None:
    """P(a and b) alone links nothing, so a and b are independent: P(a) P(b) >= 0.4."""
    found = hb.Model(hb.parse("P(a and b) >= 0.4\nP(a) <= 0.5")).bound(engine="ariel")
    assert found["b"].lower == pytest.approx(0.8, abs=1e-6)
    without = hb.Model(hb.parse("P(a and b) >= 0.4\nP(a) <= 0.5")).bound(engine="ariel", independence="none")
    assert without["b"].lower == pytest.approx(0.4, abs=1e-6)


@pytest.mark.usefixtures("scip")
def test_dependent_co_parents_get_no_independence() -> None:
    """b -> c, and d given both: equation 24 would cut the upper end of P(c) short."""
    text = """
    P(b) in [0.2, 0.4]
    P(c | b) in [0.4, 0.7]
    P(d | b and c) in [0.7, 0.9]
    P(d) in [0.05, 0.2]
    """
    sound = hb.Model(hb.parse(text)).bound(engine="ariel")
    paper = hb.Model(hb.parse(text)).bound(engine="ariel", mode="paper")
    sentences = [
        Sentence("x0", None, 0.2, 0.4),
        Sentence("x1", "x0", 0.4, 0.7),
        Sentence("x2", "x0 and x1", 0.7, 0.9),
        Sentence("x2", None, 0.05, 0.2),
    ]
    truth = extremes(range(3), sentences, markov(3, sentences), "x1")
    assert truth is not None
    assert sound["c"].upper >= truth[1] - 1e-6
    assert paper["c"].upper < truth[1] - 0.01
    assert not paper["c"].certified and sound["c"].certified


def test_paper_mode_reports_infeasible_factors() -> None:
    text = "P(b) in [0.1, 0.2]\nP(e) in [0.05, 0.1]\nP(a | b or e) >= 0.6\nP(a) <= 0.1"
    assert hb.Model(hb.parse(text)).bound(engine="ariel")["a"].lower == pytest.approx(0.087, abs=1e-4)
    with pytest.raises(hb.HerbrandError, match="pairwise independent"):
        hb.Model(hb.parse(text)).bound(engine="ariel", mode="paper")


def test_example_of_the_paper() -> None:
    text = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\nP(b) in [0.3, 0.4]"
    for mode in ("sound", "paper"):
        found = hb.Model(hb.parse(text)).bound(engine="ariel", mode=mode)
        assert (found["b"].lower, found["b"].upper) == pytest.approx((0.3, 0.35), abs=1e-6)


@pytest.mark.parametrize("extra", ["", " or x0"])
def test_wide_scopes_are_relaxed_soundly(extra: str) -> None:
    names = [f"x{i}" for i in range(14)]
    text = f"P({' and '.join(names)}{extra}) >= 0.6\nP(y | {' and '.join(names)}) >= 0.9"
    found = hb.Model(hb.parse(text)).bound(engine="ariel")
    assert 0 < found["x3"].lower <= 0.6 + 1e-6 or extra
    assert found["x0"].upper == 1
    assert found["y"].lower <= 0.54 + 1e-6


def test_ground_instances() -> None:
    text = """
    predicate friends(person, person): observed
    predicate smokes(person)
    P(smokes(x)) in [0.2, 0.3]
    P(smokes(x) | smokes(y) and friends(x, y)) >= 0.6
    """
    facts = {"friends": [("anna", "bob"), ("bob", "carl")]}
    model = hb.Model(hb.parse(text), facts)
    found = model.bound(engine="ariel")
    assert [row.query for row in found.rows()] == ['smokes("anna")', 'smokes("bob")', 'smokes("carl")']
    assert found['smokes("anna")'].lower == pytest.approx(0.2, abs=1e-6)


def test_the_order_of_statements_does_not_matter() -> None:
    hidden = bayesian(5, 7, 3)
    there = hb.Model(hb.parse(hidden.text)).bound(engine="ariel", tolerance=1e-10)
    back = hb.Model(hb.parse("\n".join(reversed(hidden.text.splitlines())))).bound(
        engine="ariel", tolerance=1e-10
    )
    for row in there.rows():
        other = back[row.query]
        assert (row.lower, row.upper) == pytest.approx((other.lower, other.upper), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("P(a) in [0.2, 0.3]\nP(b) <= 0.9\nP(a) in [0.5, 0.6]", {1, 3}),
        ("P(a) in [0.2, 0.3]\nP(b | a) >= 0.9\nP(c) <= 0.5\nP(b) <= 0.1", {1, 2, 4}),
        ("P(b) >= 0.4\nP(e) >= 0.5\nP(a | b or e) >= 0.8\nP(a) <= 0.3\nP(d | a) >= 0.5", {2, 3, 4}),
        ("P(a) >= 0.7\nP(b) >= 0.7\nP(a xor b) >= 0.9\nP(c) >= 0.1", {1, 2, 3}),
        ("P(a) <= 0.9\nP(b) in [0.2, 0.3]\nP(a and b) >= 0.5", {2, 3}),
    ],
)
def test_contradictions_name_a_smallest_set(text: str, named: set[int]) -> None:
    with pytest.raises(hb.HerbrandError) as error:
        hb.Model(hb.parse(text)).bound(engine="ariel")
    assert {mistake.span.line for mistake in error.value.mistakes if mistake.span} == named


def test_explanations_name_what_holds_an_end() -> None:
    text = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\nP(c) <= 0.4"
    lowering = Lowering.over(hb.Model(hb.parse(text)).program)
    asked = first_state(Ariel(), lowering.network(), read_bound_question(["b"], lowering))
    lower, upper = Ariel().explain(asked, Status(False, 0))
    assert lower.value == pytest.approx(0.2, abs=1e-6) and upper.value == pytest.approx(0.35, abs=1e-6)
    told = {reason.statement: reason.contribution for reason in upper.reasons}
    assert told["P(a) in [0.2, 0.3]"] == pytest.approx(0.35 - 0.7, abs=1e-6)
    assert "P(c) <= 0.4" not in told
    assert not any("0.4" in reason.statement for reason in lower.reasons)


def test_intervals_only_shrink_over_iterations() -> None:
    hidden = bayesian(11, 7)
    widths = []
    for passes in (1, 2, 3, 20):
        found = hidden.bound(iterations=passes)
        widths.append(found.upper - found.lower)
    for before, after in itertools.pairwise(widths):
        assert np.all(after <= before + 1e-12)
    assert hidden.bound().status.converged and not hidden.bound(iterations=1).status.converged
