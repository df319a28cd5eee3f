"""One row of a benchmark table: how long ours takes, beside a limit on the same machine in the same run.

>>> row = race("sum", "10 numbers", lambda: sum(range(10)), "len", lambda: len(range(10)), repeats=1)
>>> row.what, row.limit_name
('sum', 'len')
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]


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
        """How many times the limit's time ours takes."""
        return self.ours / self.limit


def race(
    what: str,
    size: str,
    ours: Work,
    limit_name: str,
    limit: Work,
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> Measurement:
    """Medians after a warm-up, both run in turn so that a busy machine disturbs them alike.

    ``clock``: ``time.process_time`` for what this process does alone, which others then hardly disturb.
    """
    ours()
    limit()
    pairs = [(seconds(ours, clock), seconds(limit, clock)) for _ in range(repeats)]
    mine, least = (median(column) for column in zip(*pairs, strict=True))
    return Measurement(what, size, mine, limit_name, least)


def seconds(work: Work, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call, garbage collected before it."""
    gc.collect()
    began = clock()
    work()
    return clock() - began


def in_turn(works: Sequence[Work], repeats: int, most: float) -> list[float]:
    """The median seconds of the processor of each, run in turn until so many are over; all run before.

    No garbage is collected before a call: that would empty the processor's caches, and small works run warm.
    """
    rounds: list[list[float]] = []
    while len(rounds) < repeats and sum(map(sum, rounds)) < most:
        rounds.append([_processor_seconds(work) for work in works])
    return list(map(median, zip(*rounds, strict=True)))


def _processor_seconds(work: Work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def told_in_time(command: list[str], seconds: float, text: str = "") -> str | None:
    """What a command prints, given ``text``; ``None`` if it was stopped, with all that it had started."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(text, seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, out, err)
    return out


def table(rows: Iterable[Measurement]) -> str:
    """A Markdown table."""
    lines = [
        "| what | size | ours (s) | limit | limit (s) | ratio |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    lines += [
        f"| {row.what} | {row.size} | {row.ours:.5f} | {row.limit_name} | {row.limit:.5f} | {row.ratio:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)
