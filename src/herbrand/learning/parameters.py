"""Columns of the learned weights over all worlds: one for each ``?``, one for each value of a ``?[w]``.

A statement's weight for a constant is the same parameter in every world that has the constant.

>>> parameters = Parameters()
>>> parameters.column(0, ("cat",)), parameters.column(0, ("dog",)), parameters.column(0, ("cat",))
(0, 1, 0)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from herbrand.language.syntax import Value
from herbrand.language.written_weights import Key
from herbrand.program.evidence import arguments_of
from herbrand.program.program import Program
from herbrand.row_keys import zipped


class Parameters:
    """Columns by key, numbered in order of first use."""

    def __init__(self) -> None:
        self._columns: dict[Key, int] = {}

    @classmethod
    def of(cls, program: Program) -> Parameters:
        """A column for each learned weight of the program without arguments; others are added when first
        used."""
        parameters = cls()
        for number, weight in enumerate(program.weights):
            if weight.learned and not weight.by:
                parameters.column(number)
        return parameters

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Key of each column."""
        return tuple(self._columns)

    def column(self, weight: int, constants: tuple[Value, ...] = ()) -> int:
        """Column of a weight; a new one on first use."""
        return self._columns.setdefault((weight, constants), len(self._columns))

    def row(self, numbers: Mapping[Key, float]) -> np.ndarray:
        """Values by column, 0 if a key has none."""
        return np.array([numbers.get(key, 0.0) for key in self._columns])

    def columns(self, weight: int, weight_rows: np.ndarray, program: Program) -> np.ndarray:
        """Column of each row of a weight that has one number for each constant."""
        unique, places = np.unique(weight_rows, return_inverse=True)
        columns = [self.column(weight, constants) for constants in weight_constants(weight, unique, program)]
        return np.array(columns, dtype=np.int64)[places.reshape(-1)]


def weight_constants(weight: int, rows: np.ndarray, program: Program) -> list[tuple[Value, ...]]:
    """Constants that the rows of a weight encode."""
    domains = [program.domain(name) for name in program.weights[weight].by]
    indices = arguments_of(rows, [len(domain) for domain in domains])
    columns = [domain.values_at(index) for domain, index in zip(domains, indices, strict=True)]
    return list(zipped(columns, len(rows)))
