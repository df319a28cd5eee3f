"""Compiled loops and sparse products against the sums they stand for, derivatives included."""

from __future__ import annotations

from bisect import bisect_left
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from herbrand.contraction import joins, kernels
from herbrand.contraction.joins import Compressed, Rows, Triangle
from herbrand.contraction.products import LEFT, MASK, RIGHT, row_sums, triangle_at_mask
from tests.laws import tries

FEW = settings(
    max_examples=tries(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
HEIGHT, INNER, WIDTH = 4, 3, 5

Cells = list[tuple[int, int]]


def cells(height: int, width: int) -> st.SearchStrategy[Cells]:
    return st.lists(
        st.tuples(st.integers(0, height - 1), st.integers(0, width - 1)), unique=True, max_size=12
    )


def compressed(listed: Cells, shape: tuple[int, int]) -> Compressed:
    table = np.array(listed, np.int64).reshape(len(listed), 2)
    return Compressed.of(table[:, 0], table[:, 1], shape)


def values(count: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5


def written_out(listed: Cells, numbers: Any, shape: tuple[int, int]) -> torch.Tensor:
    table = torch.zeros(shape, dtype=torch.float64)
    for (row, column), number in zip(listed, numbers, strict=True):
        table[row, column] = number
    return table


class TestLoops:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("width", [0, 1, 3])
    @FEW
    @given(listed=cells(HEIGHT, INNER))
    def test_sampled_products(self, listed: Cells, width: int, dtype: type) -> None:
        listed = sorted(listed)
        matrix = compressed(listed, (HEIGHT, INNER))
        left = np.arange(HEIGHT * width, dtype=dtype).reshape(HEIGHT, width)
        right = np.arange(INNER * width, dtype=dtype).reshape(INNER, width) - 2
        found = kernels.sampled_products(matrix.pointers, matrix.columns, left, right)
        assert found.dtype == dtype
        assert found.tolist() == [sum(left[i, k] * right[j, k] for k in range(width)) for i, j in listed]

    @FEW
    @given(st.lists(st.integers(0, 30), max_size=40).map(sorted), st.data())
    def test_gallop_is_bisection(self, listed: list[int], data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(listed)))
        stop = data.draw(st.integers(start, len(listed)))
        wanted = data.draw(st.integers(-1, 31))
        array = np.array(listed, np.int64)
        assert kernels._gallop(array, start, stop, wanted) == bisect_left(listed, wanted, start, stop)

    @pytest.mark.parametrize("target", [MASK, LEFT, RIGHT])
    @FEW
    @given(cells(HEIGHT, INNER), cells(INNER, WIDTH), cells(HEIGHT, WIDTH))
    def test_both_walks_over_triangles_give_the_sum(
        self, target: int, left: Cells, right: Cells, mask: Cells
    ) -> None:
        """What each entry of the target is multiplied by, added up over all triangles that it is in."""
        left, right, mask = sorted(left), sorted(right), sorted(mask)
        numbers = [values(len(one), seed).numpy() for seed, one in enumerate((mask, left, right))]
        expected = np.zeros(len((mask, left, right)[target]))
        for (e, (i, k)), (one, (row, inner)), (other, (middle, column)) in product(
            enumerate(mask), enumerate(left), enumerate(right)
        ):
            if (row, middle, column) == (i, inner, k):
                factors = [numbers[MASK][e], numbers[LEFT][one], numbers[RIGHT][other]]
                own = (e, one, other)[target]
                expected[own] += np.prod([f for role, f in enumerate(factors) if role != target])
        first, third = compressed(left, (HEIGHT, INNER)), compressed(mask, (HEIGHT, WIDTH))
        second = compressed(right, (INNER, WIDTH))
        walked = np.zeros_like(expected)
        of_left = (first.pointers, first.columns, numbers[LEFT])
        of_mask = (third.pointers, third.columns, numbers[MASK])
        of_right = (second.pointers, second.columns, numbers[RIGHT])
        kernels.triangle_by_rows(target, *of_left, *of_right, *of_mask, WIDTH, walked)
        np.testing.assert_allclose(walked, expected)
        by_columns = sorted(range(len(right)), key=lambda entry: right[entry][::-1])
        flipped = compressed([right[entry][::-1] for entry in by_columns], (WIDTH, INNER))
        intersected = np.zeros_like(expected)
        of_columns = (flipped.pointers, flipped.columns, numbers[RIGHT][by_columns])
        kernels.triangle_by_entries(target, *of_left, *of_columns, *of_mask, intersected)
        if target == RIGHT:
            expected = expected[by_columns]
        np.testing.assert_allclose(intersected, expected)


class TestRowSums:
    @FEW
    @given(cells(HEIGHT, INNER))
    def test_a_matrix_times_a_table(self, listed: Cells) -> None:
        """In whatever order the entries are listed, and in either orientation."""
        rows, inner = (np.array([cell[side] for cell in listed], np.int64) for side in (0, 1))
        numbers, table = values(len(listed)), values(INNER * 2, 1).reshape(INNER, 2)
        found = Rows.of(rows, inner, (HEIGHT, INNER))
        matrix = written_out(listed, numbers, (HEIGHT, INNER))
        torch.testing.assert_close(row_sums(found, numbers, table), matrix @ table)
        turned = values(HEIGHT, 2).reshape(HEIGHT, 1)
        torch.testing.assert_close(row_sums(found.transposed, numbers, turned), matrix.T @ turned)

    @pytest.mark.parametrize(
        "listed", [[(0, 1), (2, 0), (2, 2)], [(2, 0), (0, 1), (3, 1)], [(3, 2), (0, 0)], []]
    )
    def test_any_derivative(self, listed: Cells) -> None:
        rows, inner = (np.array([cell[side] for cell in listed], np.int64) for side in (0, 1))
        found = Rows.of(rows, inner, (HEIGHT, INNER))
        numbers = values(len(listed)).requires_grad_()
        table = values(INNER * 2, 1).reshape(INNER, 2).requires_grad_()

        def run(*given: torch.Tensor) -> torch.Tensor:
            return row_sums(found, *given)

        assert gradcheck(run, (numbers, table))
        if listed:
            assert gradgradcheck(run, (numbers, table))

    def test_only_what_is_wanted_is_differentiated(self) -> None:
        found = Rows.of(np.array([0, 1]), np.array([0, 0]), (2, 1))
        table = torch.tensor([[3.0]], dtype=torch.float64, requires_grad=True)
        row_sums(found, torch.tensor([1.0, 2.0], dtype=torch.float64), table).sum().backward()
        assert table.grad is not None and table.grad.item() == 3.0


class TestTriangles:
    @pytest.mark.parametrize("cost", [0.0, 1e9])
    @FEW
    @given(left=cells(HEIGHT, INNER), right=cells(INNER, WIDTH), mask=cells(HEIGHT, WIDTH))
    def test_a_product_at_the_entries_of_a_mask(
        self, cost: float, left: Cells, right: Cells, mask: Cells, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(joins, "INTERSECTION_COST", cost)
        triangle = Triangle(
            compressed(left, (HEIGHT, INNER)).sorted,
            compressed(right, (INNER, WIDTH)).sorted,
            compressed(mask, (HEIGHT, WIDTH)).sorted,
        )
        one, other = values(len(left)), values(len(right), 1)
        full = written_out(left, one, (HEIGHT, INNER)) @ written_out(right, other, (INNER, WIDTH))
        expected = torch.tensor([full[cell] for cell in mask], dtype=torch.float64)
        torch.testing.assert_close(triangle_at_mask(triangle, one, other), expected)

    @pytest.mark.parametrize("cost", [0.0, 1e9])
    def test_any_derivative(self, cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(joins, "INTERSECTION_COST", cost)
        left = [(2, 1), (0, 0), (0, 1), (3, 2)]
        right = [(1, 4), (0, 2), (1, 2), (2, 0)]
        mask = [(3, 0), (0, 2), (2, 4), (1, 1), (0, 4)]
        triangle = Triangle(
            compressed(left, (HEIGHT, INNER)).sorted,
            compressed(right, (INNER, WIDTH)).sorted,
            compressed(mask, (HEIGHT, WIDTH)).sorted,
        )
        assert triangle.by_entries is (cost == 0.0)
        starts = (values(4).requires_grad_(), values(4, 1).requires_grad_())

        def run(*given: torch.Tensor) -> torch.Tensor:
            return triangle_at_mask(triangle, *given)

        assert gradcheck(run, starts)
        assert gradgradcheck(run, starts)
