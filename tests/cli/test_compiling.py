"""The note that loops are compiled: with an empty cache, and no more once they are in it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from herbrand.cli import compiling
from herbrand.cli.compiling import COMPILING

LOOPS = """\
from herbrand.loops import loop

@loop
def doubled(n):
    return 2 * n

@loop
def tripled(n):
    return doubled(n) + n
"""
COMMAND = """\
from herbrand.cli import app
from herbrand.loops import compiled
from loops import doubled, tripled

def command():
    assert compiled(tripled)(1) == 3 and compiled(doubled)(1.0) == 2

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


def test_who_runs_out_of_time_while_loops_are_compiled_is_told_what_the_first_run_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was advised to try again, which a limit below the time for the compiler ends in the same way."""
    assert compiling.advice_out_of_time() == "allow more by --time-limit"
    monkeypatch.setattr(compiling, "_announced", threading.Event())
    compiling._announced.set()
    assert "the first run takes up to half a minute longer; allow more" in compiling.advice_out_of_time()


INTERRUPTED = """\
import os, signal
from herbrand.cli import app

class Unfinished:
    def __del__(self):
        raise AttributeError("a library's object that was interrupted while it was made")

def command():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        Unfinished()
        app._interrupted()

app.main = command
app.run()
"""


def test_what_a_library_had_not_finished_when_it_was_interrupted_shows_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + 15, "terminated; no file is left half-written\n")
