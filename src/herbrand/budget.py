"""The time and the memory that one call may use: one value, handed down to everything that takes either.

A call makes its :class:`Budget` when it begins. Loops that may last ask its clock (:meth:`Budget.check`);
whoever is about to allocate more than a megabyte claims it first (:meth:`Budget.claim`). Both raise an
error that says which limit to raise. Nothing here is global: who has no budget in hand has no limit.

>>> budget = Budget(memory=10_000)
>>> budget.claim(8_000, "the table")
>>> budget.claim(80_000, "the table")
Traceback (most recent call last):
herbrand.errors.BudgetError: the table needs about 78.1 kB, and 9.8 kB are allowed
  allow more by --memory
>>> budget.seconds_left
inf

How much memory there is, and how an amount of it is written, stands here too.

>>> readable(3 * 2**20)
'3.0 MB'
>>> allowed_bytes(10_000)
10000

The last guards of a command's limits are for what neither asks a clock nor claims memory: libraries. Engines
keep a :class:`Budget` by themselves, and say what to do when it ends. What they call
may not: a parser, a solver, a database. So a process that runs one command and nothing else also has a timer,
a little beyond the time limit, and a bound on its data, a little beyond the memory. Both only where the user
set that limit, and never in a process that is somebody else's.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from herbrand.errors import BudgetError, OutOfTimeError, Span
from herbrand.loops import COMPILER
from herbrand.options.kinds import Number
from herbrand.options.kinds import amount as parsed_amount

SHARE = 0.7
"""The part of the machine's memory that a plan may use unless it is set otherwise."""

SHARE_FOR_DATABASE = 0.8
"""Of the memory allowed; the rest is this process's own."""
LEAST_FOR_DATABASE = 64 << 20

ANY_MACHINE = 2**50
"""No machine has so many bytes. Plans are made for whatever one might have; engines have their own limits."""

CGROUPS = Path("/sys/fs/cgroup")


def allowed_bytes(memory: int | None = None) -> int:
    """The bytes that a call may use: those given, else 70 % of the machine's memory."""
    return int(memory) if memory is not None else int(SHARE * machine_memory())


def holds_database(memory: int) -> bool:
    """Whether a database can be opened within so many bytes.

    >>> holds_database(1 << 30), holds_database(1 << 20)
    (True, False)
    """
    return memory * SHARE_FOR_DATABASE >= LEAST_FOR_DATABASE


@lru_cache(maxsize=1)
def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less where a control group says so."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_cgroup_limits(CGROUPS, Path("/proc/self/cgroup"))])


def resident_bytes() -> int:
    """Bytes of memory that this process holds of its own; files that it maps do not count.

    0 where the system does not say.
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            _, resident, shared, *_ = file.read(128).split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def lacks_memory(error: Exception) -> bool:
    """Whether it is Python's way to say that no memory is left, or torch's or DuckDB's (not loaded here)."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "allocate memory" in text or "out of memory" in text


def readable(amount: float) -> str:
    """Bytes as people write them."""
    amount = min(amount, 1e300)
    for unit, digits in {"B": 0, "kB": 1, "MB": 1, "GB": 1}.items():
        if round(amount, digits) < 1024:
            return f"{amount:.{digits}f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB" if amount < 1e4 else f"{amount:.1e} TB"


def refuse_beyond(
    needed: float,
    allowed: float,
    what: str,
    hint: str = "allow more by --memory",
    span: Span | None = None,
) -> None:
    """Raise where ``what`` takes more bytes of memory than are allowed."""
    if needed > allowed:
        message = f"{what} about {readable(needed)}, and {readable(allowed)} are allowed"
        raise BudgetError(message, hint=hint, span=span)


def refuse_beyond_disk(needed: float, free: int | None, what: str, hint: str) -> None:
    """Raise where ``what`` takes more bytes of disk than are free; ``None``: that is not known."""
    if free is not None and needed > free:
        raise BudgetError(
            f"{what} about {readable(needed)} of disk, and {readable(free)} are free", hint=hint
        )


def _cgroup_limits(root: Path, membership: Path) -> list[int]:
    """The limits of the process's own group and those around it, in either version of the interface."""
    folders = [root / group for group in _own_groups(membership)]
    folders += [root / "memory" / group for group in _own_groups(membership)]
    around = {path for folder in folders for path in (folder, *folder.parents) if path.is_relative_to(root)}
    files = [path / name for path in around for name in ("memory.max", "memory.limit_in_bytes")]
    return [limit for file in files if (limit := _limit(file)) is not None]


def _own_groups(membership: Path) -> list[str]:
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    fields = [line.split(":", 2) for line in lines]
    return [field[2].lstrip("/") for field in fields if len(field) == 3 and field[1] in ("", "memory")]


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def bytes_of(amount: int | str) -> int:
    """An amount of memory as people write it: bytes, ``"500MB"``, ``"2 GB"``, or a share such as ``"50%"``.

    >>> bytes_of("1.5kB")
    1536
    """
    number, unit = parsed_amount(amount)
    if unit == "%":
        return int(machine_memory() * number / 100)
    return int(number * 1024 ** "BKMGT".index(unit))


Item = TypeVar("Item")

OVERHEAD = 200 * 2**20
"""Bytes that libraries, compiled loops and an allocator's gaps may take beside what is claimed: estimates
are of arrays, and the process is measured."""
BETWEEN_MEASUREMENTS = 0.02
"""Seconds. Reading the size of the process takes 10 microseconds, asking the clock a tenth of one."""
GRACE = 0.1
"""The part of the whole time by which the reading of an answer may pass the end: an answer that is nearly
written is worth more than a message that it is not."""


@dataclass
class _Meter:
    """When the process was last measured, and what it held when the call began."""

    base: int
    next: float


LATER, LATER_SHARE = 0.2, 0.1
"""Seconds, and the part of the limit, by which the timer comes after the end: whoever asks the clock is to be
first, as only they can say what was not done, or keep what was."""
LIBRARIES = 512 * 2**20
"""Bytes of data that the libraries of a command take by themselves, all of them imported and threads started:
measured 470 MB, of which a part is never touched."""


class Guards:
    """Whether this process is a command's own, or of a server that ends it, and the seconds after which its
    timer ends it."""

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


def seconds_compiling() -> float:
    """How long this process has compiled loops."""
    compiler = sys.modules.get(COMPILER)
    spent = getattr(compiler, "SPENT", None)  # none while another thread imports it
    return spent.duration if spent is not None and spent.done else 0.0


def time_beside_compiling() -> float:
    """Seconds, without those that went into compiling loops, which is work for all later runs."""
    return time.monotonic() - seconds_compiling()


def working_time() -> float:
    """Seconds, without those that went into compiling loops where nothing could have interrupted that: in a
    program of the user's. A process of our own is ended in the middle of it."""
    return time.monotonic() if GUARDS.own_process else time_beside_compiling()


@dataclass(frozen=True)
class Budget:
    """At most ``memory`` bytes and ``seconds`` from now on; ``None`` is 70 % of the machine, and no end.

    Budgets of equal limits are equal, whenever they began. ``clock`` gives seconds, as ``working_time``.
    """

    memory: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = field(default=working_time, repr=False, compare=False)
    until: float = field(default=math.nan, repr=False, compare=False)
    """The moment at which the time ends, by the clock; by default ``seconds`` from now."""
    began: float = field(default=math.nan, repr=False, compare=False)
    _meter: _Meter | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            object.__setattr__(self, "began", self.clock())
        if math.isnan(self.until):
            seconds = math.inf if self.seconds is None else self.seconds
            object.__setattr__(self, "until", self.began + seconds)
        if self._meter is None and self.memory is not None:
            object.__setattr__(self, "_meter", _Meter(resident_bytes(), self.began))

    @property
    def bytes(self) -> int:
        """Bytes that may be used in all."""
        return allowed_bytes(self.memory)

    @property
    def bytes_left(self) -> float:
        """Bytes by which the process may still grow, as it is measured: where a limit was given."""
        if self._meter is None:
            return self.bytes
        return self.bytes + OVERHEAD - self._grown

    @property
    def _grown(self) -> int:
        """Bytes by which the process has grown since the call began; 0 where nobody measures."""
        return 0 if self._meter is None else resident_bytes() - self._meter.base

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self.clock() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds until the end: 0 after it, infinite where there is none."""
        return math.inf if self.until == math.inf else max(self.until - self.clock(), 0.0)

    @property
    def ended(self) -> bool:
        """Whether the time has ended: for loops that can stop with what they have."""
        return self.until < math.inf and self.clock() >= self.until

    def check(self) -> None:
        """Raise where the time has ended, or where the process has grown beyond the memory."""
        if self.until == math.inf and self._meter is None:
            return
        now = self.clock()
        if now >= self.until:
            raise self.out_of_time()
        if self._meter is not None and now >= self._meter.next:
            self._meter.next = now + BETWEEN_MEASUREMENTS
            self._refuse_growth(self._grown)

    def each(self, items: Iterable[Item], every: int = 256) -> Iterator[Item]:
        """The items; the clock is asked before the first, and again after so many."""
        for number, item in enumerate(items):
            if number % every == 0:
                self.check()
            yield item

    def claim(self, needed: float, what: str, hint: str = "allow more by --memory") -> None:
        """Raise where ``what`` needs more bytes than the call may use."""
        refuse_beyond(needed, self.bytes, f"{what} needs", hint)

    def claim_rows(self, rows: int, columns: int, what: str) -> None:
        """Raise where so many rows of ``what`` would need more bytes than the call may use."""
        self.claim(8.0 * rows * columns, f"{what} of {rows:,} rows")

    def share(self, part: float) -> Budget:
        """The same memory, and a part of the time that is left."""
        left = self.seconds_left
        return self if left == math.inf else replace(self, until=self.clock() + part * left)

    def at_most(self, seconds: float) -> Budget:
        """The same memory, and no more than so many seconds from now on."""
        return replace(self, until=min(self.until, self.clock() + seconds))

    def without_end(self) -> Budget:
        """The same memory, and no end: for a step that is under way when the time ends."""
        return replace(self, until=math.inf)

    def for_answering(self) -> Budget:
        """The same, with a little more time for the reading of an answer."""
        return self if self.seconds is None else replace(self, until=self.until + GRACE * self.seconds)

    def out_of_time(self) -> OutOfTimeError:
        """The error of who cannot stop with what there is."""
        return OutOfTimeError(f"not done after {self.elapsed:.1f} s", hint="allow more by --time-limit")

    def _refuse_growth(self, grown: int) -> None:
        if grown > self.bytes + OVERHEAD:
            raise BudgetError(
                f"the process has grown by {readable(grown)}, and {readable(self.bytes)} are allowed",
                hint="allow more by --memory",
            )


def budget_of(given: Mapping[str, Any]) -> Budget:
    """The budget that keywords of a command describe; its time begins now.

    >>> found = budget_of({"memory": "2GB", "time_limit": 5.0})
    >>> found.memory, found.seconds
    (2147483648, 5.0)
    """
    memory, seconds = given.get("memory"), given.get("time_limit")
    if seconds is not None:
        Number(0).check("--time-limit", seconds)
    return Budget(None if memory is None else bytes_of(memory), seconds)


UNLIMITED = Budget()
"""No end, and 70 % of the machine: for calls whose caller has no limits."""
