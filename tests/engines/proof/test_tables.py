"""Weighted rows, as lists and as grids: grouping, merging and adding up, beside dictionaries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.proof import table as tables
from herbrand.engines.proof.arithmetic import Arithmetic, Numbers
from herbrand.engines.proof.differentiable import Differentiable
from herbrand.engines.proof.table import (
    GROUPING,
    ROW,
    Grid,
    State,
    Table,
    Total,
    as_state,
    empty,
    grouped,
    merged,
    without_zeros,
)
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
REAL, INTEGERS = Numbers.of("real"), Numbers.of("counting")
KINDS: dict[str, Arithmetic] = {
    "count": Numbers.of("real"),
    "max": Numbers.of("max_product"),
    "boolean": Numbers.of("boolean"),
    "exact": Numbers.of("counting"),
    "independent": Numbers.of("independent"),
    "slopes": Differentiable(positive=True),
    "slopes that may cancel": Differentiable(),
}
Rows = dict[tuple[int, ...], float]


def unlimited(rows: float, columns: int) -> None:
    """Nothing is too large."""


def plus(kind: str, one: float, other: float) -> float:
    if kind in ("max", "boolean"):
        return max(one, other)
    if kind == "independent":
        return one + other - one * other
    return one + other


def values_of(kind: str, rng: np.random.Generator, count: int) -> object:
    if kind == "boolean":
        return np.ones(count)
    if kind == "exact":
        return np.array([int(number) for number in rng.integers(1, 9, count)], dtype=object)
    numbers = rng.uniform(0.1, 0.9, count)
    return torch.tensor(numbers) if kind.startswith("slopes") else numbers


def table_of(kind: str, rng: np.random.Generator, sizes: list[int], distinct: bool) -> Table:
    """Rows in the order of the first column, as every state's are."""
    possible = list(np.ndindex(*sizes))
    count = int(rng.integers(0, len(possible) + 1))
    places = rng.permutation(len(possible))[:count] if distinct else rng.integers(0, len(possible), count)
    rows = np.array([possible[place] for place in np.sort(places)], np.int64).reshape(count, len(sizes))
    names = (ROW, *(f"c{place}" for place in range(1, len(sizes))))
    return Table(names, tuple(rows.T), values_of(kind, rng, count))


def told(kind: str, table: Table) -> list[tuple[tuple[int, ...], float]]:
    numbers = KINDS[kind].numbers(table.values).tolist()
    return list(zip(zip(*(c.tolist() for c in table.columns), strict=True), numbers, strict=True))


def summed(kind: str, rows: list[tuple[tuple[int, ...], float]]) -> Rows:
    found: Rows = {}
    for row, value in rows:
        found[row] = plus(kind, found[row], value) if row in found else value
    return found


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(seeds, st.sampled_from([0, 4, 1000]))
def test_rows_that_agree_become_one(kind: str, rng: np.random.Generator, few: int) -> None:
    """By counting and by sorting; on columns in any order, or on none but the first."""
    sizes = [2, 3, 2]
    table = table_of(kind, rng, sizes, distinct=False)
    live = [(ROW, "c1"), (ROW, "c2", "c1"), (ROW,), (ROW, "c1", "c2")][int(rng.integers(4))]
    places = [table.names.index(name) for name in live]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "FEW_KEYS", few)
        found = grouped(table, live, [sizes[place] for place in places], KINDS[kind])
    wanted = summed(kind, [(tuple(row[p] for p in places), value) for row, value in told(kind, table)])
    rows = told(kind, found)
    assert found.names == live
    assert dict(rows) == pytest.approx(wanted) and len(rows) == len(wanted)
    assert all(one < other for (one, _), (other, _) in pairwise(rows))


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(seeds, st.sampled_from([0, 2**23]), st.sampled_from([0, 1, 2**20]))
def test_states_add_up(kind: str, rng: np.random.Generator, largest: int, waiting: int) -> None:
    """However many come, as lists or as grids, settled early or late; those that came stay as they were."""
    arithmetic, sizes = KINDS[kind], [3, 4]
    parts = [table_of(kind, rng, sizes, distinct=True) for _ in range(int(rng.integers(0, 5)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "LARGEST_GRID", largest)
        patch.setattr(tables, "MOST_WAITING", waiting)
        states: list[State] = [
            as_state(part, sizes, arithmetic) if rng.random() < 0.5 else part for part in parts
        ]
        before = [told(kind, state.sparse()) for state in states]
        total = Total((ROW, "o0"), sizes, arithmetic, unlimited)
        for state in states:
            total.add(state)
        wanted = summed(kind, [pair for rows in before for pair in rows])
        for found in (
            total.table(),
            total.state().sparse(),
            merged(states, (ROW, "o0"), sizes, arithmetic, unlimited).sparse(),
        ):
            assert found.names == (ROW, "o0")
            assert dict(told(kind, found)) == pytest.approx(wanted) and len(found) == len(wanted)
        assert [told(kind, state.sparse()) for state in states] == before


@quick
@given(seeds)
def test_a_grid_is_its_entries(rng: np.random.Generator) -> None:
    """Row by row, constants ascending; 0 is no entry."""
    rows, width = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    matrix = rng.random((width, rows)) * (rng.random((width, rows)) < 0.5)
    touched = matrix.any(axis=1) | (rng.random(width) < 0.3) if rng.random() < 0.5 else None
    grid = Grid((ROW, "x"), matrix, True, touched)
    assert (
        grid.rows == rows
        and grid.active.tolist() == (matrix.any(axis=1) if touched is None else touched).tolist()
    )
    listed = [
        ((row, constant), matrix[constant, row])
        for row in range(rows)
        for constant in range(width)
        if matrix[constant, row]
    ]
    assert told("count", grid.sparse()) == listed
    assert told("count", grid.scaled(2.0, REAL).named((ROW, "y")).sparse()) == [
        (row, 2 * v) for row, v in listed
    ]
    again = as_state(grid.sparse(), [rows, width], REAL)
    assert isinstance(again, Grid) and (again.matrix == matrix).all()


@pytest.mark.parametrize(
    ("sizes", "rows", "dense"),
    [
        ([1, 2**13], 1, True),
        ([1, 2**13 + 1], 1, False),
        ([1, 2**13 + 1], 200, True),
        ([2**12, 2**12], 2**12, False),
    ],
)
def test_when_a_list_becomes_a_grid(sizes: list[int], rows: int, dense: bool) -> None:
    """Where all places are few, or a fiftieth of them is filled; never beyond the largest."""
    columns = (np.zeros(rows, np.int64), np.arange(rows))
    table = Table((ROW, "x"), columns, np.ones(rows))
    assert isinstance(as_state(table, sizes, REAL), Grid) == dense
    assert as_state(table, sizes, INTEGERS) is table
    wider = table.with_column("y", columns[1])
    assert as_state(wider, [*sizes, rows], REAL) is wider


def test_columns_of_a_table() -> None:
    table = Table(
        (ROW, "x", "y"), (np.array([0, 1]), np.array([3, 4]), np.array([5, 6])), np.array([1.0, 0.0])
    )
    turned = table.arranged((ROW, "y", "x"))
    assert turned.names == (ROW, "y", "x") and turned.column("x").tolist() == [3, 4]
    assert table.take(np.array([1]), REAL).column("y").tolist() == [6]
    assert without_zeros(table, REAL).columns[1].tolist() == [3]
    kept = without_zeros(table.take(np.array([0]), REAL), REAL)
    assert len(kept) == 1 and bool(kept)
    none = empty((ROW, "x"), INTEGERS)
    assert not none and none.values.dtype == object and none.names == (ROW, "x")
    same = table.named((ROW, "a", "b"))
    assert same.identity == table.identity and table.scaled(1.0, REAL).identity != table.identity


def test_memory_is_asked_for_before_tables_are_added_up() -> None:
    """A depth of four over nine thousand links took twice what --memory allowed."""
    rows = (np.zeros(3, np.int64), np.arange(3))
    table, asked = Table((ROW, "o0"), rows, REAL.ones(3)), list[tuple[float, int]]()
    total = Total((ROW, "o0"), [1, 5], REAL, lambda rows, columns: asked.append((rows, columns)))
    for _ in range(2):
        total.add(table)
    assert not asked and len(total.table()) == 3 and asked == [(6, 2 + 1 + GROUPING)]


def test_nothing_at_all_is_an_empty_table() -> None:
    total = Total((ROW, "o0"), [1, 5], REAL, unlimited)
    total.add(empty((ROW, "o0"), REAL))
    total.add(Grid((ROW, "o0"), np.zeros((5, 1)), False))
    assert not total.state() and len(total.table()) == 0
    assert not merged([], (ROW, "o0"), [1, 5], REAL, unlimited)
