"""Weighted rows that a plan works on: a column of constants for each live variable, and a value for each row.

Column :data:`ROW` is the number of the question that the row belongs to. :class:`Grid` is the dense form for
one live variable, chosen where enough of its entries are filled.

>>> from herbrand.engines.proof.arithmetic import Numbers
>>> table = Table((ROW, "x"), (np.array([0, 0]), np.array([4, 4])), np.array([1.0, 2.0]))
>>> grouped(table, (ROW, "x"), (1, 5), Numbers.of("real")).values.tolist()
[3.0]

The questions are the distinct inputs of a predicate in one mode, with the answers computed for each so far.

>>> asked = Questions((5,))
>>> asked.add([np.array([3, 1, 3])]).tolist(), asked.add([np.array([1, 4])]).tolist(), len(asked)
([0, 1], [2], 3)
>>> asked.columns[0].tolist(), asked.places([np.array([4, 2])]).tolist()
([1, 3, 4], [2, -1])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.proof import kernels
from herbrand.engines.proof.arithmetic import Arithmetic, Values
from herbrand.loops import often
from herbrand.row_keys import (
    Keys,
    ascend,
    counted,
    key_columns,
    places_among,
    row_keys,
    row_pointers,
    run_starts,
    stable_order,
)

ROW = ""
DENSE_SHARE = 0.02
"""Least filled share of a grid that is not small; below, a list of the entries is cheaper than a scan."""
SMALL_GRID = 2**13
"""Most places of a grid that is always used: scanning it is faster than listing a few entries."""
LARGEST_GRID = 2**23
"""Most places of a grid."""
FEW_KEYS = 4
"""Rows are grouped without a sort if there are at most this many times as many possible keys as rows."""
MOST_WAITING = 2**20
"""Least number of waiting rows at which tables are added up."""
GROUPING = 3
"""Columns allocated beside the rows while they are grouped: keys, their order, and group starts."""

CheckSize = Callable[[float, int], None]
"""Raises where so many rows of so many columns do not fit into memory."""


@dataclass(frozen=True, eq=False)
class Table:
    """A sparse state: ``columns[i]`` has the constants of ``names[i]``, and each row a value.

    Rows are distinct and ascend by the first column, :data:`ROW`.
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    values: Values

    def __len__(self) -> int:
        return len(self.columns[0])

    def __bool__(self) -> bool:
        return len(self.columns[0]) > 0

    def column(self, name: str) -> np.ndarray:
        return self.columns[self.names.index(name)]

    def named(self, names: tuple[str, ...]) -> Table:
        return Table(names, self.columns, self.values)

    def take(self, places: np.ndarray, arithmetic: Arithmetic) -> Table:
        return Table(self.names, tuple(c[places] for c in self.columns), arithmetic.take(self.values, places))

    def arranged(self, names: tuple[str, ...]) -> Table:
        """The table with its columns in another order; rows are then sorted by the first column only."""
        return Table(names, tuple(self.column(name) for name in names), self.values)

    def shifted(self, by: int) -> Table:
        """The table with ``by`` added to the numbers of its questions."""
        return Table(self.names, (self.columns[0] + by, *self.columns[1:]), self.values)

    def with_column(self, name: str, column: np.ndarray) -> Table:
        return Table((*self.names, name), (*self.columns, column), self.values)

    def scaled(self, factor: Values, arithmetic: Arithmetic) -> Table:
        """The table with every value ⊗ a factor."""
        return Table(self.names, self.columns, arithmetic.multiply(self.values, factor))

    def sparse(self) -> Table:
        return self

    @property
    def is_of_one_question(self) -> bool:
        """Whether all rows are of one question, so that rows in any order are sorted by it."""
        return bool(self) and bool(self.columns[0][0] == self.columns[0][-1])

    @property
    def identity(self) -> tuple[int, ...]:
        """A key that is equal for tables that share their arrays."""
        return (id(self.values), *map(id, self.columns))


@dataclass(frozen=True, eq=False)
class Grid:
    """A dense state: rows (row, constant) with values ``matrix[constant, row]``, 0 for no row.

    ``filled``: whether there may be entries, though all may cancel. ``touched``: whether each constant may
    have entries, if known: frontiers from few constants leave most of a grid empty.
    """

    names: tuple[str, str]
    matrix: Values
    filled: bool = True
    touched: np.ndarray | None = None

    def __bool__(self) -> bool:
        return self.filled

    @property
    def rows(self) -> int:
        return self.matrix.shape[1]

    def named(self, names: tuple[str, ...]) -> Grid:
        row, name = names
        return Grid((row, name), self.matrix, self.filled, self.touched)

    def scaled(self, factor: Values, arithmetic: Arithmetic) -> Grid:
        return Grid(self.names, arithmetic.multiply(self.matrix, factor), self.filled, self.touched)

    @property
    def numbers(self) -> np.ndarray:
        return self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.detach().numpy()

    @cached_property
    def active(self) -> np.ndarray:
        """Whether each constant may have entries."""
        return np.any(self.numbers, axis=1) if self.touched is None else self.touched

    @cached_property
    def _table(self) -> Table:
        numbers = self.numbers
        if self.rows == 1:
            places = np.flatnonzero(numbers[:, 0])
            return Table(self.names, (np.zeros(len(places), np.int64), places), self.matrix[places, 0])
        rows, places, values = often(kernels.entries, 2 * numbers.size)(numbers, self.active)
        return Table(
            self.names, (rows, places), values if numbers is self.matrix else self.matrix[places, rows]
        )

    def sparse(self) -> Table:
        return self._table

    @property
    def identity(self) -> tuple[int, ...]:
        return (id(self.matrix),)


State = Table | Grid


def empty(names: Sequence[str], arithmetic: Arithmetic) -> Table:
    return Table(tuple(names), tuple(np.empty(0, np.int64) for _ in names), arithmetic.ones(0))


def stacked(tables: Sequence[Table], arithmetic: Arithmetic) -> Table:
    """Concatenate the rows of tables with the same columns."""
    columns = (np.concatenate(column) for column in zip(*(t.columns for t in tables), strict=True))
    return Table(tables[0].names, tuple(columns), arithmetic.concatenate([t.values for t in tables]))


def grouped(table: Table, live: tuple[str, ...], sizes: Sequence[int], arithmetic: Arithmetic) -> Table:
    """Group rows by the live columns, with ⊕ of their values; the result is sorted by these columns."""
    columns = [table.column(name) for name in live]
    keys, bound = row_keys(columns, sizes, len(table)), math.prod(max(1, size) for size in sizes)
    if arithmetic.plain and (table.values == arithmetic.algebra.one).all():
        return _of_ones(live, keys, sizes, arithmetic)
    if bound <= FEW_KEYS * len(keys) and arithmetic.compiled and not arithmetic.best and columns:
        return _by_counting(live, columns, keys, bound, table.values, arithmetic)
    order = None if ascend(keys) else stable_order(keys, bound)
    ordered = keys if order is None else keys[order]
    starts = run_starts(ordered)
    if len(starts) == len(keys):
        return (
            Table(live, tuple(columns), table.values)
            if order is None
            else (Table(live, tuple(c[order] for c in columns), arithmetic.take(table.values, order)))
        )
    values = table.values if order is None else arithmetic.take(table.values, order)
    lengths = np.diff(np.append(starts, len(keys)))
    added = arithmetic.group(values, np.repeat(np.arange(len(starts)), lengths), len(starts))
    places = starts if order is None else order[starts]
    return Table(live, tuple(c[places] for c in columns), added)


def _of_ones(live: tuple[str, ...], keys: Keys, sizes: Sequence[int], arithmetic: Arithmetic) -> Table:
    """Group rows whose values are all one: the keys and their counts suffice."""
    kept, counts = counted(keys, sizes)
    values = arithmetic.ones(len(kept)) if arithmetic.best else counts.astype(np.float64)
    return Table(live, tuple(key_columns(kept, sizes)), values)


def _by_counting(
    live: tuple[str, ...],
    columns: Sequence[np.ndarray],
    keys: Keys,
    bound: int,
    values: Values,
    arithmetic: Arithmetic,
) -> Table:
    """Group without a sort, by arrays over all possible keys; each group's columns are its last row's."""
    sums = arithmetic.group(values, keys, bound)
    last = np.full(bound, -1, np.int64)
    last[keys] = np.arange(len(keys))
    kept = np.flatnonzero(last >= 0)
    return Table(live, tuple(c[last[kept]] for c in columns), arithmetic.take(sums, kept))


def without_zeros(table: Table, arithmetic: Arithmetic) -> Table:
    kept = arithmetic.nonzero(table.values)
    return table if kept.all() else table.take(np.flatnonzero(kept), arithmetic)


def merged(
    states: Sequence[State],
    names: tuple[str, ...],
    sizes: Sequence[int],
    arithmetic: Arithmetic,
    check_size: CheckSize,
) -> State:
    """Add up states with the same columns."""
    states = [state for state in states if state]
    if len(states) == 1:
        only = states[0].named(names)
        return as_state(only, sizes, arithmetic) if isinstance(only, Table) else only
    total = Total(names, sizes, arithmetic, check_size)
    for state in states:
        total.add(state)
    return total.state()


def as_state(table: Table, sizes: Sequence[int], arithmetic: Arithmetic) -> State:
    """The table, or a grid where that is full enough; rows must be distinct."""
    if not arithmetic.dense or len(table.names) != 2:
        return table
    rows, width = sizes
    places = rows * width
    if places > LARGEST_GRID or (places > SMALL_GRID and len(table) < DENSE_SHARE * places):
        return table
    matrix = arithmetic.spread(table.values, (table.columns[1], table.columns[0]), (width, rows))
    touched = np.zeros(width, bool)
    touched[table.columns[1]] = True
    return Grid((table.names[0], table.names[1]), matrix, True, touched)


class Total:
    """A sum of states with the same columns: grids are added at once, tables when they are many."""

    def __init__(
        self, names: tuple[str, ...], sizes: Sequence[int], arithmetic: Arithmetic, check_size: CheckSize
    ) -> None:
        self._names, self._sizes, self._arithmetic = names, sizes, arithmetic
        self._check_size = check_size
        self._grid: Grid | None = None
        self._owned = False
        self._tables: list[Table] = []
        self._waiting = self._settled = 0

    def add(self, state: State) -> None:
        if not state:
            return
        if isinstance(state, Grid):
            self._add_grid(state)
        else:
            self._tables.append(state)
            self._waiting += len(state)
            if self._waiting > max(MOST_WAITING, self._settled):
                self._settle()

    def state(self) -> State:
        """The sum of all added states."""
        self._settle()
        if self._grid is not None:
            return self._grid.named(self._names)
        return self._tables[0] if self._tables else empty(self._names, self._arithmetic)

    def table(self) -> Table:
        """The sum as a table, without the detour of a grid if it is of one table."""
        if self._grid is None and len(self._tables) == 1:
            return self._tables[0].named(self._names)
        return self.state().sparse()

    def _settle(self) -> None:
        """Add the waiting tables to the grid, or to each other."""
        total = None if self._grid is not None or not self._tables else self._joined()
        if isinstance(total, Grid):
            self._add_grid(total)
        elif self._grid is not None:
            for table in self._tables:
                self._add_table(table)
        self._tables = [total] if isinstance(total, Table) else []
        self._waiting, self._settled = 0, sum(map(len, self._tables))

    def _joined(self) -> State:
        if len(self._tables) == 1:  # rows of one state are distinct
            return as_state(self._tables[0].named(self._names), self._sizes, self._arithmetic)
        # beside the tables: their rows in one, and what groups them
        self._check_size(sum(map(len, self._tables)), len(self._names) + 1 + GROUPING)
        table = stacked(self._tables, self._arithmetic).named(self._names)
        added = grouped(table, self._names, self._sizes, self._arithmetic)
        return as_state(added, self._sizes, self._arithmetic)

    def _add_grid(self, grid: Grid) -> None:
        if self._grid is None:
            self._grid = grid  # shared with its owner until something is added
            return
        if grid.rows == 1:
            matrix = self._arithmetic.added(self._grid.matrix, grid.matrix, None, None, self._owned)
            self._keep(matrix, None)
            return
        matrix = self._arithmetic.added(
            self._grid.matrix, grid.matrix, self._grid.active, grid.active, self._owned
        )
        self._keep(matrix, self._grid.active | grid.active)

    def _add_table(self, table: Table) -> None:
        assert self._grid is not None
        places = (table.columns[1], table.columns[0])
        touched = self._grid.active.copy()
        touched[places[0]] = True
        self._keep(self._arithmetic.added_at(self._grid.matrix, places, table.values, self._owned), touched)

    def _keep(self, matrix: Values, touched: np.ndarray | None) -> None:
        self._grid = Grid((self._names[0], self._names[1]), matrix, True, touched)
        self._owned = True


# Distinct inputs of a predicate in one mode, and the answers computed for each of them


class Questions:
    """A numbering of distinct rows of input constants, call by call of :meth:`add`."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self.columns: list[np.ndarray] = [np.empty(0, np.int64) for _ in sizes]
        self._keys = row_keys(self.columns, self._sizes)
        self._numbers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Number the rows that are new; return these numbers, one for each distinct new row."""
        count = len(columns[0]) if columns else 1
        keys = row_keys(columns, self._sizes, count)
        distinct, where = np.unique(keys, return_index=True)
        new = np.flatnonzero(self._found(distinct) < 0)
        numbers = np.arange(len(self), len(self) + len(new))
        self.columns = [
            np.concatenate([old, column[where[new]]])
            for old, column in zip(self.columns, columns, strict=True)
        ]
        keys = np.concatenate([self._keys, distinct[new]])
        order = np.argsort(keys, kind="stable")
        self._numbers = np.concatenate([self._numbers, numbers])[order]
        self._keys = keys[order]
        return numbers

    def places(self, columns: Sequence[np.ndarray], count: int | None = None) -> np.ndarray:
        """The number of each row; -1 for a row that was not added."""
        count = len(columns[0]) if columns else (1 if count is None else count)
        return self._found(row_keys(columns, self._sizes, count))

    def _found(self, keys: Keys) -> np.ndarray:
        at = places_among(self._keys, keys)
        return np.where(at < 0, -1, np.append(self._numbers, -1)[at])


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to questions; ``table`` has columns (question number, outputs...), sorted by question."""

    questions: Questions
    table: Table

    @cached_property
    def pointers(self) -> np.ndarray:
        return row_pointers(self.table.columns[0], len(self.questions))

    @cached_property
    def only_column(self) -> np.ndarray:
        """The column of the only output, as int32, like the columns of relations."""
        return self.table.columns[1].astype(np.int32)

    def ranges(self, columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Start and number of the answers of each row; every row must be among the questions."""
        numbers = self.questions.places(columns, count)
        first = self.pointers[numbers]
        return first, self.pointers[numbers + 1] - first
