"""The gradient through a fixed point beside the same linear system, written out and solved by elimination."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.engines.mean_field.tables import DenseTable
from herbrand.engines.mean_field.unknowns import Unknowns
from herbrand.nn.implicit import attached

Tables = dict[str, Tensor]


def symmetric(count: int, seed: int, scale: float) -> Tensor:
    """Couplings without a diagonal, as every expected log-weight has them: no atom speaks to itself."""
    drawn = torch.randn(count, count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return scale * (drawn + drawn.T).fill_diagonal_(0.0)


def fixed_point(unary: Tensor, couplings: Tensor, known: Mapping[int, float]) -> Tensor:
    """Where x = u + C q(x) comes to rest."""
    logits = unary.detach()
    for _ in range(2000):
        q = torch.sigmoid(logits)
        for atom, value in known.items():
            q[atom] = value
        logits = 0.5 * logits + 0.5 * (unary.detach() + couplings @ q)
    return logits


@pytest.mark.parametrize("known", [{}, {1: 1.0, 4: 0.0}])
@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_true_or_false_atoms(scale: float, known: dict[int, float]) -> None:
    """dx = (I - C D)⁻¹ du, with the slopes D of the sigmoids; atoms that are known have slope 0."""
    count = 6
    couplings = symmetric(count, 3, scale)
    unary = torch.linspace(-1, 1, count, dtype=torch.float64).requires_grad_()
    codes = torch.tensor(sorted(known), dtype=torch.int64).numpy()
    values = torch.tensor([int(known[i]) for i in sorted(known)], dtype=torch.int64).numpy()
    unknowns = Unknowns({"p": DenseTable("p", (count,), None, codes, values)}, {})
    marginals = unknowns.marginals({"p": fixed_point(unary, couplings, known)})

    def told(m: Mapping[str, Tensor]) -> Tables:
        return {"p": unary + couplings @ m["p"]}

    found = attached(unknowns, told, marginals)["p"]
    weights = torch.cos(torch.arange(count, dtype=torch.float64))
    (slopes,) = torch.autograd.grad((found * weights).sum(), unary)
    q = marginals["p"]
    free = torch.tensor([atom not in known for atom in range(count)], dtype=torch.float64)
    system = torch.eye(count, dtype=torch.float64) - couplings @ torch.diag(q * (1 - q) * free)
    expected = torch.linalg.solve(system.T, weights * free)
    torch.testing.assert_close(slopes * free, expected * free, rtol=1e-7, atol=1e-9)


def test_many_valued_atoms() -> None:
    """D is the covariance of each atom's values."""
    atoms, values = 3, 3
    size = atoms * values
    couplings = symmetric(size, 5, 0.2)
    for atom in range(atoms):  # values of one atom do not meet
        here = slice(atom * values, (atom + 1) * values)
        couplings[here, here] = 0.0
    unary = torch.linspace(-1, 1, size, dtype=torch.float64).reshape(atoms, values).requires_grad_()
    logits = unary.detach()
    for _ in range(2000):
        q = torch.softmax(logits, -1)
        logits = 0.5 * logits + 0.5 * (unary.detach() + (couplings @ q.reshape(-1)).reshape(atoms, values))
    unknowns = Unknowns({"m": DenseTable("m", (atoms,), values)}, {})
    marginals = unknowns.marginals({"m": logits})

    def told(m: Mapping[str, Tensor]) -> Tables:
        return {"m": unary + (couplings @ m["m"].reshape(-1)).reshape(atoms, values)}

    found = attached(unknowns, told, marginals)["m"]
    weights = torch.sin(torch.arange(size, dtype=torch.float64))
    # Only differences of an atom's logits count, so the loss is taken of its probabilities.
    loss = (torch.softmax(found, -1).reshape(-1) * weights).sum()
    (slopes,) = torch.autograd.grad(loss, unary)
    q = marginals["m"]
    covariance = torch.block_diag(*(torch.diag(row) - torch.outer(row, row) for row in q))
    system = torch.eye(size, dtype=torch.float64) - couplings @ covariance
    expected = torch.linalg.solve(system.T, covariance @ weights)
    torch.testing.assert_close(slopes.reshape(-1), expected, rtol=1e-6, atol=1e-9)


def test_a_system_of_nothing_and_one_without_couplings() -> None:
    """Where no one speaks to anyone the gradient is that of the logits themselves."""
    unary = torch.tensor([0.3, -0.2], dtype=torch.float64, requires_grad=True)
    unknowns = Unknowns({"p": DenseTable("p", (2,))}, {})
    found = attached(unknowns, lambda m: {"p": unary * 2}, unknowns.marginals({"p": unary.detach() * 2}))
    (slopes,) = torch.autograd.grad(found["p"].sum(), unary)
    assert slopes.tolist() == [2.0, 2.0]
    nobody = Unknowns({"p": DenseTable("p", (0,))}, {})
    empty = torch.zeros(0, dtype=torch.float64, requires_grad=True)
    found = attached(nobody, lambda m: {"p": empty + m["p"]}, {"p": torch.zeros(0, dtype=torch.float64)})
    (slopes,) = torch.autograd.grad(found["p"].sum(), empty)
    assert slopes.shape == (0,)


@pytest.mark.parametrize("weight", [0.5, 1.5, -2.0])
def test_a_rule_and_its_mirror_by_hand(weight: float) -> None:
    """Two atoms that want to agree: one equation, whose slope is worked out by hand.

    a <=> b at weight w tells each 2w (q - 1/2); at the symmetric rest with unary u, q' = D / (1 - 2wD) for
    both moved together.
    """
    layer = hb.nn.LogicLayer(
        hb.Model(hb.parse(f"predicate a\npredicate b\n{weight}: a <=> b\n")), None, tolerance=1e-13
    ).double()
    unary = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    found = layer({"a": unary, "b": unary})
    assert layer.converged
    q = found["a"].item()
    assert found["b"].item() == pytest.approx(q)
    assert math.log(q / (1 - q)) == pytest.approx(0.4 + 2 * weight * (q - 0.5), abs=1e-6)
    (slope,) = torch.autograd.grad(found["a"], unary)
    spread = q * (1 - q)
    assert slope.item() == pytest.approx(spread / (1 - 2 * weight * spread), rel=1e-5)
