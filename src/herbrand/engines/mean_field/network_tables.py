"""Expected log-weights of the tables of a network's variables, those of one shape together.

A network of a thousand variables has a thousand small tables over single atoms: one after another, each step
would be thousands of calls on a few numbers.

>>> logs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> tables = NetworkTables([(("x", "y"), logs), (("y", "z"), 2 * logs)], {"x": 0, "y": 2, "z": 4})
>>> tables.expected(torch.tensor([1.0, 0, 0, 1, 0.5, 0.5])).tolist()
9.0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from herbrand.extras import Tensor, torch
from herbrand.factors.ground_graph import left_of
from herbrand.language.network_tables import NetworkTable
from herbrand.program.evidence import Evidence

ScopedLogs = tuple[tuple[str, ...], Tensor]
"""The variables of a table, and the logarithms of its entries with an axis for each."""


class _Alike(NamedTuple):
    """Tables of one shape: ``logs`` [table, value of each variable], and for each axis the ``places``
    [table, value] of its variables' values in the flattened marginals."""

    logs: Tensor
    places: tuple[Tensor, ...]

    def expected(self, flat: Tensor) -> Tensor:
        """Expected entry of each table [..., table], one axis after another summed out."""
        left = self.logs.reshape(len(self.logs), 1, -1)
        for places in self.places:
            tables, values = places.shape
            chances = flat[..., places.to(flat.device)].unsqueeze(-2)
            left = chances @ left.reshape(*left.shape[:-3], tables, values, -1)
        return left[..., 0, 0]


class NetworkTables:
    """The tables of a network, with 0 in place of impossible entries, which hard statements exclude."""

    def __init__(self, tables: Iterable[ScopedLogs], start: Mapping[str, int]) -> None:
        """``start``: place of each variable's first value in the flattened marginals."""
        by_shape: dict[tuple[int, ...], list[ScopedLogs]] = {}
        for scope, logs in tables:
            by_shape.setdefault(tuple(logs.shape), []).append((scope, logs))
        self.alike = [_stacked(shape, own, start) for shape, own in by_shape.items()]

    @staticmethod
    def of(tables: Iterable[NetworkTable], evidence: Evidence, start: Mapping[str, int]) -> NetworkTables:
        """The tables over the variables that evidence does not fix."""
        left = (left_of(table, evidence) for table in tables)
        return NetworkTables(
            ((scope, torch.from_numpy(np.where(np.isneginf(logs), 0.0, logs))) for scope, logs in left), start
        )

    def __bool__(self) -> bool:
        return bool(self.alike)

    def expected(self, flat: Tensor) -> Tensor:
        """The sum of all expected entries [batch]; ``flat``: the flattened marginals [batch, entry]."""
        total = flat.new_zeros(flat.shape[:-1])
        for alike in self.alike:
            total = total + alike.expected(flat).sum(-1)
        return total


def _stacked(shape: tuple[int, ...], tables: list[ScopedLogs], start: Mapping[str, int]) -> _Alike:
    first = torch.tensor([[start[name] for name in scope] for scope, _ in tables], dtype=torch.int64)
    places = tuple(first[:, axis, None] + torch.arange(size) for axis, size in enumerate(shape))
    return _Alike(torch.stack([logs for _, logs in tables]), places)
