"""A note when loops are compiled, which takes seconds, once on a machine."""

from __future__ import annotations

import threading

from herbrand.cli.output import note
from herbrand.loops import WHEN_COMPILING

LONG = "half a minute"
COMPILING = f"compiling loops for this machine, which happens once and takes up to {LONG}"
COMPILED = f"loops were to be compiled, once on a machine: the first run takes up to {LONG} longer; "
_announced = threading.Event()


def advice_out_of_time() -> str:
    """Advice for a command that reached its time limit."""
    return (COMPILED if _announced.is_set() else "") + "allow more by --time-limit"


def tell_of_compiling() -> None:
    """Write a note when this process compiles its first loop, instead of loading it from the cache."""
    WHEN_COMPILING.append(_announce)


def _announce() -> None:
    if not _announced.is_set():
        _announced.set()
        note(COMPILING)
