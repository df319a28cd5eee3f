"""Text and whole numbers as Arrow arrays and back, by their buffers.

pyarrow's own conversions do the same, but import pandas wherever it is installed, which takes longer than
all else that a small theory's facts need.

>>> text_array(["anna", "bob"]).to_pylist()
['anna', 'bob']
>>> number_array(np.array([3, 1])).to_pylist()
[3, 1]
>>> numbers_in(pa.array([3, 1], pa.uint64())).tolist()
[3, 1]
>>> filled(pa.array([0, None, 2], pa.int32()), -1).tolist()
[0, -1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TEXT = pa.large_string()


def text_array(texts: Sequence[str]) -> pa.Array:
    """The texts as large strings; raises ``UnicodeEncodeError`` for one that is not valid Unicode."""
    whole = "".join(texts)
    lengths = map(len, texts if whole.isascii() else map(str.encode, texts))
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(texts)), out=ends[1:])
    return pa.Array.from_buffers(TEXT, len(texts), [None, pa.py_buffer(ends), pa.py_buffer(whole.encode())])


def number_array(numbers: npt.NDArray[np.int64]) -> pa.Array:
    kept = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, kept])


def numbers_in(array: pa.Array) -> npt.NDArray[np.int64]:
    """The 64 bits of each entry of an array in which none is missing; read-only."""
    kept = array.buffers()[1]
    found = np.empty(0, np.int64) if kept is None else np.frombuffer(kept, np.int64)
    return found[array.offset : array.offset + len(array)]


def filled(numbers: pa.Array, absent: int) -> npt.NDArray[np.int32]:
    """32-bit numbers, ``absent`` where there is none; read-only where all are there."""
    present, kept = numbers.buffers()
    if kept is None:
        return np.full(len(numbers), absent, np.int32)
    within = slice(numbers.offset, numbers.offset + len(numbers))
    found = np.frombuffer(kept, np.int32)[within]
    if present is None:
        return found
    bits = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")
    return np.where(bits[within], found, np.int32(absent))
