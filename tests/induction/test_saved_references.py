"""Outputs of the original network, with its own weights, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.worlds import family, graphs
from herbrand.induction.machine import LogicMachine


@pytest.mark.parametrize("name", ["b2", "b3", "b3full", "b3res", "b4res"])
def test_equals_the_original_network(name: str, reference_cases: Path) -> None:
    saved = np.load(reference_cases / "nlm" / f"golden_nlm_{name}.npz")
    depth, breadth, residual = map(int, saved["meta"][:3])
    groups = [torch.tensor(saved[f"in{r}"]) if f"in{r}" in saved else None for r in range(breadth + 1)]
    inputs = [0 if group is None else group.shape[-1] for group in groups]
    machine = LogicMachine(inputs, depth=depth, breadth=breadth, residual=bool(residual))
    weights = {}
    for number, layer in enumerate(machine.layers):
        for arity in layer.units:
            place = f"layers.{number}.units.{arity}.layers.0"
            weights[f"{place}.weight"] = torch.tensor(saved[f"L{number}_W{arity}"])
            weights[f"{place}.bias"] = torch.tensor(saved[f"L{number}_b{arity}"])
    machine.load_state_dict(weights)
    compared = 0
    for arity, result in enumerate(machine(groups)):
        if f"out{arity}" in saved:
            assert result is not None
            np.testing.assert_allclose(result.detach().numpy(), saved[f"out{arity}"], atol=1e-5)
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("size", [20, 100])
def test_labels_of_families(size: int, reference_cases: Path) -> None:
    saved = np.load(reference_cases / "nlm" / f"family_m{size}.npz")
    known = saved["relations"].astype(np.float32)
    for name in ("has_father", "has_sister", "grandparents", "uncle", "maternal_great_uncle"):
        assert np.array_equal(getattr(family, name)(known), saved[name]), name


@pytest.mark.parametrize("size", [10, 50])
def test_labels_of_graphs(size: int, reference_cases: Path) -> None:
    saved = np.load(reference_cases / "nlm" / f"graph_m{size}.npz")
    edges = saved["edges_er"].astype(np.float32)
    assert np.array_equal(graphs.degree_is(edges, 1), saved["outdeg1"])
    assert np.array_equal(graphs.degree_is(edges, 2), saved["outdeg2"])
    assert np.array_equal(graphs.connected(edges, 4), saved["conn4"])
    assert np.array_equal(graphs.connected(saved["edges_dnc"].astype(np.float32), 6), saved["conn6_dnc"])
