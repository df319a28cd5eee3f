"""Factor graphs made by hand, table by table, and what a test reads off them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Assembly, FactorGraph, Tables, table_factors

Scope = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class HandMade:
    """Log-tables over axes of ``sizes``; those from ``atom_count`` on are helpers."""

    sizes: Sequence[int]
    atom_count: int
    tables: Sequence[tuple[Scope, np.ndarray]]
    constant: float = 0.0

    @property
    def graph(self) -> FactorGraph:
        """Tables over one axis as its own weights."""
        assembly = Assembly(self.sizes)
        for scope, table in self.tables:
            if len(scope) == 1:
                assembly.add_unary(np.array(scope), table)
            else:
                assembly.add_tables(Tables(np.array([scope]), np.zeros(1, np.int64), table[None]))
        assembly.constant = self.constant
        return assembly.build()

    @property
    def axes(self) -> list[int]:
        """The atoms, and the helpers that some table names."""
        named = {axis for scope, _ in self.tables for axis in scope}
        return [axis for axis in range(len(self.sizes)) if axis < self.atom_count or axis in named]

    def assignments(self) -> Iterator[dict[int, int]]:
        for values in itertools.product(*(range(self.sizes[axis]) for axis in self.axes)):
            yield dict(zip(self.axes, values, strict=True))

    def log_weight(self, values: Mapping[int, int]) -> float:
        return self.constant + sum(
            float(table[tuple(values[axis] for axis in scope)]) for scope, table in self.tables
        )


def tables_in(graph: FactorGraph) -> Iterator[tuple[int, Scope, np.ndarray]]:
    """The number, the scope and the table of each factor."""
    for alike in table_factors(graph):
        for number, scope, table in zip(
            alike.factors.tolist(), alike.scopes.tolist(), alike.tables(graph), strict=True
        ):
            yield number, tuple(scope), table
