"""Loops over compressed rows beside dense arithmetic, on random input with empty groups and rows: as they are
written, and compiled."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.proof import join_sum
from herbrand.engines.proof.join_sum import MaskedPush, Push, Workspace
from herbrand.engines.proof.kernels import (
    Mask,
    Taken,
    add_rows,
    entries,
    pull,
    pull_back,
    pull_one,
)
from herbrand.loops import compiled, often
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
NOTHING = np.empty(0)


pytestmark = pytest.mark.usefixtures("loops_both_ways")


def compressed(rng: np.random.Generator, rows: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A relation of some rows: pointers, columns (each once a row), weights or none where all are 1."""
    chosen = [rng.permutation(width)[: rng.integers(0, width + 1)] for _ in range(rows)]
    pointers = np.concatenate([[0], np.cumsum(list(map(len, chosen)))]).astype(np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int32)
    return pointers, columns, rng.random(len(columns)) + 0.1 if rng.random() < 0.6 else NOTHING


def dense(pointers: np.ndarray, columns: np.ndarray, weights: np.ndarray, width: int) -> np.ndarray:
    table = np.zeros((len(pointers) - 1, width))
    for row, (first, last) in enumerate(pairwise(pointers.tolist())):
        table[row, columns[first:last]] = weights[first:last] if len(weights) else 1.0
    return table


def grouped(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of different constants with positive weights; some are empty."""
    sizes = rng.integers(0, rows + 1, rng.integers(1, 5))
    pivots = np.concatenate([rng.permutation(rows)[:size] for size in sizes]).astype(np.int64)
    return np.concatenate([[0], np.cumsum(sizes)]), pivots, rng.random(len(pivots)) + 0.1


def pushed(groups, pivots, values, table: np.ndarray, best: bool) -> list[dict[int, float]]:
    """What each group finds: sums, or largest terms, of weights times the table's rows."""
    found = []
    for first, last in pairwise(groups.tolist()):
        terms = values[first:last, None] * table[pivots[first:last]]
        total = terms.max(axis=0, initial=0.0) if best else terms.sum(axis=0)
        found.append({column: float(total[column]) for column in np.flatnonzero(total)})
    return found


def by_group(counts: np.ndarray, found: np.ndarray, totals: np.ndarray) -> list[dict[int, float]]:
    ends = np.append(0, np.cumsum(counts))
    return [
        dict(zip(found[first:last].tolist(), totals[first:last].tolist(), strict=True))
        for first, last in pairwise(ends.tolist())
    ]


def assert_groups(found: list[dict[int, float]], expected: list[dict[int, float]]) -> None:
    assert len(found) == len(expected)
    for mine, wanted in zip(found, expected, strict=True):
        assert mine == pytest.approx(wanted)


@quick
@given(seeds, st.booleans(), st.sampled_from([1, 4, 2**20]), st.sampled_from([0, 3, 2**20]))
def test_pushes(rng: np.random.Generator, best: bool, chunk: int, at_once: int) -> None:
    """In one piece and in many; a workspace is used again and again."""
    rows, width = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    relation = compressed(rng, rows, width)
    table, workspace = dense(*relation, width), Workspace()
    asked: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_sum, "CHUNK", chunk)
        patch.setattr(join_sum, "most_at_once", lambda _: at_once)
        for _ in range(3):
            groups = grouped(rng, rows)
            push = Push(Taken(*groups, *relation), width, workspace)
            found = push.forward(best, lambda entries, columns: asked.append(entries))
            assert_groups(by_group(*found), pushed(*groups, table, best))
    assert asked and asked[-1] == len(found[1])


@quick
@given(seeds, st.booleans(), st.sampled_from([0, 3, 2**20]))
def test_pushes_where_a_second_relation_has_a_row(rng: np.random.Generator, best: bool, at_once: int) -> None:
    rows, width = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    relation = compressed(rng, rows, width)
    groups = grouped(rng, rows)
    number = len(groups[0]) - 1
    others = compressed(rng, number, width)
    mask = Mask(others[0][:-1], np.diff(others[0]), others[1], others[2])
    masked = MaskedPush(Taken(*groups, *relation), mask, width, Workspace())
    second = dense(*others, width)
    expected = [
        {column: total * second[group, column] for column, total in sums.items() if second[group, column]}
        for group, sums in enumerate(pushed(*groups, dense(*relation, width), best))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_sum, "most_at_once", lambda _: at_once)
        assert_groups(by_group(*masked.forward(best, lambda entries, columns: None)), expected)


@quick
@given(seeds, st.booleans())
def test_pulls(rng: np.random.Generator, best: bool) -> None:
    """Every row from its sources; rows that nothing reaches are emptied of what stood there."""
    rows, width, many = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    relation = compressed(rng, rows, width)
    table = dense(*relation, width)
    state = rng.random((width, many)) * (rng.random((width, 1)) < 0.6)
    active = np.any(state, axis=1)
    made, touched = np.full((rows, many), 7.0), np.zeros(rows, bool)
    filled = often(pull, 1)(*relation, state, active, best, made, touched)
    terms = table[:, :, None] * state[None]
    expected = terms.max(axis=1) if best else terms.sum(axis=1)
    assert made == pytest.approx(expected)
    assert filled == bool(touched.any())
    assert (expected[~touched] == 0).all()
    for column in range(many):
        one = np.full(rows, 7.0)
        any_one = often(pull_one, 1)(*relation, np.ascontiguousarray(state[:, column]), best, one)
        assert one == pytest.approx(expected[:, column]) and any_one == bool(expected[:, column].any())


@quick
@given(seeds)
def test_the_ways_back_are_derivatives(rng: np.random.Generator) -> None:
    """Sums are linear in each argument: the derivative is the other arguments' dense product."""
    rows, width = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    pointers, columns, _ = compressed(rng, rows, width)
    weights = rng.random(len(columns)) + 0.1
    groups, pivots, values = grouped(rng, rows)
    number = len(groups) - 1
    table, of_entry = dense(pointers, columns, weights, width), np.repeat(np.arange(rows), np.diff(pointers))
    push = Push(Taken(groups, pivots, values, pointers, columns, weights), width, Workspace())
    counts, found, _ = push.forward(False, lambda entries, columns: None)
    slope = rng.normal(size=len(found))
    slopes = np.zeros((number, width))
    slopes[np.repeat(np.arange(number), counts), found] = slope
    group_of = np.repeat(np.arange(number), np.diff(groups))
    of_values, of_weights = push.back(counts, found, slope, [True, True])
    assert of_values == pytest.approx((table[pivots] * slopes[group_of]).sum(axis=1))
    into_rows = np.zeros((rows, width))
    np.add.at(into_rows, pivots, values[:, None] * slopes[group_of])
    assert of_weights == pytest.approx(into_rows[of_entry, columns])
    many = int(rng.integers(1, 10))
    state, told = rng.random((width, many)), rng.normal(size=(rows, many))
    of_state, of_facts = join_sum.pull_back(pointers, columns, weights, state, None, told, [True, True])
    assert of_state == pytest.approx(table.T @ told)
    assert of_facts == pytest.approx((told[of_entry] * state[columns]).sum(axis=1))
    for run in (pull_back, compiled(pull_back)):  # the same bits
        again = np.zeros_like(state), np.zeros(len(columns))
        run(pointers, columns, weights, state, np.any(state, axis=1), told, *again)
        assert (again[0] == of_state).all() and (again[1] == of_facts).all()


@quick
@given(seeds, st.booleans())
def test_rows_are_added_and_listed(rng: np.random.Generator, best: bool) -> None:
    rows, many = int(rng.integers(0, 6)), int(rng.integers(1, 4))
    total, state = rng.random((rows, many)), rng.random((rows, many)) * (rng.random((rows, many)) < 0.5)
    chosen = rng.random(rows) < 0.5
    expected = np.maximum(total, state) if best else total + state
    expected = np.where(chosen[:, None], expected, total)
    often(add_rows, 1)(total, state, chosen, best)
    assert total == pytest.approx(expected)
    columns, places, values = often(entries, 1)(state, chosen)
    listed = [
        (column, row, state[row, column])
        for column in range(many)
        for row in range(rows)
        if chosen[row] and state[row, column]
    ]
    assert list(zip(columns.tolist(), places.tolist(), values.tolist(), strict=True)) == listed
