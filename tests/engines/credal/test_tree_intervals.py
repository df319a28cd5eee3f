"""Closed forms along trees: what programs find, and what networks with their rows at their ends reach."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.credal import exact
from herbrand.engines.credal.interval import Clock, ends_of, vertex_ends
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.network_query import NetworkQuestion
from herbrand.engines.credal.question import BoundQuestion, ImpossibleGivenError, read_bound_question
from herbrand.engines.credal.tree_intervals import Forward, forward
from herbrand.graphs import reached
from tests.engines.credal.ariel.networks import bayesian, conditionals, random_parents
from tests.laws import long

CHAIN = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]"


def found_in(text: str) -> Forward:
    return forward(credal_network(hb.Model(hb.parse(text)).program))


Parents = list[tuple[int, ...]]
Rows = list[list[tuple[float, float]]]


def drawn(seed: int, n: int) -> tuple[str, Parents, Rows]:
    """A tree of tables as text, some rows of the opposite, in some order."""
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, n, 2, tree=True)
    rows = [
        [tuple(sorted(rng.uniform(0, 1, 2).round(3))) for _ in conditionals(a, p)]
        for a, p in enumerate(parents)
    ]
    lines = [
        f"P({'not ' if flipped else ''}x{a}{f' | {given}' if given else ''}) in "
        f"[{1 - high if flipped else low:.3f}, {1 - low if flipped else high:.3f}]"
        for a, its in enumerate(parents)
        for (low, high), given in zip(rows[a], conditionals(a, its), strict=True)
        for flipped in (bool(rng.integers(2)),)
    ]
    return "\n".join(rng.permutation(lines)), parents, rows


def at_ends(parents: Parents, rows: Rows) -> Iterator[dict[tuple[int, ...], float]]:
    """The worlds' chances in every network with its rows at their ends."""
    for ends in itertools.product((0, 1), repeat=sum(map(len, rows))):
        chosen = iter(ends)
        tables = [[pair[next(chosen)] for pair in its] for its in rows]
        yield {
            world: _chance(world, parents, tables) for world in itertools.product((0, 1), repeat=len(rows))
        }


def _chance(world: tuple[int, ...], parents: Parents, tables: list[list[float]]) -> float:
    cases = [int("".join(str(world[p]) for p in its) or "0", 2) for its in parents]
    return math.prod(tables[a][case] if world[a] else 1 - tables[a][case] for a, case in enumerate(cases))


def of_worlds(worlds: dict[tuple[int, ...], float], atom: int, known: dict[int, bool]) -> float:
    """The chance of an atom among the worlds in which what is known holds."""
    near = {w: p for w, p in worlds.items() if all(w[other] == truth for other, truth in known.items())}
    return sum(p for world, p in near.items() if world[atom]) / sum(near.values())


@pytest.mark.parametrize("seed", range(6))
def test_intervals_are_the_hull_of_networks_with_rows_at_their_ends(seed: int) -> None:
    text, parents, rows = drawn(seed, 4)
    network = credal_network(hb.Model(hb.parse(text)).program)
    found, order = forward(network), [int(name[1:]) for name in network.atoms.texts()]
    every = np.array([[of_worlds(worlds, a, {}) for a in order] for worlds in at_ends(parents, rows)])
    assert found.settled.all()
    assert found.rows is not None
    for rows in found.rows:
        assert rows.lower == pytest.approx(every.min(axis=0))
        assert rows.upper == pytest.approx(every.max(axis=0))


@pytest.mark.parametrize("seed", range(12))
def test_given_ancestors_are_parents_of_known_value(seed: int) -> None:
    text, parents, rows = drawn(seed, 4)
    network = credal_network(hb.Model(hb.parse(text)).program)
    found, order = forward(network), [int(name[1:]) for name in network.atoms.texts()]
    corners = [*at_ends(parents, rows)]
    for atom in range(4):
        above = {other for other in reached([atom], parents.__getitem__) if other != atom}
        for truths in itertools.product((None, False, True), repeat=4):
            known = {other: truth for other, truth in enumerate(truths) if truth is not None}
            if not known or atom in known:
                continue
            ends = found.ends(order.index(atom), {order.index(other): t for other, t in known.items()})
            if not known.keys() <= above:
                assert ends is None
                continue
            assert ends is not None
            every = [of_worlds(worlds, atom, known) for worlds in corners]
            lower, upper = ends
            assert (lower.bound, upper.bound) == pytest.approx((min(every), max(every)), abs=1e-12)
            assert lower.bound <= min(every) + 1e-15 and upper.bound >= max(every) - 1e-15


def test_what_is_given_must_be_possible() -> None:
    """A row of 0 upwards of what is asked: the closed form leaves it to the search, which names it."""
    model = hb.Model(hb.parse("P(a) = 0\nP(b | a) in [0.2, 0.3]\nP(b | not a) in [0.6, 0.7]"))
    with pytest.raises(ImpossibleGivenError):
        model.bound("P(b | a)", engine="exact")
    (row,) = model.bound("P(b | not a)", engine="exact").rows()
    assert (row.lower, row.upper) == pytest.approx((0.6, 0.7))


@pytest.mark.parametrize("seed", range(4))
def test_given_ancestors_with_and_without(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, parents, _ = drawn(seed, 5)
    last = max(range(5), key=lambda atom: len(reached([atom], parents.__getitem__)))
    above = [other for other in reached([last], parents.__getitem__) if other != last][:2]
    query = f"P(x{last} | " + " and ".join(f"{'not ' * n}x{other}" for n, other in enumerate(above)) + ")"
    short = hb.Model(hb.parse(text)).bound(query, engine="exact")
    monkeypatch.setattr(NetworkQuestion, "closed_form", lambda self, query: None)
    whole = hb.Model(hb.parse(text)).bound(query, engine="exact", time_limit=300)
    assert short.guarantee == whole.guarantee == "exact"
    assert short.lower == pytest.approx(whole.lower, abs=1e-5)
    assert short.upper == pytest.approx(whole.upper, abs=1e-5)


@pytest.mark.parametrize("seed", long([0, 1, 2, 4, 3], 2))
def test_the_engine_says_the_same_with_and_without(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = bayesian(seed, 7, 3, tree=True, extra=0)
    short = hb.Model(hb.parse(hidden.text)).bound(engine="exact")
    monkeypatch.setattr(NetworkQuestion, "closed_form", lambda self, query: None)
    long = hb.Model(hb.parse(hidden.text)).bound(engine="exact", time_limit=300)
    assert short.guarantee == long.guarantee == "exact"
    assert short.lower == pytest.approx(long.lower, abs=1e-5)
    assert short.upper == pytest.approx(long.upper, abs=1e-5)


@pytest.mark.parametrize(
    "more",
    [
        "P(b) >= 0.3",  # bounds a from below
        "P(b | a or c) <= 0.9\nP(c) <= 0.5",  # of several cases
        "P(a and b) <= 0.5",
        "P(c | a) <= 0.4\nP(d | b and c) >= 0.2",  # two ways from a to d
        "P(a | b) <= 0.9",  # a cycle
        "P(b | a and not c) <= 0.9\nP(c) <= 0.5",  # one row speaks of fewer parents
        "P(a) >= 0.4",  # a contradiction: the search names it
        "P(b xor c | a) <= 0.4",
    ],
)
def test_whatever_else_is_said_of_a_piece_needs_a_program(more: str) -> None:
    apart = "P(y) in [0.1, 0.4]\nP(z | y) >= 0.5"
    found = found_in(f"{CHAIN}\n{more}\n{apart}")
    texts = credal_network(hb.Model(hb.parse(f"{CHAIN}\n{more}\n{apart}")).program).atoms.texts()
    assert [name for name, settled in zip(texts, found.settled, strict=True) if settled] == ["y", "z"]


def test_repeated_rows_are_met_and_open_ones_free() -> None:
    found = found_in("P(a) <= 0.6\nP(a) in [0.2, 0.8]\nP(b | a) >= 0.5")
    assert found.rows is not None
    for rows in found.rows:
        assert rows.lower.tolist() == pytest.approx([0.2, 0.1])
        assert rows.upper.tolist() == pytest.approx([0.6, 1.0])


def test_facts_condition_and_need_a_program() -> None:
    model = hb.Model(hb.parse(CHAIN))
    given = model.bound("P(a)", given="b", engine="exact")
    assert (given.lower[0], given.upper[0]) == pytest.approx((0.12 / 0.28, 0.21 / 0.28), abs=1e-6)


def test_without_independence_nothing_is_settled() -> None:
    text = "P(a) in [0.5, 0.5]\nP(b) in [0.5, 0.5]\nP(c | a and b) = 1\nP(c | not a and b) = 0\n"
    text += "P(c | a and not b) = 0\nP(c | not a and not b) = 0"
    model = hb.Model(hb.parse(text))
    assert model.bound("P(c)", engine="exact").upper[0] == pytest.approx(0.25)
    assert model.bound("P(c)", engine="exact", independence="none").upper[0] == pytest.approx(0.5)


def test_large_forests_are_exact_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a program for any atom, or a network taken apart atom by atom."""
    rng = np.random.default_rng(0)
    lines = ["predicate s(node)", 'P(s("n0")) in [0.2, 0.4]']
    for node in range(1, 1000):
        parent = rng.integers(max(0, node - 40), node)
        for sign in ("", "not "):
            low, high = sorted(rng.uniform(0, 1, 2))
            lines.append(f'P(s("n{node}") | {sign}s("n{parent}")) in [{low:.4f}, {high:.4f}]')
    model = hb.Model(hb.parse("\n".join(lines)))
    monkeypatch.setattr(exact, "ends_of", None)
    monkeypatch.setattr(NetworkQuestion, "part_of", None)
    found = model.bound()
    assert found.engine == "exact" and found.guarantee == "exact" and len(found.lower) == 1000
    sound = model.bound(engine="ariel")
    assert found.lower == pytest.approx(sound.lower, abs=1e-6)
    assert found.upper == pytest.approx(sound.upper, abs=1e-6)


QUERIES = [
    "x0 and x1",
    "x5 and not x3",
    "x4 | x5",
    "x2 xor x4 | x1 or x3",
    "x5 | x0 and not x2",
    "x1 and x3 | x5",
]


@pytest.mark.parametrize("seed", long(range(60), 12))
def test_a_query_is_cut_above_atoms_that_separate_it(seed: int) -> None:
    """The same ends as with all rows above them; every value that is reached lies between."""
    text, _, _ = drawn(seed, 6)
    program = hb.Model(hb.parse(text)).program
    network = credal_network(program)
    for query in read_bound_question(QUERIES, Lowering.over(program)).queries:
        asked = NetworkQuestion(network, BoundQuestion((query,)), True)
        part, local = asked.part_of(query)
        whole = ends_of(part, local, Clock())
        masses = asked.masses_of(query)
        assert masses is not None and whole.proved
        found = vertex_ends(masses, Clock())
        assert (found.lower.bound, found.upper.bound) == pytest.approx(
            (whole.lower.bound, whole.upper.bound), rel=2e-6
        )
        assert found.proved and found.lower.value is not None and found.upper.value is not None
        assert whole.lower.bound <= found.lower.value * (1 + 1e-12)
        assert whole.upper.bound >= found.upper.value * (1 - 1e-12)


def test_neighbours_far_down_a_chain_depend_on_few_rows() -> None:
    count = 40
    lines = ["P(x0) in [0.3, 0.5]"]
    for one in range(1, count):
        lines += [f"P(x{one} | x{one - 1}) in [0.6, 0.7]", f"P(x{one} | not x{one - 1}) in [0.2, 0.3]"]
    program = hb.Model(hb.parse("\n".join(lines))).program
    (query,) = read_bound_question([f"x{count - 2} and x{count - 1}"], Lowering.over(program)).queries
    asked = NetworkQuestion(credal_network(program), BoundQuestion((query,)), True)
    masses = asked.masses_of(query)
    assert masses is not None and len(masses.fixed) == 3
    lower, upper = 0.3, 0.5
    for _ in range(count - 2):
        lower, upper = 0.6 * lower + 0.2 * (1 - lower), 0.7 * upper + 0.3 * (1 - upper)
    found = vertex_ends(masses, Clock())
    assert (found.lower.bound, found.upper.bound) == pytest.approx((0.6 * lower, 0.7 * upper), rel=1e-12)


@pytest.mark.parametrize("above", ["P(a) in [0, 1]", "P(a) in [0, 0.3]", "P(not a) in [0.7, 1]"])
@pytest.mark.parametrize("free", ["P(b | not a) in [0, 1]", "P(not b | not a) in [0, 0.9]"])
@pytest.mark.parametrize("query, lower, upper", [("d | c", 0.2, 0.4), ("d xor b | c", 0.4, 0.8)])
def test_an_atom_that_can_be_certain_is_exactly_certain(
    above: str, free: str, query: str, lower: float, upper: float
) -> None:
    """At P(b) = 1 and P(c | b) = 0 the condition is impossible, not merely rare."""
    text = f"{above}\n{free}\nP(b | a) in [0.1, 0.5]\nP(c | b) in [0, 0.1]\nP(c | not b) = 0.7"
    program = hb.Model(hb.parse(f"{text}\nP(d | b) in [0.2, 0.3]\nP(d | not b) = 0.4")).program
    (asked,) = read_bound_question([query], Lowering.over(program)).queries
    masses = NetworkQuestion(credal_network(program), BoundQuestion((asked,)), True).masses_of(asked)
    assert masses is not None
    found = vertex_ends(masses, Clock())
    assert found.proved and (found.lower.bound, found.upper.bound) == pytest.approx((lower, upper), rel=1e-12)
