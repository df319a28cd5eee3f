"""The budget of a call: the time and the memory that it may use, passed to everything that uses either.

A call makes its :class:`Budget` when it begins. Long loops ask its clock (:meth:`Budget.check`); code that
allocates more than a megabyte claims it first (:meth:`Budget.claim`). Both raise an error that names the
option to raise. A function that is given no budget has no limit.

>>> budget = Budget(memory=10_000)
>>> budget.claim(8_000, "the table")
>>> budget.claim(80_000, "the table")
Traceback (most recent call last):
herbrand.errors.BudgetError: the table needs about 78.1 kB, and 9.8 kB are allowed
  allow more by --memory
>>> budget.seconds_left
inf

The size of the machine's memory, and the text of an amount of memory, are computed here too.

>>> readable(3 * 2**20)
'3.0 MB'
>>> allowed_bytes(10_000)
10000

:class:`Guards` enforce a command's limits on libraries (a parser, a solver, a database), which neither ask
the clock nor claim memory. A process that runs one command and nothing else has a timer a little beyond the
time limit, and a limit on its data a little beyond the memory. Each exists only if the user set that limit,
and never in a process of the user's own.
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
from herbrand.extras import later
from herbrand.loops import COMPILER
from herbrand.options.kinds import Number
from herbrand.options.kinds import amount as parsed_amount

_inverse = later("numpy.linalg:inv")
SHARE = 0.7
"""Default share of the machine's memory that a call may use."""

SHARE_FOR_DATABASE = 0.8
"""Share of the allowed memory that a database gets; the rest is for this process."""
LEAST_FOR_DATABASE = 64 << 20

ANY_MACHINE = 2**50
"""More bytes than any machine has: the limit for plans that are made before the machine is known."""

CGROUPS = Path("/sys/fs/cgroup")


def allowed_bytes(memory: int | None = None) -> int:
    """Bytes that a call may use: ``memory`` if given, else 70 % of the machine's memory."""
    return int(memory) if memory is not None else int(SHARE * machine_memory())


def holds_database(memory: int) -> bool:
    """Whether ``memory`` bytes suffice to open a database.

    >>> holds_database(1 << 30), holds_database(1 << 20)
    (True, False)
    """
    return memory * SHARE_FOR_DATABASE >= LEAST_FOR_DATABASE


@lru_cache(maxsize=1)
def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or the limit of its control group."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_cgroup_limits(CGROUPS, Path("/proc/self/cgroup"))])


def resident_bytes() -> int:
    """Resident bytes of this process without mapped files; 0 if the system does not report them."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            _, resident, shared, *_ = file.read(128).split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def lacks_memory(error: Exception) -> bool:
    """Whether an error of Python, torch or DuckDB reports that memory ran out (by its text: neither is
    imported here)."""
    text = str(error).lower()
    words = "allocate memory", "out of memory", "allocation failure"
    return isinstance(error, MemoryError) or any(each in text for each in words)


def readable(amount: float) -> str:
    """Text of a number of bytes with its unit, such as ``3.0 MB``."""
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
    """Raise a :class:`BudgetError` if ``needed`` exceeds ``allowed`` bytes of memory; ``what`` begins its
    message."""
    if needed > allowed:
        message = f"{what} about {readable(needed)}, and {readable(allowed)} are allowed"
        raise BudgetError(message, hint=hint, span=span)


def refuse_beyond_disk(needed: float, free: int | None, what: str, hint: str) -> None:
    """Raise a :class:`BudgetError` if ``needed`` exceeds the ``free`` bytes of disk (None: unknown)."""
    if free is not None and needed > free:
        raise BudgetError(
            f"{what} about {readable(needed)} of disk, and {readable(free)} are free", hint=hint
        )


def _cgroup_limits(root: Path, membership: Path) -> list[int]:
    """Memory limits of the process's control group and its parents, of cgroup versions 1 and 2."""
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
    """Parse an amount of memory: bytes, ``"500MB"``, ``"2 GB"``, or a share of the machine such as ``"50%"``.

    >>> bytes_of("1.5kB")
    1536
    """
    number, unit = parsed_amount(amount)
    if unit == "%":
        return int(machine_memory() * number / 100)
    return int(number * 1024 ** "BKMGT".index(unit))


Item = TypeVar("Item")

OVERHEAD = 200 * 2**20
"""Bytes allowed beyond the claims. Claims estimate arrays, but the measured size of the process includes
libraries, compiled loops and gaps of the allocator."""
BETWEEN_MEASUREMENTS = 0.02
"""Seconds between measurements of the process: one takes 10 microseconds, asking the clock 0.1."""
GRACE = 0.1
"""Share of the time limit by which reading an answer may exceed it, as the inference is done by then."""


@dataclass
class _Meter:
    """``base``: resident bytes when the call began; ``next``: the clock's time of the next measurement."""

    base: int
    next: float


LATER, LATER_SHARE = 0.2, 0.1
"""Seconds, and share of the limit, by which the timer comes after the limit: loops that ask the clock should
end first, as they can say what is missing and keep what was done."""
LIBRARIES = 512 * 2**20
"""Bytes of data of the libraries of a command, all imported and their threads started (measured: 470 MB)."""


class Guards:
    """Limits that the operating system enforces on this process. ``own_process``: it runs one command only,
    or a server ends it; ``seconds``: the time limit of its timer."""

    def __init__(self) -> None:
        self.own_process = False
        self.seconds: float | None = None

    def keep(self, budget: Budget, elsewhere: bool = False) -> None:
        """Start the timer and limit the data, if this is a process of our own. ``elsewhere``: another process
        does the work, so that this one's data is not limited."""
        if not self.own_process:
            return
        if budget.seconds is not None and hasattr(signal, "setitimer"):
            self.seconds = budget.seconds
            later = LATER + LATER_SHARE * budget.seconds
            signal.setitimer(signal.ITIMER_REAL, budget.seconds_left + later)
        if budget.memory is not None and not elsewhere:
            bound_data(budget.memory + LIBRARIES)

    def answered(self) -> None:
        """Stop the timer: the answer is written, and a command that has ended must not fail."""
        if self.own_process and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def bound_data(limit: int) -> None:
    """Limit the bytes of data of this process; allocations beyond it fail.

    OpenBLAS ends the process where it gets no memory for its buffers, so it takes them before. The allocator
    of Arrow sets a gigabyte aside once it is loaded, all of which would count, though little of it is used.
    """
    os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")
    _inverse([[1.0]])
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or limit < most:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


GUARDS = Guards()
"""The guards of this process; one object, as a process has one timer and one limit."""


def seconds_compiling() -> float:
    """Seconds that this process has spent on compiling loops."""
    compiler = sys.modules.get(COMPILER)
    spent = getattr(compiler, "SPENT", None)  # none while another thread imports it
    return spent.duration if spent is not None and spent.done else 0.0


def time_beside_compiling() -> float:
    """Monotonic seconds without compiling loops, whose result all later runs use."""
    return time.monotonic() - seconds_compiling()


def working_time() -> float:
    """Monotonic seconds; without compiling loops in a user's program, where nothing can interrupt it. In a
    process of our own it counts, as the timer ends that process."""
    return time.monotonic() if GUARDS.own_process else time_beside_compiling()


@dataclass(frozen=True)
class Budget:
    """Limits of one call: ``memory`` bytes (None: 70 % of the machine) and ``seconds`` from now (None: no
    end). The process is measured where ``memory`` is given, and where it is our own.

    Budgets with equal limits are equal, whenever they began. ``clock`` gives seconds, as ``working_time``.
    """

    memory: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = field(default=working_time, repr=False, compare=False)
    until: float = field(default=math.nan, repr=False, compare=False)
    """Time of the clock at which the budget ends; by default ``seconds`` from now."""
    began: float = field(default=math.nan, repr=False, compare=False)
    _meter: _Meter | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            object.__setattr__(self, "began", self.clock())
        if math.isnan(self.until):
            seconds = math.inf if self.seconds is None else self.seconds
            object.__setattr__(self, "until", self.began + seconds)
        if self._meter is None and (self.memory is not None or GUARDS.own_process):
            object.__setattr__(self, "_meter", _Meter(resident_bytes(), self.began))

    @property
    def bytes(self) -> int:
        """Bytes that the call may use."""
        return allowed_bytes(self.memory)

    @property
    def bytes_left(self) -> float:
        """Bytes by which the process may still grow, by measurement; if it is not measured, those allowed."""
        if self._meter is None:
            return self.bytes
        return self.bytes + OVERHEAD - self._grown

    @property
    def _grown(self) -> int:
        """Bytes by which the process has grown since the call began; 0 if it is not measured."""
        return 0 if self._meter is None else resident_bytes() - self._meter.base

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self.clock() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds until the end; 0 after it, infinite without a time limit."""
        return math.inf if self.until == math.inf else max(self.until - self.clock(), 0.0)

    @property
    def is_limited(self) -> bool:
        """Whether it ends: by the time limit of the call, or as a part of the time."""
        return self.until < math.inf

    @property
    def ended(self) -> bool:
        """Whether the time is over; for loops that can return a partial result."""
        return self.is_limited and self.clock() >= self.until

    def check(self) -> None:
        """Raise an error if the time is over or the process has grown beyond the memory."""
        if self.until == math.inf and self._meter is None:
            return
        now = self.clock()
        if now >= self.until:
            raise self.out_of_time()
        if self._meter is not None and now >= self._meter.next:
            self._meter.next = now + BETWEEN_MEASUREMENTS
            self._refuse_growth(self._grown)

    def each(self, items: Iterable[Item], every: int = 256) -> Iterator[Item]:
        """Iterate over ``items``; check the budget before the first and after ``every`` items."""
        for number, item in enumerate(items):
            if number % every == 0:
                self.check()
            yield item

    def claim(self, needed: float, what: str, hint: str = "allow more by --memory") -> None:
        """Raise a :class:`BudgetError` if ``needed`` bytes exceed those of the call; ``what`` names them."""
        refuse_beyond(needed, self.bytes, f"{what} needs", hint)

    def claim_rows(self, rows: int, columns: int, what: str) -> None:
        """Claim the bytes of ``rows`` rows of ``columns`` numbers."""
        self.claim(8.0 * rows * columns, f"{what} of {rows:,} rows")

    def share(self, part: float) -> Budget:
        """A budget with the same memory and the share ``part`` of the time left."""
        left = self.seconds_left
        return self if left == math.inf else replace(self, until=self.clock() + part * left)

    def at_most(self, seconds: float) -> Budget:
        """A budget with the same memory that ends after ``seconds`` at most."""
        return replace(self, until=min(self.until, self.clock() + seconds))

    def without_end(self) -> Budget:
        """A budget with the same memory and no end, for a step that has begun when the time is over."""
        return replace(self, until=math.inf)

    def for_answering(self) -> Budget:
        """A budget that ends a little later (:data:`GRACE`), for reading an answer."""
        return self if self.seconds is None else replace(self, until=self.until + GRACE * self.seconds)

    def out_of_time(self) -> OutOfTimeError:
        """Error for a loop without a partial result when the time is over."""
        return OutOfTimeError(f"not done after {self.elapsed:.1f} s", hint="allow more by --time-limit")

    def _refuse_growth(self, grown: int) -> None:
        if grown > self.bytes + OVERHEAD:
            raise BudgetError(
                f"the process has grown by {readable(grown)}, and {readable(self.bytes)} are allowed",
                hint="allow more by --memory",
            )


def budget_of(given: Mapping[str, Any]) -> Budget:
    """Make the budget of a command from its options ``memory`` and ``time_limit``; its time begins now.

    >>> found = budget_of({"memory": "2GB", "time_limit": 5.0})
    >>> found.memory, found.seconds
    (2147483648, 5.0)
    """
    memory, seconds = given.get("memory"), given.get("time_limit")
    if seconds is not None:
        Number(0).check("--time-limit", seconds)
    return Budget(None if memory is None else bytes_of(memory), seconds)


UNLIMITED = Budget()
"""Budget without a time limit and with 70 % of the machine's memory."""
