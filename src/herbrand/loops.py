"""Loops that run as they are written, or compiled: small problems need not wait for a compiler.

A function marked by :func:`loop` is plain Python and stays so. :func:`compiled` is the same function compiled
by numba, with all loops that it calls; that takes seconds once on a machine, and a fraction of one in each
process. :func:`chosen` takes the one that is done sooner. Both give the same numbers, up to rounding.

>>> @loop
... def added(values):
...     found = 0.0
...     for value in values:
...         found += value
...     return found
>>> chosen(added, 3) is added, chosen(added, 1e9) is compiled(added)
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

MOST_PLAIN = 2e5
"""Operations of about a microsecond. Above it the wait for numba, half a second where the loops were compiled
on this machine before, is no longer than the loop."""


def loop(function: Function) -> Function:
    """Mark a function that may be compiled: its arguments are numbers, arrays and named tuples of these."""
    function.__dict__["is_loop"] = True
    return function


def chosen(function: Function, operations: float) -> Function:
    """The function itself for so few operations, or else compiled."""
    return function if operations <= MOST_PLAIN else compiled(function)


def compiled(function: Function) -> Function:
    """The function compiled by numba."""
    function.__dict__["is_ready"] = True
    return cast(Function, _compiled(function))


def ready(function: Function) -> Function:
    """The function compiled where this process has compiled it before, or else itself."""
    return compiled(function) if "is_ready" in function.__dict__ else function


def often(function: Function, operations: float) -> Function:
    """The function itself until all its calls together have done so many operations, or else compiled."""
    done = function.__dict__.get("done", 0.0) + operations
    function.__dict__["done"] = done
    return chosen(function, done)


@cache
def _compiled(function: Any) -> Any:
    import numba  # only here: importing it alone takes as long as a small problem

    own = function.__globals__
    called = [name for name in function.__code__.co_names if hasattr(own.get(name), "is_loop")]
    # numba compiles calls of what it has compiled only, so that the copy's globals hold those.
    known = {**own, **{name: _compiled(own[name]) for name in called}}
    copy = FunctionType(function.__code__, known, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return numba.njit(copy, cache=Path(function.__code__.co_filename).exists(), nogil=True)
