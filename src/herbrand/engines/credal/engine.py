"""The settings of every engine of ``bound``.

The program of these engines is a credal network, and the facts in it are given in every query; ``read`` gives
an interval for each query, or for each atom, and ``explain`` names the sentences on which the lower and the
upper end of the one query asked rest. It explains from the first state: what it compares it runs by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import check_settings

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of all that is done, from 0 to 1."""


TOLERANCE = 1e-7
"""Intervals that move by less in a pass are at rest."""


@dataclass(frozen=True)
class BoundSettings:
    """The settings of every engine of ``bound``. ``None`` leaves the choice to the engine.

    ``independence``: the Markov condition of the network, or no independence but what is stated. ``mode``:
    which independences messages use; ``paper`` repeats the published method, whose intervals may be too
    narrow. ``tolerance`` is how far a search may stop from the optimum. ``progress`` is told how far it is.
    """

    budget: Budget = UNLIMITED
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    mode: Literal["sound", "paper"] = "sound"
    independence: Literal["markov", "none"] = "markov"
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_settings("bound", self)
