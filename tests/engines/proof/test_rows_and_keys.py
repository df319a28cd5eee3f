"""Rows of constants as numbers, questions, and rows that grow, beside dictionaries that do the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.proof import fixpoint
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.fixpoint import FixpointRows
from herbrand.engines.proof.table import ROW, Answers, Questions, Table
from herbrand.row_keys import row_pointers, run_starts
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
HUGE = 2**31


def random_rows(rng: np.random.Generator, sizes: list[int], count: int) -> list[np.ndarray]:
    return [rng.integers(0, size, count) for size in sizes]


def as_tuples(columns: list[np.ndarray], count: int) -> list[tuple[int, ...]]:
    return list(zip(*(c.tolist() for c in columns), strict=True)) if columns else [()] * count


@quick
@given(seeds)
def test_pointers_and_runs(rng: np.random.Generator) -> None:
    size = int(rng.integers(1, 6))
    numbers = rng.integers(0, size, rng.integers(0, 12))
    pointers = row_pointers(numbers, size)
    in_order = sorted(numbers.tolist())
    for value in range(size):
        assert in_order[pointers[value] : pointers[value + 1]] == [value] * in_order.count(value)
    starts = run_starts(numbers).tolist()
    plain = [place for place in range(len(numbers)) if not place or numbers[place] != numbers[place - 1]]
    assert starts == plain


@quick
@given(seeds)
def test_questions_are_numbered_as_they_are_first_asked(rng: np.random.Generator) -> None:
    sizes = [3, 4][: int(rng.integers(1, 3))]
    asked, known = Questions(sizes), {}
    for _ in range(4):
        columns = random_rows(rng, sizes, int(rng.integers(1, 6)))
        rows = as_tuples(columns, 0)
        fresh = sorted({row for row in rows if row not in known})
        numbers = asked.add(columns)
        assert numbers.tolist() == list(range(len(known), len(known) + len(fresh)))
        known |= {row: len(known) + place for place, row in enumerate(fresh)}
        assert len(asked) == len(known)
        assert asked.places(columns).tolist() == [known[row] for row in rows]
        for row, number in known.items():
            assert tuple(column[number] for column in asked.columns) == row
    every = [np.array(column) for column in zip(*np.ndindex(*sizes), strict=True)]
    wanted = [known.get(row, -1) for row in as_tuples(every, 0)]
    assert asked.places(every).tolist() == wanted


def test_questions_over_more_constants_than_64_bits_number() -> None:
    """The same row is the same question, whatever is asked beside it."""
    asked = Questions([HUGE] * 3)
    last = np.array([HUGE - 1])
    assert asked.add([last, last, last]).tolist() == [0]
    other = [np.array([0, HUGE - 1])] * 3
    assert asked.places(other).tolist() == [-1, 0]
    assert asked.add(other).tolist() == [1]
    assert asked.places(other).tolist() == [1, 0]


def test_a_question_without_inputs_is_asked_once() -> None:
    asked = Questions([])
    assert asked.places([], 2).tolist() == [-1, -1]
    assert asked.add([]).tolist() == [0] and asked.add([]).tolist() == [] and len(asked) == 1
    assert asked.places([], 3).tolist() == [0, 0, 0]


@quick
@given(seeds)
def test_ranges_of_answers(rng: np.random.Generator) -> None:
    """Where the answers to each row's question stand, asked in any order and more than once."""
    asked = Questions([5])
    asked.add([rng.permutation(5)[:3]])
    asked.add([np.arange(5)])
    numbers = np.sort(rng.integers(0, 5, 8))
    table = Table((ROW, "o0"), (numbers, np.arange(8)), np.ones(8))
    answers = Answers(asked, table)
    wanted = rng.integers(0, 5, 7)
    first, counts = answers.ranges([wanted], 7)
    for constant, start, count in zip(wanted, first, counts, strict=True):
        number = asked.columns[0].tolist().index(constant)
        assert (
            answers.table.columns[1][start : start + count].tolist()
            == np.flatnonzero(numbers == number).tolist()
        )
    assert answers.only_column.dtype == np.int32


class Kept:
    """What :class:`FixpointRows` does, in a dictionary."""

    def __init__(self, best: bool) -> None:
        self.rows: dict[tuple[int, ...], float] = {}
        self._best = best

    def add(self, rows: list[tuple[int, ...]], values: list[float]) -> dict[tuple[int, ...], float]:
        together: dict[tuple[int, ...], float] = {}
        for row, value in zip(rows, values, strict=True):
            before = together.get(row, 0.0)
            together[row] = max(before, value) if self._best else before + value
        moved = {}
        for row, value in together.items():
            before = self.rows.get(row, 0.0)
            after = max(before, value) if self._best else before + value
            if after != before:
                self.rows[row], moved[row] = after, value
        return moved


@quick
@given(seeds, st.sampled_from(["real", "max_product", "boolean"]), st.sampled_from([2**28, 0, 200]))
def test_rows_that_grow(rng: np.random.Generator, algebra: str, dense_bytes: int) -> None:
    """In a place for each, in a sorted list, or first the one and then, when they outgrow it, the other."""
    sizes = [1, 3, 2]
    arithmetic = Numbers.of(algebra)
    plain = Kept(arithmetic.best)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixpoint, "DENSE_BYTES", dense_bytes)
        grown = FixpointRows((ROW, "x", "y"), sizes, arithmetic, 10**9)
        for turn in range(5):
            count = int(rng.integers(0, 6))
            columns = random_rows(rng, [1 + 2 * turn, 3, 2], count)
            values = rng.integers(1, 4, count).astype(float)
            if algebra == "boolean":
                values[:] = 1.0
            if algebra == "real" and rng.random() < 0.3:
                values[:] *= -1.0
            new = grown.add(Table((ROW, "x", "y"), tuple(columns), values))
            moved = plain.add(as_tuples(columns, count), values.tolist())
            assert dict(zip(as_tuples(list(new.columns), 0), new.values.tolist(), strict=True)) == moved
            held = grown.table
            rows = as_tuples(list(held.columns), 0)
            found = dict(zip(rows, held.values.tolist(), strict=True))
            assert {row: value for row, value in found.items() if value} == {
                row: value for row, value in plain.rows.items() if value
            }
            assert rows == sorted(rows) and len(grown) == len(rows)


def test_rows_that_outgrow_64_bits_while_they_are_kept() -> None:
    """The number of questions grows: their keys become others, the rows stay."""
    sizes = [1, HUGE, 2**30]
    grown, names = FixpointRows((ROW, "x", "y"), sizes, Numbers.of("real"), 10**9), (ROW, "x", "y")
    for number in (0, 5, 0):
        columns = (np.array([number]), np.array([HUGE - 1]), np.array([3]))
        assert len(grown.add(Table(names, columns, np.ones(1)))) == 1
    assert [column.tolist() for column in grown.table.columns] == [[0, 5], [HUGE - 1] * 2, [3, 3]]
    assert grown.table.values.tolist() == [2.0, 1.0]


def test_what_an_increment_leaves_as_it_is_has_settled() -> None:
    rows = FixpointRows((ROW, "x"), [1, 2], Numbers.of("real"), 10**6)

    def one(value: float) -> Table:
        return Table((ROW, "x"), (np.array([0]), np.array([1])), np.array([value]))

    assert len(rows.add(one(1.0))) == 1
    assert len(rows.add(one(1e-17))) == 0
    assert len(rows.add(one(1e-10))) == 1
    assert rows.table.values.tolist() == [1.0 + 1e-10]
