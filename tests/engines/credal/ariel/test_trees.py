"""Odds along trees and stars of features, beside every corner and beside grids."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.credal.ariel import trees
from herbrand.engines.credal.ariel.trees import (
    BoundedTable,
    Star,
    StarRule,
    Tree,
    chances_of,
    log_odds,
    lowered,
    raised,
)
from tests.laws import tries
from tests.oracles.interval_networks import IntervalNetwork
from tests.oracles.interval_networks import Table as Rows

some = settings(deadline=None, max_examples=tries(25))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
UNIT = (0.0, 1.0)


def interval(rng: np.random.Generator, low: float = 0.02, high: float = 0.98) -> tuple[float, float]:
    ends = np.sort(rng.uniform(low, high, 2)).round(3).tolist()
    return ends[0], ends[1]


def tree_of(network: IntervalNetwork, evidence: dict[int, bool]) -> Tree:
    """Without any knowledge of marginals: what the tables alone say."""
    tables = [BoundedTable(t.parents, [r[0] for r in t.rows], [r[1] for r in t.rows]) for t in network.tables]
    return Tree(tables.__getitem__, lambda atom: UNIT, evidence)


def random_tree(rng: np.random.Generator, count: int) -> IntervalNetwork:
    """Atoms with up to two parents of which no two were connected before."""
    group, tables = list(range(count)), []
    for atom in range(count):
        parents: list[int] = []
        for other in rng.permutation(atom).tolist():
            if len(parents) < rng.integers(0, 3) and group[other] not in {group[p] for p in parents}:
                parents.append(other)
        for parent in parents:
            old = group[parent]
            group = [group[atom] if g == old else g for g in group]
        tables.append(Rows(tuple(parents), tuple(interval(rng) for _ in range(2 ** len(parents)))))
    return IntervalNetwork(tuple(tables))


def words(evidence: dict[int, bool]) -> str | None:
    return " and ".join(f"x{a}" if true else f"not x{a}" for a, true in evidence.items()) or None


@some
@given(seeds, st.integers(2, 4), st.integers(0, 2))
def test_a_posterior_is_that_of_the_corners(rng: np.random.Generator, count: int, observed: int) -> None:
    network = random_tree(rng, count)
    order = rng.permutation(count).tolist()
    evidence = {atom: bool(rng.random() < 0.5) for atom in order[1 : 1 + observed]}
    truth = network.interval(f"x{order[0]}", words(evidence))
    assert tree_of(network, evidence).posterior(order[0]) == pytest.approx(truth, abs=1e-9)


@some
@given(seeds, st.integers(2, 5))
def test_evidence_on_the_query_itself_settles_it(rng: np.random.Generator, count: int) -> None:
    network = random_tree(rng, count)
    query = int(rng.integers(count))
    for truth in (True, False):
        assert tree_of(network, {query: truth}).posterior(query) == (float(truth), float(truth))


@some
@given(seeds)
def test_evidence_behind_an_observed_atom_changes_nothing(rng: np.random.Generator) -> None:
    """A chain x0 -> x1 -> x2: given x1, x2 tells nothing of x0, nor x0 of x2."""
    rows = [(interval(rng),), (interval(rng), interval(rng)), (interval(rng), interval(rng))]
    network = IntervalNetwork(tuple(Rows(p, r) for p, r in zip(((), (0,), (1,)), rows, strict=True)))
    for far, query in ((2, 0), (0, 2)):
        near = tree_of(network, {1: True}).posterior(query)
        assert tree_of(network, {1: True, far: False}).posterior(query) == pytest.approx(near)


def test_two_ways_to_an_atom_are_no_tree() -> None:
    diamond = {
        0: BoundedTable((), [0.5], [0.6]),
        1: BoundedTable((0,), [0.1, 0.2], [0.3, 0.4]),
        2: BoundedTable((0,), [0.1, 0.2], [0.3, 0.4]),
        3: BoundedTable((1, 2), [0.1] * 4, [0.9] * 4),
    }
    assert Tree(diamond.__getitem__, lambda atom: UNIT, {3: True}).posterior(0) is None
    # what is below the named atoms does not matter: without x3 it is a tree
    assert Tree(diamond.__getitem__, lambda atom: UNIT, {1: True}).posterior(2) is not None


def test_an_atom_that_nothing_connects_tells_nothing() -> None:
    tables = {0: BoundedTable((), [0.2], [0.3]), 1: BoundedTable((), [0.6], [0.7])}
    assert Tree(tables.__getitem__, lambda atom: UNIT, {1: True}).posterior(0) == pytest.approx((0.2, 0.3))


def test_what_is_known_of_a_marginal_narrows_where_nothing_is_observed_above() -> None:
    tables = {0: BoundedTable((), [0.0], [1.0]), 1: BoundedTable((0,), [0.1, 0.5], [0.2, 0.6])}
    known = {0: (0.3, 0.4), 1: UNIT}
    found = Tree(tables.__getitem__, known.__getitem__, {}).posterior(0)
    assert found == pytest.approx((0.3, 0.4))
    given_child = Tree(tables.__getitem__, known.__getitem__, {1: True}).posterior(0)
    assert given_child == pytest.approx(
        (0.3 * 0.5 / (0.3 * 0.5 + 0.7 * 0.2), 0.4 * 0.6 / (0.4 * 0.6 + 0.6 * 0.1))
    )
    # conditions on an atom above make the marginal of the atom below say nothing
    told = Tree(tables.__getitem__, {0: UNIT, 1: (0.0, 0.3)}.__getitem__, {0: True}).posterior(1)
    assert told == pytest.approx((0.5, 0.6))


def test_certain_rows_and_impossible_evidence() -> None:
    """x1 holds just where x0 does: seeing it settles x0; two of them that differ cannot be."""
    tables = {0: BoundedTable((), [0.2], [0.3]), 1: BoundedTable((0,), [0.0, 1.0], [0.0, 1.0])}
    for truth in (True, False):
        assert Tree(tables.__getitem__, lambda a: UNIT, {1: truth}).posterior(0) == (
            float(truth),
            float(truth),
        )
    copies = {**tables, 2: tables[1]}
    assert Tree(copies.__getitem__, lambda a: UNIT, {1: True, 2: True}).posterior(0) == (1.0, 1.0)
    assert Tree(copies.__getitem__, lambda a: UNIT, {1: True, 2: False}).posterior(0) == UNIT


def test_atoms_of_many_parents_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_PARENTS", 1)
    tables = {
        0: BoundedTable((), [0.5], [0.6]),
        1: BoundedTable((), [0.5], [0.6]),
        2: BoundedTable((0, 1), [0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]),
    }
    assert Tree(tables.__getitem__, lambda a: UNIT, {}).posterior(2) == UNIT
    assert Tree(tables.__getitem__, lambda a: UNIT, {2: True}).posterior(0) == UNIT
    known = {0: UNIT, 1: UNIT, 2: (0.1, 0.2)}
    assert Tree(tables.__getitem__, known.__getitem__, {}).posterior(2) == pytest.approx((0.1, 0.2))


def test_odds_and_chances_hold_each_other_even_far_out() -> None:
    for chance in (0.0, 1e-300, 1e-9, 0.2, 0.5, 0.999, 1.0):
        low, high = chances_of(log_odds(chance, lowered), log_odds(chance, raised))
        assert low <= chance <= high and (low, high) == pytest.approx((chance, chance), rel=1e-11, abs=2e-300)
    assert log_odds(0.0, raised) == -math.inf and log_odds(1.0, lowered) == math.inf
    assert chances_of(-math.inf, math.inf) == (0.0, 1.0) and chances_of(math.nan, math.nan) == (0.0, 1.0)
    low, high = chances_of(-1e6, 1e6)
    assert low == 0.0 and high == 1.0
    assert chances_of(-1e6, -1e6)[1] > 0.0 and chances_of(1e6, 1e6)[0] < 1.0  # near to sure is not sure


def odds_of(chance: float) -> float:
    return math.log(chance) - math.log1p(-chance)


def chance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


# A class and its features


def star_corners(star: Star, observed: dict[int, bool]) -> tuple[float, float]:
    """Bayes for every choice of ends."""
    features = list(observed)
    boxes = [star.prior] + [star.given[f] for f in features] + [star.otherwise[f] for f in features]
    found = []
    for prior, *chances in itertools.product(*boxes):
        holds, fails = prior, 1 - prior
        for place, feature in enumerate(features):
            one, other = chances[place], chances[place + len(features)]
            holds *= one if observed[feature] else 1 - one
            fails *= other if observed[feature] else 1 - other
        found.append(holds / (holds + fails))
    return min(found), max(found)


@some
@given(seeds, st.integers(0, 3))
def test_features_alone_are_exact(rng: np.random.Generator, count: int) -> None:
    star = Star(
        interval(rng), {f: interval(rng) for f in range(count)}, {f: interval(rng) for f in range(count)}
    )
    observed = {f: bool(rng.random() < 0.5) for f in range(count)}
    assert star.posterior(observed) == pytest.approx(star_corners(star, observed), abs=1e-9)


@settings(some, max_examples=8)
@given(seeds)
def test_a_rule_narrows_and_keeps_every_point_that_satisfies_it(rng: np.random.Generator) -> None:
    given_class, otherwise = ({f: interval(rng) for f in range(2)} for _ in range(2))
    prior = interval(rng)
    points = [
        [rng.uniform(*box) for box in (prior, *given_class.values(), *otherwise.values())] for _ in range(60)
    ]

    def odds(point: list[float]) -> float:
        base, a, b, na, nb = point
        return odds_of(base) + math.log(a * b) - math.log(na * nb)

    middle = float(np.median([odds(point) for point in points]))
    rule = StarRule(((0, True), (1, True)), middle - 0.5, middle + 0.5)
    plain, ruled = Star(prior, given_class, otherwise), Star(prior, given_class, otherwise, (rule,))
    for observed in ({0: True, 1: True}, {0: True}, {1: False}, {}):
        free, bound = plain.posterior(observed), ruled.posterior(observed)
        assert free is not None and bound is not None
        assert free[0] - 1e-6 <= bound[0] <= bound[1] <= free[1] + 1e-6
        for point in points:
            if not rule.low <= odds(point) <= rule.high:
                continue
            base, *chances = point
            ratio = odds_of(base)
            for feature, present in observed.items():
                one, other = chances[feature], chances[2 + feature]
                ratio += math.log(one / other) if present else math.log((1 - one) / (1 - other))
            assert bound[0] - 1e-6 <= chance_of(ratio) <= bound[1] + 1e-6
    both = ruled.posterior({0: True, 1: True})
    assert both is not None
    assert chance_of(rule.low) - 1e-6 <= both[0] and both[1] <= chance_of(rule.high) + 1e-6


def test_rules_that_leave_nothing_and_rules_that_say_nothing() -> None:
    half = {0: (0.5, 0.5)}
    never = Star((0.5, 0.5), half, half, (StarRule(((0, True),), 2.0, 3.0),))
    assert never.posterior({0: True}) is None
    # a rule on what may be impossible is no rule; nor is one without ends
    maybe = Star((0.5, 0.5), {0: (0.0, 0.5)}, half, (StarRule(((0, True),), 2.0, 3.0),))
    assert maybe.posterior({}) == pytest.approx((0.5, 0.5))
    open_ended = Star((0.2, 0.4), half, half, (StarRule(((0, True),), -math.inf, math.inf),))
    assert open_ended.posterior({0: True}) == pytest.approx((0.2, 0.4), abs=1e-6)


def test_certain_features_settle_the_class_or_contradict_each_other() -> None:
    star = Star((0.2, 0.4), {0: (0.3, 0.4), 1: (0.0, 0.0)}, {0: (0.0, 0.0), 1: (0.5, 0.6)})
    assert star.posterior({0: True}) == (1.0, 1.0)
    assert star.posterior({1: True}) == (0.0, 0.0)
    assert star.posterior({0: True, 1: True}) == (0.0, 1.0)  # impossible with the class and without it
    assert star.term((0, False)) == pytest.approx((math.log(0.6), math.log(0.7)))
    assert star.term((0, True)) == (math.inf, math.inf)


def test_an_end_without_limit_takes_nothing_from_the_other() -> None:
    """A feature that may be impossible where the class fails: only the upper end is lost."""
    star = Star((0.2, 0.4), {0: (0.3, 0.4)}, {0: (0.0, 0.1)})
    low, high = star.posterior({0: True}) or (0.0, 0.0)
    assert low == pytest.approx(0.2 * 0.3 / (0.2 * 0.3 + 0.8 * 0.1)) and high == 1.0
    low, high = Star((0.2, 0.4), {0: (0.0, 0.4)}, {0: (0.1, 0.2)}).posterior({0: True}) or (1.0, 1.0)
    assert low == 0.0 and high == pytest.approx(0.4 * 0.4 / (0.4 * 0.4 + 0.6 * 0.1))


def test_a_rule_bounds_a_class_whose_log_odds_end_at_nothing() -> None:
    """P(class) <= 0.5 has log-odds of at most 0: units of a range that ends there would hide all of it."""
    prior, half = (0.3, 0.5 + 1e-15), (0.5, 0.5)
    star = Star(
        prior, {0: half, 1: half}, {0: (0.3, 0.5), 1: half}, (StarRule(((0, True), (1, True)), 0.2, 2.0),)
    )
    low, high = star.posterior({0: True, 1: True}) or (0.0, 1.0)
    assert low == pytest.approx(chance_of(0.2)) and high == pytest.approx(chance_of(math.log(0.5 / 0.3)))
