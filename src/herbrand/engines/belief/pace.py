"""Pace of a run of messages: damping, and whether it must begin again.

Messages run away if their residual grows above 1: odds then change by a factor of e or more in every round.
They begin again, with more damping each time; if rounds do not help, damping is raised. The rule is the same
for messages between atoms, in memory and on a database, and between regions.

>>> pace = Pace(mark=2.0)
>>> for residual in 10 * [8.0]:
...     pace, again = pace.after(residual, None, (0.5, 0.9))
>>> again, pace.damping, pace.restarts
(True, 0.5, 1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from herbrand.engines.loop import Patience

PATIENCE = Patience(rounds=10, least_step=1e-3)
RUN_AWAY = 1.0
"""Residual above which growth counts as running away."""


@dataclass(frozen=True)
class Pace:
    """Pace of a run. ``moved``: change of messages in the last round. ``since``: number of rounds
    since ``mark``, an earlier such change with which it is compared; ``restarts``: number of restarts
    after running away."""

    damping: float = 0.0
    moved: float = math.inf
    mark: float = math.inf
    since: int = 0
    restarts: int = 0

    def after(
        self,
        moved: float,
        given: float | None,
        gentler: tuple[float, ...] = (),
        patience: Patience = PATIENCE,
    ) -> tuple[Pace, bool]:
        """Pace after a round, and whether messages must begin again.

        ``given``: the damping that the user wants, which stays; ``gentler``: the dampings of the runs after
        the first, one after another; ``patience``: how many rounds may pass without a gain.
        """
        now = replace(self, moved=moved, since=self.since + 1)
        if not patience.is_over(now.since, now.damping):
            return now, False
        if RUN_AWAY < moved >= 2 * now.mark and now.restarts < len(gentler):
            return Pace(gentler[now.restarts], moved, restarts=now.restarts + 1), True
        damping = now.damping if given is not None else patience.raised(now.damping, moved, now.mark)
        return replace(now, damping=damping, mark=moved, since=0), False


BEGUN = Pace()
