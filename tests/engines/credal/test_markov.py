"""The graph over atoms beside plain walks: parents, descendants, cores, ancestors, what connects atoms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import Graph, Separation, components, graph_of
from herbrand.engines.credal.network import Network
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(30))
Pairs = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Pairs]:
    """Links among a few atoms, some twice, some to oneself, cycles or none."""
    count = draw(st.integers(1, 7))
    atom = st.integers(0, count - 1)
    links = draw(st.lists(st.tuples(atom, atom), max_size=12))
    if draw(st.booleans()):
        links = [(min(pair), max(pair)) for pair in links]
    return count, links


def graph(count: int, links: Pairs) -> Graph:
    return Graph.of(count, np.array(links, np.int64).reshape(-1, 2))


def reaches(links: Pairs, start: int, walls: set[int]) -> set[int]:
    """What directed paths reach; they end at walls, which are reached themselves."""
    found: set[int] = set()
    for _ in range(10):
        for source, target in links:
            fresh = source == start or (source in found and source not in walls)
            if fresh and target != start:
                found.add(target)
    return found


@some
@given(graphs())
def test_parents_and_children_are_those_of_the_links(drawn: tuple[int, Pairs]) -> None:
    count, links = drawn
    made = graph(count, links)
    for atom in range(count):
        assert made.parents(atom) == tuple(sorted({s for s, t in links if t == atom and s != atom}))
        assert made.out[atom] == tuple(sorted({t for s, t in links if s == atom and t != atom}))
    assert len(made.links) == len({pair for pair in links if pair[0] != pair[1]})


@some
@given(graphs())
def test_descendants_are_reached_past_no_parent(drawn: tuple[int, Pairs]) -> None:
    count, links = drawn
    links = [pair for pair in links if pair[0] != pair[1]]
    made = graph(count, links)
    for atom in range(count):
        below = reaches(links, atom, set(made.parents(atom)))
        assert set(made.descendants(atom)) == below
        _, parents, others = made.statement(atom)
        assert parents == made.parents(atom)
        assert set(others) == set(range(count)) - {atom} - set(parents) - below


@some
@given(graphs())
def test_ancestors_are_closed_upwards(drawn: tuple[int, Pairs]) -> None:
    count, links = drawn
    made = graph(count, links)
    for asked in itertools.chain(([a] for a in range(count)), [[], list(range(count))]):
        above = set(asked)
        for _ in range(count):
            above |= {source for source, target in links if target in above}
        assert made.ancestors(asked) == above


@some
@given(graphs())
def test_the_core_is_what_reaches_a_cycle(drawn: tuple[int, Pairs]) -> None:
    count, links = drawn
    links = [pair for pair in links if pair[0] != pair[1]]
    on_cycle = {atom for atom in range(count) if atom in walked(links, atom)}
    above = {atom for atom in range(count) if atom in on_cycle or walked(links, atom) & on_cycle}
    assert set(graph(count, links).core) == above


def walked(links: Pairs, start: int) -> set[int]:
    """All that one step or more lead to, the start itself if they come back."""
    found: set[int] = set()
    for _ in range(10):
        found |= {target for source, target in links if source == start or source in found}
    return found


def test_a_graph_without_atoms_or_links() -> None:
    nothing, alone = graph(0, []), graph(3, [])
    assert nothing.core == () and nothing.into == [] and nothing.out == []
    assert alone.core == () and alone.parents(1) == () and alone.descendants(1) == ()
    assert alone.statement(1) == Separation(1, (), (0, 2))


def test_statements_worked_out_by_hand() -> None:
    """A chain, a collider, and two atoms on a cycle with one below."""
    chain, collider = graph(3, [(0, 1), (1, 2)]), graph(3, [(0, 2), (1, 2)])
    assert [chain.statement(a) for a in range(3)] == [
        Separation(0, (), ()),
        Separation(1, (0,), ()),
        Separation(2, (1,), (0,)),
    ]
    assert [collider.statement(a) for a in range(3)] == [
        Separation(0, (), (1,)),
        Separation(1, (), (0,)),
        Separation(2, (0, 1), ()),
    ]
    cycle = graph(3, [(0, 1), (1, 0), (1, 2)])
    assert cycle.core == (0, 1)
    # 2 is reached from 0 by its parent 1 only, and no path goes on past a parent
    assert cycle.statement(0) == Separation(0, (1,), (2,))
    assert cycle.statement(1) == Separation(1, (0,), ())
    assert cycle.statement(2) == Separation(2, (1,), (0,))


def network(text: str) -> Network:
    return credal_network(hb.Model(hb.parse(text)).program)


def named_links(text: str) -> set[str]:
    made = network(text)
    texts = made.atoms.texts()
    return {f"{texts[s]}>{texts[t]}" for s, t in graph_of(made).links.tolist()}


@pytest.mark.parametrize(
    ("sentence", "links"),
    [
        ("P(a) <= 0.5", set()),
        ("P(a and b) <= 0.5", set()),  # without a condition nothing is linked
        ("P(a | b) <= 0.5", {"b>a"}),
        ("P(a | not b) <= 0.5", {"b>a"}),
        ("P(a | b or c) <= 0.5", {"b>a", "c>a"}),
        ("P(a and b | c) <= 0.5", {"c>a", "c>b", "a>b", "b>a"}),
        ("P(a and b | c) <= 0.5 independent", {"c>a", "c>b"}),
        ("P(a and b | true) <= 0.5", {"a>b", "b>a"}),  # a sure condition is one, as it is written
        ("P(a and b | true) <= 0.5 independent", set()),
        ("P(a | b or true) <= 0.5", {"b>a"}),
        ("P(a or true | b) >= 0.5", {"b>a"}),
        ("P(a and b | false) <= 0.5", set()),  # of what cannot be nothing is stated
        ("P(a | a) <= 0.5", set()),  # nothing is a parent of its own
        ("P(a or b | a) <= 0.5", {"a>b", "b>a"}),
        ("P(a or b | a) <= 0.5 independent", {"a>b"}),
        ("P(a or not a | b) >= 0.1", {"b>a"}),
    ],
)
def test_what_a_sentence_links(sentence: str, links: set[str]) -> None:
    assert named_links(f"{sentence}\nP(a) >= 0\nP(b) >= 0\nP(c) >= 0") == links


def test_one_sentence_links_instance_by_instance() -> None:
    theory = 'type p = {"x", "y"}\npredicate s(p)\npredicate t(p)\nP(s(v) | t(v)) <= 0.5'
    assert named_links(theory) == {'t("x")>s("x")', 't("y")>s("y")'}
    every = theory.replace("t(v)) <=", "t(w)) <=")
    assert len(named_links(every)) == 4


@some
@given(graphs(), st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=4))
def test_components_are_joined_by_sentences_and_links(
    drawn: tuple[int, Pairs], scopes: list[set[int]]
) -> None:
    """``P(a and b)`` connects what it does not link, ``P(a | b or true)`` what no short sentence joins."""
    count, links = drawn
    text = [f"P(x{a}) >= 0" for a in range(count)]
    text += [f"P(x{t} | x{s}{' or true' * (t % 2)}) <= 0.9" for s, t in links if s != t]
    inside = [sorted(a for a in scope if a < count) for scope in scopes]
    text += [f"P({' or '.join(f'x{a}' for a in scope)}) <= 0.9" for scope in inside if scope]
    group = list(range(count))
    for scope in [list(pair) for pair in links] + [scope for scope in inside if scope]:
        group = [group[scope[0]] if group[a] in {group[m] for m in scope} else group[a] for a in range(count)]
    made = network("\n".join(text))
    found = components(made)
    for one, other in itertools.combinations(range(count), 2):
        assert (found[one] == found[other]) == (group[one] == group[other])
    cyclic = graph_of(made).is_core
    assert np.flatnonzero(cyclic).tolist() == list(graph_of(made).core)
