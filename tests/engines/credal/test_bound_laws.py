"""Laws of probability that the intervals of both engines keep, and settings that change nothing but time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.bounds import Bounds
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.oracles.ariel import Sentence

some = settings(deadline=None, max_examples=4, phases=[Phase.reuse, Phase.generate])
seeds = st.integers(0, 2**32 - 1)
NEAR = 2e-5


def drawn(seed: int) -> Hidden:
    return bayesian(seed, 3, most_parents=2) if seed % 2 else independent(seed, 3, 2)


def bound(
    hidden: Hidden | str, *queries: str, engine: str = "exact", **options: Any
) -> list[tuple[float, float]]:
    text = hidden if isinstance(hidden, str) else hidden.text
    found = hb.Model(hb.parse(text)).bound(list(queries), engine=engine, **options)
    return [(row.lower, row.upper) for row in found.rows()]


def with_sentences(hidden: Hidden, sentences: list[Sentence]) -> str:
    return "\n".join(sentence.statement for sentence in sentences)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@some
@given(seeds)
def test_disjunctions_are_conjunctions_the_other_way_round(engine: str, seed: int) -> None:
    pytest.importorskip("pyscipopt")
    either, neither = bound(drawn(seed), "P(x0 or x1)", "P(not x0 and not x1)", engine=engine)
    near = NEAR if engine == "exact" else 1e-3
    if engine == "exact":
        assert either == pytest.approx((1 - neither[1], 1 - neither[0]), abs=near)
    assert either[0] <= 1 - neither[0] + near and 1 - neither[1] <= either[1] + near


@some
@given(seeds)
def test_what_implies_another_is_no_likelier(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    both, one, either = bound(drawn(seed), "P(x0 and x1)", "P(x0)", "P(x0 or x1)")
    assert both[0] <= one[0] + NEAR and one[0] <= either[0] + NEAR
    assert both[1] <= one[1] + NEAR and one[1] <= either[1] + NEAR


@some
@given(seeds)
def test_an_interval_lies_within_those_of_the_parts_that_it_is_made_of(seed: int) -> None:
    """P(q) is P(q and r) + P(q and not r), and an average of P(q | r) and P(q | not r)."""
    pytest.importorskip("pyscipopt")
    whole, with_it, without, given_it, given_not = bound(
        drawn(seed), "P(x0)", "P(x0 and x1)", "P(x0 and not x1)", "P(x0 | x1)", "P(x0 | not x1)"
    )
    assert whole[0] >= with_it[0] + without[0] - NEAR and whole[1] <= with_it[1] + without[1] + NEAR
    assert whole[0] >= min(given_it[0], given_not[0]) - NEAR
    assert whole[1] <= max(given_it[1], given_not[1]) + NEAR


@some
@given(seeds, st.integers(0, 20))
def test_wider_bounds_never_narrow_an_interval(seed: int, which: int) -> None:
    pytest.importorskip("pyscipopt")
    hidden = drawn(seed)
    sentences = list(hidden.sentences)
    changed = sentences[which % len(sentences)]
    wider = changed._replace(lower=changed.lower / 2, upper=(1 + changed.upper) / 2)
    loose = [wider if sentence is changed else sentence for sentence in sentences]
    for engine in ("exact", "ariel"):
        (tight,) = bound(hidden, "P(x0)", engine=engine)
        (wide,) = bound(with_sentences(hidden, loose), "P(x0)", engine=engine)
        assert wide[0] <= tight[0] + NEAR and tight[1] <= wide[1] + NEAR


@some
@given(seeds)
def test_an_answer_that_is_said_changes_no_other(seed: int) -> None:
    """To state the exact interval of an atom as a bound of the theory says nothing new."""
    pytest.importorskip("pyscipopt")
    hidden = drawn(seed)
    before = bound(hidden, "P(x0)", "P(x1)", "P(x0 and x2)")
    low, high = max(0.0, before[0][0] - 1e-6), min(1.0, before[0][1] + 1e-6)
    told = f"{hidden.text}\nP(x0) in [{low!r}, {high!r}]"
    for one, other in zip(bound(told, "P(x0)", "P(x1)", "P(x0 and x2)"), before, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@some
@given(seeds)
def test_bounds_on_one_formula_may_be_said_end_by_end(seed: int) -> None:
    """[l, u] is >= l and <= u; and a bound on q is one on not q the other way round."""
    pytest.importorskip("pyscipopt")
    hidden = drawn(seed)
    ends, turned = [], []
    for sentence in hidden.sentences:
        ends += [sentence._replace(upper=1.0), sentence._replace(lower=0.0)]
        lower, upper = round(1 - sentence.upper, 9), round(1 - sentence.lower, 9)
        turned.append(sentence._replace(event=f"not ({sentence.event})", lower=lower, upper=upper))
    for engine in ("exact", "ariel"):
        expected = bound(hidden, "P(x0)", "P(x2)", engine=engine)
        for sentences in (ends, turned):
            found = bound(with_sentences(hidden, sentences), "P(x0)", "P(x2)", engine=engine)
            near = NEAR if engine == "exact" else 1e-3
            assert found == [pytest.approx(one, abs=near) for one in expected]


def full(hidden: Hidden, engine: str, **options: Any) -> Bounds:
    return hb.Model(hb.parse(hidden.text)).bound(engine=engine, **options)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_settings_that_change_nothing_but_time(engine: str) -> None:
    """Memory, seeds, a generous limit of time, somebody who watches: the same to the last digit."""
    pytest.importorskip("pyscipopt")
    watched: list[float] = []
    for seed in range(3):
        hidden = drawn(seed)
        expected = full(hidden, engine)
        for options in (
            {"memory": "200MB"},
            {"seed": 5},
            {"time_limit": 500},
            {"progress": lambda what, share: watched.append(share)},
        ):
            found = full(hidden, engine, **options)
            assert found.lower.tolist() == expected.lower.tolist(), options
            assert found.upper.tolist() == expected.upper.tolist(), options
    assert watched and max(watched) <= 1.0


def test_a_tolerance_is_how_far_an_end_may_be_off() -> None:
    pytest.importorskip("pyscipopt")
    hidden = bayesian(4, 4, most_parents=3)
    fine = full(hidden, "exact")
    for tolerance in (1e-2, 1e-4):
        rough = full(hidden, "exact", tolerance=tolerance)
        assert (rough.lower <= fine.lower + 1e-6).all() and (rough.upper >= fine.upper - 1e-6).all()
        np.testing.assert_allclose(rough.lower, fine.lower, atol=1.1 * tolerance)
        np.testing.assert_allclose(rough.upper, fine.upper, atol=1.1 * tolerance)


@some
@given(seeds)
def test_asked_together_or_one_by_one(seed: int) -> None:
    """Also more than once, and every atom by its name."""
    pytest.importorskip("pyscipopt")
    hidden = drawn(seed)
    queries = ["P(x0)", "P(x1 | x0)", "P(x0 and x1)", "P(x0)"]
    for engine in ("exact", "ariel"):
        together = bound(hidden, *queries, engine=engine)
        alone = [bound(hidden, query, engine=engine)[0] for query in queries]
        assert together == [pytest.approx(one, abs=1e-6) for one in alone]
        every = full(hidden, engine)
        assert (every["x0"].lower, every["x0"].upper) == pytest.approx(together[0], abs=1e-6)
