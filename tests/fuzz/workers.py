"""Processes that try cases one after another, and are started anew behind a case that hangs or kills them."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.trial import case, wrong

SILENT = 300
"""Seconds behind which a case counts as hanging; the first use of compiled loops takes a minute."""


def work(numbers: range, pipe: Any) -> None:
    """Send each case's number before it runs, and what is wrong with it after ("" for nothing)."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            pipe.send((number, None))
            pipe.send((number, wrong(case(number, Path(scratch)), Path(folder)) or ""))
    pipe.send(None)


@dataclass
class Worker:
    """A process that goes through some numbers."""

    numbers: range
    current: int = -1
    heard: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(self.numbers, theirs))
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()

    def behind(self) -> bool:
        """Go on behind the current case; whether there is anything left to do."""
        self.process.kill()
        self.process.join()
        if self.current not in self.numbers:
            raise RuntimeError("a worker ended before its first case")
        self.numbers = range(self.current + self.numbers.step, self.numbers.stop, self.numbers.step)
        if self.numbers:
            self._start()
        return bool(self.numbers)

    def heard_of(self) -> tuple[str | None, bool]:
        """What is wrong with a case that has ended (None: none has), and whether the worker goes on."""
        try:
            message = self.pipe.recv()
        except EOFError:
            self.process.join()
            return f"the process died with status {self.process.exitcode}", self.behind()
        self.heard = time.monotonic()
        if message is None:
            return None, False
        self.current = message[0]
        return message[1], True

    def hangs(self) -> bool:
        return time.monotonic() - self.heard > SILENT


def outcomes(numbers: range, processes: int) -> Iterator[tuple[int, str]]:
    """Each case's number and what is wrong with it, as they end."""
    shares = [numbers[k::processes] for k in range(processes)]
    workers = [Worker(share) for share in shares if share]
    try:
        while workers:
            ready = multiprocessing.connection.wait([worker.pipe for worker in workers], timeout=5)
            for worker in list(workers):
                number, message, goes_on = worker.current, None, True
                if worker.pipe in ready:
                    message, goes_on = worker.heard_of()
                elif worker.hangs():
                    message, goes_on = f"silent for {SILENT} s", worker.behind()
                if message is not None:
                    yield number, message
                if not goes_on:
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.process.kill()
