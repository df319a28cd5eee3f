"""Pushes through compressed rows where the marks that tell places are used up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from herbrand.engines.proof import join_sum
from herbrand.engines.proof.join_sum import MaskedPush, Push, Workspace
from herbrand.engines.proof.kernels import HIGHEST_MARK, Mask, Taken

GROUPS, PIVOTS, VALUES = np.array([0, 2, 3, 5]), np.array([0, 1, 2, 0, 2]), np.array([1.0, 2, 3, 4, 5])
POINTERS, COLUMNS = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 3], np.int32)
WIDTH = 4
FREE = np.empty(0)


def expected(best: bool) -> list[dict[int, float]]:
    """What each group finds, by a plain loop."""
    found: list[dict[int, float]] = []
    for group in range(len(GROUPS) - 1):
        sums: dict[int, float] = {}
        for one in range(GROUPS[group], GROUPS[group + 1]):
            for entry in range(POINTERS[PIVOTS[one]], POINTERS[PIVOTS[one] + 1]):
                column, term = int(COLUMNS[entry]), float(VALUES[one])
                sums[column] = max(sums.get(column, 0.0), term) if best else sums.get(column, 0.0) + term
        found.append(sums)
    return found


def by_group(counts: np.ndarray, found: np.ndarray, totals: np.ndarray) -> list[dict[int, float]]:
    ends = np.append(0, np.cumsum(counts))
    parts = [slice(*pair) for pair in pairwise(ends)]
    return [dict(zip(found[part].tolist(), totals[part].tolist(), strict=True)) for part in parts]


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("left", range(9))
def test_marks_begin_anew(left: int, best: bool) -> None:
    """However few are left when a push begins, in the middle of it or before."""
    workspace = Workspace()
    taken = Taken(GROUPS, PIVOTS, VALUES, POINTERS, COLUMNS, FREE)
    push = Push(taken, WIDTH, workspace)
    first, length = np.array([0, 1, 3]), np.array([3, 0, 2])
    allowed = np.array([1, 2, 3, 0, 3], np.int32)
    masked = MaskedPush(taken, Mask(first, length, allowed, FREE), WIDTH, workspace)
    marks, base = workspace.of(WIDTH)
    wanted = expected(best)
    kept = [
        {
            column: wanted[g][column]
            for column in allowed[first[g] : first[g] + length[g]]
            if column in wanted[g]
        }
        for g in range(3)
    ]
    for _ in range(2):
        base[0] = HIGHEST_MARK - left
        marks[:] = np.array([HIGHEST_MARK - left - 1, 5, -1, HIGHEST_MARK - left - 2], np.int64)
        assert by_group(*push.forward(best, lambda rows, columns: None)) == wanted
        assert by_group(*masked.forward(best, lambda rows, columns: None)) == kept


def test_limits_are_asked_between_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A push comes back when it has walked over enough facts: here after each group that has any."""
    taken = Taken(GROUPS, PIVOTS, VALUES, POINTERS, COLUMNS, FREE)
    mask = Mask(np.array([0, 1, 3]), np.array([3, 0, 2]), np.array([1, 2, 3, 0, 3], np.int32), FREE)
    monkeypatch.setattr(join_sum, "most_at_once", lambda _: 0)
    asked: list[float] = []

    def check(rows: float, columns: int) -> None:
        asked.append(rows)

    Push(taken, WIDTH, Workspace()).forward(False, check)
    assert asked == [3, 5, 8]
    asked.clear()
    MaskedPush(taken, mask, WIDTH, Workspace()).forward(False, check)
    assert asked == [5, 2, 4]
