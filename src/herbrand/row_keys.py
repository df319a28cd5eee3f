"""Rows of whole numbers as one sortable key each: the one place where such keys are made.

Keys sort as the rows do, lexicographically, and give their rows back. Where the product of the columns' sizes
fits into 63 bits a key is an int64, the row in mixed radix; where it does not (five columns over 12,000
constants do not) a key is the row itself as bytes. NumPy sorts, searches and compares both alike, and keys of
the same sizes are of the same kind, so that those made at different times may be compared.

>>> keys = row_keys([np.array([1, 0, 1]), np.array([2, 5, 2])], [2, 6])
>>> keys.tolist(), [column.tolist() for column in key_columns(np.unique(keys), [2, 6])]
([8, 5, 8], [[0, 1], [5, 2]])
>>> wide = row_keys([np.array([1, 0, 256]), np.array([2, 5, 0])], [2**40, 2**40])
>>> np.argsort(wide).tolist(), [column.tolist() for column in key_columns(wide, [2**40, 2**40])]
([1, 0, 2], [[1, 0, 256], [2, 5, 0]])
>>> row_pointers(np.array([0, 2, 2]), 3).tolist(), run_starts(np.array([4, 4, 7, 4])).tolist()
([0, 1, 1, 3], [0, 2, 3])

Keys in no order are found by hashing, which costs a fifth of sorting them (:class:`Places`):

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
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_KEY = 2**63 - 1
Keys = npt.NDArray[Any]
"""int64, or bytes of one length."""
Columns = Sequence[npt.NDArray[np.integer]]


def fit(sizes: Sequence[int]) -> bool:
    """Whether rows of columns with these sizes can be numbered by 64 bits."""
    return math.prod(max(1, size) for size in sizes) <= LARGEST_KEY


def row_keys(columns: Columns, sizes: Sequence[int], count: int = 0) -> Keys:
    """One key a row; ``sizes`` bounds each column's values, and ``count``: the rows of no columns."""
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
    """The inverse of :func:`row_keys`, a column for each size."""
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
    """The first row below these sizes whose key is not among these, sorted and distinct; some row is missing.

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
    """The row of one key that is a number, in plain Python.

    >>> row_of(8, [2, 6]), row_of(0, [])
    ((1, 2), ())
    """
    row: list[int] = []
    for size in reversed(sizes[1:]):
        key, own = divmod(key, max(1, size))
        row.append(own)
    return (*([key] if len(sizes) else []), *reversed(row))


def rows_at(
    rows: Iterable[tuple[int, ...]], places: Sequence[int]
) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """A few rows by their numbers at some places, in plain Python.

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
    """The distinct rows in order, and for each row the place of its like among them."""
    keys = row_keys(list(rows.T), sizes, len(rows))
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], places.reshape(-1).astype(np.int64)


def places_among(known: Keys, wanted: Keys) -> npt.NDArray[np.int64]:
    """The place of each key among sorted keys of the same sizes; -1 for one that is not there."""
    if not len(known):
        return np.full(len(wanted), -1)
    if known.dtype == wanted.dtype == np.int64:
        first, size = int(known[0]), int(known[-1]) - int(known[0]) + 1
        if size <= SPREAD * (len(known) + len(wanted)):
            return _places_in_range(known, wanted, first, size)
        if min(len(known), len(wanted)) >= MANY:
            return Places(known).of(wanted)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def each_in(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each place of some ranges, ``counts[i]`` of them from ``starts[i]`` on: the number of its range,
    and the place.

    >>> [part.tolist() for part in each_in(np.array([7, 0]), np.array([1, 2]))]
    [[0, 1, 1], [7, 0, 1]]
    """
    if counts.max(initial=0) <= 1:
        ranges = np.flatnonzero(counts)
        return ranges, starts[ranges]
    ranges = np.repeat(np.arange(len(counts)), counts)
    return ranges, np.arange(len(ranges)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def _places_in_range(known: Keys, wanted: Keys, first: int, size: int) -> npt.NDArray[np.int64]:
    """The same by an array over all numbers from the first key to the last, or by none where all are keys."""
    inside = (wanted >= first) & (wanted < first + size)
    if size == len(known):
        return np.where(inside, wanted - first, -1)
    places = np.full(size + 1, -1)
    places[known - first] = np.arange(len(known))
    return places[np.where(inside, wanted - first, size)]  # the last entry, which no key has


class Places:
    """Finds keys in any order, which may stand more than once. ``like`` [key]: the place of an equal key, the
    same one for all that are equal.

    A product with the key, which no other key has, picks an entry of a table by its highest bits; the entry
    holds the bits that are left, and the place in the bits that these leave free. So one look at memory both
    finds a place and compares the whole key. Keys whose entry another one has taken are found by places of
    their own, and so on; each table has at least twice as many entries as keys.
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

    def of(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The place of each, that of ``like``; -1 for one that is not there."""
        places = np.empty(len(wanted), np.int64)
        for start in range(0, len(wanted), BLOCK):
            places[start : start + BLOCK] = self._of_block(wanted[start : start + BLOCK])
        return places

    def _of_block(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        entries, rests = self._parts(wanted)
        held = self._table[entries]
        rests ^= held
        at = rests.view(np.int64)
        absent = rests >= self._count
        if absent.any():
            np.copyto(at, -1, where=absent)
            absent &= held != _FREE  # a free entry ends the search
            left = np.flatnonzero(absent)
            if self._others is not None and len(left):
                places = self._others._of_block(wanted[left])
                at[left] = np.where(places < 0, -1, self._left[places])
        return at

    def _parts(self, keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """The entry of each key, and the rest of its product in the highest bits."""
        products = keys.view(np.uint64) * np.uint64(_multiplier(self._number))
        entries = products >> np.uint64(64 - self._bits) if self._bits else np.zeros_like(products)
        products <<= np.uint64(self._bits)
        return entries.view(np.int64), products


_FREE = np.uint64(2**64 - 1)
"""Of an entry without a key: its lowest bits would be a place beyond the last one."""


@cache
def _multiplier(number: int) -> int:
    """Odd numbers without a pattern, never the same: two keys that always meet would never be told apart. The
    first, 2^64 over the golden ratio, spreads numbers in a row evenly (Knuth, volume 3, section 6.4)."""
    if not number:
        return 0x9E3779B97F4A7C15
    return (_multiplier(number - 1) * 6364136223846793005 + 1442695040888963407) % 2**64 | 1


SPREAD = 4
"""Keys index an array directly where their range is at most this many times their number: above it the array
would cost more than looking for them."""
BLOCK = 1 << 17
"""So many keys at a time fit into the caches with what is computed of them."""
FEW_RUNS = 8
"""Keys in so many runs that ascend are merged in less time than they are sorted: a pass for each doubling."""
COUNTED = 1 << 16
"""Keys below it NumPy sorts by counting them."""
STRIDE = 64
"""Where keys so far apart ascend all are nearly in order, which a sort that merges runs makes use of."""
PARTED = 1 << 18
"""So many keys are sorted in parts that fit into the caches, by as many threads as there are processors."""
MANY = 10_000
"""So many keys are hashed; fewer are searched for among sorted ones in less time."""


def numbered(
    numbers: npt.NDArray[np.integer], size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Those of the numbers from 0 up to ``size`` that occur, ascending, and the place of each among them."""
    there = np.zeros(size, bool)
    there[numbers] = True
    places = np.cumsum(there, dtype=np.int32)
    places -= 1
    return np.flatnonzero(there), places[numbers]


def ascend(keys: Keys) -> bool:
    """Whether no key is less than the one before it."""
    return bool((keys[:-1] <= keys[1:]).all())


def stable_order(keys: Keys, size: int) -> npt.NDArray[np.int64]:
    """The order that sorts keys, which are below ``size`` where they are numbers; equal ones stay in theirs.

    Keys of 16 bits NumPy counts. Where a key and its place fit into 64 bits together, these are sorted: they
    need no argsort, which is slower and not stable, or slower still. Keys in a few runs that ascend NumPy
    merges sooner than that.
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
    """Where the rows of each value would begin if they were sorted by it, [size + 1]."""
    counts = np.bincount(sorted_or_not, minlength=size) if len(sorted_or_not) else np.zeros(size, np.int64)
    pointers = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def by_number(numbers: np.ndarray, size: int) -> tuple[npt.NDArray[np.int64], np.ndarray]:
    """Rows in the order of their numbers, which are below ``size``, and where those of each number begin.

    >>> [part.tolist() for part in by_number(np.array([2, 0, 2]), 3)]
    [[1, 0, 2], [0, 1, 1, 3]]
    """
    return stable_order(numbers, size), row_pointers(numbers, size)


def run_starts(numbers: Keys) -> np.ndarray:
    """Where each run of equal numbers begins."""
    if not len(numbers):
        return np.empty(0, np.int64)
    begins = np.empty(len(numbers), bool)
    begins[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return begins.nonzero()[0]


def _as_bytes(columns: Columns, sizes: Sequence[int]) -> npt.NDArray[np.bytes_]:
    """Big-endian cells of one width, so that bytes compare as rows do.

    NumPy leaves out zeros at the end of a text of bytes when it compares; in texts of one length that changes
    neither equality nor order.
    """
    cell = _cell(sizes)
    cells = np.empty((len(columns[0]), len(columns)), cell)
    for place, column in enumerate(columns):
        cells[:, place] = column
    return cells.view(f"S{cell.itemsize * len(columns)}").reshape(-1)


def _cell(sizes: Sequence[int]) -> np.dtype[np.unsignedinteger]:
    return np.dtype(">u4" if max(sizes) <= 2**32 else ">u8")


def unique_sorted(keys: Keys, sizes: Sequence[int]) -> Keys:
    """Keys of rows of these sizes, ascending, each once: the keys themselves, if they are.

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
    """Keys of rows of these sizes, ascending, each once, and how often each is there.

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
    """Keys ascending, and what ``then`` makes of them, which may come in parts. In half the time where they
    fit into 32 bits; sooner still where they are nearly in order, or many."""
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
    """Keys by what stands above their ``below`` lowest bits, in its order: those of a block are moved within
    the caches, where keys of a whole table would be moved all over memory."""
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
    """Keys that are alike above so many bits: the next 16 are counted, which nearly sorts them."""
    leading = (keys >> max(0, bits - 16)).astype(np.uint16)
    ordered = keys[np.argsort(leading, kind="stable")]
    ordered.sort(kind="stable")
    return ordered


def unique_pairs(keys: Keys, numbers: npt.NDArray[np.float64]) -> tuple[Keys, npt.NDArray[np.float64]]:
    """Ascending by key, then by number, each pair once."""
    order = np.lexsort((numbers, keys))
    keys, numbers = keys[order], numbers[order]
    if len(keys) < 2:
        return keys, numbers
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    return keys[first], numbers[first]
