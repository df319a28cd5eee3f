"""Explanations under choices against derivatives by hand: loops over the outcomes of every choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.errors import HerbrandError

World = Sequence[bool]
FACTS = (0.3, 0.6, 0.2, 0.7)
FOUR = "".join(f"{p} :: {name}\n" for p, name in zip(FACTS, "abcd", strict=True))


def by_hand(q: Callable[[World], bool], e: Callable[[World], bool], scales: Sequence[float]) -> float:
    """P(q | e) where each of four facts has its own scale."""
    chances = [p * s for p, s in zip(FACTS, scales, strict=True)]
    both = given = 0.0
    for world in product([False, True], repeat=4):
        weight = math.prod(p if holds else 1 - p for p, holds in zip(chances, world, strict=True))
        given += weight * e(world)
        both += weight * (e(world) and q(world))
    return both / given


def explained(model: hb.Model, atom: str, given: Sequence[str] = ()) -> Explanation:
    why = model.explain(atom, given=given)
    assert isinstance(why, Explanation)
    return why


Truth = Callable[[World], bool]
PROGRAMS: dict[str, tuple[str, Truth, Truth]] = {
    "and, or": ("q :- a, b\nq :- c, d", lambda w: (w[0] and w[1]) or (w[2] and w[3]), lambda w: True),
    "not": ("q :- not a, b\nq :- not c", lambda w: (not w[0] and w[1]) or not w[2], lambda w: True),
    "evidence": (
        "q :- a\nq :- b, c\ne :- b\ne :- d\ne",
        lambda w: w[0] or (w[1] and w[2]),
        lambda w: w[1] or w[3],
    ),
    "false evidence": (
        "q :- a\nq :- b\ne :- a, c\nnot e",
        lambda w: w[0] or w[1],
        lambda w: not (w[0] and w[2]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_contributions_are_integrals_of_slopes(name: str) -> None:
    rules, q, e = PROGRAMS[name]
    why = explained(hb.Model(hb.parse(FOUR + rules)), "q")
    assert why.quantity == "probability" and why.engine == "circuit"
    assert why.value == pytest.approx(by_hand(q, e, [1.0] * 4), abs=1e-12)
    found = {reason.statement.split(" :: ")[1]: reason.contribution for reason in why.reasons}
    places, shares = np.polynomial.legendre.leggauss(40)
    step = 1e-4
    for number, fact in enumerate("abcd"):

        def slope(scale: float, number: int = number) -> float:
            ends = [[scale + sign * step * (i == number) for i in range(4)] for sign in (1, -1)]
            return (by_hand(q, e, ends[0]) - by_hand(q, e, ends[1])) / (2 * step)

        expected = sum(w / 2 * slope((x + 1) / 2) for x, w in zip(places, shares, strict=True))
        assert found.get(fact, 0.0) == pytest.approx(expected, abs=1e-6)
    assert math.fsum((why.base, why.remainder, *found.values())) == pytest.approx(why.value, abs=1e-12)


def test_outcomes_of_one_choice_have_shares_of_their_own() -> None:
    """P(wins) = 0.5 * 0.9 + 0.3 * 0.4: each product of two choices is shared in halves."""
    text = "0.5 :: red; 0.3 :: blue; 0.2 :: none\n0.9 :: wins :- red\n0.4 :: wins :- blue"
    why = explained(hb.Model(hb.parse(text)), "wins")
    assert why.value == pytest.approx(0.57, abs=1e-12) and abs(why.remainder) < 1e-9
    found = {reason.statement: reason.contribution for reason in why.reasons}
    assert found["0.5 :: red"] == pytest.approx(0.225, abs=1e-9)
    assert found["0.9 :: wins :- red"] == pytest.approx(0.225, abs=1e-9)
    assert found["0.3 :: blue"] == pytest.approx(0.06, abs=1e-9)
    assert found.get("0.2 :: none", 0.0) == pytest.approx(0.0, abs=1e-9)


def test_instances_carry_their_constants() -> None:
    text = "0.5 :: open(x, y) :- road(x, y)\npath(x, y) :- open(x, y)\npath(x, z) :- path(x, y), open(y, z)"
    model = hb.Model(hb.parse(text), {"road": [("a", "b"), ("b", "a"), ("b", "c")]})
    why = explained(model, 'path("a", "c")')
    assert [dict(reason.grounding) for reason in why.reasons if reason.contribution > 1e-9] == [
        {"x": "a", "y": "b"},
        {"x": "b", "y": "c"},
    ]
    assert [reason.contribution for reason in why.reasons][:2] == pytest.approx([0.125, 0.125], abs=1e-12)


def test_weighted_formulas_are_the_base() -> None:
    text = "predicate a\npredicate b\n0.5 :: b\n1.2: a\n0.7: a and b"
    why = explained(hb.Model(hb.parse(text)), "a")
    assert why.base == pytest.approx(1 / (1 + math.exp(-1.2)), abs=1e-12)
    assert why.value == pytest.approx(hb.Model(hb.parse(text)).infer("a")["a"], abs=1e-12)
    assert math.fsum((why.base, *(r.contribution for r in why.reasons))) == pytest.approx(why.value, abs=1e-9)


@pytest.mark.parametrize(
    "weighted", ["0.08: a or a", "-1.3: not a", "a ~ 0.8", "0.7: a\n-0.2: c", "1.1: b <=> c"]
)
def test_choices_that_formulas_weigh_by_themselves(weighted: str) -> None:
    text = f"predicate a\npredicate b\npredicate c\n0.6 :: a\n0.4 :: b; 0.5 :: c :- a\n{weighted}"
    model = hb.Model(hb.parse(text))
    for atom in ("a", "b", "c"):
        why = explained(model, atom)
        assert why.value == pytest.approx(model.infer(atom)[atom], abs=1e-12)
        parts = (why.base, why.remainder, *(r.contribution for r in why.reasons))
        assert math.fsum(parts) == pytest.approx(why.value, abs=1e-9)
        assert abs(why.remainder) < 1e-8


def test_a_theory_without_choices_is_explained_elsewhere() -> None:
    with pytest.raises(HerbrandError, match="explains by choices"):
        hb.Model(hb.parse("predicate a\n1: a")).explain("a", engine="circuit")


COUNTED = """predicate chosen(item)
predicate rain
chosen("a") ~ 0.7
chosen("b") ~ 0.7
hard: count(x: chosen(x)) = 1
"""


def test_an_atom_that_rests_on_no_choice_has_its_probability() -> None:
    model = hb.Model(hb.parse(COUNTED + "0.3 :: rain"))
    why = explained(model, 'chosen("a")')
    assert (why.value, why.base, why.reasons) == (pytest.approx(0.5, abs=1e-12), why.value, ())


@pytest.mark.parametrize("evidence", ["d", "not d", "not c", "not e"])
def test_evidence_is_explained_where_it_may_hold(evidence: str) -> None:
    model = hb.Model(hb.parse("0.5 :: c\nd :- c\nd :- not c\ne :- c, d"))
    asked = evidence.removeprefix("not ")
    if evidence == "not d":
        with pytest.raises(
            HerbrandError, match="has probability 0: not d\n  every world makes this atom true"
        ):
            model.explain(asked, given=[evidence])
    else:
        certain = 1.0 if asked == evidence else 0.0
        assert explained(model, asked, [evidence]).value == certain


@pytest.mark.parametrize("asked", ["known(1)", "known(2)", "derived(2)"])
def test_what_is_known_has_no_explanation_where_evidence_leaves_no_world(asked: str) -> None:
    text = """
    type n = 1..2
    predicate known(n): observed
    predicate derived(n)
    predicate c(n)
    known(1)
    derived(x) :- known(x)
    0.5 :: c(x) :- known(x)
    """
    model = hb.Model(hb.parse(text))
    assert explained(model, asked, ["not c(1)"]).value == float(asked == "known(1)")
    with pytest.raises(HerbrandError, match=r"the evidence has probability 0: c\(2\)"):
        model.explain(asked, given=["c(2)"])


def test_counts_without_choices_are_refused() -> None:
    with pytest.raises(HerbrandError, match="no engine explains counts of what is uncertain"):
        hb.Model(hb.parse(COUNTED + "1: rain")).explain('chosen("a")')


def test_the_base_of_evidence_that_needs_a_choice() -> None:
    """P(a | a or b) is p / (p + r - spr) at scale s, and p / (p + r) where both vanish. The derivative by
    either grows as 1 / s towards 0: what is integrated is what it has beyond that of the limit."""
    p, r = 0.3, 0.6
    model = hb.Model(hb.parse("0.3 :: a\n0.6 :: b\ne :- a\ne :- b\ne"))
    why = explained(model, "a")
    places, shares = np.polynomial.legendre.leggauss(40)
    scales, weights = (places + 1) / 2, shares / 2
    given = p + r - scales * p * r
    own = (p * r / given**2 - p * r / (p + r) ** 2) / scales
    other = -(p * r * (1 - scales * p) / given**2 - p * r / (p + r) ** 2) / scales
    found = {reason.statement: reason.contribution for reason in why.reasons}
    assert why.base == pytest.approx(p / (p + r), abs=1e-11)
    assert found["0.3 :: a"] == pytest.approx(float(weights @ own), abs=1e-10)
    assert found["0.6 :: b"] == pytest.approx(float(weights @ other), abs=1e-10)
    assert abs(why.remainder) < 1e-9


RARE = {
    "evidence of rare choices": ("1 :: a\n1e-9 :: b\n0.3 :: c\nhard: not a or b\n0.5: not b or c", "a"),
    "a step at 1e-300": ("1e-300 :: b\n0.5 :: c\n0.5 :: d\ne :- b\ne :- c, d\ne", "b"),
    "heads beside certain ones": ("1 :: a; 1e-17 :: b\nc :- b", "c"),
    "beside a certain one, by evidence": ("1 :: a; 1e-17 :: b\n0.5 :: c\nd :- b\nd :- c\nd", "b"),
}


@pytest.mark.parametrize("name", RARE)
def test_contributions_of_rare_choices_add_up(name: str) -> None:
    text, asked = RARE[name]
    model = hb.Model(hb.parse(text))
    why = explained(model, asked)
    assert why.value == pytest.approx(model.infer(asked)[asked], rel=1e-9, abs=0)
    assert abs(why.remainder) < 1e-8
    parts = (why.base, why.remainder, *(reason.contribution for reason in why.reasons))
    assert math.fsum(parts) == pytest.approx(why.value, abs=1e-12)


def test_what_no_head_takes_beside_one_of_probability_0() -> None:
    nearly = "0.9999999999999999 :: a; 0 :: b"
    assert hb.Model(hb.parse(f"{nearly}\nnot a\n0.25 :: c")).infer("c")["c"] == pytest.approx(0.25, abs=1e-12)
