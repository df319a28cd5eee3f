"""numba, with the seconds that it has spent on compiling in this process (once for each loop on a machine).

>>> from herbrand.budget import seconds_compiling
>>> seconds_compiling() >= 0
True
"""

from __future__ import annotations

import numba
from numba.core import event

from herbrand.loops import WHEN_COMPILING

__all__ = ["SPENT", "numba"]


class _Compiling(event.TimingListener):
    """Adds up the seconds of compiling; calls each of ``WHEN_COMPILING`` when a compilation begins."""

    def on_start(self, event: event.Event) -> None:
        super().on_start(event)
        for tell in WHEN_COMPILING:
            tell()


SPENT = _Compiling()
event.register("numba:compile", SPENT)
