"""Columns of constants as Arrow holds them; Python's own values only where somebody looks.

>>> column = Constants(pa.array(["anna", "bob", "carl"]), np.array([2, 0, 2]))
>>> len(column), column[0], list(column[1:]), column == ["carl", "anna", "carl"]
(3, 'carl', ['anna', 'carl'], True)
>>> Constants(pa.array([1.0, 2.5])).to_arrow().to_pylist(), list(Constants(pa.array([1.0, 2.5])))
([1.0, 2.5], [1, 2.5])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa

from herbrand.facts.arrays import number_array
from herbrand.facts.column import simplest_numbers
from herbrand.language.names import simplest
from herbrand.language.syntax import Value


@dataclass(frozen=True, eq=False)
class Constants(Sequence[Value]):
    """``indices``: places among ``values``, each of which is converted once; ``None``: all of them."""

    values: pa.Array | pa.ChunkedArray
    indices: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values if self.indices is None else self.indices)

    @overload
    def __getitem__(self, place: int) -> Value: ...
    @overload
    def __getitem__(self, place: slice) -> Constants: ...
    def __getitem__(self, place: int | slice) -> Value | Constants:
        if isinstance(place, slice):
            if self.indices is None:
                return Constants(self.values[place])
            return Constants(self.values, self.indices[place])
        return canonical(self.values[int(place)].as_py()) if self.indices is None else self._listed[place]

    def __iter__(self) -> Iterator[Value]:
        return map(canonical, self.values.to_pylist()) if self.indices is None else iter(self._listed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return repr(list(self))

    def to_arrow(self) -> pa.Array:
        """As text or whole numbers where all are, else as floats."""
        values = self.values
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if self.indices is not None:
            values = values.take(number_array(self.indices.astype(np.int64)))
        if pa.types.is_large_string(values.type) or not len(values):
            return values.cast(pa.string())
        return simplest_numbers(values)

    def taken(self, places: np.ndarray) -> Constants:
        """What stands at these places, in their order."""
        return Constants(self.values, places if self.indices is None else self.indices[places])

    def distinct(self) -> Constants:
        """Each constant that stands here, once."""
        if self.indices is None:
            return Constants(self.values.unique())
        stands = np.zeros(len(self.values), bool)
        stands[self.indices] = True
        return Constants(self.values, np.flatnonzero(stands))

    @cached_property
    def _listed(self) -> list[Value]:
        assert self.indices is not None
        if len(self.indices) > len(self.values):  # each constant is converted once
            every = [canonical(value) for value in self.values.to_pylist()]
            return [every[index] for index in self.indices.tolist()]
        taken = self.values.take(number_array(self.indices.astype(np.int64)))
        return [canonical(value) for value in taken.to_pylist()]


def canonical(value: Value) -> Value:
    """Whole numbers as ``int``."""
    return value if isinstance(value, str) else simplest(value)
