"""Modules that are imported on first use; an error names the extra to install if a package is missing.

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
    """A package is needed that a plain installation leaves out."""


def imported(module: str) -> ModuleType:
    """Import a module. Raises :class:`MissingPackageError` if it needs a package of an extra."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise _missing(package) from None


def require(package: str) -> None:
    """Raise :class:`MissingPackageError` if a package of an extra is missing; does not import it."""
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
    """Import the member of a module, written ``module:member``."""
    module, _, name = named.partition(":")
    return getattr(imported(module), name)


def later(named: str) -> Callable[..., Any]:
    """A function that imports ``module:member`` when it is called, and calls it."""
    module, _, name = named.partition(":")
    late = Late(module)
    return lambda *arguments: getattr(late, name)(*arguments)


class Late:
    """A module that is imported when one of its members is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = member(f"{self._module}:{name}")
        return value


duckdb, pc = Late("duckdb"), Late("pyarrow.compute")
"""Imported late, as importing them takes as long as a small call."""

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch, Tensor = Late("torch"), Any
"""torch for modules that plan with NumPy and compute with tensors: only computing imports it."""
