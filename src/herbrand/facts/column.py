"""Columns of constants in Arrow.

Arrow arrays of text or numbers become a :class:`Column`: the distinct constants, and for every row the code
of its constant, so that each distinct constant is checked and converted once. :class:`Constants` reads such
columns as Python values on access.

>>> column = dictionary_column(pa.array(["bob", "anna", "bob", None]))
>>> column.values.to_pylist(), column.codes.tolist(), column.kind
(['bob', 'anna'], [0, 1, 0, -1], 'text')
>>> python_column(["bob", "", "bob"], text_array, "").codes.tolist()
[0, -1, 0]
>>> text_array(["", "bob"], keep_empty=False).to_pylist()
[None, 'bob']
>>> column = Constants(pa.array(["anna", "bob", "carl"]), np.array([2, 0, 2]))
>>> len(column), column[0], list(column[1:]), column == ["carl", "anna", "carl"]
(3, 'carl', ['anna', 'carl'], True)
>>> Constants(pa.array([1.0, 2.5])).to_arrow().to_pylist(), list(Constants(pa.array([1.0, 2.5])))
([1.0, 2.5], [1, 2.5])
>>> text_array(["anna", "bob"]).to_pylist(), number_array(np.array([3, 1])).to_pylist()
(['anna', 'bob'], [3, 1])
>>> numbers_in(pa.array([3, 1], pa.uint64())).tolist()
[3, 1]
>>> filled(pa.array([0, None, 2], pa.int32()), -1).tolist()
[0, -1, 2]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.extras import pc
from herbrand.language.names import simplest
from herbrand.language.signature import Kind
from herbrand.language.syntax import Value
from herbrand.row_keys import SPREAD, numbered

# Text and whole numbers as Arrow arrays and back, by their buffers: pyarrow's own conversions do the same,
# but import pandas wherever it is installed, which takes longer than all that a small theory's facts need.


TEXT = pa.large_string()
SMALL = 64
"""Up to this many constants are compared and looked up as Python values, which is faster than a call of
Arrow."""


def text_array(texts: Sequence[str], *, keep_empty: bool = True) -> pa.Array:
    """Array of large strings; an empty text is null unless ``keep_empty``. Raises ``UnicodeEncodeError`` for
    a text that is not valid Unicode."""
    whole = "".join(texts)
    lengths = map(len, texts if whole.isascii() else map(str.encode, texts))
    ends = np.zeros(len(texts) + 1, np.int64)
    np.fromiter(lengths, np.int64, len(texts)).cumsum(out=ends[1:])
    present = None
    if not keep_empty and "" in texts:
        present = pa.py_buffer(np.packbits(np.diff(ends) > 0, bitorder="little"))
    kept = [present, pa.py_buffer(ends), pa.py_buffer(whole.encode())]
    return pa.Array.from_buffers(TEXT, len(texts), kept)


def number_array(numbers: npt.NDArray[np.int64]) -> pa.Array:
    kept = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, kept])


def numbers_in(array: pa.Array) -> npt.NDArray[np.int64]:
    """Numbers of an array without nulls, as a read-only view of its 64-bit entries."""
    kept = array.buffers()[1]
    numbers = np.empty(0, np.int64) if kept is None else np.frombuffer(kept, np.int64)
    return numbers[array.offset : array.offset + len(array)]


def filled(numbers: pa.Array, absent: int) -> npt.NDArray[np.int32]:
    """32-bit numbers with ``absent`` for nulls; read-only if there are no nulls."""
    present, kept = numbers.buffers()
    if kept is None:
        return np.full(len(numbers), absent, np.int32)
    within = slice(numbers.offset, numbers.offset + len(numbers))
    own = np.frombuffer(kept, np.int32)[within]
    if present is None:
        return own
    bits = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")
    return np.where(bits[within], own, np.int32(absent))


# Each constant once


Index = npt.NDArray[np.int32]
Marks = pa.ChunkedArray | npt.NDArray[Any]
"""Cells of a special column: Arrow cells are still to be checked; NumPy cells are truth values or numbers."""
ABSENT = -1
NUMBER_TEXT = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
INTEGER_TEXT = r"^-?\d+$"
EXACT_DIGITS = 15
"""Number of digits up to which all whole numbers are exact as floats."""


@dataclass(frozen=True, eq=False)
class Column:
    """Distinct constants (text, int64 or float64, without nulls) and the code of every row; -1 for null."""

    values: pa.Array
    codes: Index

    @property
    def kind(self) -> Kind:
        return "text" if pa.types.is_large_string(self.values.type) else "number"

    def constant(self, row: int) -> Value:
        """Constant of a row that is not null."""
        return self.values[int(self.codes[row])].as_py()


@dataclass(frozen=True, eq=False)
class Interned:
    """The interned columns of a table. ``marks``: the special column after them; ``rows``: the source's
    number of each row, ascending; None for all rows of the source."""

    columns: tuple[Column, ...]
    row_count: int
    marks: Marks | None = None
    rows: npt.NDArray[np.integer] | None = None

    def row(self, position: int) -> int:
        """Number of the source's row at a position, from 0."""
        return position if self.rows is None else int(self.rows[position])


def dictionary_column(array: pa.Array | pa.ChunkedArray) -> Column:
    """Intern a column in memory; raises ``TypeError`` for Arrow types other than text and numbers, and the
    errors of :func:`constants`."""
    plain = constants(array)
    chunks = plain.chunks if isinstance(plain, pa.ChunkedArray) else [plain]
    if pa.types.is_int64(plain.type) and not plain.null_count:
        parts = [chunk.to_numpy() for chunk in chunks] or [np.empty(0, np.int64)]
        numbers = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if (column := _of_a_range(numbers)) is not None:
            return column
    encoded = pa.chunked_array(chunks, plain.type).dictionary_encode().chunks
    if not encoded:
        return Column(pa.nulls(0, plain.type), np.empty(0, np.int32))
    codes = [filled(chunk.indices, ABSENT) for chunk in encoded]
    return Column(encoded[-1].dictionary, codes[0] if len(codes) == 1 else np.concatenate(codes))


def python_column(
    cells: Sequence[Value], array: Callable[[list[Any]], pa.Array], absent: Value | None = None
) -> Column:
    """Intern a column with a Python dictionary. ``absent``: the value that means null; ``array``: makes an
    array of the distinct constants."""
    distinct = [cell for cell in dict.fromkeys(cells) if cell != absent]
    codes = {absent: ABSENT, **{constant: code for code, constant in enumerate(distinct)}}
    return Column(array(distinct), np.array([codes[cell] for cell in cells], np.int32))


def _of_a_range(numbers: npt.NDArray[np.int64]) -> Column | None:
    """Intern numbers by an array over all whole numbers from the least to the largest; None if too many."""
    if not len(numbers):
        return None
    least, largest = int(numbers.min()), int(numbers.max())
    if largest - least > SPREAD * len(numbers):
        return None
    if least >= 0 and largest <= SPREAD * len(numbers):
        least = 0
    known, codes = numbered(numbers - least if least else numbers, largest - least + 1)
    return Column(number_array(known + least), codes)


def constants(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert constants to large strings, int64 or float64.

    Raises ``TypeError`` for other types, ``ArrowInvalid`` for numbers and times that no constant represents
    exactly, ``OverflowError`` for dates outside the years 1 to 9999.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return constants(decoded(array))
    if pa.types.is_large_string(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind):
        return array
    if pa.types.is_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(TEXT)
    if pa.types.is_integer(kind):
        return array.cast(pa.int64())
    if pa.types.is_decimal(kind):
        return _of_decimals(array)
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _dated(array)
    raise TypeError(str(kind))


def decoded(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Decode a dictionary-encoded column; other columns unchanged.

    Texts are copied first: those of polars are string views, for which Arrow has no ``take``.
    """
    if not pa.types.is_dictionary(array.type):
        return array
    kind = array.type.value_type
    kept = TEXT if pa.types.is_string_view(kind) else kind
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return pa.chunked_array([chunk.dictionary.cast(kept).take(chunk.indices) for chunk in chunks], kept)


def _of_decimals(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert decimals without fraction to whole numbers, others to the nearest floats (Arrow's own cast may
    differ in the last digit); raises ``ArrowInvalid`` for a whole number beyond 64 bits."""
    if array.type.scale <= 0:
        return array.cast(pa.int64())
    distinct = array.unique()
    return distinct.cast(TEXT).cast(pa.float64()).take(pc.index_in(array, distinct))


def _dated(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert dates and times (in UTC) to the texts of their constants.

    Raises ``ArrowInvalid`` for a time finer than microseconds, ``OverflowError`` for years before 1 and after
    9999.
    """
    if pa.types.is_timestamp(array.type):
        try:
            array = array.cast(pa.timestamp("us"), safe=True)
        except pa.ArrowInvalid as error:
            if array.type.unit == "ns":
                raise
            raise OverflowError(str(error)) from None  # coarser units reach further than microseconds
    distinct = array.unique()
    texts = pa.array([None if value is None else value.isoformat() for value in distinct.to_pylist()], TEXT)
    return texts.take(pc.index_in(array, distinct))


def numbers_from_text(texts: pa.Array) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Parse numbers from texts (null for a text that is none), and tell which texts are numbers.

    A whole number that neither int64 nor float64 represents exactly counts as none. A leading plus sign is
    allowed, as spreadsheets and databases write it.
    """
    trimmed = pc.utf8_trim_whitespace(pc.fill_null(texts, ""))
    if pc.any(pc.starts_with(trimmed, "+")).as_py():
        trimmed = pc.replace_substring_regex(trimmed, r"^\+([\d.])", r"\1")
    whole = pc.match_substring_regex(trimmed, INTEGER_TEXT)
    if pc.all(whole).as_py() is not False:
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(pa.int64()), np.ones(len(texts), bool)
    long = pc.and_(whole, pc.greater(pc.utf8_length(trimmed), EXACT_DIGITS))
    kept = pc.match_substring_regex(trimmed, NUMBER_TEXT).to_numpy(zero_copy_only=False)
    kept = kept & ~(long.to_numpy(zero_copy_only=False) & ~_exact(trimmed, long))
    return pc.if_else(pa.array(kept), trimmed, None).cast(pa.float64()), kept


def writes_a_number(text: str) -> bool:
    """Whether a text has the form of a number, even of one that cannot be represented."""
    return re.fullmatch(NUMBER_TEXT, text.strip().removeprefix("+"), re.ASCII) is not None


def _exact(texts: pa.Array, chosen: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether float64 represents each of the chosen whole numbers exactly."""
    exact = np.ones(len(texts), bool)
    for row in np.flatnonzero(chosen.to_numpy(zero_copy_only=False)):
        written = texts[int(row)].as_py()
        exact[row] = Decimal(float(written)) == Decimal(written)  # `int` takes no more than some digits
    return exact


def simplest_numbers(numbers: pa.Array) -> pa.Array:
    """Convert floats to int64 if all are whole and small enough to be exact, so that 1 and 1.0 are one
    constant."""
    if not pa.types.is_floating(numbers.type):
        return numbers
    plain = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = bool(np.all((plain == np.floor(plain)) & (np.abs(plain) <= 2.0**53)))
    return pa.array(plain.astype(np.int64)) if whole else pa.array(plain + 0.0)


# Python's own values, only where somebody looks


@dataclass(frozen=True, eq=False)
class Constants(Sequence[Value]):
    """A read-only sequence of constants. ``indices``: those of its entries among ``values``; ``None`` for all
    values in order. Each value is converted to Python once."""

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
        """Arrow array of text or whole numbers if all entries are such, else of floats."""
        values = self.values
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if self.indices is not None:
            values = values.take(number_array(self.indices.astype(np.int64)))
        if pa.types.is_large_string(values.type) or not len(values):
            return values.cast(pa.string())
        return simplest_numbers(values)

    def taken(self, places: np.ndarray) -> Constants:
        """The entries at these places, in their order."""
        return Constants(self.values, places if self.indices is None else self.indices[places])

    def distinct(self) -> Constants:
        """The distinct constants of the entries."""
        if self.indices is None:
            return Constants(self.values.unique())
        stands = np.zeros(len(self.values), bool)
        stands[self.indices] = True
        return Constants(self.values, np.flatnonzero(stands))

    @cached_property
    def _listed(self) -> list[Value]:
        assert self.indices is not None
        if len(self.values) <= max(len(self.indices), SMALL):  # each constant is converted once
            every = [canonical(value) for value in self.values.to_pylist()]
            return [every[index] for index in self.indices.tolist()]
        taken = self.values.take(number_array(self.indices.astype(np.int64)))
        return [canonical(value) for value in taken.to_pylist()]


def canonical(value: Value) -> Value:
    """The constant, with a whole float as ``int``."""
    return value if isinstance(value, str) else simplest(value)
