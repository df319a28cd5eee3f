"""Axes of counts beside every way to give each element a state, links among elements included."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

import herbrand as hb
from herbrand import arrays
from herbrand.engines.lifted import count_axes
from herbrand.engines.lifted.costs import axes_of
from herbrand.engines.lifted.count_axes import Axis, _slow_at_once
from herbrand.engines.lifted.problem import problem_of
from herbrand.engines.lifted.summation import Summation, over
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.errors import HerbrandError
from herbrand.program.evidence import Evidence
from tests.engines.lifted.symmetric_theories import MANY_CELLS
from tests.engines.unseen import theory

T = 'type t = {{{}}}\ntype u = {{"d0", "d1"}}\npredicate p(t)\npredicate q(t)\npredicate r(u)\n'
T += "predicate f(t, t)\npredicate h(t, u)\n0.7: p(x) and f(x, y) => p(y)\n-0.2: p(x)\n"
STATED = [
    "",
    'f("c0", "c1")\nnot f("c1", "c2")\nf("c2", "c3") ~ 0.8\nf("c3", "c0")',
    '0.4: p(x) and q(y)\np("c1")\nq("c2") ~ 0.3\nf("c0", "c2")\nf("c0", "c3")',
    '0.6: p(x) and h(x, w) => r(w)\nh("c0", "d1")\nnot h("c2", "d0")\nf("c2", "c0")',
    'hard: p(x) or f(x, y)\nf("c1", "c0") ~ 0.2\n0.3: q(x) and f(y, x)\nnot p("c3")',
    '0.5: p(x) <=> q(x)\n0.1: q(x) and f(x, "c1")\nf("c0", "c3")\np("c2") ~ 0.6',
]


def summation(text: str, most: bool = False) -> Summation:
    program = hb.Model(hb.parse(text)).program
    return problem_of(program, Evidence(program), (), most).summations[0]


def people(count: int, more: str) -> str:
    return T.format(", ".join(f'"c{i}"' for i in range(count))) + more


def random_summations(count: int, start: int) -> Iterator[Summation]:
    for seed in itertools.count(start):
        try:
            found = summation(theory(seed, liftable=True)[0])
            found.total()
        except (NotLiftableError, HerbrandError):
            continue
        if not found.impossible:
            yield found
            count -= 1
        if not count:
            return


def added(terms: list[float], most: bool) -> float:
    largest = max(terms)
    if most or largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(term - largest) for term in terms))


def by_walking(found: Summation, axis: Axis, most: bool) -> dict[tuple[int, ...], float]:
    """The log-weight of each vector of counts of an axis's pools, over all choices of states."""
    model, tabulated = found.model, found.tabulated
    elements = [(pool, int(e)) for pool in axis.pools for e in model.pools[pool].elements]
    place = {(model.pools[pool].family, e): i for i, (pool, e) in enumerate(elements)}
    own: list[list[float]] = []
    for pool, element in elements:
        family, cells = model.pools[pool].family, tabulated.cells[pool]
        raw = tabulated.weights[family][model.elements[family].class_of[element]].detach().numpy()
        own.append(
            [added([raw[c] for c in np.flatnonzero(cells.state == s)], most) for s in range(cells.states)]
        )
    links = []
    for group, knowledge in enumerate(model.knowledge):
        left, right = model.groups[group].families
        for (one, other), pattern in zip(
            knowledge.pairs.tolist(), knowledge.pattern_of.tolist(), strict=True
        ):
            here, there = place.get((left, one)), place.get((right, other))
            if here is None or there is None:
                continue
            pools = elements[here][0], elements[there][0]
            if max(tabulated.cells[pool].states for pool in pools) > 1:
                table = tabulated.unusual(group, int(pattern), *pools).detach().numpy()
                links.append((here, there, table))
    terms: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for states in itertools.product(*(range(len(weights)) for weights in own)):
        weight = sum(own[i][s] for i, s in enumerate(states))
        weight += sum(float(table[states[i], states[j]]) for i, j, table in links)
        counts: list[int] = []
        for pool in axis.pools:
            profiles = [0] * tabulated.cells[pool].profiles
            for (its, _), state in zip(elements, states, strict=True):
                if its == pool:
                    profiles[tabulated.cells[pool].profile_of[state]] += 1
            counts += profiles
        terms[tuple(counts)].append(weight)
    return {counts: added(its, most) for counts, its in terms.items()}


def assert_axes(found: Summation, most: bool = False) -> int:
    """How many of the axes could be walked through."""
    walked = 0
    axes = found.layout().axes
    assert sorted(pool for axis in axes for pool in axis.pools) == list(range(len(found.model.pools)))
    for axis in axes:
        ways = math.prod(
            max(1, found.tabulated.cells[pool].states) ** len(found.model.pools[pool]) for pool in axis.pools
        )
        if ways > 5000:
            continue
        expected = by_walking(found, axis, most)
        rows = np.concatenate([axis.counts[pool].numpy() for pool in axis.pools], axis=1).astype(int)
        listed = {tuple(row): float(w) for row, w in zip(rows.tolist(), axis.prior.detach(), strict=True)}
        for counts, weight in expected.items():
            assert listed.get(counts, -math.inf) == pytest.approx(weight, abs=1e-9)
        assert all(weight == -math.inf for counts, weight in listed.items() if counts not in expected)
        walked += 1
    return walked


@pytest.mark.parametrize("most", [False, True])
@pytest.mark.parametrize("stated", STATED)
def test_axes_hold_the_weights_of_all_ways(stated: str, most: bool) -> None:
    assert assert_axes(summation(people(4, stated), most), most) > 0


def test_axes_of_random_theories() -> None:
    assert sum(assert_axes(found) for found in random_summations(12, 950)) > 12


@pytest.mark.parametrize("at_once", [True, False])
def test_adding_alike_elements_one_by_one_or_at_once(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_axes, "_slow_at_once", lambda table, count: not at_once)
    for stated in STATED:
        assert assert_axes(summation(people(4, f'{stated}\nq("c0") ~ 0.6\nq("c3") ~ 0.6'))) > 0


def test_which_way_takes_fewer_steps() -> None:
    """Two profiles have few counts; of many profiles a handful of elements are quicker added one by one."""
    assert not _slow_at_once(arrays.zeros(2), 50)
    assert _slow_at_once(arrays.zeros(20), 6)
    some = arrays.full((20,), -math.inf)
    assert not _slow_at_once(some, 6)
    some[:2] = 0.0
    assert not _slow_at_once(some, 6), "impossible profiles are not counted"


def test_weights_by_the_count_of_the_second_profile() -> None:
    counts = arrays.tensor([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    axis = Axis((0,), {0: counts}, arrays.zeros(3))
    weights = arrays.tensor([0.5, -1.0, 2.0])
    assert axis.by_count(weights).tolist() == [0.5, 2.0, -1.0, -math.inf]


def test_a_table_seen_over_more_axes() -> None:
    table = arrays.tensor(np.arange(6.0)).view(2, 3)
    seen = over(table, ("b", "a"), ("a", "c", "b"))
    assert seen.shape == (3, 1, 2)
    for a, b in itertools.product(range(3), range(2)):
        assert seen[a, 0, b] == table[b, a]
    assert over(arrays.tensor(4.0), (), ("a", "b")).shape == (1, 1)


def test_the_table_that_a_hub_is_laid_out_in_is_told() -> None:
    """Thirty cells make a table of 2 ** 29 counts, though a constant is in one cell only."""
    program = hb.Model(hb.parse(MANY_CELLS)).program
    costs = [axes_of(one)[1] for one in problem_of(program, Evidence(program), (), False).summations]
    assert max(cost.bytes for cost in costs) > 8 * 2**29
