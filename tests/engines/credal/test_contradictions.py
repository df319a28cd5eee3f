"""Bounds that contradict each other, and conditions that cannot be: errors that name a smallest set."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal import exact
from herbrand.engines.credal.ariel import engine as ariel
from herbrand.engines.credal.contradictions import smallest
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.engines.credal.theories import theories
from tests.laws import tries
from tests.oracles.credal import Network

EXAMPLE_1 = """
[s1] P(b) in [0.1, 0.2]
[s2] P(e) in [0.05, 0.1]
[s3] P(a | b or e) in [0.8, 0.9]
[s4] P(not (c xor d) | a) in [0.7, 0.8]
[s5] P(a) in [0.01, 0.08]
"""


def named(error: ContradictionError, labels: str) -> set[str]:
    return {label for label in labels.split() if f"[{label}]" in str(error)}


def test_the_papers_first_example_contradicts_itself() -> None:
    pytest.importorskip("pyscipopt")
    with pytest.raises(ContradictionError) as caught:
        hb.Model(hb.parse(EXAMPLE_1)).bound(engine="exact")
    assert named(caught.value, "s1 s2 s3 s4 s5") == {"s1", "s2", "s3", "s5"}
    assert "no distribution satisfies these 4 statements together" in str(caught.value)


def test_two_bounds_on_one_atom() -> None:
    theory = hb.parse("[x] P(a) in [0.2, 0.3]\n[y] P(b) in [0.1, 0.9]\n[z] P(a) in [0.5, 0.6]")
    with pytest.raises(ContradictionError) as caught:
        hb.Model(theory).bound("b", engine="exact")
    assert named(caught.value, "x y z") == {"x", "z"}


@pytest.mark.parametrize("independence", ["markov", "none"])
@pytest.mark.parametrize(
    "beside",
    ["P(a or not b) >= 0.01", "P(not (a <=> a) | b) <= 0.3", "P(not (a and c) | b) <= 0.9\nP(c) = 0.1"],
)
def test_two_points_of_one_atom_beside_a_sentence_of_several(beside: str, independence: str) -> None:
    """No masses miss all equations of such a program by the same amount."""
    model = hb.Model(hb.parse(f"[x] P(a) = 0.5\n[y] P(a) = 0.8\n[z] {beside}"))
    with pytest.raises(ContradictionError, match="satisfies these 2 statements together") as caught:
        model.bound(engine="exact", independence=independence, time_limit=10)
    assert named(caught.value, "x y z") == {"x", "y"}


def test_a_bound_past_the_end_of_a_range_names_how_to_leave_that_out() -> None:
    """The last value has no next one, so that its instance has a positive probability of something false."""
    stated = 'type step = 1..4\npredicate s(who, step)\nP(s(w, n + 1) | s(w, n){}) >= 0.5\nP(s("a", 4)) = 0.5'
    with pytest.raises(ContradictionError) as caught:
        hb.Model(hb.parse(stated.format(""))).bound(engine="exact")
    assert 'P(false | s("a", 4)) >= 0.5' in str(caught.value)
    assert "leave it out by a condition, P(... | ... and n != 4)" in str(caught.value)
    assert len(hb.Model(hb.parse(stated.format(" and n != 4"))).bound(engine="exact")) == 4


def test_bounds_with_variables_name_an_instance() -> None:
    theory = hb.parse('P(s(x)) <= 0.3\n[y] P(s("anna")) >= 0.5\nP(s("bob")) >= 0.1')
    with pytest.raises(ContradictionError, match=r'among its instances P\(s\("anna"\)\) <= 0\.3') as caught:
        hb.Model(theory).bound(engine="exact")
    assert "[y]" in str(caught.value) and '"bob"' not in str(caught.value)


def test_a_condition_without_probability_is_an_error_and_a_rare_one_is_not() -> None:
    theory = hb.parse(
        "P(a) = 0\nP(b) in [0.4, 0.5]\nP(c | b) in [0.2, 0.3]\nP(rare) <= 0.2\nP(d | rare) = 0.7"
    )
    model = hb.Model(theory)
    with pytest.raises(ContradictionError, match=r"upper probability of what is given in P\(b \| a\) is 0"):
        model.bound("P(b | a)", engine="exact")
    assert model.bound("P(c | b)", engine="exact").lower[0] == pytest.approx(0.2)
    found = model.bound("P(d | rare)", engine="exact")
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.7, 0.7))


def test_evidence_conditions_and_does_not_constrain() -> None:
    """P(e) = 1 would contradict the bound on e; given e does not."""
    theory = hb.parse("P(e) in [0.09, 0.25]\nP(d | e) in [0.5, 0.6]\nP(d | not e) in [0.1, 0.2]")
    model = hb.Model(theory)
    for found in (model.bound("d", given=["e"], engine="exact"), model.bound("P(d | e)", engine="exact")):
        assert (found.lower[0], found.upper[0]) == pytest.approx((0.5, 0.6))
    every = model.bound(given=["e"], engine="exact")
    assert (every["e"].lower, every["e"].upper) == pytest.approx((1, 1))


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(41, 60))
@settings(deadline=None, phases=[Phase.reuse, Phase.generate])
def test_the_filter_finds_what_is_needed(needed: set[int], count: int) -> None:
    assert smallest(range(count), lambda kept: needed <= set(kept)) == sorted(needed)


@given(theories(most_atoms=3), st.integers(0, 9), st.integers(0, 9))
@settings(
    max_examples=tries(15, 4),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)
def test_what_is_named_is_contradictory_and_smallest(theory: Theory, place: int, value: int) -> None:
    """Add one more bound on an atom; where the raw program says that contradicts, so does the engine."""
    pytest.importorskip("pyscipopt")
    atoms = Network(theory.bounds).atoms
    worse = s.Bound(s.Atom(atoms[place % len(atoms)]), None, value / 10, value / 10)
    bounds = (*theory.bounds, worse)
    network = Network(bounds)
    assume(network.interval(s.Truth(True)) is None)
    with pytest.raises(ContradictionError) as caught:
        hb.Model(Theory(bounds)).bound(engine="exact")
    told = str(caught.value)
    kept = [b for b in bounds if next(iter(hb.show(Theory((b,))).splitlines())) in told]
    loose = [s.Bound(b.event, b.given, 0.0, 1.0, b.independent) for b in bounds]
    fixed = [b if b in kept else free for b, free in zip(bounds, loose, strict=True)]
    assert Network(tuple(fixed)).interval(s.Truth(True)) is None
    for left_out in kept:
        fewer = [free if b == left_out else b for b, free in zip(fixed, loose, strict=True)]
        assert Network(tuple(fewer)).interval(s.Truth(True)) is not None


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_none_of_the_statements_that_messages_name_could_be_left_out(engine: str) -> None:
    """Messages see no contradiction in the last three alone, which the exact programs do."""
    text = (
        "P(a | not r) = 0.01 independent\nP(not b | not r and not a) = 1 independent\n"
        "P(r) <= 0.001\nP(b or (not r and not c)) = 0.9\nP(c <=> b) >= 0.99"
    )
    with pytest.raises(ContradictionError) as refused:
        hb.Model(hb.parse(text)).bound("P(c)", engine=engine, independence="none")
    assert [mistake.span.line for mistake in refused.value.mistakes if mistake.span] == [3, 4, 5]


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("independence", ["markov", "none"])
@pytest.mark.parametrize(
    ("theory", "given"),
    [("P(a) = 0\na", []), ("P(a) = 0", ["a"]), ("P(a) = 0.5\nP(c | a) = 0", ["c", "a"])],
)
@pytest.mark.parametrize("queries", [["P(b)"], ["P(b)", "P(a)"], []])
def test_facts_apart_from_the_query_have_to_be_possible(
    theory: str, given: list[str], queries: list[str], independence: str, engine: str
) -> None:
    """No distribution allows them, so that no query has a value left: [0, 1] was called exact, or a bound."""
    model = hb.Model(hb.parse(f"predicate a\npredicate b\npredicate c\n{theory}"))
    options = {"engine": engine, "independence": independence}
    with pytest.raises(ContradictionError, match="the upper probability of the facts"):
        model.bound(queries or None, given=given, **options)
    possible = hb.Model(hb.parse("predicate a\npredicate b\nP(a) <= 0.1\na"))
    assert [(i.lower, i.upper) for i in possible.bound("P(b)", **options)] == [(0, 1)]


@pytest.mark.parametrize(("engine", "module"), [("exact", exact), ("ariel", ariel)])
def test_facts_apart_are_looked_at_for_some_seconds(
    engine: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty parts of eight atoms took ten seconds, beside a query about one atom."""
    model = hb.Model(hb.parse("predicate a\npredicate b\nP(a) = 0\nP(b) <= 0.4"))
    with pytest.raises(ContradictionError, match="the facts"):
        model.bound("P(b)", given=["a"], engine=engine)
    monkeypatch.setattr(module, "SECONDS_APART", 0.0)
    (row,) = model.bound("P(b)", given=["a"], engine=engine).rows()
    assert (row.lower, row.upper) == pytest.approx((0.0, 0.4))
