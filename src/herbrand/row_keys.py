"""Sortable keys of rows of whole numbers, one key a row; the only module that makes such keys.

Keys sort lexicographically, as the rows do, and can be turned back into rows. If the product of the columns'
sizes fits into 63 bits a key is an int64, the row in mixed radix; otherwise (five columns over 12,000
constants) it is the row as bytes. NumPy sorts, searches and compares both. Keys of the same sizes have the
same type, so that keys made at different times can be compared.

>>> keys = row_keys([np.array([1, 0, 1]), np.array([2, 5, 2])], [2, 6])
>>> keys.tolist(), [column.tolist() for column in key_columns(np.unique(keys), [2, 6])]
([8, 5, 8], [[0, 1], [5, 2]])
>>> wide = row_keys([np.array([1, 0, 256]), np.array([2, 5, 0])], [2**40, 2**40])
>>> np.argsort(wide).tolist(), [column.tolist() for column in key_columns(wide, [2**40, 2**40])]
([1, 0, 2], [[1, 0, 256], [2, 5, 0]])
>>> row_pointers(np.array([0, 2, 2]), 3).tolist(), run_starts(np.array([4, 4, 7, 4])).tolist()
([0, 1, 1, 3], [0, 2, 3])

Unsorted keys are looked up by hashing, in a fifth of the time of sorting them (:class:`Places`):

>>> places = Places(np.array([70, 5, 70, 8]))
>>> places.of(np.array([8, 5, 9])).tolist(), (places.like == places.like[[2, 1, 0, 3]]).all()
([3, 1, -1], np.True_)
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
LARGEST_KEY = 2**63 - 1
Keys = npt.NDArray[Any]
"""An array of int64, or of bytes of one length."""
Columns = Sequence[npt.NDArray[np.integer]]


def fit(sizes: Sequence[int]) -> bool:
    """Whether the rows of columns of these sizes can be numbered by an int64."""
    return math.prod(max(1, size) for size in sizes) <= LARGEST_KEY


def row_keys(columns: Columns, sizes: Sequence[int], count: int = 0) -> Keys:
    """Key of each row. ``sizes``: exclusive upper bound of each column's values; ``count``: number of rows if
    there are no columns."""
    if not columns:
        return np.zeros(count, np.int64)
    if not fit(sizes):
        return _as_bytes(columns, sizes)
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if size > 1:
            keys *= size
            keys += column
    return keys


def key_columns(keys: Keys, sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """Columns of the rows of ``keys``: the inverse of :func:`row_keys`."""
    if not fit(sizes):
        cell = _cell(sizes)
        whole = np.ascontiguousarray(keys, dtype=f"S{cell.itemsize * len(sizes)}")
        cells = whole.view(cell).reshape(len(keys), len(sizes))
        return [cells[:, place].astype(np.int64) for place in range(len(sizes))]
    columns = []
    for size in reversed(sizes[1:]):
        if size & (size - 1):
            above = keys // size  # a division by one number takes a fifth of the time of `divmod`
            columns.append(above * size)
            np.subtract(keys, columns[-1], out=columns[-1])
        else:  # none or a power of two
            above = keys >> max(0, size - 1).bit_length()
            columns.append(keys & max(0, size - 1))
        keys = above
    return [*([keys.astype(np.int64, copy=not columns)] if len(sizes) else []), *reversed(columns)]


def first_missing(keys: Keys, sizes: Sequence[int]) -> Keys:
    """Key of the first row, within ``sizes``, that is not among sorted distinct ``keys``; one must be
    missing.

    >>> first_missing(np.array([0, 1, 3]), [2, 3]).tolist()
    [2]
    """
    numbers, columns = np.arange(len(keys) + 1), list[npt.NDArray[np.int64]]()
    count = len(numbers)
    for size in reversed(sizes):
        numbers, own = np.divmod(numbers, size)
        columns.insert(0, own)
    every = row_keys(columns, sizes, count)
    place = int(np.argmax(np.append(every[:-1] != keys, True)))
    return every[place : place + 1]


def row_of(key: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Row of one integer key, in plain Python.

    >>> row_of(8, [2, 6]), row_of(0, [])
    ((1, 2), ())
    """
    row: list[int] = []
    for size in reversed(sizes[1:]):
        key, own = divmod(key, max(1, size))
        row.append(own)
    return (*([key] if len(sizes) else []), *reversed(row))


def zipped(columns: Sequence[Iterable[T]], count: int) -> Iterable[tuple[T, ...]]:
    """The ``count`` rows of some columns, of which there may be none.

    >>> list(zipped([[1, 2], "ab"], 2)), list(zipped([], 2))
    ([(1, 'a'), (2, 'b')], [(), ()])
    """
    return zip(*columns, strict=True) if columns else repeat((), count)


def rows_at(
    rows: Iterable[tuple[int, ...]], places: Sequence[int]
) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Index a few rows by their values at some ``places``, in plain Python.

    >>> rows_at([(1, 2), (3, 2)], [1])
    {(2,): [(1, 2), (3, 2)]}
    """
    by_key: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for row in rows:
        by_key.setdefault(tuple([row[place] for place in places]), []).append(row)
    return by_key


def unique_rows(
    rows: npt.NDArray[np.int64], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct rows, sorted, and the index of each row among them."""
    keys = row_keys(list(rows.T), sizes, len(rows))
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], places.reshape(-1).astype(np.int64)


def places_among(known: Keys, keys: Keys) -> npt.NDArray[np.int64]:
    """Index of each wanted key among sorted keys of the same sizes; -1 if it is missing."""
    if not len(known):
        return np.full(len(keys), -1)
    if known.dtype == keys.dtype == np.int64:
        first, size = int(known[0]), int(known[-1]) - int(known[0]) + 1
        if size <= SPREAD * (len(known) + len(keys)):
            return _places_in_range(known, keys, first, size)
        if min(len(known), len(keys)) >= MANY:
            return Places(known).of(keys)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)


def each_in(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of several ranges, ``counts[i]`` of them from ``starts[i]`` on: for each the number of its
    range, and the index itself.

    >>> [part.tolist() for part in each_in(np.array([7, 0]), np.array([1, 2]))]
    [[0, 1, 1], [7, 0, 1]]
    """
    if counts.max(initial=0) <= 1:
        ranges = np.flatnonzero(counts)
        return ranges, starts[ranges]
    ranges = np.repeat(np.arange(len(counts)), counts)
    return ranges, np.arange(len(ranges)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def _places_in_range(known: Keys, keys: Keys, first: int, size: int) -> npt.NDArray[np.int64]:
    """:func:`places_among` by an array over all numbers from the first key to the last; without an array if
    all of them are keys."""
    inside = (keys >= first) & (keys < first + size)
    if size == len(known):
        return np.where(inside, keys - first, -1)
    places = np.full(size + 1, -1)
    places[known - first] = np.arange(len(known))
    return places[np.where(inside, keys - first, size)]  # the last entry, which no key has


class Places:
    """Hash table from unsorted int64 keys, duplicates among them, to their indices. ``like`` [key]: index of
    an equal key, the same for all equal keys.

    A key times an odd multiplier is a unique product. Its highest bits select an entry of the table; the
    entry holds the remaining bits, and the index in the bits that these leave free. So one memory access both
    finds the index and compares the whole key. Keys whose entry is taken go into a further table of the same
    kind; each table has at least twice as many entries as keys.
    """

    def __init__(self, keys: npt.NDArray[np.int64], number: int = 0) -> None:
        count, self._number = len(keys), number
        self._bits = (2 * count).bit_length()
        places = np.arange(count, dtype=np.uint64)
        entries, rests = self._parts(keys)
        self._table = np.full(1 << self._bits, _FREE)
        self._table[entries] = rests | places
        self._count = np.uint64(count)
        places = self._table[entries]
        places ^= rests
        self.like = places.astype(np.int32 if count < 2**31 else np.int64)
        self._left = np.flatnonzero(places >= self._count)
        self._others = Places(keys[self._left], number + 1) if len(self._left) else None
        if self._others is not None:
            self.like[self._left] = self._left[self._others.like]

    def of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Index of each wanted key, as in ``like``; -1 if it is missing."""
        places = np.empty(len(numbers), np.int64)
        for start in range(0, len(numbers), BLOCK):
            places[start : start + BLOCK] = self._of_block(numbers[start : start + BLOCK])
        return places

    def _of_block(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        entries, rests = self._parts(numbers)
        held = self._table[entries]
        rests ^= held
        at = rests.view(np.int64)
        absent = rests >= self._count
        if absent.any():
            np.copyto(at, -1, where=absent)
            absent &= held != _FREE  # a free entry ends the search
            left = np.flatnonzero(absent)
            if self._others is not None and len(left):
                places = self._others._of_block(numbers[left])
                at[left] = np.where(places < 0, -1, self._left[places])
        return at

    def _parts(self, keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """Entry of each key, and the rest of its product, shifted to the highest bits."""
        products = keys.view(np.uint64) * np.uint64(_multiplier(self._number))
        entries = products >> np.uint64(64 - self._bits) if self._bits else np.zeros_like(products)
        products <<= np.uint64(self._bits)
        return entries.view(np.int64), products


_FREE = np.uint64(2**64 - 1)
"""Value of an empty entry; its lowest bits would be an index beyond the last."""


@cache
def _multiplier(number: int) -> int:
    """Odd multiplier of table ``number``. They differ without a pattern, as keys that collided in every table
    could not be stored. The first, 2^64 over the golden ratio, spreads consecutive numbers evenly (Knuth,
    volume 3, section 6.4)."""
    if not number:
        return 0x9E3779B97F4A7C15
    return (_multiplier(number - 1) * 6364136223846793005 + 1442695040888963407) % 2**64 | 1


SPREAD = 4
"""Keys index an array directly if their range is at most this many times their number; beyond it, filling the
array costs more than a search."""
BLOCK = 1 << 17
"""Number of keys that fit into the caches together with the arrays computed from them."""
FEW_RUNS = 8
"""Up to this many ascending runs are merged faster than sorted; merging takes a pass for each doubling."""
COUNTED = 1 << 16
"""NumPy sorts integers of 16 bits by counting."""
STRIDE = 64
"""Keys at this distance are compared to see whether all are nearly sorted; a merging sort is faster then."""
PARTED = 1 << 18
"""From this many keys on, sort in parts that fit into the caches, with a thread for each processor."""
MANY = 10_000
"""From this many keys on, hashing is faster than searching sorted keys."""


def numbered(
    numbers: npt.NDArray[np.integer], size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The distinct ``numbers`` (below ``size``), ascending, and the index of each number among them."""
    there = np.zeros(size, bool)
    there[numbers] = True
    places = np.cumsum(there, dtype=np.int32)
    places -= 1
    return np.flatnonzero(there), places[numbers]


def ascend(keys: Keys) -> bool:
    """Whether no key is less than the one before it."""
    return bool((keys[:-1] <= keys[1:]).all())


def stable_order(keys: Keys, size: int) -> npt.NDArray[np.int64]:
    """Permutation that sorts keys stably; integer keys are below ``size``.

    NumPy counts keys of 16 bits. If a key and its index fit into 64 bits together, these are sorted as one
    number: an argsort is slower, and a stable one slower still. NumPy merges keys of a few ascending runs
    faster than either.
    """
    bits = (len(keys) - 1).bit_length()
    needed = (size - 1).bit_length() + bits
    falls = np.count_nonzero(keys[1:] < keys[:-1])
    if len(keys) < MANY or needed > 63 or falls < FEW_RUNS:
        return np.argsort(keys, kind="stable")
    if size <= COUNTED:
        return np.argsort(keys.astype(np.uint16), kind="stable")
    order = keys.astype(np.uint32 if needed <= 32 else np.int64)  # 32 bits sort in half the time
    order <<= bits
    order |= np.arange(len(keys), dtype=order.dtype)
    order.sort()
    order &= (1 << bits) - 1
    return order.astype(np.int64, copy=False)


def row_pointers(sorted_or_not: np.ndarray, size: int) -> np.ndarray:
    """Start of each value's rows once they are sorted by value, [size + 1]."""
    counts = np.bincount(sorted_or_not, minlength=size) if len(sorted_or_not) else np.zeros(size, np.int64)
    pointers = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def by_number(numbers: np.ndarray, size: int) -> tuple[npt.NDArray[np.int64], np.ndarray]:
    """Stable order of rows by their numbers (below ``size``), and the start of each number's rows.

    >>> [part.tolist() for part in by_number(np.array([2, 0, 2]), 3)]
    [[1, 0, 2], [0, 1, 1, 3]]
    """
    return stable_order(numbers, size), row_pointers(numbers, size)


def equal_rows(rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each distinct row of a table with the indices of the rows equal to it.

    >>> [(row.tolist(), places.tolist()) for row, places in equal_rows(np.array([[1, 2], [0, 5], [1, 2]]))]
    [([0, 5], [1]), ([1, 2], [0, 2])]
    """
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    order, starts = by_number(which.reshape(-1), len(distinct))
    for number, row in enumerate(distinct):
        yield row, order[starts[number] : starts[number + 1]]


def run_starts(numbers: Keys) -> np.ndarray:
    """Start of each run of equal numbers."""
    if not len(numbers):
        return np.empty(0, np.int64)
    begins = np.empty(len(numbers), bool)
    begins[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return begins.nonzero()[0]


def _as_bytes(columns: Columns, sizes: Sequence[int]) -> npt.NDArray[np.bytes_]:
    """Rows as bytes: big-endian cells of one width, so that bytes compare as rows do.

    NumPy ignores zeros at the end of bytes when it compares; for bytes of one length that changes neither
    equality nor order.
    """
    cell = _cell(sizes)
    cells = np.empty((len(columns[0]), len(columns)), cell)
    for place, column in enumerate(columns):
        cells[:, place] = column
    return cells.view(f"S{cell.itemsize * len(columns)}").reshape(-1)


def _cell(sizes: Sequence[int]) -> np.dtype[np.unsignedinteger]:
    return np.dtype(">u4" if max(sizes) <= 2**32 else ">u8")


def unique_sorted(keys: Keys, sizes: Sequence[int]) -> Keys:
    """Distinct keys of rows of these sizes, ascending; the same array if it is so already.

    >>> unique_sorted(np.array([8, 5, 8]), [9]).tolist()
    [5, 8]
    """
    if len(keys) < 2 or (keys[:-1] < keys[1:]).all():
        return keys
    return _sorted(keys, sizes, _each_once)


def _each_once(ordered: Keys) -> Keys:
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]


def counted(keys: Keys, sizes: Sequence[int]) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Distinct keys of rows of these sizes, ascending, and the number of times that each occurs.

    >>> [part.tolist() for part in counted(np.array([8, 5, 8]), [9])]
    [[5, 8], [1, 2]]
    """
    size = math.prod(max(1, size) for size in sizes)
    if size <= SPREAD * len(keys):
        counts = np.bincount(keys, minlength=size)
        kept = np.flatnonzero(counts)
        return kept, counts[kept]
    ordered = keys if ascend(keys) else _sorted(keys, sizes)
    starts = run_starts(ordered)
    counts = np.full(len(starts), len(keys))
    counts[:-1] = starts[1:]
    counts -= starts
    return ordered[starts], counts


def _sorted(keys: Keys, sizes: Sequence[int], then: Callable[[Keys], Keys] = lambda ordered: ordered) -> Keys:
    """Sort keys and apply ``then`` to them, possibly part by part. Keys that fit into 32 bits take half the
    time; nearly sorted keys and large arrays take less by other methods."""
    size = math.prod(max(1, size) for size in sizes)
    if ascend(keys[::STRIDE]):
        return then(np.sort(keys, kind="stable"))
    if len(keys) >= PARTED and size <= LARGEST_KEY:
        bits = (size - 1).bit_length()
        leading = min(8, (len(keys) // BLOCK).bit_length(), bits)
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # NumPy lets others run while it sorts
            parts = threads.map(
                lambda pieces: then(_in_order(np.concatenate(pieces), bits - leading)),
                _parted(keys, bits - leading, 1 << leading),
            )
            return np.concatenate(list(parts))
    ordered = keys.astype(np.uint32) if size <= 2**32 else keys.copy()
    ordered.sort()
    return then(ordered.astype(keys.dtype, copy=False))


def _parted(keys: Keys, below: int, count: int) -> Iterator[list[Keys]]:
    """Partition keys by the bits above their ``below`` lowest, in order of these bits. Block by block, as
    keys of a block are moved within the caches."""
    pieces: list[list[Keys]] = [[] for _ in range(count)]
    for start in range(0, len(keys), BLOCK):
        block = keys[start : start + BLOCK]
        leading = (block >> below).astype(np.uint8)
        block = block[np.argsort(leading, kind="stable")]
        ends = np.cumsum(np.bincount(leading, minlength=count)).tolist()
        for own, begin, end in zip(pieces, [0, *ends], ends, strict=False):
            own.append(block[begin:end])
    return filter(lambda own: any(map(len, own)), pieces)


def _in_order(keys: Keys, bits: int) -> Keys:
    """Sort keys that agree above ``bits`` bits; counting the next 16 bits nearly sorts them."""
    leading = (keys >> max(0, bits - 16)).astype(np.uint16)
    ordered = keys[np.argsort(leading, kind="stable")]
    ordered.sort(kind="stable")
    return ordered


def unique_pairs(keys: Keys, numbers: npt.NDArray[np.float64]) -> tuple[Keys, npt.NDArray[np.float64]]:
    """Distinct pairs of a key and a number, ascending by key, then by number."""
    order = np.lexsort((numbers, keys))
    keys, numbers = keys[order], numbers[order]
    if len(keys) < 2:
        return keys, numbers
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    return keys[first], numbers[first]
