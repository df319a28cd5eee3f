"""A higher recursion limit for recursive functions; Python's limit of 1,000 frames is for the whole process.

>>> import sys
>>> before = sys.getrecursionlimit()
>>> with room_for(500):
...     print(sys.getrecursionlimit() - before)
500
>>> sys.getrecursionlimit() == before
True
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MOST_FRAMES = 2**31 - 1


@contextmanager
def room_for(frames: int) -> Iterator[None]:
    """Raise the recursion limit by ``frames`` within a block; frames of Python functions are on the heap."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(min(MOST_FRAMES, before + frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
