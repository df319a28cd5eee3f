"""The note that loops are compiled: with an empty cache, and no more once they are in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from herbrand.cli.compiling import COMPILING

LOOPS = """\
import numba

@numba.njit(cache=True)
def doubled(n):
    return 2 * n

@numba.njit(cache=True)
def tripled(n):
    return doubled(n) + n
"""
COMMAND = """\
import threading
from herbrand.cli import app

def command():
    import numba.core.event
    for thread in threading.enumerate():  # one waits until numba is there
        if thread is not threading.main_thread():
            thread.join(60)
    import loops
    assert loops.tripled(1) == 3 and loops.doubled(1.0) == 2

app.main = command
app.run()
"""


def notes(folder: Path, cache: str) -> int:
    """How often a command that runs two loops notes that it compiles."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.replace(COMPILING, "").strip() == ""
    return done.stderr.count(COMPILING)


def test_compiling_is_noted_while_the_cache_is_empty(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    assert [notes(tmp_path, "cache"), notes(tmp_path, "cache"), notes(tmp_path, "another")] == [1, 0, 1]
