"""Building very many small values at once.

>>> with no_collection():
...     values = [(number,) for number in range(3)]
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the collector of reference cycles out while a reader builds millions of values.

    Statements hold no cycles, and the collector would walk all of them again and again: more than half of the
    time a large file takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
