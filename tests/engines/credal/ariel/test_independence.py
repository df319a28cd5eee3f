"""The independences within scopes beside d-separation and the Markov condition by their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.credal.ariel import independence
from herbrand.engines.credal.ariel.independence import (
    Links,
    Separations,
    cells_of,
    pairwise,
)
from herbrand.engines.credal.ariel.message_part import KnownIndependences
from herbrand.engines.credal.markov import Graph, Separation
from tests.engines.credal.ariel.networks import masses_of, random_parents
from tests.laws import tries
from tests.oracles.ariel import acyclic, descendants, separated

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def graph_over(parents: dict[int, set[int]]) -> Graph:
    links = [(parent, atom) for atom, its in parents.items() for parent in its]
    return Graph.of(len(parents), np.array(links, np.int64).reshape(-1, 2))


def random_graph(rng: np.random.Generator, count: int, cyclic: bool) -> dict[int, set[int]]:
    order = rng.permutation(count).tolist()
    return {
        atom: {
            other
            for other in range(count)
            if other != atom and rng.random() < 0.3 and (cyclic or order[other] < order[atom])
        }
        for atom in range(count)
    }


def scopes_in(rng: np.random.Generator, count: int, arity: int, how_many: int = 6) -> np.ndarray:
    return np.array([sorted(rng.permutation(count)[:arity].tolist()) for _ in range(how_many)])


def told_of(links: Links, scopes: np.ndarray) -> list[Separations]:
    found: list[Separations] = [()] * len(scopes)
    for factors, separations in links.separations(scopes):
        for factor in factors.tolist():
            found[factor] = separations
    return found


def over_atoms(said: Separations, scope: list[int]) -> list[tuple[int, frozenset[int], frozenset[int]]]:
    return [
        (scope[one], frozenset(scope[c] for c in given), frozenset(scope[c] for c in others))
        for one, given, others in said
    ]


@quick
@given(seeds, st.integers(3, 7), st.integers(2, 5))
def test_without_cycles_the_smallest_separators_of_each_pair(
    rng: np.random.Generator, count: int, arity: int
) -> None:
    parents = random_graph(rng, count, cyclic=False)
    links = Links.over(graph_over(parents))
    assert links.acyclic
    scopes = scopes_in(rng, count, min(arity, count))
    for scope, said in zip(scopes.tolist(), told_of(links, scopes), strict=True):
        found = {(one, other, given) for one, given, others in over_atoms(said, scope) for other in others}
        expected = set()
        for one, other in itertools.permutations(scope, 2):
            rest = [atom for atom in scope if atom not in (one, other)]
            smallest: list[frozenset[int]] = []
            for size in range(len(rest) + 1):
                for between in map(frozenset, itertools.combinations(rest, size)):
                    if not any(known <= between for known in smallest) and separated(
                        parents, one, other, between
                    ):
                        smallest.append(between)
            expected |= {(one, other, between) for between in smallest}
        assert found == expected


@quick
@given(seeds, st.integers(3, 7), st.integers(2, 5))
def test_with_cycles_the_markov_statements_that_lie_within(
    rng: np.random.Generator, count: int, arity: int
) -> None:
    parents = random_graph(rng, count, cyclic=True)
    links = Links.over(graph_over(parents))
    assert links.acyclic == acyclic(parents)
    if links.acyclic:
        return
    scopes = scopes_in(rng, count, min(arity, count))
    for scope, said in zip(scopes.tolist(), told_of(links, scopes), strict=True):
        expected = []
        for atom in scope:
            others = set(scope) - {atom} - parents[atom] - descendants(parents, atom)
            if parents[atom] <= set(scope) and others:
                expected.append((atom, frozenset(parents[atom]), frozenset(others)))
        assert sorted(over_atoms(said, scope), key=str) == sorted(expected, key=str)


@quick
@given(seeds, st.booleans())
def test_what_was_looked_up_before_says_the_same(rng: np.random.Generator, cyclic: bool) -> None:
    """A part of a network takes the codes along and asks no graph."""
    parents = random_graph(rng, 6, cyclic)
    links = Links.over(graph_over(parents))
    scopes = scopes_in(rng, 6, 3)
    known = KnownIndependences({3: links.codes(scopes)}, links.acyclic)
    there = {tuple(factors.tolist()): said for factors, said in links.separations(scopes)}
    here = {tuple(factors.tolist()): said for factors, said in known.separations(scopes)}
    assert there == here
    assert sorted(factor for factors in here for factor in factors) == list(range(len(scopes)))


def chain_of(count: int, *more: tuple[int, int]) -> Links:
    """Atoms one after another, the last of all linked to none, and more links."""
    links = [*((i, i + 1) for i in range(count - 2)), *more]
    return Links.over(Graph.of(count, np.array(links)))


def test_what_is_far_below_is_taken_for_dependent() -> None:
    """The walk upwards is given up; the answer is weaker, and safe."""
    count = independence.MOST_VISITED + 10
    links, lonely = chain_of(count), count - 1
    assert told_of(links, np.array([[3, lonely], [lonely - 1, lonely]])) == [
        (Separation(0, (), (1,)), Separation(1, (), (0,))),
        (),
    ]


def test_what_has_very_many_descendants_says_nothing_itself() -> None:
    """With cycles each atom's own statement is read: the lonely one's still speaks of the other."""
    count = independence.MOST_FOLLOWED + 10
    links, lonely = chain_of(count, (count - 2, count - 3)), count - 1
    assert not links.acyclic
    assert told_of(links, np.array([[0, lonely]])) == [(Separation(1, (), (0,)),)]
    few = chain_of(9, (7, 6))
    assert told_of(few, np.array([[0, 8]])) == [(Separation(0, (), (1,)), Separation(1, (), (0,)))]


@quick
@given(seeds, st.integers(2, 4))
def test_cells_hold_of_the_networks_that_have_the_independences(rng: np.random.Generator, count: int) -> None:
    """Each parameter is one number: P(x | s) whatever else is known, and of t the same."""
    parents = random_parents(rng, count, 2, tree=False)
    masses = masses_of(rng, parents)
    links = Links.over(graph_over({atom: set(its) for atom, its in enumerate(parents)}))
    said = told_of(links, np.array([range(count)]))[0]
    cells = cells_of(count, said)
    held, told = cells.holds @ masses, cells.given @ masses
    value = held / told
    for one, other in cells.products.tolist():
        assert (cells.given[one] == cells.given[other]).all()
        both = (cells.holds[one] * cells.holds[other]) @ masses
        assert both == pytest.approx(value[one] * value[other] * told[one])
    for cell, spread in zip(cells.spread_cell.tolist(), cells.spread, strict=True):
        assert (spread * cells.holds[cell]) @ masses == pytest.approx(value[cell] * (spread @ masses))
    for cell, atom in enumerate(cells.atom.tolist()):
        assert (atom >= 0) == bool(cells.given[cell].all())
        if atom >= 0:
            truths = np.array(list(itertools.product((0, 1), repeat=count)))[:, atom]
            assert (cells.holds[cell] == truths).all()


def test_pairs_are_told_once() -> None:
    assert pairwise([3, 0, 2]) == (Separation(3, (), (0,)), Separation(3, (), (2,)), Separation(0, (), (2,)))


def test_wide_scopes_are_told_of_fewer_independences() -> None:
    """What would fill more than the limit is left out; what is told stays true."""
    every = pairwise(range(12))
    cells = cells_of(12, every)
    assert 0 < len(cells.products) < len(every)
