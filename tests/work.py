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


def lines(work: Callable[..., Any], *arguments: Any) -> int:
    """How many lines are gone through during ``work(*arguments)``, comprehensions' each time round."""
    count = 0

    def step(frame: object, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work(*arguments)
    finally:
        sys.settrace(before)
    return count
