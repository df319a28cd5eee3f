"""Servers as their users start them, on ports of their own, and clients that talk to them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from herbrand.serving.nursery import is_alive
from tests.conftest import ROOT

httpx = pytest.importorskip("httpx", reason="the servers are asked by httpx")
pytest.importorskip("fastapi", reason="the servers need herbrand[studio]")
pytest.importorskip("uvicorn", reason="the servers need herbrand[studio]")

PATIENCE = 120.0
"""Seconds for whatever comes soon where the machine has nothing else to do."""
SMOKERS = ROOT / "examples" / "smokers"


@dataclass
class Started:
    """A server's process, its address and its key."""

    process: subprocess.Popen[str]
    address: str
    token: str = ""

    def client(self, **more: Any) -> httpx.Client:
        headers = {"X-Herbrand-Token": self.token} if self.token else {}
        return httpx.Client(
            base_url=self.address, headers=headers | more.pop("headers", {}), timeout=PATIENCE, **more
        )

    def end(self, number: int = signal.SIGINT) -> int:
        """Its exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def begun(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "herbrand", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        **more,
    )


def served(*arguments: str) -> Started:
    """``herbrand serve`` with these arguments; its address is on standard error."""
    process = begun("serve", *arguments, "--port", "0")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("answering at "):
            return Started(process, line.split()[2].rstrip(";"))
    raise AssertionError(f"it ended with {process.wait()}")


def opened(*arguments: str) -> Started:
    """``herbrand studio`` with these arguments; its address is on standard output."""
    process = begun("studio", *arguments, "--port", "0", "--no-browser")
    assert process.stdout is not None
    line = process.stdout.readline()
    address, _, token = line.strip().partition("/?token=")
    assert token, process.communicate()
    return Started(process, address, token)


@contextlib.contextmanager
def ended(started: Started) -> Iterator[Started]:
    try:
        yield started
    finally:
        started.process.send_signal(signal.SIGINT)
        try:
            started.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            started.process.kill()
        started.process.communicate()


@pytest.fixture(scope="session")
def smokers() -> Iterator[Started]:
    """A service over the smokers of the examples."""
    options = ("--facts", str(SMOKERS / "facts"), "--workers", "2", "--time-limit", "100")
    with ended(served(str(SMOKERS / "smokers.hb"), *options)) as started:
        yield started


@pytest.fixture
def ask(smokers: Started) -> Iterator[Callable[..., httpx.Response]]:
    with smokers.client() as client:
        yield lambda path, body=None, **more: client.post(path, json=body, **more)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project: a theory, tables, and a file that is neither."""
    place = tmp_path_factory.mktemp("project")
    (place / "facts").mkdir()
    for name in ("smokers.hb", "facts/friends.csv"):
        (place / name).write_bytes((SMOKERS / name).read_bytes())
    (place / "notes.txt").write_text("nothing\n")
    return place


@pytest.fixture(scope="session")
def studio(folder: Path) -> Iterator[Started]:
    with ended(opened(str(folder / "smokers.hb"), "--facts", str(folder / "facts"))) as started:
        yield started


@pytest.fixture
def api(studio: Started) -> Iterator[httpx.Client]:
    with studio.client() as client:
        yield client


def comes(condition: Callable[[], bool], within: float = PATIENCE) -> bool:
    """Whether something becomes true in time; this returns as soon as it has."""
    until = time.monotonic() + within
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def gone(pid: int, within: float = PATIENCE) -> bool:
    """Whether a process ends in time."""
    return comes(lambda: not is_alive(pid), within)


def children(pid: int) -> list[int]:
    """All processes below one; a thread or a process that ends while it is looked at has none."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *children(child)]
    return found
