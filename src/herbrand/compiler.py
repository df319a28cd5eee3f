"""numba, and how long it has compiled in this process, which happens once for each loop on a machine.

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
    """How long it took, and whoever wants to know that it begins."""

    def on_start(self, event: event.Event) -> None:
        super().on_start(event)
        for tell in WHEN_COMPILING:
            tell()


SPENT = _Compiling()
event.register("numba:compile", SPENT)
