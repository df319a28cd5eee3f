"""The function that workers apply to parts of a network: it tightens the intervals of their atoms.

It maps rows to rows, so that it runs in a process of this machine and on an executor of Spark alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from herbrand.engines.credal.ariel.message_part import MessagePart
from herbrand.engines.credal.ariel.messages import FoundContradictionError

NONE_FAILED = -1
SOLVED_SCHEMA = pa.schema(
    [("atom", pa.int64()), ("lower", pa.float64()), ("upper", pa.float64()), ("failed", pa.int64())]
)
"""``failed``: a sentence that contradicts the intervals of its atoms; the row has no other information
then."""


def swept(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Solve each row of ``batch``: ``data`` of a part and ``members``, with place, atom, lower and upper, in
    order of places."""
    solved = [
        _solved(data.as_py(), members) for data, members in zip(batch["data"], batch["members"], strict=True)
    ]
    columns = zip(*solved, strict=True) if solved else [[], [], [], []]
    arrays = [np.concatenate(column) if column else np.empty(0) for column in map(list, columns)]
    return pa.RecordBatch.from_arrays(
        [pa.array(array, kind) for array, kind in zip(arrays, SOLVED_SCHEMA.types, strict=True)],
        schema=SOLVED_SCHEMA,
    )


def swept_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Solve batch by batch."""
    for batch in batches:
        yield swept(batch)


def _solved(data: bytes, members: pa.ListScalar) -> tuple[np.ndarray, ...]:
    named = zip((field.name for field in members.values.type), members.values.flatten(), strict=True)
    columns = {name: column.to_numpy(zero_copy_only=False) for name, column in named}
    atom, lower, upper = columns["atom"], columns["lower"], columns["upper"]
    try:
        lower, upper = MessagePart.from_bytes(data).swept(lower, upper)
    except FoundContradictionError as error:
        return np.array([-1]), np.zeros(1), np.ones(1), error.sentences[:1]
    return atom, lower, upper, np.full(len(atom), NONE_FAILED)
