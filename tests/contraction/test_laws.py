"""Every executor, in every algebra, against nested loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from herbrand.contraction import contract, joins, planner, sparse_plan
from tests.contraction.problems import ALGEBRAS, FLOATING, Problem, agree, problems

MANY = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SOME = settings(max_examples=120, deadline=None)


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
@given(problems())
def test_dense_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="dense").to_dense(), problem.truth())


@MANY
@given(problems())
def test_sparse_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="sparse").to_dense(), problem.truth())


@MANY
@given(problems())
@pytest.mark.usefixtures("tight")
def test_sparse_results_are_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="sparse").to_dense(), problem.truth())


def test_every_algebra_is_tried() -> None:
    assert set(FLOATING) < set(ALGEBRAS)
