"""A parallel move against the same move atom by atom, and the slope that decides the next stride."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.mean_field.moves import moved
from herbrand.engines.mean_field.stride import LONGEST, SHORTEST, Slope, after_slope
from herbrand.engines.mean_field.tables import DenseTable, ListedTable
from tests.laws import tries

numbers = st.floats(-5, 5)
parts = st.floats(0, 1)
atoms = st.lists(st.tuples(numbers, numbers, parts, parts), min_size=1, max_size=6)


def tensors(rows: list[tuple[float, ...]]) -> list[torch.Tensor]:
    return [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)]


@settings(max_examples=tries(25))
@given(atoms, st.sampled_from([1.0, 0.5, 0.25]), st.booleans())
def test_a_move_atom_by_atom(rows: list[tuple[float, ...]], stride: float, some_known: bool) -> None:
    logits, target, now, before = tensors(rows)
    free = torch.tensor([place % 2 == 0 for place in range(len(rows))]) if some_known else None
    moving = [row for place, row in enumerate(rows) if free is None or bool(free[place])]
    table = DenseTable("p", (len(rows),))
    found = moved(table, logits, target, now, before, stride, free)
    after = [old + stride * (new - old) for old, new, _, _ in rows]
    assert found.logits.tolist() == pytest.approx(after)
    assert found.marginals.tolist() == pytest.approx([1 / (1 + math.exp(-z)) for z in after])
    assert found.slope.value == pytest.approx(sum((t - z) * (q - b) for z, t, q, b in moving), abs=1e-12)
    assert found.slope.size >= sum(abs(q - b) * (1 + abs(z) + abs(t - z)) for z, t, q, b in moving) - 1e-9
    shifts = [
        abs(1 / (1 + math.exp(-z)) - q)
        for place, (z, (_, _, q, _)) in enumerate(zip(after, rows, strict=True))
        if free is None or bool(free[place])
    ]
    assert found.far == pytest.approx(max(shifts, default=0.0))


def test_a_stride_is_halved_where_the_bound_falls_and_grows_where_it_rises() -> None:
    assert after_slope(0.5, Slope(-0.1, 1.0)) == 0.25
    assert after_slope(0.5, Slope(0.1, 1.0)) == pytest.approx(0.6)
    assert after_slope(SHORTEST, Slope(-0.1, 1.0)) == SHORTEST
    assert after_slope(LONGEST, Slope(0.1, 1.0)) == LONGEST


@pytest.mark.parametrize("value", [-1e-16, 0.0, 1e-16])
def test_rounding_does_not_decide(value: float) -> None:
    assert after_slope(0.5, Slope(value, 1.0)) == pytest.approx(0.6)


def test_a_small_fall_of_small_moves_is_a_fall() -> None:
    """Near the end moves are small, and an oscillation must still be seen."""
    assert after_slope(0.5, Slope(-1e-18, 1e-9)) == 0.25


@settings(max_examples=tries(15))
@given(atoms, st.integers(0, 5))
def test_an_entry_for_many_atoms_counts_as_often(rows: list[tuple[float, ...]], more: int) -> None:
    """The last of the rows is what all atoms have that are not listed."""
    every = rows + [rows[-1]] * more
    listed = ListedTable("p", (len(every),), np.arange(len(rows) - 1))
    short = moved(listed, *tensors(rows), 1.0, None).slope
    long = moved(DenseTable("p", (len(every),)), *tensors(every), 1.0, None).slope
    assert short.value == pytest.approx(long.value, abs=1e-12)
