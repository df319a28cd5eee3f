"""The order in which a step replaces beliefs."""

from __future__ import annotations

from enum import StrEnum


class Schedule(StrEnum):
    """All at once, each from the old ones; or one after another, each from the latest."""

    parallel = "parallel"
    sequential = "sequential"
