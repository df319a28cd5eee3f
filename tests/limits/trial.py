"""One command under limits, in a process of its own, and whether it kept them.

Processor time counts, that of child processes too: on a machine that others use as well, a wall clock
measures them. A command that waits without working is caught by a wall clock that is far beyond.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.limits.families import FAMILIES

MB = 2**20
BESIDE = 350 * MB
"""What Python and its libraries may take beside the memory allowed."""
ENDED = (0, 1, 2, 3)
"""Statuses of a command that answered, refused, was called wrongly, or answered without having converged."""
PATIENCE = 20
"""A command is ended after so many times its limit."""


@dataclass(frozen=True)
class Case:
    """``memory`` and ``seconds`` are the limits; ``number`` draws the theory."""

    number: int
    family: str
    memory: int
    seconds: float

    @classmethod
    def drawn(cls, number: int) -> Case:
        """The same case for the same number, whenever it is drawn."""
        random = Random(f"limits {number}")
        family = list(FAMILIES)[number % len(FAMILIES)]
        return cls(number, family, random.randint(300, 2048) * MB, round(random.uniform(1, 10), 1))

    def arguments(self, folder: Path) -> list[str]:
        """The command with its limits; its files are written into the folder."""
        command = FAMILIES[self.family](Random(self.number), folder)
        return [*command, "--memory", f"{self.memory // MB}MB", "--time-limit", str(self.seconds)]


@dataclass(frozen=True)
class Ran:
    """``seconds`` of processor time, ``waited`` ones of the wall; ``peak`` bytes of the largest process."""

    case: Case
    command: str
    status: int
    seconds: float
    waited: float
    peak: int
    message: str

    @property
    def late(self) -> float:
        """Seconds of work beyond what is allowed."""
        return self.seconds - self.case.seconds - max(1.0, 0.2 * self.case.seconds)

    @property
    def large(self) -> int:
        """Bytes beyond what is allowed."""
        return self.peak - self.case.memory - BESIDE

    @property
    def kept(self) -> bool:
        """Whether both limits were kept, and the command ended in order."""
        return self.late <= 0 and self.large <= 0 and self.status in ENDED


def ran(case: Case) -> Ran:
    """Run it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = case.arguments(folder)
        began = time.monotonic()
        with (folder / "messages").open("w+") as messages:
            process = subprocess.Popen(
                [sys.executable, "-m", "herbrand", *arguments],
                stdout=subprocess.DEVNULL,
                stderr=messages,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            status, used = _ended(process, began + PATIENCE * (case.seconds + 1))
            messages.seek(0)
            message = messages.read().strip().splitlines()
        waited = time.monotonic() - began
        told = message[-1][:100] if message else ""
        work = used.ru_utime + used.ru_stime
        return Ran(case, " ".join(arguments), status, work, waited, used.ru_maxrss * 1024, told)


def _ended(process: subprocess.Popen[bytes], until: float) -> tuple[int, resource.struct_rusage]:
    """The status, negative for a signal, and what the process used."""
    while True:
        number, status, used = os.wait4(process.pid, os.WNOHANG)
        if number:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.02)
