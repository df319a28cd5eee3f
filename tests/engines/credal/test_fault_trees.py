"""Fault trees, intervals for basic events and certain gates, against all corners in fractions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.credal.directions import CONSTANT, FALLS, RISES, chances, directions
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.masses import FREE, Masses, separate_masses
from herbrand.engines.credal.network_query import NetworkQuestion
from herbrand.engines.credal.question import BoundQuestion

NEVER = "nothing looked at vertex by vertex"


@pytest.fixture(autouse=True, params=["few vertices together", NEVER])
def looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test twice, as small trees have so few vertices that no box is cut."""
    if request.param == NEVER:
        monkeypatch.setattr("herbrand.engines.credal.masses.FEW_ENTRIES", 0)


Interval = tuple[float, float]
Gate = tuple[str, list[str]]
Holds = Callable[[dict[str, bool]], bool]


def random_tree(
    rng: random.Random, basic: int, gates: int, noisy: bool
) -> tuple[str, dict[str, Interval], dict[str, Gate]]:
    """A theory, the basic events' intervals, and the gates: what fails where any, or all, of some fail.

    A ``noisy`` tree has gates that are not monotone too.
    """
    intervals: dict[str, Interval] = {}
    tree: dict[str, Gate] = {}
    lines = []
    for number in range(basic):
        low = round(rng.uniform(0.001, 0.4), 3)
        intervals[f"e{number}"] = (low, round(low + rng.uniform(0, 0.4), 3))
        lines.append(f"P(e{number}) in [{low}, {intervals[f'e{number}'][1]}]")
    names = list(intervals)
    for number in range(gates):
        parts = rng.sample(names, min(len(names), rng.randint(2, 3)))
        word = rng.choice(["and", "or", "xor"] if noisy else ["and", "or"])
        formula = f" {word} ".join(parts)
        lines += [f"P(g{number} | {formula}) = 1", f"P(g{number} | not ({formula})) = 0"]
        tree[f"g{number}"] = (word, parts)
        names.append(f"g{number}")
    return "\n".join(lines), intervals, tree


def worlds(intervals: dict[str, Interval], tree: dict[str, Gate]) -> Iterator[dict[str, bool]]:
    for truths in itertools.product((False, True), repeat=len(intervals)):
        world = dict(zip(intervals, truths, strict=True))
        for gate, (word, parts) in tree.items():
            held = [world[part] for part in parts]
            world[gate] = {"and": all(held), "or": any(held), "xor": sum(held) % 2 == 1}[word]
        yield world


def interval(
    intervals: dict[str, Interval], tree: dict[str, Gate], event: Holds, given: Holds
) -> tuple[Fraction, Fraction] | None:
    """The least and the greatest conditional probability over all corners of the basic events' intervals."""
    all_worlds = list(worlds(intervals, tree))
    found = []
    for corner in itertools.product(*([Fraction(low), Fraction(high)] for low, high in intervals.values())):
        chance = dict(zip(intervals, corner, strict=True))
        both = whole = Fraction(0)
        for world in all_worlds:
            if given(world):
                mass = Fraction(1)
                for name, value in chance.items():
                    mass *= value if world[name] else 1 - value
                whole += mass
                both += mass * event(world)
        if whole:
            found.append(both / whole)
    return (min(found), max(found)) if found else None


@pytest.mark.parametrize("seed", range(24))
def test_bounds_of_random_trees_are_those_of_all_corners(seed: int) -> None:
    rng = random.Random(seed)
    text, intervals, tree = random_tree(rng, 5, rng.randint(2, 4), noisy=seed % 3 == 0)
    names = [*intervals, *tree]
    asked, known = rng.choice(names), rng.choice(names)
    truth = rng.random() < 0.6
    query = f"P({asked} | {known if truth else f'not {known}'})" if seed % 4 else f"P({asked})"
    expected = interval(intervals, tree, lambda w: w[asked], lambda w: seed % 4 == 0 or w[known] == truth)
    if expected is None:
        with pytest.raises(hb.HerbrandError):
            hb.Model(hb.parse(text)).bound(query, engine="exact")
        return
    (row,) = hb.Model(hb.parse(text)).bound(query, engine="exact").to_dict()["bounds"]
    least, most = expected
    assert row["certified"] and Fraction(row["lower"]) <= least and Fraction(row["upper"]) >= most
    assert (row["lower"], row["upper"]) == pytest.approx((float(least), float(most)), rel=2e-6, abs=0)


@pytest.mark.parametrize("seed", range(8))
def test_masses_of_many_vertices_are_those_of_each(seed: int) -> None:
    rng = random.Random(200 + seed)
    text, _, tree = random_tree(rng, 5, 4, noisy=True)
    masses = masses_asked(text, rng.choice(list(tree)))
    assert masses is not None
    vertices = np.where(masses.fixed, 0, [[rng.randint(0, 1) for _ in masses.fixed] for _ in range(9)])
    for number, vertex in enumerate(vertices):
        for together, alone in zip(masses.of(vertices), masses.of(vertex), strict=True):
            assert (together.low[number], together.high[number]) == (alone.low[0], alone.high[0])


def masses_asked(text: str, query: str) -> Masses | None:
    model = hb.Model(hb.parse(text + "\n"))
    network = credal_network(model.program)
    names = {str(network.atoms.text(atom)): atom for atom in range(len(network.atoms))}
    part = NetworkQuestion(network, BoundQuestion(), True).whole
    event = np.array([False, True])
    return separate_masses(part, part.local([names[query]]), event, None)


@pytest.mark.parametrize("seed", range(16))
def test_masses_move_with_rows_as_their_directions_say(seed: int) -> None:
    """Each row moved from one end to the other, the others at random ends."""
    rng = random.Random(seed)
    text, _, tree = random_tree(rng, 5, 4, noisy=seed % 2 == 0)
    masses = masses_asked(text, rng.choice(list(tree)))
    assert masses is not None
    free = np.flatnonzero(~masses.fixed)
    for row in free.tolist():
        rows = np.where(masses.fixed, 0, [rng.randint(0, 1) for _ in masses.fixed])
        at_low, at_high = rows.copy(), rows.copy()
        at_low[row], at_high[row] = 0, 1
        for before, after, moves in zip(masses.of(at_low), masses.of(at_high), masses.moves, strict=True):
            if moves[row] in (CONSTANT, RISES):
                assert after.high[0] >= before.low[0]
            if moves[row] in (CONSTANT, FALLS):
                assert after.low[0] <= before.high[0]
    if seed % 2:  # every gate is monotone
        assert ((masses.moves[0][free] & FALLS) == 0).all() and (masses.moves[1][free] & RISES == 0).all()


@pytest.mark.parametrize("seed", range(16))
def test_boxes_enclose_their_corners(seed: int) -> None:
    rng = random.Random(100 + seed)
    text, _, tree = random_tree(rng, 5, 4, noisy=seed % 2 == 0)
    masses = masses_asked(text, rng.choice(list(tree)))
    assert masses is not None
    box = np.where(masses.fixed, 0, [rng.choice([FREE, FREE, 0, 1]) for _ in masses.fixed])
    whole = masses.of(box)
    for _ in range(20):
        corner = np.where(box == FREE, [rng.randint(0, 1) for _ in box], box)
        for outer, inner in zip(whole, masses.of(corner), strict=True):
            assert outer.low[0] <= inner.high[0] and inner.low[0] <= outer.high[0]


def test_a_table_whose_row_may_be_anything_gives_its_parents_no_direction() -> None:
    text = "P(a) in [0.1, 0.2]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]"
    masses = masses_asked(text, "b")
    assert masses is not None
    within = directions(masses.cuts, masses.scope, masses.event, chances(masses.true))
    beyond = directions(masses.cuts, masses.scope, masses.event, chances(masses.true, ~masses.fixed))
    assert sorted(within.tolist()) == [RISES] * 3 and sorted(beyond.tolist()) == [RISES, RISES, RISES | FALLS]


def test_a_tree_of_twenty_events_with_a_shared_part_takes_few_boxes() -> None:
    """Six trains of two pumps and a valve, all on one power supply: the power's case settles the rest."""
    lines = ["P(power) in [0.001, 0.004]"]
    trains = range(6)
    for t in trains:
        lines += [f"P(pump{t}{side}) in [0.02, 0.06]" for side in "ab"]
        lines.append(f"P(valve{t}) in [0.005, 0.02]")
        train = f"pump{t}a and pump{t}b or valve{t} or power"
        lines += [f"P(train{t} | {train}) = 1", f"P(train{t} | not ({train})) = 0"]
    every = " and ".join(f"train{t}" for t in trains)
    lines += [f"P(top | {every}) = 1", f"P(top | not ({every})) = 0"]
    result = hb.Model(hb.parse("\n".join(lines))).bound(["P(top)", "P(valve0 | top)"], engine="exact")

    def top(pump: Fraction, valve: Fraction, power: Fraction) -> Fraction:
        alone = 1 - (1 - pump * pump) * (1 - valve)
        return power + (1 - power) * alone ** len(trains)

    ends = [
        top(*(Fraction(value) for value in values)) for values in ((0.02, 0.005, 0.001), (0.06, 0.02, 0.004))
    ]
    first, second = result.to_dict()["bounds"]
    assert (first["lower"], first["upper"]) == pytest.approx([float(end) for end in ends], rel=1e-9)
    assert result.to_dict()["guarantee"] == "exact" and result.status.iterations <= 40
    assert first["lower"] < second["lower"] < second["upper"] < 0.03
