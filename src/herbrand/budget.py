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
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.memory import allowed_bytes, bytes_of, readable, resident_bytes

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


@dataclass(frozen=True)
class Budget:
    """At most ``memory`` bytes and ``seconds`` from now on; ``None`` is 70 % of the machine, and no end.

    Budgets of equal limits are equal, whenever they began. ``clock`` gives seconds, as ``time.monotonic``.
    """

    memory: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
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
            self._refuse_growth(resident_bytes() - self._meter.base)

    def each(self, items: Iterable[Item], every: int = 256) -> Iterator[Item]:
        """The items; the clock is asked before the first, and again after so many."""
        for number, item in enumerate(items):
            if number % every == 0:
                self.check()
            yield item

    def claim(self, needed: float, what: str, hint: str = "allow more by --memory") -> None:
        """Raise where ``what`` needs more bytes than the call may use."""
        if needed > self.bytes:
            raise BudgetError(
                f"{what} needs about {readable(needed)}, and {readable(self.bytes)} are allowed", hint=hint
            )

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
    memory = given.get("memory")
    return Budget(None if memory is None else bytes_of(memory), given.get("time_limit"))


UNLIMITED = Budget()
"""No end, and 70 % of the machine: for calls whose caller has no limits."""
