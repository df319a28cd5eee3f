"""How much work a call does, counted and not timed, so that the tests of growth hold on any machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[..., Any], *arguments: Any) -> int:
    """How many functions, Python's and built-in ones, are called during ``work(*arguments)``."""
    count = 0

    def step(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        work(*arguments)
    finally:
        sys.setprofile(before)
    return count
