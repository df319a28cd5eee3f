"""What a learning method is told; it takes what it understands, and ``None`` leaves the choice to it.

>>> LearningSettings(l2=0.5).l2, settings_from({"time_limit": 2.0}).seconds
(0.5, 2.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from herbrand.contraction.memory import bytes_of
from herbrand.errors import UnsupportedError, nearest
from herbrand.option_values import check_values
from herbrand.whole_files import refuse_unwritable

Watch = Callable[["Progress"], None]


@dataclass(frozen=True)
class Progress:
    """Told after each step: how many are done of how many at most, what is watched, and its value."""

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
    end; ``resume`` goes on from there.
    """

    l2: float | None = None
    l1: float = 0.0
    iterations: int | None = None
    tolerance: float | None = None
    memory: int | None = None
    seconds: float | None = None
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
    watch: Watch | None = None


def settings_from(told: Mapping[str, Any]) -> LearningSettings:
    """Options by the names that the command line gives them."""
    named = {{"time_limit": "seconds"}.get(name, name): value for name, value in told.items()}
    known = {field.name for field in fields(LearningSettings)}
    for name in told:
        if name not in known and name != "time_limit":
            raise UnsupportedError(f"learn has no option '{name}'", hint=nearest(name, known))
    memory = named.get("memory")
    check_values(named)
    found = replace(LearningSettings(), **{name: value for name, value in named.items() if value is not None})
    found = replace(found, memory=None if memory is None else bytes_of(memory))
    _refuse_senseless(found)
    return found


def _refuse_senseless(settings: LearningSettings) -> None:
    if settings.save is not None:
        refuse_unwritable(settings.save, folders=True)
    for name in ("l1", "l2", "seconds", "tolerance", "rate"):
        if getattr(settings, name) == float("inf"):
            shown = "time-limit" if name == "seconds" else name
            raise UnsupportedError(f"--{shown} is a number from 0 on, not inf")
    if settings.depth is not None and settings.depth < 0:
        raise UnsupportedError(f"--depth is at least 0, not {settings.depth}")
    if settings.observed is not None and not 0 <= settings.observed <= 1:
        raise UnsupportedError(f"--observed is a share from 0 to 1, not {settings.observed}")
