"""Rows that grow round by round, and what each round adds, its delta.

In the real algebra an addition is an increment, in those that take the better value it is the rows that
improve. A row that an increment leaves as it is, to the last bit, counts as settled.

>>> from herbrand.engines.proof.arithmetic import Numbers
>>> rows = FixpointRows(("", "x"), [2, 3], Numbers.of("max_product"), 10**6)
>>> def row(x, value): return Table(("", "x"), (np.array([0]), np.array([x])), np.array([value]))
>>> len(rows.add(row(1, 0.5))), len(rows.add(row(1, 0.4))), rows.add(row(1, 0.7)).values.tolist()
(1, 0, [0.7])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.proof.arithmetic import Arithmetic
from herbrand.engines.proof.table import Table, grouped
from herbrand.row_keys import Keys, fit, key_columns, places_among, row_keys

DENSE_BYTES = 2**28
FLOAT = 8


class FixpointRows:
    """Distinct rows under their keys: every possible row has a place where these are few, else a sorted list
    has those that are there; the algebra's zero stands for none. The first column may outgrow its size."""

    def __init__(
        self, names: tuple[str, ...], sizes: Sequence[int], arithmetic: Arithmetic, memory: int
    ) -> None:
        self.names, self._sizes, self._arithmetic = names, list(sizes), arithmetic
        self._zero = arithmetic.algebra.zero
        self._limit = min(DENSE_BYTES, memory // 8)
        self._width = int(np.prod([max(1, size) for size in sizes[1:]], dtype=np.float64))
        self._dense: np.ndarray | None = None
        self._keys: Keys = row_keys([np.empty(0, np.int64) for _ in sizes], sizes)
        self._values = np.empty(0)
        self._table: Table | None = None
        self._grow(max(1, sizes[0]))

    def __len__(self) -> int:
        return len(self._keys) if self._dense is None else int(np.count_nonzero(self._dense != self._zero))

    def add(self, table: Table) -> Table:
        """The rows that this adds or improves, with their increment or new value."""
        if not len(table):
            return table
        self._grow(int(table.columns[0].max()) + 1)
        new = grouped(table, self.names, self._sizes, self._arithmetic)
        keys = row_keys(new.columns, self._sizes)
        old = self._known(keys)
        after = self._arithmetic.algebra.pair(old, new.values)
        moved = np.flatnonzero(after != old)
        if not len(moved):
            return new.take(moved, self._arithmetic)
        self._table = None
        self._put(keys[moved], after[moved])
        return new.take(moved, self._arithmetic)

    @property
    def table(self) -> Table:
        """All rows, sorted."""
        if self._table is None:
            keys = self._keys if self._dense is None else np.flatnonzero(self._dense != self._zero)
            values = self._values if self._dense is None else self._dense[keys]
            self._table = Table(self.names, tuple(key_columns(keys, self._sizes)), values)
        return self._table

    def _grow(self, rows: int) -> None:
        before, self._sizes[0] = list(self._sizes), max(self._sizes[0], rows)
        places = self._sizes[0] * self._width
        if self._dense is not None and places <= len(self._dense):
            return
        if places * FLOAT <= self._limit and (self._dense is not None or not len(self._keys)):
            dense = np.full(min(2 * places, self._limit // FLOAT), float(self._zero))
            if self._dense is not None:
                dense[: len(self._dense)] = self._dense
            self._dense = dense
        elif self._dense is not None:
            self._keys = np.flatnonzero(self._dense != self._zero)
            self._values = self._dense[self._keys]
            self._dense = None
        if fit(before) and not fit(self._sizes):  # from here on keys are of the other kind
            self._keys = row_keys(key_columns(self._keys, before), self._sizes)

    def _known(self, keys: Keys) -> np.ndarray:
        """The value of each row, zero for one that is not there."""
        if self._dense is not None:
            return self._dense[keys]
        return np.append(self._values, self._zero)[places_among(self._keys, keys)]

    def _put(self, keys: Keys, values: np.ndarray) -> None:
        if self._dense is not None:
            self._dense[keys] = values
            return
        at = places_among(self._keys, keys)
        known = at >= 0
        self._values[at[known]] = values[known]
        if not known.all():
            merged = np.concatenate([self._keys, keys[~known]])
            order = np.argsort(merged, kind="stable")
            self._keys = merged[order]
            self._values = np.concatenate([self._values, values[~known]])[order]
