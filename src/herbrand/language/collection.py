"""Reading makes millions of small values that all stay; the garbage collector only looks at them in vain.

>>> with collector_paused():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_FROZEN_BY_OTHERS: list[bool] = []
"""Remembered once it is seen: Python counts what is frozen by going through all of it, a tenth of a second
for each text that is read where a few million objects are frozen."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collections inside: a third of the time of reading a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _age_everything()
            gc.enable()


def _age_everything() -> None:
    """Count what was made as old, so that the collector does not look at all of it the moment it is back.

    Not where somebody has frozen objects: thawing would touch theirs.
    """
    if not _FROZEN_BY_OTHERS and gc.get_freeze_count() > 0:
        _FROZEN_BY_OTHERS.append(True)
    if not _FROZEN_BY_OTHERS:
        gc.freeze()
        gc.unfreeze()
