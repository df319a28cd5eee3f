"""The integers of sparse steps, each against loops over the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from herbrand.contraction import Support, joins
from herbrand.contraction.expression import Axes
from herbrand.contraction.joins import Compressed, Rows, Triangle
from tests.laws import tries

FEW = settings(
    max_examples=tries(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SIZES = {"a": 3, "b": 2, "c": 4, "d": 1}
Row = tuple[int, ...]


@pytest.fixture(params=["by key", "by rank"])
def numbering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are numbered by their keys where a table is small, else by their rank among those that occur."""
    if request.param == "by rank":
        monkeypatch.setattr(joins, "SMALL", 0)
        monkeypatch.setattr(joins, "ROOMY", 0)


either_numbering = pytest.mark.usefixtures("numbering")


def support(rows: Sequence[Row], axes: Axes) -> Support:
    indices = np.array(sorted(set(rows)), np.int64).reshape(len(set(rows)), len(axes))
    return Support(indices, tuple(SIZES[axis] for axis in axes))


def supports(axes: Axes) -> st.SearchStrategy[Support]:
    cells = list(product(*(range(SIZES[axis]) for axis in axes)))
    return st.lists(st.sampled_from(cells), max_size=12).map(lambda rows: support(rows, axes))


def rows_of(one: Support) -> list[Row]:
    return list(map(tuple, one.indices.tolist()))


def bound(row: Row, axes: Axes) -> dict[str, int]:
    return dict(zip(axes, row, strict=True))


def pairs(
    left: Support, left_axes: Axes, right: Support, right_axes: Axes
) -> Iterator[tuple[int, int, dict]]:
    """Entries that agree on the axes they share, and what they bind together."""
    for i, one in enumerate(rows_of(left)):
        for j, two in enumerate(rows_of(right)):
            first, second = bound(one, left_axes), bound(two, right_axes)
            if all(first[axis] == second[axis] for axis in set(left_axes) & set(right_axes)):
                yield i, j, first | second


entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), unique=True, max_size=12)


def entries_of(matrix: Compressed) -> list[tuple[int, int]]:
    """Row and column of every entry, as the pointers tell."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.pointers))
    return list(zip(rows.tolist(), matrix.columns.tolist(), strict=True))


def columns_of(listed: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(listed, np.int64).reshape(len(listed), 2)
    return table[:, 0], table[:, 1]


class TestCompressed:
    @FEW
    @given(entries)
    def test_every_entry_is_where_it_was(self, listed: list[tuple[int, int]]) -> None:
        matrix = Compressed.of(*columns_of(listed), (5, 4))
        assert [listed[value] for value in matrix.value_numbers(np.arange(len(listed)))] == entries_of(matrix)
        if [row for row, _ in listed] == sorted(row for row, _ in listed):
            assert matrix.order is None

    @FEW
    @given(entries)
    def test_the_inverse_undoes_the_order(self, listed: list[tuple[int, int]]) -> None:
        matrix = Compressed.of(*columns_of(listed), (5, 4))
        if matrix.order is None:
            assert matrix.inverse is None
        else:
            assert (matrix.order[matrix.inverse] == np.arange(len(listed))).all()

    @FEW
    @given(entries)
    def test_sorted_by_rows_then_columns(self, listed: list[tuple[int, int]]) -> None:
        matrix = Compressed.of(*columns_of(listed), (5, 4)).sorted
        assert entries_of(matrix) == sorted(listed)
        assert [listed[value] for value in matrix.value_numbers(np.arange(len(listed)))] == sorted(listed)
        assert matrix.sorted is matrix or (matrix.sorted.columns == matrix.columns).all()

    @FEW
    @given(entries)
    def test_as_a_matrix_with_values(self, listed: list[tuple[int, int]]) -> None:
        matrix = Compressed.of(*columns_of(listed), (5, 4))
        values = np.arange(1.0, len(listed) + 1)
        expected = np.zeros((5, 4))
        for value, cell in zip(values, listed, strict=True):
            expected[cell] = value
        found = matrix.with_values(values[matrix.value_numbers(np.arange(len(listed)))])
        np.testing.assert_array_equal(found.toarray(), expected)

    @FEW
    @given(entries, st.data())
    def test_rows_are_kept_in_whichever_orientation_needs_no_reordering(
        self, listed: list[tuple[int, int]], data: st.DataObject
    ) -> None:
        listed = data.draw(st.sampled_from([listed, sorted(listed), sorted(listed, key=lambda e: e[::-1])]))
        rows, inner = columns_of(listed)
        found = Rows.of(rows, inner, (5, 4))
        placed = [cell[::-1] if found.flipped else cell for cell in entries_of(found.matrix)]
        order = found.matrix.value_numbers(np.arange(len(listed)))
        assert [listed[value] for value in order] == placed
        assert found.transposed.flipped is not found.flipped
        if (np.diff(rows) >= 0).all() or (np.diff(inner) >= 0).all():
            assert found.matrix.order is None


class TestSelections:
    @pytest.mark.parametrize(
        ("axes", "order"),
        [
            (("a", "b"), ("a", "b")),
            (("a", "a"), ("a",)),
            (("a", "b", "a"), ("a", "b")),
            (("a", "a", "a"), ("a",)),
            (("b", "d"), ("b",)),
            (("b", "d", "b", "d"), ("b",)),
        ],
    )
    @FEW
    @given(data=st.data())
    def test_diagonals_and_axes_of_size_one_are_taken(
        self, axes: Axes, order: Axes, data: st.DataObject
    ) -> None:
        table = data.draw(supports(axes))
        found, kept = joins.taken(table, axes, order)
        rows = rows_of(table)
        on = [n for n, row in enumerate(rows) if all(bound(row, axes)[x] == v for x, v in zip(axes, row))]  # noqa: B905
        assert rows_of(found) == [tuple(bound(rows[n], axes)[axis] for axis in order) for n in on]
        assert found.shape == tuple(SIZES[axis] for axis in order)
        assert (kept.tolist() if kept is not None else list(range(len(rows)))) == on

    @FEW
    @given(supports(("a", "b", "a")))
    def test_off_the_diagonal(self, table: Support) -> None:
        found, kept = joins.off_diagonal(table, 0, 2)
        assert rows_of(found) == [row for row in rows_of(table) if row[0] != row[2]]
        assert [rows_of(table)[entry] for entry in kept] == rows_of(found)

    @FEW
    @given(supports(("a", "b")), st.sampled_from([(2,), (2, 3), (1,)]))
    def test_a_grid_has_every_index_of_the_further_axes(self, table: Support, widths: Row) -> None:
        cells = list(product(*map(range, widths)))
        found = joins.grid(table, widths)
        assert rows_of(found) == [(*row, *cell) for row in rows_of(table) for cell in cells]
        assert found.shape == table.shape + widths

    @pytest.mark.parametrize("order", [("a", "b"), ("b", "a"), ("b", "d", "a"), ("d", "a", "b")])
    @FEW
    @given(table=supports(("a", "b")))
    def test_reordered(self, order: Axes, table: Support) -> None:
        found, origin = joins.reordered(table, ("a", "b"), order)
        moved = [tuple(bound(row, ("a", "b")).get(axis, 0) for axis in order) for row in rows_of(table)]
        assert rows_of(found) == sorted(moved) == [moved[entry] for entry in origin]
        assert found.shape == tuple(SIZES[axis] for axis in order)

    @FEW
    @given(st.lists(supports(("a", "b")), min_size=1, max_size=4))
    def test_a_union_has_every_entry_once(self, tables: list[Support]) -> None:
        found, places = joins.union(tables)
        assert rows_of(found) == sorted({row for table in tables for row in rows_of(table)})
        for table, own in zip(tables, places, strict=True):
            assert [rows_of(found)[place] for place in own] == rows_of(table)

    @pytest.mark.parametrize("kept", [(), ("a",), ("c",), ("c", "a"), ("b", "c")])
    @FEW
    @given(table=supports(("a", "b", "c")))
    def test_rows_by_number_and_rows_that_occur(self, kept: Axes, table: Support) -> None:
        axes: Axes = ("a", "b", "c")
        parts = [tuple(bound(row, axes)[axis] for axis in kept) for row in rows_of(table)]
        every = list(product(*(range(SIZES[axis]) for axis in kept)))
        assert [every[number] for number in joins.row_numbers(table, axes, kept)] == parts
        found, places = joins.occupied_rows(table, axes, kept)
        assert rows_of(found) == sorted(set(parts))
        assert [rows_of(found)[place] for place in places] == parts

    @either_numbering
    @FEW
    @given(supports(("a", "b", "c")), supports(("c", "a")))
    def test_places_of_the_entries_that_agree(self, table: Support, other: Support) -> None:
        listed = rows_of(other)
        wanted = [(row[2], row[0]) for row in rows_of(table)]
        expected = [listed.index(row) if row in listed else -1 for row in wanted]
        assert joins.places_in(table, ("a", "b", "c"), other, ("c", "a")).tolist() == expected


CASES = [
    (("a", "b"), ("b", "c"), ("a", "c")),
    (("a", "b"), ("b", "c"), ("a", "b", "c")),
    (("b", "a"), ("c", "b"), ("a", "c")),
    (("a",), ("c",), ("a", "c")),
    (("a", "b"), ("a", "c"), ("c",)),
    (("a", "b", "c"), ("c", "b", "d"), ("a", "d")),
    (("a", "b"), ("b", "c"), ("c",)),
]


class TestJoins:
    @pytest.mark.parametrize(("left_axes", "right_axes", "output"), CASES)
    @either_numbering
    @FEW
    @given(data=st.data())
    def test_an_expansion_lists_every_product_once(
        self, left_axes: Axes, right_axes: Axes, output: Axes, data: st.DataObject
    ) -> None:
        left, right = data.draw(supports(left_axes)), data.draw(supports(right_axes))
        made = joins.expansion(left, left_axes, right, right_axes, output)
        order = _result_axes(left_axes, right_axes, output)
        expected = sorted(
            (i, j, tuple(both[axis] for axis in order))
            for i, j, both in pairs(left, left_axes, right, right_axes)
        )
        listed = rows_of(made.support)
        found = sorted(
            (i, j, listed[place])
            for i, j, place in zip(made.left.tolist(), made.right.tolist(), made.places.tolist(), strict=True)
        )
        assert found == expected
        assert listed == sorted({row for _, _, row in expected})
        assert joins.join_rows(left, left_axes, right, right_axes) == len(expected)

    @pytest.mark.parametrize(("left_axes", "right_axes", "output"), CASES)
    @either_numbering
    @FEW
    @given(data=st.data())
    def test_a_product_has_the_entries_of_the_join(
        self, left_axes: Axes, right_axes: Axes, output: Axes, data: st.DataObject
    ) -> None:
        left, right = data.draw(supports(left_axes)), data.draw(supports(right_axes))
        made = joins.product(left, left_axes, right, right_axes, output)
        order = _result_axes(left_axes, right_axes, output)
        both = [both for _, _, both in pairs(left, left_axes, right, right_axes)]
        assert rows_of(made.support) == sorted({tuple(one[axis] for axis in order) for one in both})
        assert made.triangle.wedges == len(both)
        assert made.triangle.complete and not made.triangle.by_entries

    @either_numbering
    @FEW
    @given(supports(("a", "b")), supports(("b", "c")), supports(("c", "a")))
    def test_a_masked_product_shares_its_numbers(self, left: Support, right: Support, mask: Support) -> None:
        """Wedges that the mask closes are the triangles among the rows."""
        found = joins.masked_product(left, ("a", "b"), right, ("b", "c"), mask, ("c", "a"))
        closed = set(entries_of(found.mask))
        middle = entries_of(found.right)
        triangles = sum(
            (i, k) in closed for i, j in entries_of(found.left) for other, k in middle if other == j
        )
        masks = set(rows_of(mask))
        expected = [
            both
            for _, _, both in pairs(left, ("a", "b"), right, ("b", "c"))
            if (both["c"], both["a"]) in masks
        ]
        assert triangles == len(expected)
        assert len(closed) == len(mask)

    def test_intersections_are_chosen_where_they_are_less_work(self) -> None:
        """A hub on both sides of few mask entries: wedges are many, a row and a column are short."""
        size = 400
        hub = Compressed.of(np.arange(size), np.zeros(size, np.int64), (size, size))
        spread = Compressed.of(np.zeros(size, np.int64), np.arange(size), (size, size))
        few = Compressed.of(np.arange(3), np.arange(3), (size, size))
        assert Triangle(hub, spread, few).wedges == size * size
        assert Triangle(hub, spread, few).by_entries
        assert not Triangle(hub, spread, few, complete=True).by_entries
        assert not Triangle(few, few, few).by_entries


def _result_axes(left: Axes, right: Axes, output: Axes) -> Axes:
    """Those of the left that stay, then those that only the right has."""
    return (
        *(axis for axis in left if axis in output),
        *(axis for axis in right if axis not in left),
    )
