"""Pauses of the garbage collector while reading, which makes millions of small values that all stay.

>>> with collector_paused():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PAUSES, OBJECTS = 64, 500_000
"""Pauses, and objects made in them, after which one full collection runs: old objects that are unreachable by
now, such as models of requests long answered, would otherwise stay for ever."""


@dataclass
class _Aged:
    """Pauses and objects since the last full collection.

    ``frozen_by_others``: kept once it is true, as Python counts frozen objects by going through all of them:
    with a few million it would take a tenth of a second for each text that is read.
    """

    frozen_by_others: bool = False
    pauses: int = 0
    objects: int = 0


_aged = _Aged()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Context manager and decorator without garbage collections inside, which are a third of the time of
    reading a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _age_everything()
            gc.enable()


def _age_everything() -> None:
    """Move all objects to the oldest generation, so that the collector does not scan them when it resumes.

    ``gc.freeze`` and ``gc.unfreeze`` do this as a side effect. Nothing is moved if other code has frozen
    objects, as unfreezing would release theirs too.
    """
    _aged.frozen_by_others = _aged.frozen_by_others or gc.get_freeze_count() > 0
    if _aged.frozen_by_others:
        return
    _aged.pauses += 1
    _aged.objects += gc.get_count()[0]
    if _aged.pauses >= PAUSES and _aged.objects >= OBJECTS:
        gc.collect()
        _aged.pauses = _aged.objects = 0
    gc.freeze()
    gc.unfreeze()
