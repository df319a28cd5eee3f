"""Gradients: against finite differences, and the promises made for -inf and for maxima."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from herbrand.contraction import Contraction, Dense, Relation, Sparse, contract, joins, planner, sparse_plan
from herbrand.contraction.algebra import algebra_named
from tests.contraction import problems as given_problems
from tests.contraction.problems import Problem, problems
from tests.laws import tries

SOME = settings(
    max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FEW = settings(max_examples=tries(25), deadline=None)
SMOOTH = problems(("real", "log"), least_size=1) | given_problems.joins(("real", "log"))


def as_function(problem: Problem, executor: str) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The contraction as a function of the values of its operands, at random finite values, and these."""
    torch.manual_seed(0)
    starts = [torch.rand(_values(one).shape, dtype=torch.float64) + 0.1 for one in problem.relations]

    def run(*values: Tensor) -> Tensor:
        relations = [_with(one, value) for one, value in zip(problem.relations, values, strict=True)]
        result = contract(problem.contraction, relations, executor=executor).to_dense()
        return torch.where(result > -math.inf, result, 0.0)

    return run, [start.requires_grad_() for start in starts if start is not None]


def _values(relation: Relation) -> Tensor:
    return relation.tensor if isinstance(relation, Dense) else relation.values


def _with(relation: Relation, values: Tensor) -> Relation:
    return Dense(values) if isinstance(relation, Dense) else relation.with_values(values)


@SOME
@given(SMOOTH)
@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_gradient_is_finite_difference(executor: str, problem: Problem) -> None:
    run, starts = as_function(problem, executor)
    if starts:
        assert gradcheck(run, starts)


@FEW
@given(SMOOTH)
@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_second_derivative_is_finite_difference(executor: str, problem: Problem) -> None:
    run, starts = as_function(problem, executor)
    if starts and any(start.numel() for start in starts):
        assert gradgradcheck(run, starts)


@FEW
@given(given_problems.joins(("real",), constraints=False))
def test_gradient_of_joins_and_masks(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_plan, "SMALL_TABLE", 0)
        patch.setattr(sparse_plan, "DENSE_RESULT", 0)
        patch.setattr(sparse_plan, "WEDGE_COST", 0.01)
        patch.setattr(joins, "INTERSECTION_COST", 0.0)
        planner.forget()
        run, starts = as_function(problem, "sparse")
        assert gradcheck(run, starts)
        planner.forget()


@pytest.mark.parametrize("parallel", [False, True])
def test_gradient_in_blocks(monkeypatch: pytest.MonkeyPatch, parallel: bool) -> None:
    monkeypatch.setattr("herbrand.contraction.blocks.BLOCK_ENTRIES", 16)
    monkeypatch.setattr("herbrand.contraction.blocks.FEWEST_IN_PARALLEL", 2 if parallel else 10**6)
    chain = Contraction.parse("a b, b c, c -> a", {"a": 4, "b": 5, "c": 6}, algebra="log")
    torch.manual_seed(1)
    starts = [
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 5), (5, 6), (6,))
    ]

    def run(*values: Tensor) -> Tensor:
        return contract(chain, [Dense(value) for value in values]).to_dense()

    assert gradcheck(run, starts)
    assert gradgradcheck(run, starts)


@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_the_default_takes_part_in_gradients(executor: str) -> None:
    default = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    relation = Sparse.of([(0, 1), (1, 1)], [2.0, 5.0], (2, 3), default)
    total = Contraction.parse("a b, b c -> a c", {"a": 2, "b": 3, "c": 2})
    other = Dense(torch.arange(6, dtype=torch.float64).reshape(3, 2))
    contract(total, [relation, other], executor=executor).to_dense().sum().backward()
    assert default.grad is not None
    assert default.grad.item() == pytest.approx(2 * (0 + 1 + 4 + 5))


class TestImpossible:
    """Weights of -inf make no NaN, and what is impossible has no share."""

    @pytest.mark.parametrize("executor", ["dense", "sparse"])
    def test_all_impossible(self, executor: str) -> None:
        weights = torch.full((3, 3), -math.inf, dtype=torch.float64, requires_grad=True)
        one = Sparse.of([(1,)], [0.0], (3,), -math.inf, "log")
        summed = Contraction.parse("a b, b ->", {"a": 3, "b": 3}, algebra="log")
        total = contract(summed, [Dense(weights), one], executor=executor).to_dense()
        total.backward()
        assert total.item() == -math.inf
        assert weights.grad is not None
        assert weights.grad.eq(0).all()

    def test_some_impossible(self) -> None:
        weights = torch.tensor([[0.0, -math.inf], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
        total = contract(Contraction.parse("a b ->", {"a": 2, "b": 2}, algebra="log"), [Dense(weights)])
        total.to_dense().backward()
        assert weights.grad is not None
        torch.testing.assert_close(weights.grad, torch.tensor([[1, 0], [1, 1]], dtype=torch.float64) / 3)

    @pytest.mark.parametrize("algebra", ["log", "maximum"])
    def test_plus_of_impossible(self, algebra: str) -> None:
        nothing = torch.full((2,), -math.inf, requires_grad=True)
        algebra_named(algebra).plus(nothing, nothing).sum().backward()
        assert nothing.grad is not None
        assert not nothing.grad.isnan().any()


class TestChoice:
    """The gradient of a maximum is one assignment that attains it."""

    @given(given_problems.joins(("maximum", "max_product"), constraints=False))
    @settings(max_examples=tries(60), deadline=None)
    @pytest.mark.parametrize("executor", ["dense", "sparse"])
    def test_one_entry_of_each_operand(self, executor: str, problem: Problem) -> None:
        """Ties included: the values are few, so most maxima are attained many times."""
        relations, leaves = [], []
        for relation in problem.relations:
            leaves.append(_values(relation).clone().requires_grad_())
            relations.append(_with(relation, leaves[-1]))
        asked = problem.contraction
        scalar = Contraction(asked.operands, (), asked.sizes, algebra=asked.algebra)
        total = contract(scalar, relations, executor=executor).to_dense()
        if asked.algebra == "maximum" and total > -math.inf and len(leaves[0]):
            total.backward()
            for leaf, relation in zip(leaves, problem.relations, strict=True):
                grad = leaf.grad
                assert grad is not None
                assert set(grad.unique().tolist()) <= {0.0, 1.0}
                assert grad.sum() == 1 or isinstance(relation, Sparse)
            chosen = sum((leaf.detach()[leaf.grad == 1]).sum() for leaf in leaves)  # pyright: ignore
            if all(leaf.grad.sum() == 1 for leaf in leaves):  # pyright: ignore
                assert chosen == pytest.approx(total.item())

    def test_most_probable_assignment_of_a_tied_ring(self) -> None:
        axes = [f"x{place}" for place in range(12)]
        operands = [(axis,) for axis in axes] + [(axes[i], axes[(i + 1) % 12]) for i in range(12)]
        ring = Contraction(tuple(operands), (), dict.fromkeys(axes, 2), algebra="maximum")
        unary = torch.zeros(12, 2, dtype=torch.float64, requires_grad=True)
        differ = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
        total = contract(ring, [*map(Dense, unary), *[Dense(differ)] * 12]).to_dense()
        total.backward()
        assert unary.grad is not None
        assert total.item() == 12
        assert unary.grad.sum(1).eq(1).all()
        values = unary.grad.argmax(1)
        assert (values != values.roll(1)).all()
