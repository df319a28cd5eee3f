"""Settings of a learning method; each method uses those that apply, and ``None`` leaves the choice to it.

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
    """State of a run, passed on after each step: steps done, most steps, and a metric with its value."""

    step: int
    steps: int
    metric: str
    value: float


@dataclass(frozen=True)
class LearningSettings:
    """Settings of a method. ``l2`` and ``l1`` penalise weights; ``iterations``: most steps of the optimiser.

    ``layers``: number of mean-field layers; ``rate``: learning rate of Adam; ``batch``: groundings or
    questions in a step (``None``: all); ``observed``: share of sampled atoms that are listed facts; ``size``:
    dimension of an embedding; ``clip``: that of the teaching layers; ``depth``: of proofs; ``loss``: loss
    function; ``asked``: the argument that training facts ask for; ``patience``: steps without a better value
    before training stops early. ``save``: file for the state, written at intervals and at the end;
    ``resume``: file to continue from. ``relearn``: learn given weights too, starting from them; ``starts``:
    number of starting points. ``held_out``: worlds to evaluate the result on.
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
    """The file that ``resume`` names; ``None`` if it is the same as ``save`` and does not exist yet."""
    path = settings.resume
    return None if path is not None and path == settings.save and not Path(path).exists() else path


def settings_from(given: Mapping[str, Any], budget: Budget | None = None) -> LearningSettings:
    """Settings from the keywords of ``learn``."""
    return described(LearningSettings, "learn", given, budget)
