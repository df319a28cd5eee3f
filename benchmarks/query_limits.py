"""The sums that the query benchmark races against, written by hand for the one case: the limits.

Each says why it is the fastest form known here. They know the rules by heart, keep no names, refuse nothing
and look for no cut call; what they compute is checked to be the same before it is raced.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

Matrix = Any
"""A scipy matrix in compressed rows, whose types pyright does not know."""


def closure_of_one(transposed: Matrix, start: int, depth: int) -> np.ndarray:
    """Σ over k ≤ depth + 1 of row ``start`` of edge^k.

    A row vector times the matrix, as a dense product with the transposed matrix: on a grid the vector fills
    up, so that a sparse one only adds its bookkeeping.
    """
    state = np.zeros(transposed.shape[0])
    state[start] = 1.0
    total = np.zeros_like(state)
    for _ in range(depth + 1):
        state = transposed @ state
        total += state
    return total


def closure_dense(transposed: Matrix, count: int, depth: int) -> np.ndarray:
    """The same for the first ``count`` rows at once, by scipy's product of a sparse and a dense matrix.

    The states fill up; a column for each start keeps the inner loop contiguous. In blocks of columns that
    stay near the processor, which is faster than all at once and than torch's product (measured).
    """
    size = transposed.shape[0]
    block = max(16, 2**18 // size)
    totals = np.zeros((size, count))
    for first in range(0, count, block):
        many = min(block, count - first)
        state = np.zeros((size, many))
        state[np.arange(first, first + many), np.arange(many)] = 1.0
        total = totals[:, first : first + many]
        for _ in range(depth + 1):
            state = transposed @ state
            total += state
    return totals


def closure_sparse(matrix: Matrix, count: int, depth: int) -> Matrix:
    """The same by products of sparse matrices: better while states are nearly empty (large, shallow)."""
    rows = np.arange(count)
    state = sp.csr_matrix((np.ones(count), (rows, rows)), shape=(count, matrix.shape[0]))
    total = None
    for _ in range(depth + 1):
        state = state @ matrix
        total = state if total is None else total + state
    assert total is not None
    return total


@numba.njit(cache=True)
def chain_of_one(
    pointers: tuple, columns: tuple, start: int, sums: np.ndarray, found: np.ndarray, next_found: np.ndarray
) -> int:
    """A constant pushed through relations in compressed rows: touches only the rows that are reached.

    ``sums`` [constants] is 0 and is left 0; the number of constants found is returned, their places stand in
    ``found``. A product of sparse matrices would take the time of allocating its result (100 times as long).
    """
    found[0], filled = start, 1
    values = np.ones(1)
    for hop in range(len(pointers)):
        after = 0
        for one in range(filled):
            for entry in range(pointers[hop][found[one]], pointers[hop][found[one] + 1]):
                column = columns[hop][entry]
                if sums[column] == 0.0:
                    next_found[after] = column
                    after += 1
                sums[column] += values[one]
        values = np.empty(after)
        for place in range(after):
            found[place] = next_found[place]
            values[place] = sums[found[place]]
            sums[found[place]] = 0.0
        filled = after
    return filled


def chain_of_many(matrices: list[Matrix], starts: np.ndarray) -> Matrix:
    """Many constants at once: products of sparse matrices, one row a question, share the loop over rows."""
    rows = np.arange(len(starts))
    state = sp.csr_matrix((np.ones(len(starts)), (rows, starts)), shape=(len(starts), matrices[0].shape[0]))
    for matrix in matrices:
        state = state @ matrix
    return state


@numba.njit(cache=True)
def masked_product(
    left_pointers: np.ndarray,
    left_columns: np.ndarray,
    right_pointers: np.ndarray,
    right_columns: np.ndarray,
    mask_pointers: np.ndarray,
    mask_columns: np.ndarray,
    width: int,
) -> np.ndarray:
    """left × right at the entries of mask: the paths of two links beside each link of a third relation.

    One row at a time, with the mask's row marked in an array of all columns: no product is written that is
    not wanted (scipy's product and mask: 40 times as long), and no row is sorted.
    """
    found = np.zeros(len(mask_columns))
    place = np.full(width, -1, np.int64)
    for row in range(len(left_pointers) - 1):
        for entry in range(mask_pointers[row], mask_pointers[row + 1]):
            place[mask_columns[entry]] = entry
        if mask_pointers[row] < mask_pointers[row + 1]:
            for one in range(left_pointers[row], left_pointers[row + 1]):
                inner = left_columns[one]
                for other in range(right_pointers[inner], right_pointers[inner + 1]):
                    at = place[right_columns[other]]
                    if at >= 0:
                        found[at] += 1.0
        for entry in range(mask_pointers[row], mask_pointers[row + 1]):
            place[mask_columns[entry]] = -1
    return found


REACHABLE = """
WITH RECURSIVE reached(x, y) AS (
    SELECT a, b FROM edge UNION SELECT r.x, e.b FROM reached r JOIN edge e ON r.y = e.a
) SELECT count(*) FROM reached
"""
"""All pairs that are linked by a path, in SQL; DuckDB runs it by the same semi-naive rounds."""


def reachable(matrix: Matrix) -> int:
    """The same by rounds of a product, new pairs only: dense rows, since all of them fill up."""
    matrix = (matrix != 0).astype(np.float32)
    seen = matrix.toarray() > 0
    new = seen.astype(np.float32)
    while new.any():
        new = np.where(seen, np.float32(0), (matrix.T.tocsr() @ new.T).T)
        new = (new > 0).astype(np.float32)
        seen |= new > 0
    return int(seen.sum())
