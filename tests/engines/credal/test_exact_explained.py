"""What each statement holds of an interval, beside the interval without it."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError

LINES = ("P(a) in [0.2, 0.3]", "P(b | a) in [0.6, 0.7]", "P(b | not a) in [0.1, 0.2]", "P(b) <= 0.34")


def test_contributions_are_what_leaving_out_moves() -> None:
    model = hb.Model(hb.parse("\n".join(LINES)))
    ends = model.explain("P(b)", engine="exact").ends
    bounds = model.bound("P(b)", engine="exact")
    for end, value, key in zip(ends, (bounds.lower[0], bounds.upper[0]), ("lower", "upper"), strict=True):
        assert end.value == pytest.approx(value)
        total = end.base + end.remainder + sum(reason.contribution for reason in end.reasons)
        assert total == pytest.approx(end.value)
        assert end.quantity == f"{key} probability"
        moved = {reason.statement: reason.contribution for reason in end.reasons}
        for line in LINES[:1] + LINES[3:]:
            others = hb.Model(hb.parse("\n".join(other for other in LINES if other != line)))
            without = getattr(others.bound("P(b)", engine="exact")["b"], key)
            assert moved.get(line, 0.0) == pytest.approx(value - without, abs=1e-6)


def test_relaxing_moves_as_the_derivative_says() -> None:
    """P(b) is at most 0.3 * 0.7 + 0.7 * 0.2; a hundredth more for a is (0.7 - 0.2) / 100 more for b."""
    model = hb.Model(hb.parse("\n".join(LINES[:3])))
    upper = model.explain("P(b)", engine="exact").upper
    (reason,) = [reason for reason in upper.reasons if reason.statement == LINES[0]]
    assert reason.parts[0].contribution == pytest.approx(-0.005, abs=1e-6)
    assert "relaxed by 0.01: this end moves by +0.0050" in reason.parts[0].statement


def test_reasons_tell_the_grounding_and_one_query_is_explained() -> None:
    theory = 'P(s(x)) in [0.1, 0.4]\nP(t(x) | s(x)) >= 0.5\nP(t("anna")) <= 0.9\nP(t("bob")) <= 0.9'
    model = hb.Model(hb.parse(theory))
    lower = model.explain('P(t("anna"))', engine="exact").lower
    assert {reason.grounding["x"] for reason in lower.reasons} == {"anna"}
    with pytest.raises(UnsupportedError, match="an explanation is of one interval"):
        model.explain("P(t(x))", engine="exact")
    computed = hb.Model(hb.parse('P(s(x)) in [0.2, 0.3]\nage("a", 1)\nage("b", 2)'))
    with pytest.raises(UnsupportedError, match="of one interval, and this query has 2\n"):
        computed.explain("P(s(x) | age(x, n) and n > 1 - 1)")


def test_an_atom_of_a_theory_of_bounds_is_explained_by_its_interval() -> None:
    model = hb.Model(hb.parse("\n".join(LINES)))
    for engine in ("exact", "ariel"):
        plain, asked = (model.explain(query, engine=engine) for query in ("b", "P(b)"))
        assert plain.to_dict() == asked.to_dict()


def test_bounds_beside_weights_are_not_passed_over_in_silence() -> None:
    model = hb.Model(hb.parse("1.0: a => b\nP(a) in [0.2, 0.3]"))
    with pytest.raises(UnsupportedError, match="infer cannot use this statement"):
        model.explain("b")


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize(
    "apart", ["P(a) = 0\na", "P(a) <= 0.2\nP(a) >= 0.5", "P(a) in [0.2, 0.3]\nP(c | a) >= 0.5\nP(c) <= 0.05"]
)
def test_what_bound_refuses_is_not_explained(apart: str, engine: str) -> None:
    """Facts and statements on which the query does not depend contradict each other: no interval is left."""
    model = hb.Model(hb.parse(f"predicate a\npredicate b\npredicate c\nP(b) <= 0.4\n{apart}"))
    for ask in (model.bound, model.explain):
        with pytest.raises(ContradictionError, match=r"no distribution satisfies|the facts"):
            ask("P(b)", engine=engine)
