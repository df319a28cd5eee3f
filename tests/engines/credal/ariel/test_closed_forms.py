"""The closed forms beside linear programs and fine grids."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from herbrand.engines.credal.ariel.conditional_tables import tighten_table
from herbrand.engines.credal.ariel.pairs import tighten_linked, tighten_unlinked
from herbrand.engines.credal.ariel.simplex import least, workspace
from tests.laws import tries

FIRST, SECOND = np.array([0, 0, 1.0, 1]), np.array([0, 1.0, 0, 1])
laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(150))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def forms_through(rng: np.random.Generator, q: np.ndarray, count: int) -> np.ndarray:
    """Forms as sentences make them, most of them satisfied by q. One left by rounding alone is 0."""
    forms = rng.integers(0, 2, (count, len(q))) - rng.random((count, 1))
    forms *= rng.choice([-1, 1], (count, 1))
    forms = forms - np.minimum(forms @ q, 0)[:, None] * (rng.random((count, 1)) < 0.9)
    return np.where(abs(forms).max(axis=1, keepdims=True) < 1e-12, 0.0, forms)


def box_around(rng: np.random.Generator, *chances: Any) -> np.ndarray:
    ends = [(max(0, p - 0.3 * rng.random()), min(1, p + 0.3 * rng.random())) for p in chances]
    return np.array(ends).reshape(-1)


def linear_extremes(objective: np.ndarray, forms: np.ndarray, box: np.ndarray) -> tuple[float, float] | None:
    rows = np.vstack([-forms, -FIRST, FIRST, -SECOND, SECOND])
    limits = np.concatenate([np.zeros(len(forms)), [-box[0], box[1], -box[2], box[3]]])
    ends = [linprog(s * objective, rows, limits, np.ones((1, 4)), [1.0]) for s in (1, -1)]
    return None if ends[0].status == 2 else (ends[0].fun, -ends[1].fun)


@laws
@given(seeds, st.integers(0, 5))
def test_linked_pairs_are_linear_programs(rng: np.random.Generator, count: int) -> None:
    q = rng.dirichlet(np.ones(4))
    forms, box = forms_through(rng, q, count), box_around(rng, FIRST @ q, SECOND @ q)
    got = box.copy()
    possible = tighten_linked(forms, got)
    for at, objective in ((0, FIRST), (2, SECOND)):
        ends = linear_extremes(objective, forms, box)
        assert possible == (ends is not None)
        if ends is not None:
            assert got[at : at + 2] == pytest.approx(ends, abs=1e-7)


@laws
@given(seeds, st.integers(0, 4))
def test_unlinked_pairs_against_a_grid(rng: np.random.Generator, count: int) -> None:
    a, b = rng.random(2)
    product = np.array([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b])
    forms = forms_through(rng, product, count)
    box = box_around(rng, a, b)
    got = box.copy()
    possible = tighten_unlinked(forms, got)
    ones, others = np.linspace(box[0], box[1], 301)[:, None], np.linspace(box[2], box[3], 301)[None]
    masses = ((1 - ones) * (1 - others), (1 - ones) * others, ones * (1 - others), ones * others)
    values = [sum(g * m for g, m in zip(form, masses, strict=True)) for form in forms]
    allowed = np.all([v >= 0 for v in values] or [np.ones((301, 301), bool)], axis=0)
    nearly = np.all([v >= -0.02 for v in values] or [np.ones((301, 301), bool)], axis=0)
    if allowed.any():
        assert possible
        for at, line, inside in ((0, ones[:, 0], allowed.any(1)), (2, others[0], allowed.any(0))):
            assert got[at] <= line[inside].min() + 1e-9
            assert got[at + 1] >= line[inside].max() - 1e-9
    if possible:
        for at, line, inside in ((0, ones[:, 0], nearly.any(1)), (2, others[0], nearly.any(0))):
            assert got[at] >= line[inside].min() - 0.01
            assert got[at + 1] <= line[inside].max() + 0.01


@laws
@given(seeds)
def test_tables_of_linked_parents_are_linear_programs(rng: np.random.Generator) -> None:
    q = rng.dirichlet(np.ones(4))
    low = rng.random(4)
    high = np.minimum(1, low + rng.random(4) * 0.5)
    value = low @ q + rng.random() * (high - low) @ q
    box = np.concatenate([box_around(rng, value), box_around(rng, FIRST @ q, SECOND @ q)])
    got = box.copy()
    assert tighten_table(low, high, False, got)
    nothing = np.empty((0, 4))
    least_child, most_child = (linear_extremes(column, nothing, box[2:]) for column in (low, high))
    assert least_child is not None and most_child is not None
    assert got[0] == pytest.approx(max(box[0], least_child[0]), abs=1e-7)
    assert got[1] == pytest.approx(min(box[1], most_child[1]), abs=1e-7)
    forms = np.stack([box[1] - low, high - box[0]])
    for at, objective in ((2, FIRST), (4, SECOND)):
        ends = linear_extremes(objective, forms, box[2:])
        assert ends is not None and got[at : at + 2] == pytest.approx(ends, abs=1e-7)


@laws
@given(seeds, st.integers(1, 5), st.integers(0, 20), st.booleans())
def test_small_programs(rng: np.random.Generator, columns: int, count: int, conditional: bool) -> None:
    states = 2**columns
    forms = forms_through(rng, rng.dirichlet(np.ones(states)), count)
    scale = (rng.random(states) < 0.6).astype(float) if conditional else np.ones(states)
    scale[0] = 1
    costs = rng.integers(0, 2, states) * scale
    bound, _ = least(costs, forms, count, scale, 1.0, workspace(count, states))
    solved = linprog(costs, -forms, np.zeros(count), [scale], [1.0])
    if solved.status == 0:
        assert bound == pytest.approx(solved.fun, abs=1e-6)
    else:
        assert bound > 1 - 1e-6 or conditional


@pytest.mark.parametrize("columns", list(itertools.product((0.0, 0.3, 1.0), repeat=4)))
def test_tables_with_certain_rows(columns: tuple[float, ...]) -> None:
    """Rows of 0 and 1 and points for intervals are where divisions could fail."""
    table = np.array(columns)
    for ends in itertools.product((0.0, 0.4, 1.0), repeat=2):
        child = table @ [
            (1 - ends[0]) * (1 - ends[1]),
            (1 - ends[0]) * ends[1],
            ends[0] * (1 - ends[1]),
            ends[0] * ends[1],
        ]
        box = np.array([child, child, ends[0], ends[0], ends[1], ends[1]])
        assert tighten_table(table, table, True, box)
        assert box == pytest.approx([child, child, ends[0], ends[0], ends[1], ends[1]], abs=1e-8)
