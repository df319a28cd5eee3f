"""Modules that are imported when something needs them, among them those of packages that a plain
installation leaves out; what to install where one is missed.

>>> imported("math").pi > 3, member("math:cos")(0), later("math:cos")(0), Late("math").cos(0)
(True, 1.0, 1.0, 1.0)
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from herbrand.errors import UnsupportedError

EXTRAS = {
    **dict.fromkeys(("torch", "safetensors"), "torch"),
    **dict.fromkeys(("pygls", "lsprotocol"), "lsp"),
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "pydantic"), "studio"),
    "adbc_driver_postgresql": "postgresql",
}
"""The extra that brings each package."""

NAMES = {"torch": "PyTorch", "adbc_driver_postgresql": "the ADBC driver of PostgreSQL"}


class MissingPackageError(UnsupportedError):
    """Something needs a package that a plain installation leaves out."""


def imported(module: str) -> ModuleType:
    """The module. Raises :class:`MissingPackageError` where a package of an extra is missing for it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise _missing(package) from None


def require(package: str) -> None:
    """Raise :class:`MissingPackageError` where a package of an extra is missing; it is not imported."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise _missing(package)


def _missing(package: str) -> MissingPackageError:
    return MissingPackageError(
        f"this needs {NAMES.get(package, package)}, which is not installed",
        hint=f"pip install 'herbrand[{EXTRAS[package]}]'",
    )


def member(named: str) -> Any:
    """The member of a module, written ``module:member``."""
    module, _, name = named.partition(":")
    return getattr(imported(module), name)


def later(named: str) -> Callable[..., Any]:
    """A function of a module, written so, that is imported when it is called."""
    module, _, name = named.partition(":")
    late = Late(module)
    return lambda *arguments: getattr(late, name)(*arguments)


class Late:
    """A module that is imported when one of its members is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = member(f"{self._module}:{name}")
        return value


duckdb, pc = Late("duckdb"), Late("pyarrow.compute")
"""Importing them takes as long as a small call."""

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch, Tensor = Late("torch"), Any
"""For what plans in memory and computes with tensors: only the computing imports torch."""
