"""Plan and run a contraction in one call.

>>> import torch
>>> from herbrand.contraction.expression import Contraction
>>> from herbrand.contraction.relation import Dense
>>> sizes = {"x": 2, "y": 2}
>>> unary = torch.zeros(2, dtype=torch.float64, requires_grad=True)
>>> pair = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
>>> partition = contract(Contraction.parse("x, x y ->", sizes, algebra="log"), [Dense(unary), Dense(pair)])
>>> partition.to_dense().backward()
>>> unary.grad
tensor([0.5000, 0.5000], dtype=torch.float64)
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import numpy as np

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.dense import run_dense
from herbrand.contraction.expression import Contraction
from herbrand.contraction.planner import Plan, plan
from herbrand.contraction.relation import Dense, Relation, converted, has_background
from herbrand.contraction.steps import Statistics


def contract(
    contraction: Contraction,
    relations: Sequence[Relation],
    memory: int | None = None,
    executor: str | None = None,
) -> Relation:
    """Contraction of ``relations`` by the cheapest plan that fits into ``memory`` bytes.

    Plans are cached by structure. Raises ``BudgetError`` before anything is allocated.
    """
    _check_count(contraction, relations)
    algebra = algebra_named(contraction.algebra)
    watched = [relation for relation in relations if relation.requires_grad]
    gradient = bool(watched) and library(watched[0].values).is_grad_enabled()
    known = [statistics(relation, algebra) for relation in relations]
    if executor is None and any(relation.on_accelerator for relation in relations):
        executor = "dense"
    return run(plan(contraction, known, memory, gradient, executor), relations)


def run(plan: Plan, relations: Sequence[Relation], like: Tensor | None = None) -> Relation:
    """Contraction of ``relations`` by a plan; ``like`` gives the library and dtype if there
    are no relations."""
    _check_shapes(plan.contraction, relations)
    asked, used = algebra_named(plan.contraction.algebra), algebra_named(plan.algebra)
    dtype = _dtype(relations, asked)
    inner = _inner_dtype(plan, used, dtype)
    prepared = [converted(relation, inner) for relation in relations]
    if plan.executor == "dense":
        return converted(Dense(run_dense(plan, prepared, like)), dtype)
    return converted(_sparse().run_sparse(plan, prepared), dtype)


def statistics(relation: Relation, algebra: Algebra) -> Statistics:
    """Statistics of a relation for planning."""
    if isinstance(relation, Dense):
        return Statistics(itemsize=np.dtype(relation.dtype).itemsize)
    return Statistics(
        len(relation.support), has_background(relation, algebra), np.dtype(relation.dtype).itemsize
    )


def _dtype(relations: Sequence[Relation], algebra: Algebra) -> str:
    """Widest dtype of the operands; raises ValueError if the algebra does not take one of them."""
    for place, relation in enumerate(relations):
        if relation.dtype not in algebra.dtypes:
            known = " or ".join(algebra.dtypes)
            raise ValueError(
                f"operand {place} is of {relation.dtype}; the {algebra.name} algebra takes {known}"
            )
    return max(
        (relation.dtype for relation in relations),
        key=lambda dtype: np.dtype(dtype).itemsize,
        default=algebra.dtypes[0],
    )


def _inner_dtype(plan: Plan, algebra: Algebra, dtype: str) -> str:
    """Dtype in which steps are computed: float64 where terms are subtracted, as differences lose digits."""
    if dtype not in algebra.dtypes or (len(plan.routes) > 1 and algebra.has_subtraction):
        return algebra.dtypes[0]
    return dtype


@lru_cache(maxsize=1)
def _sparse() -> ModuleType:
    """The module of sparse tables, imported only for them, as it needs torch."""
    return importlib.import_module("herbrand.contraction.sparse")


def _check_count(contraction: Contraction, relations: Sequence[Relation]) -> None:
    if len(relations) != len(contraction.operands):
        raise ValueError(f"{len(contraction.operands)} operands, but {len(relations)} relations")


def _check_shapes(contraction: Contraction, relations: Sequence[Relation]) -> None:
    _check_count(contraction, relations)
    sizes = contraction.sizes
    for place, (axes, relation) in enumerate(zip(contraction.operands, relations, strict=True)):
        shape = relation.shape
        if len(shape) != len(axes) or any(
            sizes[axis] != size for axis, size in zip(axes, shape, strict=True)
        ):
            raise ValueError(
                f"operand {place} has shape {tuple(shape)}; its axes {' '.join(axes)!r} have sizes "
                f"{contraction.shape(axes)}"
            )
