"""Loops over compressed rows that neither scipy nor torch has.

>>> pointers, columns = np.array([0, 2, 3]), np.array([0, 1, 1])
>>> sampled_products(pointers, columns, np.ones((2, 1)), np.array([[2.0], [5.0]]))
array([2., 5., 5.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.loops import loop

Array = NDArray[Any]

INTO_MASK, INTO_LEFT, INTO_RIGHT = 0, 1, 2
"""Which of the three sparse matrices of a triangle the result belongs to."""


@loop
def sampled_products(pointers: Array, columns: Array, left: Array, right: Array) -> Array:
    """Inner product of left[i] and right[j] for every entry (i, j) of a matrix in compressed rows."""
    products = np.zeros(len(columns), left.dtype)
    for row in range(len(pointers) - 1):
        for entry in range(pointers[row], pointers[row + 1]):
            column = columns[entry]
            for place in range(left.shape[1]):
                products[entry] += left[row, place] * right[column, place]
    return products


@loop
def triangle_by_rows(
    target: int,
    left_pointers: Array,
    left_columns: Array,
    left: Array,
    right_pointers: Array,
    right_columns: Array,
    right: Array,
    mask_pointers: Array,
    mask_columns: Array,
    mask: Array,
    width: int,
    sums: Array,
) -> None:
    """Add the derivative of Σ over i, j, k of left[i, j] right[j, k] mask[i, k] by the values of ``target``
    to ``sums``.

    Walks every product of an entry of ``left`` with a row of ``right``; ``width`` is the number of columns k.
    """
    # A dense lookup of the mask's row makes each product one step; clearing only its entries keeps rows
    # cheap.
    place = np.full(width, -1, np.int64)
    for row in range(len(left_pointers) - 1):
        start, stop = mask_pointers[row], mask_pointers[row + 1]
        if start == stop:
            continue
        for entry in range(start, stop):
            place[mask_columns[entry]] = entry
        for one in range(left_pointers[row], left_pointers[row + 1]):
            inner = left_columns[one]
            for other in range(right_pointers[inner], right_pointers[inner + 1]):
                entry = place[right_columns[other]]
                if entry >= 0:
                    if target == INTO_MASK:
                        sums[entry] += left[one] * right[other]
                    elif target == INTO_LEFT:
                        sums[one] += mask[entry] * right[other]
                    else:
                        sums[other] += mask[entry] * left[one]
        for entry in range(start, stop):
            place[mask_columns[entry]] = -1


@loop
def triangle_by_entries(
    target: int,
    left_pointers: Array,
    left_columns: Array,
    left: Array,
    right_pointers: Array,
    right_rows: Array,
    right: Array,
    mask_pointers: Array,
    mask_columns: Array,
    mask: Array,
    sums: Array,
) -> None:
    """Add the same derivative as :func:`triangle_by_rows`, with ``right`` in compressed columns.

    For each entry of ``mask``, the row of ``left`` and the column of ``right`` are intersected.
    """
    for row in range(len(left_pointers) - 1):
        left_start, left_stop = left_pointers[row], left_pointers[row + 1]
        if left_start == left_stop:
            continue
        for entry in range(mask_pointers[row], mask_pointers[row + 1]):
            column = mask_columns[entry]
            one, other = left_start, right_pointers[column]
            stop = right_pointers[column + 1]
            while one < left_stop and other < stop:
                ahead, behind = left_columns[one], right_rows[other]
                if ahead == behind:
                    if target == INTO_MASK:
                        sums[entry] += left[one] * right[other]
                    elif target == INTO_LEFT:
                        sums[one] += mask[entry] * right[other]
                    else:
                        sums[other] += mask[entry] * left[one]
                    one += 1
                    other += 1
                elif ahead < behind:
                    one += 1
                    if one < left_stop and left_columns[one] < behind:
                        one = _gallop(left_columns, one, left_stop, behind)
                else:
                    other += 1
                    if other < stop and right_rows[other] < ahead:
                        other = _gallop(right_rows, other, stop, ahead)


@loop
def _gallop(sorted_values: Array, start: Any, stop: Any, value: Any) -> Any:
    """First place from ``start`` on whose value is at least ``value``: by doubling strides,
    then by bisection."""
    stride = 1
    while start + stride < stop and sorted_values[start + stride] < value:
        start += stride
        stride *= 2
    stop = min(stop, start + stride)
    while start < stop:
        middle = (start + stop) // 2
        if sorted_values[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start
