"""The last guards of a command's limits, for what neither asks a clock nor claims memory: libraries.

Engines keep a :class:`~herbrand.budget.Budget` by themselves, and say what to do when it ends. What they call
may not: a parser, a solver, a database. So a process that runs one command and nothing else also has a timer,
a little beyond the time limit, and a bound on its data, a little beyond the memory. Both only where the user
set that limit, and never in a process that is somebody else's.
"""

from __future__ import annotations

import resource
import signal

from herbrand.budget import Budget

LATER, LATER_SHARE = 0.3, 0.1
"""Seconds, and the part of the limit, by which the timer comes after the end: whoever asks the clock is to be
first, as only they can say what was not done, or keep what was."""
LIBRARIES = 512 * 2**20
"""Bytes of data that the libraries of a command take by themselves, all of them imported and threads started:
measured 470 MB, of which a part is never touched."""


class Guards:
    """Whether this process is a command's own, and the seconds after which its timer ends it."""

    def __init__(self) -> None:
        self.own_process = False
        self.seconds: float | None = None

    def keep(self, budget: Budget, elsewhere: bool = False) -> None:
        """Guard the limits. ``elsewhere``: another process does the work, and has memory of its own."""
        if not self.own_process:
            return
        if budget.seconds is not None and hasattr(signal, "setitimer"):
            self.seconds = budget.seconds
            later = LATER + LATER_SHARE * budget.seconds
            signal.setitimer(signal.ITIMER_REAL, budget.seconds_left + later)
        if budget.memory is not None and not elsewhere:
            bound_data(budget.memory + LIBRARIES)


def bound_data(wanted: int) -> None:
    """Bound the bytes of data of this process: an allocation beyond them fails."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


GUARDS = Guards()
"""Those of this process: timers and limits are the process's, so there is one."""
