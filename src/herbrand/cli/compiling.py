"""A note when loops are compiled: that happens once on a machine, and takes seconds."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from herbrand.cli.output import note

EVENTS = "numba.core.event"
OFTEN = 0.1
LONG = "half a minute"
COMPILING = f"compiling loops for this machine, which happens once and takes up to {LONG}"
COMPILED = f"loops were to be compiled, once on a machine: the first run takes up to {LONG} longer; "
_announced = threading.Event()


def advice_out_of_time() -> str:
    """What to do when a command has not ended in time."""
    return (COMPILED if _announced.is_set() else "") + "allow more by --time-limit"


def tell_of_compiling() -> None:
    """Note the first loop that this process compiles instead of taking it from the cache.

    A thread waits for numba to be imported, as no command imports it before it needs it.
    """
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    while not hasattr(sys.modules.get(EVENTS), "trigger_event"):
        time.sleep(OFTEN)
    events: Any = sys.modules[EVENTS]

    class Compiling(events.Listener):
        def on_start(self, event: object) -> None:
            if not _announced.is_set():
                _announced.set()
                note(COMPILING)

        def on_end(self, event: object) -> None:
            """Nothing: results follow."""

    events.register("numba:compile", Compiling())
