"""Gradients through a fixed point by implicit differentiation, without the iterations that led to it.

At logits x = u + m(q(x)) a small change du of the unary logits u changes x by (I - H D)⁻¹ du, where H is the
matrix of second derivatives of the expected log-weight and D that of derivatives of the marginals by their
logits. The backward pass solves the transposed system by conjugate gradients in a symmetric form: with
D = B Bᵀ the solution for a cotangent g is g + B z, where (I - Bᵀ H B) z = Bᵀ H g. At a strict maximum of the
bound on log Z that matrix is positive definite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from herbrand.engines.mean_field.unknowns import Unknowns
from herbrand.engines.once_differentiable import differentiable_once

MOST_STEPS = 200
RELATIVE_RESIDUAL = 1e-10

Tables = dict[str, Tensor]


def attached(
    unknowns: Unknowns, update: Callable[[Mapping[str, Tensor]], Tables], marginals: Tables
) -> Tables:
    """Apply ``update`` to the marginals at its fixed point, with the gradients of the fixed point."""
    leaves = {name: table.detach().requires_grad_() for name, table in marginals.items()}
    with torch.enable_grad():
        updated = update(leaves)
        names = list(updated)
        system = _System(unknowns, leaves, updated)
        values = _AtFixedPoint.apply(system, *(updated[name] for name in names))
    return dict(zip(names, values, strict=True))


class _AtFixedPoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, system: _System, *tables: Tensor) -> tuple[Tensor, ...]:
        ctx.system = system
        return tuple(table.clone() for table in tables)

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            solved = ctx.system.solved(list(gradients))
        what = "second derivatives of a layer that runs until it settles"
        hint = "give the number of updates: LogicLayer(model, iterations=20)"
        return (None, *differentiable_once(solved, list(ctx.system.updated.values()), what, hint))


class _System:
    """The linear system at one fixed point; vectors are lists of tables."""

    def __init__(self, unknowns: Unknowns, marginals: Tables, updated: Tables) -> None:
        self.unknowns = unknowns
        self.names = list(updated)
        self.marginals, self.updated = marginals, updated
        self.free = {name: unknowns.free(name) for name in updated}

    def solved(self, gradients: list[Tensor]) -> list[Tensor]:
        gradients = [self._only_free(n, g) for n, g in zip(self.names, gradients, strict=True)]
        right = self._root(self._hessian(gradients), transposed=True)
        solution = [torch.zeros_like(one) for one in right]
        residual, direction = right, right
        norm = start = self._dot(residual, residual)
        for _ in range(MOST_STEPS):
            if norm <= start * RELATIVE_RESIDUAL**2 or norm == 0:
                break
            image = self._symmetric(direction)
            curvature = self._dot(direction, image)
            if curvature <= 0:
                break
            length = norm / curvature
            solution = [s + length * d for s, d in zip(solution, direction, strict=True)]
            residual = [r - length * i for r, i in zip(residual, image, strict=True)]
            norm, old = self._dot(residual, residual), norm
            direction = [r + norm / old * d for r, d in zip(residual, direction, strict=True)]
        return [g + s for g, s in zip(gradients, self._root(solution), strict=True)]

    def _symmetric(self, vector: list[Tensor]) -> list[Tensor]:
        image = self._root(self._hessian(self._root(vector)), transposed=True)
        return [v - i for v, i in zip(vector, image, strict=True)]

    def _hessian(self, vector: list[Tensor]) -> list[Tensor]:
        """H times a vector, H the second derivatives of the expected log-weight by the free marginals."""
        tables = [self.updated[name] for name in self.names]
        tracked = [(t, v) for t, v in zip(tables, vector, strict=True) if t.requires_grad]
        if not tracked:
            return [torch.zeros_like(v) for v in vector]
        outputs, cotangents = zip(*tracked, strict=True)
        leaves = [self.marginals[name] for name in self.names]
        gradients = torch.autograd.grad(outputs, leaves, cotangents, retain_graph=True, allow_unused=True)
        tables = {
            name: torch.zeros_like(leaf) if g is None else g
            for name, leaf, g in zip(self.names, leaves, gradients, strict=True)
        }
        gathered = self.unknowns.gathered(tables)
        return [self._only_free(name, gathered[name]) for name in self.names]

    def _root(self, vector: list[Tensor], transposed: bool = False) -> list[Tensor]:
        """B, or Bᵀ, times a vector."""
        roots = []
        for name, v in zip(self.names, vector, strict=True):
            q = self.marginals[name].detach()
            if self.unknowns.tables[name].true_or_false:
                roots.append(self._only_free(name, (q * (1 - q)).sqrt() * v))
            elif transposed:
                roots.append(_without(q.sqrt(), q.sqrt() * v))
            else:
                roots.append(q.sqrt() * _without(q.sqrt(), v))
        return roots

    def _only_free(self, name: str, table: Tensor) -> Tensor:
        """The table with 0 for atoms that are fixed by evidence or follow another atom."""
        free = self.free[name]
        table_of = self.unknowns.tables[name]
        if free is None or not table_of.true_or_false:
            return table
        return table * free.to(table).view(table_of.shape)

    def _dot(self, left: list[Tensor], right: list[Tensor]) -> float:
        return float(sum((a * b).sum() for a, b in zip(left, right, strict=True)))


def _without(unit: Tensor, vector: Tensor) -> Tensor:
    """Component of a vector, along the last axis, orthogonal to a unit vector."""
    return vector - unit * (unit * vector).sum(-1, keepdim=True)
