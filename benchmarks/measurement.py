"""One line of a benchmark table: how long ours takes, beside a limit on the same machine in the same run.

>>> made = Measurement("sum", "10 numbers", ours=2.0, limit_name="half of it", limit=1.0)
>>> made.ratio
2.0
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Measurement:
    """Median seconds of what is measured, and of the limit it is held against."""

    what: str
    size: str
    ours: float
    limit_name: str
    limit: float

    @property
    def ratio(self) -> float:
        """How many times the limit ours takes."""
        return self.ours / self.limit if self.limit else float("inf")


def race(ours: Callable[[], object], limit: Callable[[], object], repeats: int = 7) -> tuple[float, float]:
    """Median seconds of both, run in turn so that a busy machine disturbs them alike; each is warmed up once."""
    ours(), limit()
    pairs = [(_seconds(ours), _seconds(limit)) for _ in range(repeats)]
    return median(one for one, _ in pairs), median(other for _, other in pairs)


def table(measurements: Iterable[Measurement]) -> str:
    """A Markdown table."""
    lines = ["| what | size | ours | limit | seconds | ratio |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {one.what} | {one.size} | {_shown(one.ours)} | {one.limit_name} | {_shown(one.limit)} | {one.ratio:.2f} |"
        for one in measurements
    ]
    return "\n".join(lines)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"
