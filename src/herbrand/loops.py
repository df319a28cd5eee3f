"""Loops that run as plain Python or compiled: small problems need not wait for a compiler.

A function marked by :func:`loop` stays plain Python. :func:`compiled` is the same function compiled by numba,
with all loops that it calls; compiling takes seconds once on a machine, and loading a fraction of a second in
each process. :func:`chosen` returns the faster of the two. Both give the same numbers, up to rounding.

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
"""Operations, of about a microsecond each, up to which plain Python is faster than loading numba (half a
second if the loops were compiled on this machine before)."""
WHEN_COMPILING: list[Callable[[], None]] = []
"""Functions that are called when the compilation of a loop begins; not for compiled loops from the disk."""
OPERATIONS = defaultdict[Callable[..., Any], float](float)
"""Operations that all calls of a function have done in this process, of those chosen by :func:`often`."""
AT_ONCE_PLAIN, AT_ONCE_COMPILED = 200_000, 2**26
"""Operations that take a few tenths of a second, in plain Python and compiled."""


def loop(function: Function) -> Function:
    """Mark a function that may be compiled: its arguments are numbers, arrays and named tuples of these."""
    function.__dict__["is_loop"] = True
    return function


def in_place(function: Function) -> Function:
    """Mark a loop that makes no arrays; neither may the loops that it calls.

    numba then counts no references. Otherwise it counts one for each array that is read from a named tuple,
    which takes most of the time of short loops: the search for circuits is twenty times as fast without.
    """
    function.__dict__["is_in_place"] = True
    return loop(function)


def inlined(function: Function) -> Function:
    """Mark a loop that is inlined into its few callers. numba compiles the callees again for each caller, so
    that a chain of calls compiles faster as one loop."""
    function.__dict__["is_inlined"] = True
    return loop(function)


def chosen(function: Function, operations: float) -> Function:
    """The plain function if ``operations`` are few, else the compiled one."""
    return function if operations <= MOST_PLAIN else compiled(function)


def compiled(function: Function) -> Function:
    """The function compiled by numba."""
    return cast(Function, _compiled(function, True))


def spend(function: Callable[..., Any], operations: float) -> None:
    """Add to the operations of a function, where their number is known only after the call."""
    OPERATIONS[function] += operations


def often(function: Function, operations: float) -> Function:
    """The plain function while all its calls together have done few operations, else the compiled one."""
    spend(function, operations)
    return chosen(function, OPERATIONS[function])


def plain_left(function: Callable[..., Any]) -> float:
    """Operations that all calls of a function together may still do before it is compiled."""
    return MOST_PLAIN - OPERATIONS[function]


def most_at_once(function: Callable[..., Any]) -> int:
    """Operations that a loop, compiled or not, may do in one call; it then returns, so that the limits of
    time and memory and interrupts are checked, and is called again."""
    return AT_ONCE_PLAIN if hasattr(function, "is_loop") else AT_ONCE_COMPILED


def run_often(function: Callable[..., Result], operations: float, *arguments: Any) -> Result:
    """Call the function that :func:`often` returns. Plain Python gets memory views of the arrays, whose items
    are Python numbers: it computes faster with these than with NumPy's scalars."""
    run = often(function, operations)
    return run(*map(_viewed, arguments)) if run is function else run(*arguments)


def _viewed(argument: Any) -> Any:
    """Memory view of an array, or the named tuple of its arrays' views; other arguments unchanged."""
    view = getattr(argument, "data", None)
    if isinstance(view, memoryview):
        return view
    return argument._make(map(_viewed, argument)) if hasattr(argument, "_make") else argument


@cache
def _compiled(function: Any, from_python: bool) -> Any:
    """Compile a loop. ``from_python``: Python calls it, not only other compiled loops.

    numba generates code that translates the arguments of calls from Python. For named tuples of many arrays
    it is longer than most loops, so that loops which only loops call are compiled without it.
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
    if hasattr(function, "is_inlined"):
        options["inline"] = "always"
    return numba.njit(copy, cache=keeps, nogil=True, **options)


@cache
def _fingerprint(module: str) -> str:
    """Hash of the source of a module and of all modules of the same package that it imports.

    numba reuses compiled code from the disk as long as time and size of the function's own file are
    unchanged. That is not enough: wheels give all files one fixed time, and the functions that a loop calls
    and the types of its arguments may be in other files, so that a new version could run loops of an old one.
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
    """Modules of the same package that define the names of a module."""
    package = module.partition(".")[0]
    for value in vars(sys.modules[module]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] == package and name in sys.modules:
            yield name
