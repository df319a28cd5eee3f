"""A fault at any write leaves the old file or a whole new one, and nothing beside it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def injected(*names: str) -> tuple[int, str]:
    """How many points were tried, and all that the injector tells; in a process that has no threads yet."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.faults.injector", *names], cwd=ROOT, capture_output=True, text=True
    )
    found = re.search(r"(\d+) points tried, (\d+) wrong", told.stdout)
    assert found is not None and told.returncode == 0 and found[2] == "0", told.stdout + told.stderr
    return int(found[1]), told.stdout


def test_one_file_and_two() -> None:
    points, told = injected("convert")
    assert points >= 30, told


@pytest.mark.slow
def test_every_command_that_writes() -> None:
    points, told = injected()
    assert points >= 500, told
