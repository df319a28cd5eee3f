"""Explanations add up, are ordered, cut and told without infinities."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.answers.explanation import Explanation, IntervalExplanation, Reason
from herbrand.answers.guarantee import Guarantee
from tests.laws import tries

laws = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=tries(60))
shares = st.floats(-5, 5).map(lambda number: round(number, 3))
reasons = st.recursive(
    st.builds(
        Reason,
        st.sampled_from(["1.0: p(x)", "hard: p", "soft evidence on p"]),
        st.dictionaries(
            st.sampled_from("xyz"), st.one_of(st.integers(0, 9), st.text(max_size=3)), max_size=2
        ),
        shares,
    ),
    lambda parts: st.builds(
        Reason, st.just("r :- b"), st.just({}), shares, st.lists(parts, max_size=2).map(tuple)
    ),
    max_leaves=4,
)


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    found = tuple(draw(st.lists(reasons, max_size=6)))
    base, rest = draw(shares), draw(st.sampled_from([0.0, 0.5]))
    value = base + rest + math.fsum(reason.contribution for reason in found)
    return Explanation("p", "log-odds", value, "exact", Guarantee.EXACT, found, base, rest)


def total(why: Explanation) -> float:
    return why.base + why.remainder + math.fsum(reason.contribution for reason in why.reasons)


@laws
@given(explanations(), st.integers(0, 7))
def test_they_add_up_however_they_are_cut(why: Explanation, count: int) -> None:
    for told in (why, why.top(count), why.top(count).top(1)):
        assert total(told) == pytest.approx(why.value, abs=1e-9)
        sizes = [abs(reason.contribution) for reason in told.reasons]
        assert sizes == sorted(sizes, reverse=True)
    assert len(why.top(count).reasons) == min(count, len(why.reasons))


@laws
@given(explanations())
def test_every_form_tells_the_same(why: Explanation) -> None:
    told = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert [r["contribution"] for r in told["reasons"]] == [r.contribution for r in why.reasons]
    assert why.to_arrow().to_pydict()["statement"] == [r.statement for r in why.reasons]
    cells, spans = list(why.cells()), list(why.spans())
    assert len(why) == len(cells) == len(spans) == why._repr_html_().count("<tr>") - 1
    assert all(0.0 <= begin <= end <= 1.0 and 0.5 in (begin, end) for begin, end in spans)
    assert ("(all others)" in [cell[1] for cell in cells]) == (abs(why.remainder) > 5e-5)
    assert ("(before any statement)" in [cell[1] for cell in cells]) == (abs(why.base) > 5e-5)


def test_what_forces_an_answer_is_infinite_and_told_by_name() -> None:
    inner = Reason("fact", {}, -math.inf)
    why = Explanation(
        *("p", "log-odds", math.inf, "facts", Guarantee.EXACT),
        (Reason("small", {}, 0.5), Reason("forced", {"x": "a\n"}, math.inf, (inner,))),
        note="what is certain forces it",
    )
    told = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert told["value"] == "inf" and [r["contribution"] for r in told["reasons"]] == ["inf", 0.5]
    assert told["reasons"][0]["parts"][0]["contribution"] == "-inf"
    assert repr(why).splitlines()[:4] == [
        "p: log-odds inf (facts; exact)",
        "what is certain forces it",
        "contribution  statement  where",
        '        +inf  forced     x = "a\\n"',
    ]
    assert list(why.spans()) == [(0.5, 1.0), (0.5, 0.5), (0.5, 1.0)]


def test_reasons_that_round_to_nothing_are_counted_and_not_shown() -> None:
    weights = (0.7, -0.2, 4e-5, -0.0, 3e-5, 2e-5)
    told = tuple(Reason(f"{weight}: p", {}, weight) for weight in weights)
    why = Explanation("p", "log-odds", math.fsum(weights), "exact", Guarantee.EXACT, told)
    assert [row[0].strip() for row in why.cells()] == ["+0.7000", "-0.2000", "+0.0001"]
    assert list(why.cells())[-1][1] == "(all others)"
    assert len(why.to_dict()["reasons"]) == len(weights), "data holds all of them"
    idle = Explanation("p", "log-odds", 0.0, "exact", Guarantee.EXACT, told[3:4])
    assert [row[1] for row in idle.cells()] == ["-0.0: p"], "but where nothing else is told, they are"


def test_reasons_that_differ_by_rounding_alone_keep_their_order() -> None:
    """Which of two equal contributions comes out larger depends on the processor."""
    contributions = [0.125, math.nextafter(0.125, 1), -0.125, 0.126, math.inf]
    listed = tuple(Reason(f"r{place}", {}, number) for place, number in enumerate(contributions))
    why = Explanation("p", "log-odds", math.inf, "exact", Guarantee.EXACT, listed)
    assert [reason.statement for reason in why.reasons] == ["r4", "r3", "r0", "r1", "r2"]


def test_nothing_to_tell() -> None:
    why = Explanation("p", "weight", 0.0, "proof", Guarantee.EXACT, ())
    assert repr(why) == "p: weight 0.0000 (proof; exact)\ncontribution  statement  where"
    assert len(why) == 0 and why.to_arrow().num_rows == 0 and why.ends == (why,)


def test_an_interval_has_two_ends() -> None:
    low = Explanation("P(a)", "lower", 0.2, "exact", Guarantee.EXACT, (Reason("s", {}, 0.2), Reason("t")))
    both = IntervalExplanation(low, Explanation("P(a)", "upper", 1.0, "exact", Guarantee.EXACT, (), 1.0))
    assert both.to_dict() == {"lower": both.lower.to_dict(), "upper": both.upper.to_dict()}
    assert both.to_arrow().to_pydict()["quantity"] == ["lower", "lower"]
    assert both.top(1).lower.reasons == low.reasons[:1] and both.top(0).lower.remainder == 0.2
    assert repr(both) == f"{both.lower}\n\n{both.upper}" and both._repr_html_().count("<table>") == 2


def test_a_learned_weight_is_shown_short_and_kept_whole() -> None:
    texts = ["2.1731301310903506: p(x)", "-0.00012345678901: p(x)", "0.25: p(x)", "p(x), 0.123456789: q(x)"]
    texts.append("1.23456789e-06: p(x)")
    why = Explanation("p", "log-odds", 1.0, "exact", Guarantee.EXACT, tuple(Reason(text) for text in texts))
    assert [reason["statement"] for reason in why.to_dict()["reasons"]] == texts
    shown = [statement for _, statement, _ in why.cells() if ":" in statement]
    assert shown == [
        *("2.1731: p(x)", "-0.00012346: p(x)", "0.25: p(x)", "p(x), 0.123456789: q(x)", "1.2346e-06: p(x)")
    ]
