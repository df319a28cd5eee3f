"""Tables of a network's variables, stacked by shape: beside sums over their entries, and table by table."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.mean_field import unknowns
from herbrand.engines.mean_field.network_tables import NetworkTables
from herbrand.engines.mean_field.problem import prepared
from herbrand.extras import torch

pytest.importorskip("torch")


def network(seed: int, count: int) -> str:
    """A network of variables of two or three values with up to two parents, as a .bif file."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, count).tolist()
    lines = ["network drawn {\n}"]
    for number, size in enumerate(sizes):
        values = ", ".join(f"s{value}" for value in range(size))
        lines.append(f"variable v{number} {{\n  type discrete [ {size} ] {{ {values} }};\n}}")
    for number, size in enumerate(sizes):
        parents = sorted(rng.choice(number, min(number, int(rng.integers(0, 3))), replace=False).tolist())
        given = f" | {', '.join(f'v{parent}' for parent in parents)}" if parents else ""
        lines.append(f"probability ( v{number}{given} ) {{")
        for case in itertools.product(*(range(sizes[parent]) for parent in parents)):
            row = ", ".join(f"{share!r}" for share in rng.dirichlet(np.ones(size)).tolist())
            names = ", ".join(f"s{value}" for value in case)
            lines.append(f"  ({names}) {row};" if parents else f"  table {row};")
        lines.append("}")
    return "\n".join(lines)


def read(folder: Path, seed: int, count: int) -> hb.Model:
    path = folder / f"drawn{seed}.bif"
    path.write_text(network(seed, count))
    return hb.Model(hb.read(path))


@pytest.mark.parametrize("batch", [(), (3,)])
def test_expected_entries_are_sums_over_all_of_them(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 3}
    scopes = [("a", "b"), ("c", "d"), ("b", "d"), ("a", "b", "c"), ("d",), ()]
    logs = [rng.normal(size=[sizes[name] for name in scope]) for scope in scopes]
    start = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    tables = NetworkTables(zip(scopes, map(torch.from_numpy, logs), strict=True), start)
    flat = rng.random((*batch, sum(sizes.values())))
    for row, found in zip(
        flat.reshape(-1, flat.shape[-1]), tables.expected(torch.from_numpy(flat)).reshape(-1), strict=True
    ):
        chance = {name: row[start[name] : start[name] + size] for name, size in sizes.items()}
        expected = sum(
            log[case] * math.prod(chance[name][value] for name, value in zip(scope, case, strict=True))
            for scope, log in zip(scopes, logs, strict=True)
            for case in itertools.product(*(range(sizes[name]) for name in scope))
        )
        assert float(found) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_marginals_in_any_order_have_the_same_messages(tmp_path: Path, seed: int) -> None:
    """Moves of stacked tables give marginals in another order than that of the tables."""
    problem = prepared(read(tmp_path, seed, 7).program)
    rng = np.random.default_rng(seed)
    shapes = {name: table.shape for name, table in problem.unknowns.tables.items()}
    marginals = {name: torch.from_numpy(rng.dirichlet(np.ones(shape[0]))) for name, shape in shapes.items()}
    value, messages = problem.messages(marginals, problem.weights)
    other, others = problem.messages(dict(reversed(marginals.items())), problem.weights)
    assert value == pytest.approx(other, rel=1e-12)
    for name, message in messages.items():
        torch.testing.assert_close(message, others[name])
        moved = {**marginals, name: marginals[name] + 1e-6}
        slope = (problem.messages(moved, problem.weights)[0] - value) / 1e-6
        assert float(message.sum()) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_tables_that_move_together_move_as_one_by_one(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = read(tmp_path, seed, 8).infer(engine="mean-field")
    monkeypatch.setattr(unknowns, "SMALL", 0)
    apart = read(tmp_path, seed, 8).infer(engine="mean-field")
    assert together.status.iterations == apart.status.iterations
    assert together.log_partition == pytest.approx(apart.log_partition, abs=1e-9)
    exact = read(tmp_path, seed, 8).infer(engine="exact").log_partition
    assert together.log_partition is not None and exact is not None and together.log_partition <= exact + 1e-9
    for one, other in zip(together.rows(), apart.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-9)
