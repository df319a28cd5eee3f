"""The settings of a learning method; each takes those it has, and ``None`` leaves the choice to it.

>>> LearningSettings(l2=0.5).l2, settings_from({"time_limit": 2.0}).budget.seconds
(0.5, 2.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import check_settings, described

Watch = Callable[["Progress"], None]


@dataclass(frozen=True)
class Progress:
    """Called after each step with how many are done of how many at most, what is watched, and its value."""

    step: int
    steps: int
    metric: str
    value: float


@dataclass(frozen=True)
class LearningSettings:
    """``l2`` and ``l1`` draw weights to 0; ``iterations`` are steps of the optimiser.

    ``layers`` mean-field layers are unrolled; ``rate`` is Adam's; ``batch`` groundings or questions make a
    step (``None``: all); ``observed`` is the share of sampled atoms that are taken from the facts; ``size``
    that of an embedding; ``clip`` is that of the teaching layers; ``depth`` is that of proofs, ``loss`` what
    is made small, and ``asked`` the argument that training facts are asked for; training stops early after
    ``patience`` steps without a better value. ``save`` is where the state is kept, now and then and at the
    end; ``resume`` goes on from there. ``relearn``: weights that are given are learned too, and started from;
    ``starts``: from so many points. ``held_out``: worlds to measure the result on.
    """

    l2: float | None = None
    l1: float = 0.0
    iterations: int | None = None
    tolerance: float | None = None
    budget: Budget = UNLIMITED
    seed: int = 0
    layers: int | None = None
    rate: float | None = None
    batch: int | None = None
    observed: float | None = None
    size: int | None = None
    clip: float | None = None
    depth: int | None = None
    loss: str | None = None
    asked: int | None = None
    patience: int | None = None
    save: str | None = None
    resume: str | None = None
    relearn: bool = False
    starts: int | None = None
    held_out: Any = None
    watch: Watch | None = None

    def __post_init__(self) -> None:
        check_settings("learn", self)


def kept_before(settings: LearningSettings) -> str | None:
    """The file that ``resume`` names; none where it is that of ``save`` and not there yet."""
    path = settings.resume
    return None if path is not None and path == settings.save and not Path(path).exists() else path


def settings_from(given: Mapping[str, Any], budget: Budget | None = None) -> LearningSettings:
    """The settings that keywords of ``learn`` describe."""
    return described(LearningSettings, "learn", given, budget)
