"""Branch and bound over independences, and the simplex method under it, beside grids, HiGHS and SCIP."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.credal.ariel import factors
from herbrand.engines.credal.ariel.factors import intervals_at_once, nodes_for, truths_of
from herbrand.engines.credal.ariel.independence import cells_of, pairwise
from herbrand.engines.credal.ariel.programs import place_box, place_ranges
from herbrand.engines.credal.ariel.simplex import (
    ENTRIES_A_SECOND,
    Workspace,
    least,
    lowest,
    workspace,
)
from herbrand.engines.credal.ariel.sweeps import forms_needed
from herbrand.engines.credal.markov import Separation
from herbrand.errors import OutOfTimeError
from tests.engines.credal.ariel.test_closed_forms import forms_through
from tests.laws import tries
from tests.oracles.ariel import Independence, Sentence, extremes

some = settings(deadline=None, max_examples=tries(12))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
UNIT = np.array([[[0.0, 1.0]] * 3])


def product_of(chances: list[float]) -> np.ndarray:
    """The masses of independent atoms, the first the high bit."""
    found = np.ones(1)
    for chance in chances:
        found = np.outer(found, (1 - chance, chance)).reshape(-1)
    return found


def searched(
    forms: np.ndarray,
    event: np.ndarray,
    separations: tuple[Separation, ...],
    box: np.ndarray,
    nodes: int = 400,
    seconds: float = math.inf,
) -> tuple[float, bool]:
    """The least P(event) over a factor, and whether the search came to its end."""
    columns = box.shape[0]
    cells = cells_of(columns, separations)
    most = forms_needed(len(forms), columns, cells)
    working = np.zeros((most, 2**columns))
    working[: len(forms)] = forms
    filled = place_box(truths_of(columns), truths_of(columns), box, working, len(forms))
    ranges = np.empty((len(cells.atom), 2))
    place_ranges(cells, box, ranges)
    room, point = workspace(most, 2**columns, seconds), np.empty(2**columns)
    return lowest(event, working, filled, cells, ranges, np.ones(2**columns), 1.0, nodes, room, point)


@some
@given(seeds)
def test_pairwise_independent_atoms_beside_a_grid(rng: np.random.Generator) -> None:
    """Two atoms that are independent, under bounds through a hidden point: no grid point is below."""
    a, b = rng.random(2)
    hidden = product_of([a, b])
    forms = forms_through(rng, hidden, 2)
    forms = forms[forms @ hidden >= 0]
    event = rng.random(4)
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    bound, finished = searched(forms, event, pairwise(range(2)), box)
    grid = np.linspace(0, 1, 41)
    points = np.array([product_of([x, y]) for x, y in itertools.product(grid, grid)])
    allowed = (points @ forms.T >= -1e-12).all(axis=1)
    values = points[allowed] @ event
    assert bound <= min([*values, hidden @ event]) + 1e-7
    if finished and allowed.sum() > 200:
        assert bound >= values.min() - 0.15


@pytest.mark.parametrize("seed", range(2))
def test_three_atoms_beside_the_program_of_all_worlds(seed: int) -> None:
    """x0 independent of x1, and of x2 given x1: the same optimum as SCIP proves."""
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0.2, 0.8, 2)).round(3).tolist()
    said = [
        Sentence("x0 or x1", None, low, high),
        Sentence("x2", "x0", 0.3, 0.6),
        Sentence("x2", "not x0", 0.1, 0.9),
    ]
    separations = (
        (Separation(0, (), (1,)), Separation(0, (1,), (2,))) if seed % 2 else (Separation(0, (), (1,)),)
    )
    cases = truths_of(3)
    given_first = cases[0]
    either = np.maximum(cases[0], cases[1])
    forms = [either - low, high - either]
    forms += [given_first * (cases[2] - 0.3), given_first * (0.6 - cases[2])]
    forms += [(1 - given_first) * (cases[2] - 0.1), (1 - given_first) * (0.9 - cases[2])]
    independences = [Independence(0, s.given, s.others) for s in separations]
    for event, table in (("x1", cases[1]), ("x1 and x2", cases[1] * cases[2])):
        truth = extremes(range(3), said, independences, event)
        assert truth is not None
        found, failed = intervals_at_once(
            np.array(forms), np.array([0, 6]), cases, table, np.ones(8), 1.0, cells_of(3, separations), UNIT
        )
        assert failed == -1
        assert found[0].tolist() == pytest.approx(truth, abs=1e-4)


@some
@given(seeds, st.integers(1, 30))
def test_more_nodes_only_tighten(rng: np.random.Generator, nodes: int) -> None:
    hidden = product_of(rng.uniform(0.1, 0.9, 3).tolist())
    forms = forms_through(rng, hidden, 3)
    forms = forms[forms @ hidden >= 0]
    event, box = rng.random(8), np.array([[0.0, 1.0]] * 3)
    few, many = (searched(forms, event, pairwise(range(3)), box, n)[0] for n in (nodes, 400))
    none = least(event, np.vstack([forms, np.zeros(8)]), len(forms), np.ones(8), 1.0, workspace(9, 8))[0]
    assert none - 1e-7 <= few <= many + 1e-7 and many <= hidden @ event + 1e-7


def test_what_nothing_satisfies_has_no_least_value() -> None:
    """P(x0) and P(x1) at 0.5, both together never: possible, but not for independent atoms."""
    both = np.array([0, 0, 0, 1.0])
    forms = np.array([-both])
    box = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert searched(forms, both, (), box)[0] == pytest.approx(0.0, abs=1e-6)
    bound, finished = searched(forms, both, pairwise(range(2)), box)
    assert bound == np.inf and finished


@some
@given(seeds, st.integers(2, 4), st.integers(0, 6))
def test_the_simplex_method_beside_highs(rng: np.random.Generator, columns: int, count: int) -> None:
    """Under random forms, some of which nothing satisfies: never above, and equal at an optimum."""
    states = 2**columns
    forms = rng.normal(size=(count, states)).round(2)
    costs = rng.normal(size=states).round(2)
    bound, optimal = least(costs, forms, count, np.ones(states), 1.0, workspace(count + 1, states))
    told = linprog(
        costs, -forms if count else None, np.zeros(count) if count else None, np.ones((1, states)), [1.0]
    )
    if told.status == 2:
        assert bound == np.inf or not optimal
        return
    assert bound <= told.fun + 1e-7
    if optimal:
        assert bound == pytest.approx(told.fun, abs=1e-7)


def test_equal_costs_do_not_turn_in_circles() -> None:
    """All costs alike, forms repeated: an optimum, not a loop."""
    for states in (4, 16, 64):
        forms = np.repeat(np.eye(states)[:1] - 1 / states, 6, axis=0)
        bound, optimal = least(np.ones(states), forms, 6, np.ones(states), 1.0, workspace(7, states))
        assert optimal and bound == pytest.approx(1.0, abs=1e-8)


@some
@given(seeds, st.integers(3, 5))
def test_a_search_that_is_cut_off_gives_weaker_bounds(rng: np.random.Generator, columns: int) -> None:
    """However soon the time ends, in a program or between two, no bound is above the one at the end."""
    hidden = product_of(rng.random(columns).tolist())
    forms = forms_through(rng, hidden, 3)
    forms, event = forms[forms @ hidden >= 0], rng.random(2**columns)
    box = np.tile([0.0, 1.0], (columns, 1))
    whole, _ = searched(forms, event, pairwise(range(columns)), box)
    assert whole <= event @ hidden + 1e-9
    for pivots in (0, 1, 3, 10, 100, 1000):
        seconds = pivots * 2**columns * len(forms) / ENTRIES_A_SECOND
        bound, finished = searched(forms, event, pairwise(range(columns)), box, seconds=seconds)
        assert bound <= event @ hidden + 1e-9 and bound <= whole + 1e-7
        assert pivots or not finished


def test_a_question_without_time_is_told_so() -> None:
    forms, cells = np.array([[0.0, 1.0, 1.0, 1.0]]) - 0.5, cells_of(2, ())
    budget = Budget(seconds=1e-9, clock=lambda: 0.0)
    start, box = np.array([0, 1]), np.tile([0.0, 1.0], (1, 2, 1))
    with pytest.raises(OutOfTimeError):
        intervals_at_once(forms, start, truths_of(2), np.eye(4)[3], np.ones(4), 1.0, cells, box, budget)


def test_a_search_for_a_query_ends_with_what_it_has_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a condition that may have probability 0 turned in circles: seven atoms took a minute."""
    theory = """
    P(a) in [0.4, 0.8]
    P(b | a) in [0.0, 1.0]
    P(b | not a) in [0.0, 0.1]
    P(c | a) = 0.2
    P(c | not a) = 0.7
    P(d | a) in [0.0, 0.2]
    P(d | not a) in [0.0, 0.3]
    P(e | d) in [0.5, 0.7]
    P(e | not d) in [0.8, 1.0]
    P(f | c) = 0.4
    P(f | not c) in [0.7, 1.0]
    P(g | b) in [0.1, 0.2]
    P(g | not b) in [0.3, 0.7]
    """
    rooms = []

    def recorded(forms: int, states: int, seconds: float) -> Workspace:
        rooms.append((workspace(forms, states, seconds), states * (forms + 2)))
        return rooms[-1][0]

    monkeypatch.setattr(factors, "workspace", recorded)
    monkeypatch.setattr(factors, "SECONDS_A_SEARCH", 0.05)
    found = hb.Model(hb.parse(theory)).bound("P(c <=> not e | not f and not d and g and b)", engine="ariel")
    wide = [(room, pivot) for room, pivot in rooms if len(room.point) >= 64]
    assert wide and found.status.converged
    for room, pivot in wide:
        assert -100 * pivot < room.left[0] < math.inf
    (exact,) = hb.Model(hb.parse(theory)).bound(
        "P(c <=> not e | not f and not d and g and b)", engine="exact"
    )
    assert found.lower[0] <= exact.lower and exact.upper <= found.upper[0]


@some
@given(seeds)
def test_an_optimal_point_satisfies_the_program(rng: np.random.Generator) -> None:
    hidden = rng.dirichlet(np.ones(8))
    forms = forms_through(rng, hidden, 4)
    forms = forms[forms @ hidden >= 0]
    costs, room = rng.random(8), workspace(len(forms) + 1, 8)
    bound, optimal = least(costs, forms, len(forms), np.ones(8), 1.0, room)
    assert optimal
    assert room.point.sum() == pytest.approx(1.0, abs=1e-8) and (room.point >= 0).all()
    assert (forms @ room.point >= -1e-7).all() and costs @ room.point == pytest.approx(bound, abs=1e-7)


def test_boxes_are_forms_only_where_they_say_something() -> None:
    """An end at 0 or 1 is none; the others are widened by a hair, so that equal ends do not contradict."""
    truths, forms = truths_of(2), np.zeros((8, 4))
    assert place_box(truths, truths, np.array([[0.0, 1.0], [0.0, 1.0]]), forms, 3) == 3
    count = place_box(truths, truths, np.array([[0.2, 1.0], [0.3, 0.3]]), forms, 0)
    assert count == 3
    for q, inside in (
        (product_of([0.2, 0.3]), True),
        (product_of([0.1, 0.3]), False),
        (product_of([0.5, 0.31]), False),
    ):
        assert bool((forms[:count] @ q >= 0).all()) == inside


def test_ranges_of_cells_are_those_of_their_atoms() -> None:
    """A cell given nothing has its atom's interval; given something it may be anything."""
    cells = cells_of(3, (Separation(0, (), (1,)), Separation(0, (1,), (2,))))
    box = np.array([[0.2, 0.4], [0.0, 1.0], [0.5, 0.6]])
    ranges = np.empty((len(cells.atom), 2))
    place_ranges(cells, box, ranges)
    for cell, atom in enumerate(cells.atom.tolist()):
        expected = box[atom] if atom >= 0 else (0.0, 1.0)
        assert ranges[cell] == pytest.approx(expected, abs=1e-9)
    assert forms_needed(5, 3, cells) == 5 + 6 + 4 * len(cells.products) + 2 * len(cells.spread_cell)


def test_larger_factors_may_search_less() -> None:
    nodes = [nodes_for(2**columns) for columns in range(2, 13)]
    assert nodes == sorted(nodes, reverse=True) and nodes[-1] > 0


@some
@given(seeds)
def test_many_factors_at_once_are_each_as_alone(rng: np.random.Generator) -> None:
    """Forms of several factors one behind the other; a factor that cannot be is told by its number."""
    cases, cells = truths_of(2), cells_of(2, ())
    blocks, boxes = [], []
    for _ in range(4):
        hidden = rng.dirichlet(np.ones(4))
        forms = forms_through(rng, hidden, int(rng.integers(0, 4)))
        blocks.append(forms[forms @ hidden >= 0])
        boxes.append([[0.0, 1.0], [0.0, 1.0]])
    start = np.concatenate([[0], np.cumsum([len(block) for block in blocks])])
    event, everywhere = cases[0] * cases[1], np.ones(4)
    found, failed = intervals_at_once(
        np.concatenate(blocks), start, cases, event, everywhere, 1.0, cells, np.array(boxes)
    )
    assert failed == -1
    for number, block in enumerate(blocks):
        alone, _ = intervals_at_once(
            block, np.array([0, len(block)]), cases, event, everywhere, 1.0, cells, np.array(boxes[:1])
        )
        assert found[number].tolist() == pytest.approx(alone[0].tolist(), abs=1e-9)
    boxes[2] = [[0.9, 0.9], [0.05, 0.05]]
    impossible = np.array([event - 0.5])
    _, failed = intervals_at_once(
        np.repeat(impossible, 4, axis=0), np.arange(5), cases, event, everywhere, 1.0, cells, np.array(boxes)
    )
    assert failed == 2
