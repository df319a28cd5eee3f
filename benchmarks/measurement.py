"""What a benchmark row is, and how two ways of doing the same thing are raced.

>>> row = race("sum", "10 numbers", lambda: sum(range(10)), "len", lambda: len(range(10)), repeats=1)
>>> row.what, row.limit_name
('sum', 'len')
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Any]


@dataclass(frozen=True)
class Measurement:
    """Median seconds of ours and of the limit, measured in the same run."""

    what: str
    size: str
    ours: float
    limit_name: str
    limit: float

    @property
    def ratio(self) -> float:
        """How many times the limit's time ours takes."""
        return self.ours / self.limit


def race(what: str, size: str, ours: Work, limit_name: str, limit: Work, repeats: int = 5) -> Measurement:
    """Medians of interleaved repeats after one warm-up of each."""
    ours(), limit()
    times = [(seconds(ours), seconds(limit)) for _ in range(repeats)]
    mine, bound = (statistics.median(column) for column in zip(*times, strict=True))
    return Measurement(what, size, mine, limit_name, bound)


def seconds(work: Work) -> float:
    """Seconds of one call, garbage collected before it."""
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
