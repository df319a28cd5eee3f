"""Sentences gathered by their atoms: each once, its cases by ascending atoms, its ends its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.ariel.scopes import Scope, scopes_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Network
from tests.engines.credal.ariel.networks import bayesian, independent
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(10))
seeds = st.integers(0, 2**32 - 1)


def network_of(text: str) -> Network:
    return credal_network(hb.Model(hb.parse(text)).program)


def drawn(seed: int) -> Network:
    hidden = independent(seed, 5, 8) if seed % 2 else bayesian(seed, 5, most_parents=3)
    return network_of(hidden.text)


def numbered(network: Network) -> list[tuple[int, int]]:
    """The group and row of every ground sentence, by its number."""
    return [(g, r) for g, group in enumerate(network.groups) for r in range(len(group))]


@some
@given(seeds)
def test_every_sentence_is_in_one_factor_with_its_ends(seed: int) -> None:
    network = drawn(seed)
    sources, seen = numbered(network), []
    for scope in scopes_of(network):
        assert (
            scope.start[0] == 0 and scope.start[-1] == len(scope.sentence) and len(scope) == len(scope.atoms)
        )
        assert (np.diff(scope.start) > 0).all()
        for factor in range(len(scope)):
            rows = range(scope.start[factor], scope.start[factor + 1])
            assert scope.sentences(factor).tolist() == [scope.sentence[row] for row in rows]
            for row in rows:
                group, place = sources[scope.sentence[row]]
                found = network.groups[group]
                assert sorted(found.atoms[place].tolist()) == scope.atoms[factor].tolist()
                assert (scope.lower[row], scope.upper[row]) == (found.lower[place], found.upper[place])
                assert scope.factor[row] == factor
            seen += scope.sentences(factor).tolist()
    assert sorted(seen) == list(range(len(network)))


@some
@given(seeds)
def test_factors_are_different_and_ascend(seed: int) -> None:
    scopes = scopes_of(drawn(seed))
    assert [scope.arity for scope in scopes] == sorted({scope.arity for scope in scopes})
    for scope in scopes:
        rows = [tuple(row) for row in scope.atoms.tolist()]
        assert rows == sorted(set(rows))
        assert all(row == tuple(sorted(set(row))) for row in rows)


@some
@given(seeds)
def test_patterns_hold_in_the_cases_of_ascending_atoms(seed: int) -> None:
    """Case by case beside the sentence's own table, whose columns stand in another order."""
    network = drawn(seed)
    sources = numbered(network)
    for scope in scopes_of(network):
        for row, sentence in enumerate(scope.sentence.tolist()):
            group, place = sources[sentence]
            found, pattern = network.groups[group], scope.patterns[scope.pattern[row]]
            own = found.atoms[place].tolist()
            ascending = sorted(own)
            assert len(pattern.event) == len(pattern.given) == 2**scope.arity
            for case in range(2**scope.arity):
                truths = {a: case >> (scope.arity - 1 - i) & 1 for i, a in enumerate(ascending)}
                number = sum(truths[a] << (scope.arity - 1 - i) for i, a in enumerate(own))
                assert pattern.event[case] == found.event_table[number]
                assert pattern.given[case] == found.given_table[number]


@some
@given(seeds, st.data())
def test_a_part_of_the_factors_keeps_their_sentences(seed: int, data: st.DataObject) -> None:
    for scope in scopes_of(drawn(seed)):
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(scope), max_size=len(scope))))
        part = scope.part(mask)
        assert len(part) == mask.sum() and part.patterns is scope.patterns
        for number, factor in enumerate(np.flatnonzero(mask).tolist()):
            assert part.atoms[number].tolist() == scope.atoms[factor].tolist()
            assert part.sentences(number).tolist() == scope.sentences(factor).tolist()
        (forms, start), (whole, begins) = part.forms(), scope.forms()
        np.testing.assert_array_equal(forms, whole[np.repeat(mask, np.diff(begins))])
        assert np.diff(start).tolist() == np.diff(begins)[mask].tolist()


@some
@given(seeds)
def test_forms_hold_just_where_the_sentences_do(seed: int) -> None:
    """For random masses: all forms of a factor are satisfied if and only if its sentences are."""
    rng = np.random.default_rng(seed)
    for scope in scopes_of(drawn(seed)):
        forms, start = scope.forms()
        for _ in range(20):
            masses = rng.dirichlet(np.ones(2**scope.arity) * 0.3)
            for factor in range(len(scope)):
                satisfied = (forms[start[factor] : start[factor + 1]] @ masses >= -1e-12).all()
                expected = True
                for row in range(scope.start[factor], scope.start[factor + 1]):
                    pattern = scope.patterns[scope.pattern[row]]
                    told = masses[pattern.given].sum()
                    both = masses[pattern.event & pattern.given].sum()
                    low, high = scope.lower[row] * told, scope.upper[row] * told
                    expected &= bool(low - 1e-12 <= both <= high + 1e-12)
                assert bool(satisfied) == expected


def test_sentences_that_say_nothing_have_no_forms() -> None:
    text = "P(a or b) in [0, 1]\nP(a and b) in [0.2, 1]\nP(a | b) <= 0.5\nP(b | a) in [0.1, 0.3]"
    (scope,) = scopes_of(network_of(text))
    forms, start = scope.forms()
    assert forms.shape == (4, 4) and start.tolist() == [0, 4]


def test_a_settled_event_is_a_scope_of_no_atoms_or_of_its_condition() -> None:
    """``P(true | b)`` speaks of b alone, in the cases of b."""
    (scope,) = scopes_of(network_of("P(true | b) <= 0.5\nP(b) <= 0.9"))
    assert scope.arity == 1 and scope.atoms.tolist() == [[0]]
    table = {(tuple(p.event.tolist()), tuple(p.given.tolist())) for p in scope.patterns}
    assert ((True, True), (False, True)) in table and ((False, True), (True, True)) in table


def test_a_network_without_sentences_has_no_scopes() -> None:
    assert scopes_of(network_of("predicate a\nP(true) <= 1")) == ()


def test_scopes_of_single_atoms_and_their_factors() -> None:
    network = network_of("P(a) <= 0.4\nP(b) >= 0.2\nP(not a) <= 0.9\nP(a | a) <= 1")
    (scope,) = scopes_of(network)
    assert scope.atoms.tolist() == [[0], [1]] and [len(scope.sentences(f)) for f in range(2)] == [3, 1]
    assert scope.arity == 1 and isinstance(scope, Scope)
