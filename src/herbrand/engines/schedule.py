"""The order in which a step replaces beliefs.

>>> Schedule.named("bp", "serial")
Traceback (most recent call last):
herbrand.errors.UnsupportedError: bp has no schedule 'serial'
  one of parallel, sequential
"""

from __future__ import annotations

from enum import StrEnum

from herbrand.errors import UnsupportedError


class Schedule(StrEnum):
    """All at once, each from the old ones; or one after another, each from the latest."""

    parallel = "parallel"
    sequential = "sequential"

    @classmethod
    def named(cls, engine: str, name: str) -> Schedule:
        """The schedule that a user asked an engine for."""
        if name not in list(cls):
            raise UnsupportedError(f"{engine} has no schedule '{name}'", hint=f"one of {', '.join(cls)}")
        return cls(name)
