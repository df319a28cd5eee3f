"""Every executor, in every algebra, against nested loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from herbrand.contraction import Dense, Relation, Sparse, contract, joins, planner, sparse_plan
from herbrand.contraction.relation import converted
from tests.contraction import problems as given_problems
from tests.contraction.problems import Problem, agree, problems
from tests.laws import tries

MANY = settings(
    max_examples=tries(500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SOME = settings(max_examples=tries(100), deadline=None)
ALL = problems() | given_problems.joins()


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small tables are treated as large ones are: results stay sparse, rows are ranked, cycles are masked."""
    monkeypatch.setattr(sparse_plan, "SMALL_TABLE", 0)
    monkeypatch.setattr(sparse_plan, "DENSE_RESULT", 0)
    monkeypatch.setattr(sparse_plan, "WEDGE_COST", 0.01)
    monkeypatch.setattr(joins, "SMALL", 0)
    monkeypatch.setattr(joins, "ROOMY", 0)
    planner.forget()
    yield
    planner.forget()


@MANY
@given(ALL)
def test_dense_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="dense").to_dense(), problem.truth())


@MANY
@given(ALL)
def test_sparse_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="sparse").to_dense(), problem.truth())


@MANY
@given(ALL)
@pytest.mark.usefixtures("tight")
def test_sparse_results_are_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="sparse").to_dense(), problem.truth())


@SOME
@given(ALL)
@pytest.mark.usefixtures("tight")
def test_greedy_orders_change_no_result(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_plan, "MOST_SUBSETS", 0)
        planner.forget()
        found = contract(problem.contraction, problem.relations, executor="sparse")
        planner.forget()
    agree(found.to_dense(), problem.truth())


@SOME
@given(ALL)
def test_elimination_orders_change_no_result(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.contraction.order.FEW_OPERANDS", 0)
        planner.forget()
        found = contract(problem.contraction, problem.relations, executor="dense")
        planner.forget()
    agree(found.to_dense(), problem.truth())


@SOME
@given(ALL)
def test_blocks_change_no_result(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.contraction.blocks.BLOCK_ENTRIES", 4)
        patch.setattr("herbrand.contraction.blocks.FEWEST_IN_PARALLEL", 2)
        found = contract(problem.contraction, problem.relations, executor="dense")
    agree(found.to_dense(), problem.truth())


def in_float32(relation: Relation) -> Relation:
    return converted(relation, "float32")


@SOME
@given(problems(("real", "log", "maximum")) | given_problems.joins(("real", "log", "maximum")))
@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_float32_is_close_to_float64(executor: str, problem: Problem) -> None:
    relations = [in_float32(relation) for relation in problem.relations]
    found = contract(problem.contraction, relations, executor=executor).to_dense()
    if problem.relations:
        assert found.dtype == torch.float32
        found = found.double()
    agree(found, problem.truth(), tolerance=2e-4)


@SOME
@given(ALL)
def test_the_planner_may_choose(problem: Problem) -> None:
    found = contract(problem.contraction, problem.relations)
    assert isinstance(found, Dense | Sparse)
    agree(found.to_dense(), problem.truth())
