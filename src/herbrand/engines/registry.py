"""The engines by name. A new one is one file and one row here; its module is imported when it is chosen."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from herbrand.engines.engine import Engine, Settings
from herbrand.errors import UnsupportedError, nearest

INFERENCE = {"exact": "herbrand.engines.exact:Exact"}
"""Engines of ``infer``, in the order in which ``auto`` prefers them."""


def engine_named(name: str, settings: Settings) -> Engine[Any]:
    """An engine of ``infer`` with these settings."""
    if name not in INFERENCE:
        raise UnsupportedError(
            f"there is no engine '{name}' for infer",
            hint=nearest(name, INFERENCE) or f"engines: auto, {', '.join(INFERENCE)}",
        )
    module, _, member = INFERENCE[name].partition(":")
    return getattr(importlib.import_module(module), member).with_settings(settings)


def all_engines(settings: Settings) -> Iterator[Engine[Any]]:
    return (engine_named(name, settings) for name in INFERENCE)
