"""Memory that the push kernels write into, kept from one question to the next: one for each thread.

>>> workspace = Workspace()
>>> marks, base = workspace.of(4)
>>> marks.tolist(), base.tolist(), workspace.of(4)[0] is marks
([-1, -1, -1, -1], [0], True)
"""

from __future__ import annotations

import threading

import numpy as np


class Workspace(threading.local):
    """Marks are below the base, which only kernels move: an interrupt between two steps leaves nothing that
    could be taken for another's."""

    def __init__(self) -> None:
        self._spaces: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """A copy starts with arrays of its own."""
        return Workspace, ()

    def of(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Marks [width] and their base [1]."""
        if width not in self._spaces:
            self._spaces[width] = np.full(width, -1, np.int32), np.zeros(1, np.int64)
        return self._spaces[width]
