"""Paper mode beside its own equations: loops over messages, each of them found by SCIP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.credal.ariel.messages import FoundContradictionError
from herbrand.engines.credal.ariel.published import PublishedMessages, _least_of_others
from herbrand.engines.credal.ariel.scopes import Scope, scopes_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Network
from herbrand.errors import ContradictionError, UnsupportedError
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.laws import tries
from tests.oracles.ariel import Independence, Sentence, atoms_of, extremes

some = settings(deadline=None, max_examples=tries(12))
seeds = st.integers(0, 2**32 - 1)


def network_of(text: str) -> Network:
    return credal_network(hb.Model(hb.parse(text)).program)


@some
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10)), max_size=10),
    st.lists(st.integers(0, 10), min_size=4, max_size=4),
)
def test_what_an_atom_sends_leaves_out_what_the_receiver_said(
    spoken: list[tuple[int, int]], single: list[int]
) -> None:
    atoms, values = np.array([a for a, _ in spoken], np.int64), np.array([v for _, v in spoken], float)
    found = _least_of_others(atoms, values, np.array(single, float))
    for link, (atom, _) in enumerate(spoken):
        others = [value for other, (a, value) in enumerate(spoken) if a == atom and other != link]
        assert found[link] == min([*others, single[atom]])


def published(sentences: tuple[Sentence, ...], count: int, passes: int) -> list[tuple[float, float]]:
    """Equations 17 to 24 with plain dictionaries: every message anew from those of the pass before."""
    factors: dict[tuple[int, ...], list[Sentence]] = {}
    for sentence in sentences:
        scope = tuple(sorted({*atoms_of(sentence.event), *atoms_of(sentence.given)}))
        factors.setdefault(scope, []).append(sentence)
    said = {(scope, atom): (0.0, 1.0) for scope in factors for atom in scope}
    for scope, own in factors.items():
        if len(scope) == 1:
            found = extremes(scope, own, [], f"x{scope[0]}")
            assert found is not None
            said[scope, scope[0]] = found

    def heard(atom: int, but: tuple[int, ...]) -> tuple[float, float]:
        ends = [said[scope, atom] for scope in factors if atom in scope and scope != but]
        return max((low for low, _ in ends), default=0.0), min((high for _, high in ends), default=1.0)

    for _ in range(passes):
        fresh = dict(said)
        for scope, own in factors.items():
            for atom in scope if len(scope) > 1 else ():
                others = [a for a in scope if a != atom]
                apart = [Independence(a, (), (b,)) for a, b in itertools.combinations(others, 2)]
                intervals = {other: heard(other, scope) for other in others}
                found = extremes(scope, own, apart, f"x{atom}", None, intervals)
                if found is None:
                    raise FoundContradictionError(np.empty(0), np.empty(0))
                fresh[scope, atom] = found
        said = fresh
    return [heard(atom, ()) for atom in range(count)]


def compare(hidden: Hidden, passes: int) -> None:
    """One pass after another beside the loops; atoms by their names."""
    network = network_of(hidden.text)
    places = [network.atoms.texts().index(f"x{a}") for a in range(hidden.count)]
    engine = PublishedMessages()
    state = engine.start(scopes_of(network), len(network.atoms))
    try:
        for _ in range(passes):
            state = engine.step(state)
        lower, upper = state.intervals
        found = [(float(lower[p]), float(upper[p])) for p in places]
    except FoundContradictionError:
        with pytest.raises(FoundContradictionError):
            published(hidden.sentences, hidden.count, passes + 1)
        return
    expected = published(hidden.sentences, hidden.count, passes)
    assert found == [pytest.approx(ends, abs=2e-5) for ends in expected]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_passes_are_those_of_the_equations(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    compare(bayesian(seed, 4, most_parents=2), 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_passes_over_any_formulas_are_those_of_the_equations(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    compare(independent(seed, 3, 3) if seed % 2 else bayesian(seed, 4, most_parents=3), 3)


@some
@given(seeds)
def test_where_parents_are_independent_indeed_nothing_is_lost(seed: int) -> None:
    """With one parent at most no two others of a factor are taken to be independent."""
    hidden = bayesian(seed, 4, most_parents=1, extra=0)
    found = hidden.bound(mode="paper")
    assert found.guarantee == Guarantee.APPROXIMATION and not found.certified.any()
    for row in found.rows():
        assert row.lower - 1e-6 <= hidden.chance(row.query) <= row.upper + 1e-6


@some
@given(seeds)
def test_before_the_first_pass_only_single_atoms_are_known(seed: int) -> None:
    hidden = bayesian(seed, 4)
    network = network_of(hidden.text)
    state = PublishedMessages().start(scopes_of(network), len(network.atoms))
    lower, upper = state.intervals
    for place, text in enumerate(network.atoms.texts()):
        own = [s for s in hidden.sentences if s.event == text and s.given is None]
        low, high = max((s.lower for s in own), default=0.0), min((s.upper for s in own), default=1.0)
        assert (lower[place], upper[place]) == pytest.approx((low, high), abs=1e-12)
    assert PublishedMessages().residual(state) == np.inf


def test_a_network_of_single_atoms_is_at_rest_at_once() -> None:
    network = network_of("P(a) <= 0.5\nP(b) in [0.2, 0.4]")
    engine = PublishedMessages()
    state = engine.step(engine.start(scopes_of(network), 2))
    assert engine.residual(state) == 0 and state.factors == ()
    assert np.array(state.intervals) == pytest.approx(np.array([[0.0, 0.2], [0.5, 0.4]]), abs=1e-12)


def test_crossed_intervals_are_found_where_they_are_heard() -> None:
    """b is told 0.6 at least by one pair and 0.4 at most by the other."""
    text = "P(b | a) >= 0.6\nP(b | not a) >= 0.6\nP(b | c) <= 0.4\nP(b | not c) <= 0.4"
    network = network_of(text)
    engine = PublishedMessages()
    state = engine.start(scopes_of(network), len(network.atoms))
    with pytest.raises(FoundContradictionError) as raised:
        for _ in range(5):
            state = engine.step(state)
    named = {network.atoms.text(int(atom)) for atom in raised.value.atoms}
    assert "b" in named and len(raised.value.sentences) == 2


def test_the_refusal_of_paper_mode_says_what_it_supposes() -> None:
    text = "P(b | a) >= 0.6\nP(b | not a) >= 0.6\nP(b | c) <= 0.4\nP(b | not c) <= 0.4"
    with pytest.raises(ContradictionError) as raised:
        hb.Model(hb.parse(text)).bound(engine="ariel", mode="paper")
    told = str(raised.value)
    assert told.startswith("no distribution satisfies the factor of P(b | ")
    assert "as paper mode takes them to be" in told and "try --mode sound" in told


def test_wide_bounds_are_refused_by_paper_mode_alone() -> None:
    model = hb.Model(hb.parse(f"P({' or '.join(f'a{n}' for n in range(13))}) <= 0.4"))
    with pytest.raises(UnsupportedError, match=r"names 13 open atoms, and --mode paper .* at most 12"):
        model.bound(engine="ariel", mode="paper")
    assert {round(row.upper, 9) for row in model.bound(engine="ariel").rows()} == {0.4}


def test_kinds_of_published_factors_cover_every_scope() -> None:
    text = "P(a) <= 0.5\nP(a or b) <= 0.9\nP(c | a and b) <= 0.4\nP(d or a or b) <= 0.8\n"
    text += "P(a and b and c and d) <= 0.3"
    network = network_of(text)
    scopes: tuple[Scope, ...] = scopes_of(network)
    state = PublishedMessages().start(scopes, len(network.atoms))
    assert sorted(f.atoms.shape for f in state.factors) == [(1, 2), (1, 4), (2, 3)]
    told = sorted(s for f in state.factors for s in f.sentence.tolist())
    assert told == [1, 2, 3, 4]
    assert [sent.shape for sent in state.sent] == [(*f.atoms.shape, 2) for f in state.factors]
