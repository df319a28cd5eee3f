"""Larger runs, checked by other means: networks by transfer matrices, tables by scipy."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
import torch

from herbrand.contraction import Contraction, Dense, Sparse, Statistics, Support, contract, joins, plan, run
from herbrand.errors import UnsupportedError

RANDOM = np.random.default_rng(0)


def random_sparse(rows: int, columns: int, listed: int) -> tuple[Sparse, scipy.sparse.csr_array]:
    keys = np.unique(RANDOM.integers(0, rows * columns, listed))
    indices = np.stack((keys // columns, keys % columns), axis=1)
    values = RANDOM.random(len(keys))
    matrix = scipy.sparse.csr_array((values, (indices[:, 0], indices[:, 1])), shape=(rows, columns))
    return Sparse(Support(indices, (rows, columns)), torch.from_numpy(values)), matrix


class TestElimination:
    def test_a_long_chain(self) -> None:
        axes = [f"x{place}" for place in range(3000)]
        chain = Contraction(tuple(pairwise(axes)), (), dict.fromkeys(axes, 3), algebra="log")
        tables = torch.randn(2999, 3, 3, dtype=torch.float64)
        message = torch.zeros(3, dtype=torch.float64)
        for table in tables:
            message = torch.logsumexp(message[:, None] + table, 0)
        found = contract(chain, [Dense(table) for table in tables]).to_dense()
        torch.testing.assert_close(found, torch.logsumexp(message, 0))

    def test_marginals_are_the_gradient(self) -> None:
        """A 4 × 3 grid against its joint table."""
        cells = [(row, column) for row in range(4) for column in range(3)]
        edges = [
            (one, two) for one in cells for two in cells if abs(one[0] - two[0]) + abs(one[1] - two[1]) == 1
        ]
        edges = [(one, two) for one, two in edges if one < two]
        names = {cell: f"x{cell[0]}{cell[1]}" for cell in cells}
        operands = [(names[cell],) for cell in cells] + [(names[one], names[two]) for one, two in edges]
        sizes = dict.fromkeys(names.values(), 2)
        unary = torch.randn(12, 2, dtype=torch.float64, requires_grad=True)
        tables = torch.randn(len(edges), 2, 2, dtype=torch.float64)
        tables[0, 0, 0] = -math.inf
        relations = [Dense(table) for table in (*unary, *tables)]
        total = contract(Contraction(tuple(operands), (), sizes, algebra="log"), relations).to_dense()
        (marginals,) = torch.autograd.grad(total, unary)
        everything = Contraction(tuple(operands), tuple(sizes), sizes, algebra="log")
        joint = contract(everything, relations).to_dense().detach()
        torch.testing.assert_close(total.detach(), joint.flatten().logsumexp(0))
        for place in range(12):
            others = [dim for dim in range(12) if dim != place]
            torch.testing.assert_close(marginals[place], joint.logsumexp(others).softmax(0))

    def test_batches(self) -> None:
        axes = [f"x{place}" for place in range(20)]
        operands = tuple(("batch", *pair) for pair in pairwise(axes))
        sizes = {"batch": 7, **dict.fromkeys(axes, 2)}
        tables = torch.randn(19, 7, 2, 2, dtype=torch.float64)
        batched = contract(Contraction(operands, ("batch",), sizes, algebra="log"), list(map(Dense, tables)))
        single = Contraction(tuple(pairwise(axes)), (), dict.fromkeys(axes, 2), algebra="log")
        for index in range(7):
            alone = contract(single, [Dense(table[index]) for table in tables]).to_dense()
            torch.testing.assert_close(batched.to_dense()[index], alone)

    @pytest.mark.parametrize("algebra", ["log", "maximum"])
    def test_tables_larger_than_a_block(self, algebra: str) -> None:
        left, right = torch.randn(150, 120, dtype=torch.float64), torch.randn(120, 130, dtype=torch.float64)
        product = Contraction.parse("a b, b c -> a c", {"a": 150, "b": 120, "c": 130}, algebra=algebra)
        found = contract(product, [Dense(left), Dense(right)]).to_dense()
        joint = left[:, :, None] + right[None]
        torch.testing.assert_close(found, joint.logsumexp(1) if algebra == "log" else joint.amax(1))

    def test_more_axes_than_letters(self) -> None:
        axes = [f"x{place}" for place in range(200)]
        chain = Contraction(tuple(pairwise(axes)), ("x0", "x199"), dict.fromkeys(axes, 2))
        tables = torch.rand(199, 2, 2, dtype=torch.float64)
        torch.testing.assert_close(
            contract(chain, list(map(Dense, tables))).to_dense(), torch.linalg.multi_dot(list(tables))
        )


class TestCounting:
    def test_large_counts_are_exact(self) -> None:
        """3³⁹ lies between 2⁵³ and 2⁶³."""
        power = Contraction((("a",),) * 39, (), {"a": 1}, algebra="counting")
        assert contract(power, [Dense(torch.tensor([3]))] * 39).to_dense().item() == 3**39

    def test_counts_that_do_not_fit_are_refused(self) -> None:
        squares = Contraction.parse("a, a ->", {"a": 2}, algebra="counting")
        huge = Dense(torch.tensor([2**40, 1]))
        with pytest.raises(UnsupportedError, match="does not fit in 64 bits"):
            contract(squares, [huge, huge])

    @pytest.mark.parametrize("executor", ["dense", "sparse"])
    def test_beyond_the_floats(self, executor: str) -> None:
        indices = np.arange(2)[:, None]
        table = Sparse.of(indices, torch.tensor([2**31 + 1, 1]), (2,), algebra="counting")
        squares = Contraction.parse("a, a ->", {"a": 2}, algebra="counting")
        assert contract(squares, [table, table], executor=executor).to_dense().item() == (2**31 + 1) ** 2 + 1


class TestSparse:
    def test_against_scipy(self) -> None:
        left, left_matrix = random_sparse(3000, 2000, 20_000)
        right, right_matrix = random_sparse(2000, 2500, 20_000)
        vector = RANDOM.random(2000)
        sizes = {"a": 3000, "b": 2000}
        asked = Contraction.parse("a b, b c -> a c", {**sizes, "c": 2500})
        product = contract(asked, [left, right], executor="sparse")
        assert isinstance(product, Sparse)
        np.testing.assert_allclose(product.to_dense().numpy(), (left_matrix @ right_matrix).toarray())
        summed = contract(Contraction.parse("a b, b -> a", sizes), [left, Dense(torch.from_numpy(vector))])
        np.testing.assert_allclose(summed.to_dense().numpy(), left_matrix @ vector)

    @pytest.mark.parametrize("cost", [0.0, 1e9])
    def test_triangles_by_either_loop(self, cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(joins, "INTERSECTION_COST", cost)
        edges, matrix = random_sparse(2000, 2000, 30_000)
        cycle = Contraction.parse("a b, b c, a c ->", dict.fromkeys("abc", 2000))
        assert plan(cycle, [Statistics(30_000)] * 3).routes[0].steps[0].kind == "masked"
        values = edges.values.clone().requires_grad_()
        total = contract(cycle, [edges.with_values(values)] * 3).to_dense()
        total.backward()
        assert total.item() == pytest.approx((matrix @ matrix).multiply(matrix).sum())
        assert values.grad is not None
        assert (values.grad * values.detach()).sum().item() == pytest.approx(3 * total.item())

    def test_index_work_is_done_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        edges, _ = random_sparse(2000, 2000, 10_000)
        chain = Contraction.parse("a b, b c -> a c", dict.fromkeys("abc", 2000))
        first = contract(chain, [edges, edges], executor="sparse")
        monkeypatch.setattr(joins, "product", lambda *_: pytest.fail("worked out again"))
        again = contract(chain, [edges.with_values(2 * edges.values), edges], executor="sparse")
        assert isinstance(first, Sparse)
        assert isinstance(again, Sparse)
        assert again.support is first.support
        torch.testing.assert_close(again.values, 2 * first.values)

    def test_a_background_stays_a_background(self) -> None:
        """Open world: 0.1 everywhere but for two entries, in a table that could never be written out."""
        sizes = dict.fromkeys("ab", 10**6)
        one = Sparse.of([(1, 2), (3, 4)], [0.5, 0.9], (10**6, 10**6), 0.1)
        other = Sparse.of([(1, 2)], [2.0], (10**6, 10**6), 3.0)
        found = contract(Contraction.parse("a b, a b -> a b", sizes), [one, other])
        assert isinstance(found, Sparse)
        assert found.default == pytest.approx(0.3)
        assert found.indices.tolist() == [[1, 2], [3, 4]]
        assert found.values.tolist() == pytest.approx([1.0, 2.7])

    def test_a_background_is_summed_without_being_written_out(self) -> None:
        sizes = dict.fromkeys("ab", 10**6)
        one = Sparse.of([(1, 2)], [0.6], (10**6, 10**6), 0.1)
        found = contract(Contraction.parse("a b -> a", sizes), [one]).to_dense()
        assert found[0].item() == pytest.approx(1e5)
        assert found[1].item() == pytest.approx(1e5 + 0.5)


def test_statements_about_contractions_cost_no_torch() -> None:
    code = "import sys, herbrand.contraction.expression; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_dense_contractions_cost_no_numba() -> None:
    code = "import sys; from herbrand.contraction import contract; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_plan_can_be_run_again() -> None:
    asked = Contraction.parse("a b, b -> a", {"a": 2, "b": 2})
    found = plan(asked)
    for _ in range(2):
        assert run(found, [Dense(torch.eye(2)), Dense(torch.ones(2))]).to_dense().tolist() == [1.0, 1.0]
