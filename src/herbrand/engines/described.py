"""Settings from the keywords of a call, and the options that settings hold.

>>> from herbrand.engines.engine import Settings
>>> found = described(Settings, "infer", {"memory": "2GB", "time_limit": 5.0, "damping": None})
>>> found.budget.memory, found.budget.seconds, options_in("infer", found)
(2147483648, 5.0, {'memory': 2147483648, 'time_limit': 5.0})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from herbrand.budget import Budget
from herbrand.memory import bytes_of
from herbrand.options.table import check, options_of, refuse_unknown

Described = TypeVar("Described")

LIMITS = {"memory": "memory", "time_limit": "seconds"}
"""Options that make a budget, and its fields: a call has one, and never a part of it."""


def budget_of(given: Mapping[str, Any]) -> Budget:
    """The budget that keywords of a command describe; its time begins now."""
    memory = given.get("memory")
    return Budget(None if memory is None else bytes_of(memory), given.get("time_limit"))


def described(
    kind: type[Described], command: str, given: Mapping[str, Any], budget: Budget | None = None
) -> Described:
    """The settings that keywords of a command describe; raises for those that the command does not take.

    Keywords that are no field of the settings, such as ``top``, are checked and left to the caller.
    ``budget``: that of the call, where it has begun already.
    """
    refuse_unknown(command, given)
    check(command, given)
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    named: dict[str, Any] = {
        name: value for name, value in given.items() if value is not None and name in own
    }
    limits = {"budget": budget_of(given) if budget is None else budget}
    return kind(**limits, **named)


def options_in(command: str, settings: Any) -> dict[str, Any]:
    """The options of a command whose values are others than those of settings from nothing."""
    values = {f.name: (getattr(settings, f.name), f.default) for f in fields(settings)}
    values |= {option: (getattr(settings.budget, field), None) for option, field in LIMITS.items()}
    known = options_of(command)
    return {name: value for name, (value, other) in values.items() if name in known and value != other}


def without(settings: Described, options: Iterable[str]) -> Described:
    """The settings with these options left out."""
    defaults = {field.name: field.default for field in fields(settings)}  # type: ignore[arg-type]
    left_out = [name for name in options if name not in LIMITS]  # every engine keeps its limits
    return replace(settings, **{name: defaults[name] for name in left_out})  # type: ignore[type-var]


def check_settings(command: str, settings: Any) -> None:
    """Raise for the first value that makes no sense: settings check themselves when they are built."""
    check(command, options_in(command, settings))
