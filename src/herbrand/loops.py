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

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

COMPILER = "herbrand.compiler"
MOST_PLAIN = 2e5
"""Operations of about a microsecond. Above it the wait for numba, half a second where the loops were compiled
on this machine before, is no longer than the loop."""
WHEN_COMPILING: list[Callable[[], None]] = []
"""Each is called when a loop begins to be compiled that was not on the disk."""
OPERATIONS = defaultdict[Callable[..., Any], float](float)
"""What the calls of a function that is compiled for its many calls have done in this process."""
AT_ONCE_PLAIN, AT_ONCE_COMPILED = 200_000, 2**26
"""Operations that take a few tenths of a second."""


def loop(function: Function) -> Function:
    """Mark a function that may be compiled: its arguments are numbers, arrays and named tuples of these."""
    function.__dict__["is_loop"] = True
    return function


def in_place(function: Function) -> Function:
    """Mark a loop that makes no arrays, nor does any loop that it calls.

    numba then counts no references. It counts one for each time that an array is taken out of a named tuple,
    which is most of the time of short loops: the search for circuits is twenty times as fast without.
    """
    function.__dict__["is_in_place"] = True
    return loop(function)


def in_any_order(function: Function) -> Function:
    """Mark a loop whose sums may be taken in any order: compiled, it computes them several at a time."""
    function.__dict__["is_in_any_order"] = True
    return loop(function)


def inlined(function: Function) -> Function:
    """Mark a loop that becomes part of those that call it, which are few. numba compiles each caller with all
    that it calls once more, so that a chain of calls takes less as one loop."""
    function.__dict__["is_inlined"] = True
    return loop(function)


def chosen(function: Function, operations: float) -> Function:
    """The function itself for so few operations, or else compiled."""
    return function if operations <= MOST_PLAIN else compiled(function)


def compiled(function: Function) -> Function:
    """The function compiled by numba."""
    return cast(Function, _compiled(function, True))


def spend(function: Callable[..., Any], operations: float) -> None:
    """Note what calls of a function did that nobody could tell before."""
    OPERATIONS[function] += operations


def often(function: Function, operations: float) -> Function:
    """The function itself until all its calls together have done so many operations, or else compiled."""
    spend(function, operations)
    return chosen(function, OPERATIONS[function])


def plain_left(function: Callable[..., Any]) -> float:
    """How many operations all calls of a function together may still do before it is compiled."""
    return MOST_PLAIN - OPERATIONS[function]


def most_at_once(function: Callable[..., Any]) -> int:
    """How many operations a loop, compiled or not, may do before limits of time and memory, or an interrupt,
    are felt: then it comes back and is called again."""
    return AT_ONCE_PLAIN if hasattr(function, "is_loop") else AT_ONCE_COMPILED


def run_often(function: Callable[..., Result], operations: float, *arguments: Any) -> Result:
    """What :func:`often` takes, called. Plain Python gets views of arrays: what it reads of them are its own
    numbers, with which it counts sooner than with NumPy's."""
    run = often(function, operations)
    return run(*map(_viewed, arguments)) if run is function else run(*arguments)


def _viewed(argument: Any) -> Any:
    """An array, or a named tuple of arrays, as what shares its memory."""
    view = getattr(argument, "data", None)
    if isinstance(view, memoryview):
        return view
    return argument._make(map(_viewed, argument)) if hasattr(argument, "_make") else argument


@cache
def _compiled(function: Any, from_python: bool) -> Any:
    """Compiled for calls from Python, or only for those of other compiled loops.

    numba translates the arguments of a call from Python by code of its own, which for named tuples of many
    arrays is longer than most loops: what only loops call goes without it.
    """
    numba = import_module(COMPILER).numba  # only here: importing it alone takes as long as a small problem
    own = function.__globals__
    called = [name for name in function.__code__.co_names if hasattr(own.get(name), "is_loop")]
    # numba compiles calls of what it has compiled only, so that the copy's globals hold those.
    known = {**own, **{name: _compiled(own[name], False) for name in called}}
    copy = FunctionType(function.__code__, known, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    keeps = Path(function.__code__.co_filename).exists()
    if keeps:  # the name of what numba keeps on disk is made of this one
        copy.__qualname__ += f"_{_fingerprint(function.__module__)}{'' if from_python else '_inner'}"
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": not from_python}
    if hasattr(function, "is_in_place"):
        options["_nrt"] = False
    if hasattr(function, "is_in_any_order"):
        options["fastmath"] = {"reassoc", "contract"}
    if hasattr(function, "is_inlined"):
        options["inline"] = "always"
    return numba.njit(copy, cache=keeps, nogil=True, **options)


@cache
def _fingerprint(module: str) -> str:
    """Of the source of a module and of all of the same package that it imports.

    numba takes compiled code from the disk as long as time and size of the function's own file are as they
    were. Wheels have one fixed time for all files, and what a loop calls or the types of its arguments may
    stand elsewhere, so that a new version would run loops of the one before.
    """
    modules, left = set[str](), [module]
    while left:
        name = left.pop()
        if name not in modules:
            modules.add(name)
            left += _imported_by(name)
    files = [Path(sys.modules[name].__file__ or "") for name in sorted(modules)]
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=8).hexdigest()


def _imported_by(module: str) -> Iterator[str]:
    """The modules of the same package in which what a module names was defined."""
    package = module.partition(".")[0]
    for value in vars(sys.modules[module]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] == package and name in sys.modules:
            yield name
