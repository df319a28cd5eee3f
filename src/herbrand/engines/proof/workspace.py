"""Memory that the push kernels write into, kept from one question to the next: one for each thread.

>>> workspace = Workspace()
>>> sums, marks = workspace.of(4)
>>> len(sums), marks.tolist(), workspace.of(4)[0] is sums
(4, [-1, -1, -1, -1], True)
"""

from __future__ import annotations

import threading

import numpy as np


class Workspace(threading.local):
    """Marks are below the next stamp; who is to write marks reserves them first, so that an interrupt between
    two steps leaves nothing that could be taken for another's."""

    def __init__(self) -> None:
        self._stamp = 0
        self._spaces: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def of(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Sums and marks [width]."""
        if width not in self._spaces:
            self._spaces[width] = np.zeros(width), np.full(width, -1, np.int64)
        return self._spaces[width]

    def reserve(self, count: int) -> int:
        """The first of ``count`` stamps that nobody has used."""
        self._stamp += count
        return self._stamp - count
