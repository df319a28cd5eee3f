"""Elements that are counted together beside what is known of each, and what counting them costs."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.lifted import costs
from herbrand.engines.lifted import element_groups as module
from herbrand.engines.lifted.costs import ENDLESS, Cost, axes_of, clamps, cost_of, largest_table, splits
from herbrand.engines.lifted.count_axes import Clamp
from herbrand.engines.lifted.element_groups import ElementGroup, ElementGroups, _cover
from herbrand.engines.lifted.exchangeable_model import ExchangeableModel
from herbrand.engines.lifted.problem import problem_of
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.errors import HerbrandError
from herbrand.program.evidence import Evidence
from tests.engines.unseen import theory


def summations(text: str, most: bool = False) -> tuple[Summation, ...]:
    program = hb.Model(hb.parse(text)).program
    return problem_of(program, Evidence(program), (), most).summations


def random_summations(count: int, start: int) -> Iterator[Summation]:
    for seed in itertools.count(start):
        try:
            found = summations(theory(seed, liftable=True)[0])
        except (NotLiftableError, HerbrandError):
            continue
        with contextlib.suppress(NotLiftableError):
            for summation in found:
                if not summation.impossible:
                    summation.total()
                    yield summation
        count -= 1
        if not count:
            return


T = """\
type t = {{{}}}
predicate p(t)
predicate q(t)
predicate f(t, t)
0.7: p(x) and f(x, y) => p(y)
-0.2: p(x)
"""


def people(count: int, more: str = "") -> str:
    return T.format(", ".join(f'"c{i}"' for i in range(count))) + more


LINKED = [
    "",
    'f("c0", "c1")',
    'f("c0", "c1")\nf("c0", "c2")\nf("c0", "c3")',
    'f("c0", "c1")\nnot f("c1", "c2")\nf("c2", "c3") ~ 0.8\nf("c3", "c0")',
    'f("c0", "c1")\nf("c2", "c3")\np("c2")',
    'f("c0", "c1")\nf("c1", "c0")\np("c1") ~ 0.3\nq("c4")\n0.4: p(x) and q(y)',
    'f("c0", "c0")\n0.1: f(x, "c2") and q(x)\nf("c1", "c2")',
]


@pytest.mark.parametrize("facts", LINKED)
def test_element_groups_part_the_elements_of_each_pool(facts: str) -> None:
    for summation in summations(people(5, facts)):
        assert_parts(summation)


def test_element_groups_part_the_elements_of_random_theories() -> None:
    tied = 0
    for summation in random_summations(20, 800):
        assert_parts(summation)
        tied += bool(summation.element_groups.hubs)
    assert tied > 0


def assert_parts(summation: Summation) -> None:
    """Every element is in one bunch; of one pool and class, with the same ties to hubs."""
    model, element_groups = summation.model, summation.element_groups
    states = [cells.states for cells in summation.tabulated.cells]
    for family, elements in enumerate(model.elements):
        here = [
            element_group
            for element_group in element_groups.all
            if model.pools[element_group.pool].family == family
        ]
        every = np.concatenate([element_group.elements for element_group in here]) if here else np.empty(0)
        assert sorted(every.tolist()) == list(range(elements.count))
        for element_group in here:
            assert (model.pool_of[family][element_group.elements] == element_group.pool).all()
            assert (elements.class_of[element_group.elements] == element_group.klass).all()
    assert all(len(hub) == 1 for hub in element_groups.hubs)
    number = {
        (model.pools[hub.pool].family, int(hub.elements[0])): place
        for place, hub in enumerate(element_groups.hubs)
    }
    told, settled = 0, 0
    for group, knowledge in enumerate(model.knowledge):
        left, right = model.groups[group].families
        for (one, other), pattern in zip(
            knowledge.pairs.tolist(), knowledge.pattern_of.tolist(), strict=True
        ):
            pools = int(model.pool_of[left][one]), int(model.pool_of[right][other])
            if max(states[pool] for pool in pools) <= 1:
                settled += 1
                continue
            told += 1
            hubs = {number.get((left, one)), number.get((right, other))} - {None}
            assert hubs, "a hub meets every link"
            assert (
                sum(
                    (tie.group, tie.pattern) == (group, pattern)
                    and nodes_of(model, element_groups.hubs[tie.hub])
                    == {(right, other) if tie.left else (left, one)}
                    and ((left, one) if tie.left else (right, other)) in nodes_of(model, element_group)
                    for element_group in element_groups.all
                    for tie in element_group.ties
                )
                == 1
            )
    assert sum(element_groups.settled.values()) == settled
    counted = sum(len(element_group) * len(element_group.ties) for element_group in element_groups.all)
    assert counted == told, "every link is one tie of one element"
    for place, hub in enumerate(element_groups.hubs):
        assert all(tie.hub < place for tie in hub.ties)


def nodes_of(model: ExchangeableModel, element_group: ElementGroup) -> set[tuple[int, int]]:
    return {(model.pools[element_group.pool].family, element) for element in element_group.elements.tolist()}


def test_hubs_are_those_with_the_most_links() -> None:
    """A star is one hub; a ring of five needs three; what nothing links needs none."""
    star = {((0, 0), (0, i)): [(0, 1)] for i in range(1, 6)}
    assert _cover(star) == [(0, 0)]
    ring = {((0, i), (0, (i + 1) % 5)): [(0, 1)] for i in range(5)}
    cover = set(_cover(ring))
    assert len(cover) == 3 and all(set(link) & cover for link in ring)
    assert _cover({}) == []
    two = {((0, 0), (1, 0)): [(0, 1)], ((0, 3), (1, 0)): [(0, 1)]}
    assert _cover(two) == [(1, 0)]


def test_which_element_groups_are_whole_and_which_are_the_largest() -> None:
    (summation,) = summations(people(6, 'f("c0", "c1")\np("c3") ~ 0.9'))
    element_groups = summation.element_groups
    assert not element_groups.whole_pools & set(range(len(element_groups.hubs)))
    (largest,) = {number for number in element_groups.largest if element_groups.all[number].pool == 0}
    assert sorted(element_groups.all[largest].elements.tolist()) == [2, 4, 5]
    (plain,) = summations(people(6))
    assert plain.element_groups.whole_pools == plain.element_groups.largest
    assert plain.element_groups.hubs == () and isinstance(plain.element_groups, ElementGroups)


def test_too_many_links_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINKS", 2)
    with pytest.raises(NotLiftableError) as told:
        summations(people(5, 'f("c0", "c1")\nf("c1", "c2")\nf("c2", "c3")'))
    assert str(told.value) == "the facts distinguish 3 pairs; at most 2 are taken"


@pytest.mark.parametrize("facts", LINKED)
def test_axes_have_at_most_as_many_rows_as_they_are_said_to_cost(facts: str) -> None:
    """And each row is a way to part the elements of its pools."""
    for summation in summations(people(5, facts)):
        rows, cost = axes_of(summation)
        axes = summation.layout().axes
        assert {frozenset(axis.pools) for axis in axes} == set(rows)
        for axis in axes:
            assert len(axis) <= rows[frozenset(axis.pools)]
            for pool, counts in axis.counts.items():
                assert (counts.sum(1) == len(summation.model.pools[pool])).all() and (counts >= 0).all()
            table = np.concatenate([counts.numpy() for counts in axis.counts.values()], axis=1)
            assert len(np.unique(table, axis=0)) == len(axis), "each vector of counts once"
        assert 0 < cost.operations < math.inf and 0 < cost.bytes < math.inf
        assert cost_of(summation).operations >= cost.operations
        assert largest_table(summation, rows) >= max(rows.values())


def test_rows_of_random_theories_are_within_their_cost() -> None:
    for summation in random_summations(15, 840):
        rows, _ = axes_of(summation)
        for axis in summation.layout().axes:
            assert len(axis) <= rows[frozenset(axis.pools)]


@pytest.mark.parametrize("facts", LINKED)
def test_the_expected_numbers_are_those_of_elements(facts: str) -> None:
    """In each bunch all elements are in some state; of each tie, one pair for each of them."""
    for summation in summations(people(5, facts)):
        sums = summation.sums()
        for element_group, expected in zip(summation.element_groups.all, sums.states, strict=True):
            assert expected.sum() == pytest.approx(len(element_group))
            assert (expected > -1e-12).all()
        for (number, tie), expected in sums.ties.items():
            assert expected.sum() == pytest.approx(len(summation.element_groups.all[number]))
            hub = sums.states[tie.hub]
            assert expected.sum(1) == pytest.approx(len(summation.element_groups.all[number]) * hub)


@pytest.mark.parametrize("facts", LINKED[1:4])
def test_an_element_that_is_held_weighs_its_share(facts: str) -> None:
    """Of the whole, over all its profiles: the sums with one element clamped add up to the sum."""
    (summation,) = summations(people(5, facts))
    whole = float(summation.sums().total)
    for number, element_group in enumerate(summation.element_groups.all):
        cells = summation.tabulated.cells[element_group.pool]
        parts = [float(summation.sums(Clamp(number, k)).total) for k in range(cells.profiles)]
        assert float(np.logaddexp.reduce(parts)) == pytest.approx(whole, abs=1e-9)
        expected = np.bincount(cells.profile_of, summation.sums().states[number], cells.profiles)
        for profile, part in enumerate(parts):
            assert math.exp(part - whole) * len(element_group) == pytest.approx(expected[profile], abs=1e-9)


def test_costs_are_added_and_repeated() -> None:
    one, other = Cost(3.0, 10.0), Cost(4.0, 1.0)
    assert one + other == Cost(7.0, 11.0)
    assert one.times(5) == Cost(15.0, 10.0), "the memory is used again"
    assert (one + ENDLESS).bytes == math.inf


def test_costs_grow_with_a_power_of_the_constants() -> None:
    """Two unary predicates have four cells, and so a cubic number of counts; links add few."""
    text = "0.3: q(x) and p(y)\n0.1: q(x) and f(y, x) and q(y)\n"
    needed = [cost_of(summations(people(n, text))[0]).operations for n in (20, 40, 80)]
    assert needed[0] < needed[1] < needed[2] < 70 * needed[1]
    linked = cost_of(summations(people(40, text + 'f("c0", "c1")'))[0]).operations
    assert linked > needed[1]


def test_how_many_ways_there_are_to_split_elements() -> None:
    for elements, profiles in itertools.product(range(5), range(1, 4)):
        every = [
            row for row in itertools.product(range(elements + 1), repeat=profiles) if sum(row) == elements
        ]
        assert splits(elements, profiles) == len(every)
    assert splits(7, 0) == 1.0
    assert splits(3000, 600) == math.inf


def test_what_no_machine_holds_costs_endlessly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "splits", lambda elements, profiles: math.inf)
    (summation,) = summations(people(5, LINKED[3]))
    assert cost_of(summation) == ENDLESS
    answer = hb.Model(hb.parse(people(5, LINKED[3]))).infer(engine="lifted")
    assert "since counting needs more than any machine has and may use" in answer.status.advice


@pytest.mark.parametrize("engine", ["lifted", "regions"])
def test_axes_that_no_machine_holds_are_refused_before_tables_over_them(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "ANY_MACHINE", 1.0)
    answer = hb.Model(hb.parse(people(5, LINKED[3]))).infer(engine=engine)
    assert "since counting needs more than any machine has and may use" in answer.status.advice


def test_weights_of_elements_for_all_states_of_their_hubs_are_counted() -> None:
    """Elements of 256 states that are tied to three such hubs have a table of 32 GB before their states are
    added up; MemoryError reached the user."""
    text = "".join(f"1: f(x, y) => (a{i}(x) and b{i}(y))\n" for i in range(8))
    text += "".join("1: " + " and ".join(f"{name}{i}(x)" for i in range(8)) + "\n" for name in "ab")
    edges = [(hub, other) for hub in "xyz" for other in ("m", f"{hub}1", f"{hub}2", f"{hub}3")]
    facts = {"f": edges}
    answer = hb.Model(hb.parse(text), facts).infer("a0", engine="lifted", memory="4GB")
    assert "since counting needs " in answer.status.advice


@pytest.mark.slow
def test_numbers_of_counts_that_no_float_holds() -> None:
    """More vectors of counts than a float can tell: the ground is tried, and both reasons are told."""
    names = [f"r{i}" for i in range(6)]
    text = "".join(f"predicate {name}(t)\n" for name in names)
    text += "".join(f"0.1: {one}(x) and f(x, y) => {other}(y)\n" for one, other in itertools.pairwise(names))
    (summation,) = summations(people(30_000, text))
    assert cost_of(summation) == ENDLESS
    with pytest.raises(HerbrandError, match="counting needs more than any machine has"):
        hb.Model(hb.parse(people(30_000, text))).infer('p("c3")', engine="lifted", memory="1GB")


def test_which_atoms_take_sums_with_an_element_held() -> None:
    """Only those of pairs, and only where their elements are of several bunches."""
    (alike,) = summations(people(6))
    (told,) = summations(people(6, 'p("c3") ~ 0.9'))
    assert clamps(alike, ["f", "p"]) == 0
    assert clamps(told, ["p", "q"]) == 0
    assert clamps(told, ["f"]) > 0
