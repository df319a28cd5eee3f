"""Every executor, in every algebra, against nested loops and against finite differences."""

from __future__ import annotations

from hypothesis import given, settings

from herbrand.contraction import contract
from tests.contraction.problems import ALGEBRAS, FLOATING, Problem, agree, problems

MANY = settings(max_examples=400, deadline=None)
SOME = settings(max_examples=120, deadline=None)


@MANY
@given(problems())
def test_dense_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="dense").to_dense(), problem.truth())


@MANY
@given(problems())
def test_sparse_is_nested_loops(problem: Problem) -> None:
    agree(contract(problem.contraction, problem.relations, executor="sparse").to_dense(), problem.truth())


def test_every_algebra_is_tried() -> None:
    assert set(FLOATING) < set(ALGEBRAS)
