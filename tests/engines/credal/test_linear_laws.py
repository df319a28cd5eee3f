"""Plain probabilistic logic, where no independence holds, beside one linear program over all cases.

And laws of any independence: what is said another way gives the same intervals by both engines.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import herbrand as hb
from herbrand.engines.credal.network_part import NetworkPart
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.show import show_atom, show_probability
from herbrand.language.theory import Theory
from tests.changed_theories import renamed
from tests.engines.credal.theories import formulas, theories
from tests.laws import tries
from tests.oracles.credal import Network, holds

quick = settings(
    max_examples=tries(10),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
Interval = tuple[float, float]


def linear_interval(network: Network, event: s.Formula, condition: s.Formula) -> Interval | None:
    """The ends of P(event | condition); ``None`` where the condition has no probability.

    Masses are scaled so that the condition is certain, which every sentence, one of ratios, allows.
    """
    cases = network.cases()

    def table(formula: s.Formula | None) -> np.ndarray:
        return np.array([formula is None or holds(formula, case) for case in cases], float)

    rows = []
    for bound in network.bounds:
        both, told = table(network.both(bound)), table(bound.given)
        rows += [bound.lower * told - both, both - bound.upper * told]
    asked = table(s.And((event, condition)))
    ends = [
        linprog(sign * asked, np.array(rows), np.zeros(len(rows)), [table(condition)], [1.0])
        for sign in (1, -1)
    ]
    if any(end.status == 2 for end in ends):
        return None
    return ends[0].fun, -ends[1].fun


@st.composite
def questions(draw: st.DrawFn) -> tuple[Theory, s.Formula, s.Formula | None, list[s.Formula]]:
    """A theory, an event, a condition, and facts that do not contradict each other."""
    theory = draw(theories(most_bounds=7))
    names = tuple(Network(theory.bounds).atoms)
    event, condition = draw(formulas(names)), draw(st.one_of(st.none(), formulas(names)))
    known = draw(st.dictionaries(st.sampled_from(names), st.booleans(), max_size=1))
    facts: list[s.Formula] = [s.Atom(n) if truth else s.Not(s.Atom(n)) for n, truth in known.items()]
    return theory, event, condition, facts


Question = tuple[Theory, s.Formula, s.Formula | None, list[s.Formula]]


def assert_linear(question: Question) -> None:
    theory, event, condition, facts = question
    given = s.And((s.Truth(True), *facts, *([] if condition is None else [condition])))
    truth = linear_interval(Network(theory.bounds), event, given)
    query, known = f"P({show_probability(event, condition)})", list(map(show_probability, facts))
    found = {}
    for engine in ("exact", "ariel"):
        try:
            answer = hb.Model(theory).bound(query, given=known, engine=engine, independence="none")
        except ContradictionError as error:
            assert truth is None, engine
            assert "is 0, so it cannot be given" in str(error)
        else:
            found[engine] = answer.lower[0], answer.upper[0]
    assert ("exact" in found) == (truth is not None)
    if truth is not None:
        assert found["exact"] == pytest.approx(truth, abs=1e-6)
        assert found["ariel"][0] <= truth[0] + 1e-6 and found["ariel"][1] >= truth[1] - 1e-6


@quick
@given(questions())
def test_conditions_and_facts_are_those_of_the_linear_program(question: Question) -> None:
    assert_linear(question)


@pytest.mark.slow
@settings(quick, max_examples=400)
@given(questions())
def test_conditions_and_facts_at_length(question: Question) -> None:
    assert_linear(question)


@quick
@given(theories(most_bounds=7), st.data())
def test_leaving_out_what_does_not_matter_changes_no_linear_program(
    theory: Theory, data: st.DataObject
) -> None:
    """With nothing left out, and with what cannot matter left out, the intervals are the same."""
    names = tuple(Network(theory.bounds).atoms)
    event = f"P({show_probability(data.draw(formulas(names)), data.draw(st.none() | formulas(names)))})"

    def interval() -> Interval | None:
        try:
            answer = hb.Model(theory).bound(event, engine="exact", independence="none")
        except ContradictionError:
            return None
        return answer.lower[0], answer.upper[0]

    less = interval()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkPart, "_kept", lambda self, asked: set(range(len(self.names))))
        whole = interval()
    assert less == (None if whole is None else pytest.approx(whole, abs=1e-6))


# What is said another way

Rewriting = Callable[[s.Bound], Sequence[s.Bound]]


def of_the_opposite(bound: s.Bound) -> Sequence[s.Bound]:
    return [replace(bound, event=s.Not(bound.event), lower=1 - bound.upper, upper=1 - bound.lower)]


def end_by_end(bound: s.Bound) -> Sequence[s.Bound]:
    return [replace(bound, upper=1.0), replace(bound, lower=0.0)]


def twice(bound: s.Bound) -> Sequence[s.Bound]:
    return [bound, bound]


def beside_something_wider(bound: s.Bound) -> Sequence[s.Bound]:
    return [replace(bound, lower=bound.lower / 2, upper=(1 + bound.upper) / 2), bound]


def doubly_negated(bound: s.Bound) -> Sequence[s.Bound]:
    condition = None if bound.given is None else s.Not(s.Not(bound.given))
    return [replace(bound, event=s.Not(s.Not(bound.event)), given=condition)]


def with_its_condition(bound: s.Bound) -> Sequence[s.Bound]:
    """P(F and G | G) for P(F | G): only without independence, for G's atoms are now the event's too."""
    if bound.given is None:
        return [bound]
    return [replace(bound, event=s.And((bound.event, bound.given)))]


REWRITINGS = [of_the_opposite, end_by_end, twice, beside_something_wider, doubly_negated]


def intervals(theory: Theory, **options: object) -> dict[str, Interval]:
    rows = hb.Model(theory).bound(**options).rows()  # type: ignore[arg-type]
    return {row.query: (row.lower, row.upper) for row in rows}


def assert_same(one: dict[str, Interval], two: dict[str, Interval], within: float) -> None:
    assert one.keys() == two.keys()
    for name, ends in one.items():
        assert two[name] == pytest.approx(ends, abs=within), name


@pytest.mark.parametrize("rewriting", [*REWRITINGS, with_its_condition])
@settings(quick, max_examples=4)
@given(theories(most_bounds=6))
def test_another_wording_changes_no_linear_interval(rewriting: Rewriting, theory: Theory) -> None:
    other = Theory(tuple(new for bound in theory.bounds for new in rewriting(bound)))
    for engine, within in (("exact", 1e-6), ("ariel", 1e-5)):
        one, two = (intervals(t, engine=engine, independence="none") for t in (theory, other))
        if engine == "exact" or rewriting is not with_its_condition:
            assert_same(one, two, within)


@pytest.mark.parametrize("rewriting", REWRITINGS)
@settings(quick, max_examples=3)
@given(theories(most_atoms=3, most_bounds=4))
def test_nor_one_under_the_markov_condition(rewriting: Rewriting, theory: Theory) -> None:
    other = Theory(tuple(new for bound in theory.bounds for new in rewriting(bound)))
    for engine in ("ariel", "exact"):
        one, two = (intervals(t, engine=engine) for t in (theory, other))
        assert_same(one, two, 1e-4)


@settings(quick, max_examples=4)
@given(theories(most_atoms=4, most_bounds=5), st.permutations(["not", "P", "x y", "ß"]), st.randoms())
def test_neither_names_nor_the_order_of_bounds_matter(
    theory: Theory, names: list[str], dice: random.Random
) -> None:
    new = dict(zip(("a", "b", "c", "d"), names, strict=True))
    shuffled = list(theory.bounds)
    dice.shuffle(shuffled)
    other = renamed(Theory(tuple(shuffled)), new)
    for options in ({"independence": "none", "engine": "exact"}, {"engine": "ariel"}):
        one = intervals(theory, **options)
        two = intervals(other, **options)
        spelt = {show_atom(name, ()): old for old, name in new.items()}
        assert_same(one, {spelt[text]: ends for text, ends in two.items()}, 1e-5)


@settings(quick, max_examples=6)
@given(theories(most_bounds=6), st.data())
def test_more_that_is_said_never_widens(theory: Theory, data: st.DataObject) -> None:
    """Without independence: a bound that the answer keeps only shrinks what else is known."""
    names = tuple(Network(theory.bounds).atoms)
    event = data.draw(formulas(names))
    before = intervals(theory, engine="exact", independence="none")
    (found,) = (
        hb.Model(theory).bound(f"P({show_probability(event)})", engine="exact", independence="none").rows()
    )
    assume(found.upper - found.lower > 1e-3)
    middle = (found.lower + found.upper) / 2
    added = s.Bound(event, None, round(middle, 6), 1.0)
    after = intervals(Theory((*theory.bounds, added)), engine="exact", independence="none")
    for name, (low, high) in after.items():
        assert before[name][0] - 1e-6 <= low <= high + 1e-6 and high <= before[name][1] + 1e-6
