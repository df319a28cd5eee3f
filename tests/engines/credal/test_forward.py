"""Closed forms along trees: what programs find, and what networks with their rows at their ends reach."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.credal import exact
from herbrand.engines.credal.forward import Forward, forward
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network_query import NetworkQuestion
from tests.engines.credal.ariel.networks import bayesian, conditionals, random_parents
from tests.laws import long

CHAIN = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]"


def found_in(text: str) -> Forward:
    return forward(credal_network(hb.Model(hb.parse(text)).program))


@pytest.mark.parametrize("seed", range(6))
def test_intervals_are_the_hull_of_networks_with_rows_at_their_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 4
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
    network = credal_network(hb.Model(hb.parse("\n".join(rng.permutation(lines)))).program)
    found, order = forward(network), [int(name[1:]) for name in network.atoms.texts()]
    least, greatest = np.ones(n), np.zeros(n)
    for ends in itertools.product((0, 1), repeat=sum(map(len, rows))):
        chosen = iter(ends)
        tables = [[pair[next(chosen)] for pair in its] for its in rows]
        marginals = _marginals(parents, tables)
        least, greatest = np.minimum(least, marginals), np.maximum(greatest, marginals)
    assert found.settled.all()
    assert found.lower == pytest.approx(least[order])
    assert found.upper == pytest.approx(greatest[order])


def _marginals(parents: list[tuple[int, ...]], tables: list[list[float]]) -> np.ndarray:
    """Of every atom, by all worlds."""
    n = len(parents)
    found = np.zeros(n)
    for world in itertools.product((0, 1), repeat=n):
        cases = [int("".join(str(world[p]) for p in its) or "0", 2) for its in parents]
        chance = math.prod(
            tables[a][case] if world[a] else 1 - tables[a][case] for a, case in enumerate(cases)
        )
        found += chance * np.array(world)
    return found


@pytest.mark.parametrize("seed", long([0, 1, 2, 4, 3], 4))
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
    assert found.lower.tolist() == pytest.approx([0.2, 0.1]) and found.upper.tolist() == pytest.approx(
        [0.6, 1.0]
    )


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
    for node in range(1, 3000):
        parent = rng.integers(max(0, node - 40), node)
        for sign in ("", "not "):
            low, high = sorted(rng.uniform(0, 1, 2))
            lines.append(f'P(s("n{node}") | {sign}s("n{parent}")) in [{low:.4f}, {high:.4f}]')
    model = hb.Model(hb.parse("\n".join(lines)))
    monkeypatch.setattr(exact, "ends_of", None)
    monkeypatch.setattr(NetworkQuestion, "part_of", None)
    found = model.bound()
    assert found.engine == "exact" and found.guarantee == "exact" and len(found.lower) == 3000
    sound = model.bound(engine="ariel")
    assert found.lower == pytest.approx(sound.lower, abs=1e-6)
    assert found.upper == pytest.approx(sound.upper, abs=1e-6)
