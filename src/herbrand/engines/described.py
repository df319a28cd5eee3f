"""Settings from the keywords of a call, and the options that settings hold.

>>> from herbrand.engines.engine import Settings
>>> found = described(Settings, "infer", {"memory": "2GB", "time_limit": 5.0, "damping": None})
>>> found.memory, found.seconds, options_in("infer", found)
(2147483648, 5.0, {'memory': 2147483648, 'time_limit': 5.0})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from herbrand.memory import bytes_of
from herbrand.options.table import check, options_of, refuse_unknown

Described = TypeVar("Described")

FIELDS = {"time_limit": "seconds"}
"""Where a field of settings is named otherwise than its option."""
OPTIONS = {field: option for option, field in FIELDS.items()}


def described(kind: type[Described], command: str, given: Mapping[str, Any]) -> Described:
    """The settings that keywords of a command describe; raises for those that the command does not take.

    Keywords that are no field of the settings, such as ``top``, are checked and left to the caller.
    """
    refuse_unknown(command, given)
    check(command, given)
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    named = {FIELDS.get(name, name): value for name, value in given.items() if value is not None}
    if "memory" in named:
        named["memory"] = bytes_of(named["memory"])
    return kind(**{name: value for name, value in named.items() if name in own})


def options_in(command: str, settings: Any) -> dict[str, Any]:
    """The options of a command whose values are others than those of settings from nothing."""
    values = {OPTIONS.get(f.name, f.name): (getattr(settings, f.name), f.default) for f in fields(settings)}
    known = options_of(command)
    return {name: value for name, (value, other) in values.items() if name in known and value != other}


def without(settings: Described, options: Iterable[str]) -> Described:
    """The settings with these options left out."""
    fields_ = [FIELDS.get(option, option) for option in options]
    defaults = {field.name: field.default for field in fields(settings)}  # type: ignore[arg-type]
    return replace(settings, **{name: defaults[name] for name in fields_})  # type: ignore[type-var]


def check_settings(command: str, settings: Any) -> None:
    """Raise for the first value that makes no sense: settings check themselves when they are built."""
    check(command, options_in(command, settings))
