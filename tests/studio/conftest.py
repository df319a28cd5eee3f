"""A studio server and Debian's chromium for the tests of this folder, which `make test-studio` runs.

Each page fails its test where it asks another machine for anything, or where the content policy stops it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "docs" / "pictures" if os.environ.get("HERBRAND_PICTURES") else None
"""Where screenshots go; by default none are made."""
SECONDS = 60.0
"""Patience for whatever should come at once: the machine may be busy."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if "page" in getattr(item, "fixturenames", ()) and here in item.path.parents:
            item.add_marker(pytest.mark.browser)


MEASURED: list[str] = []
"""What tests measured and do not judge; it stands below their results."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in MEASURED:
        terminalreporter.write_line(line)


@dataclass(frozen=True)
class Studio:
    """A running ``herbrand studio``."""

    address: str
    folder: Path
    process: subprocess.Popen[str]


def started(folder: Path, *arguments: str) -> Studio:
    command = [sys.executable, "-m", "herbrand", "studio", *arguments, "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return Studio(process.stdout.readline().strip(), folder, process)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("fastapi", reason="the extra `studio` is not installed")
    if BROWSER is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        running = driver.chromium.launch(executable_path=BROWSER, args=sandbox)
        yield running
        running.close()


def ended(running: Studio) -> None:
    """End a studio as Ctrl-C does."""
    running.process.send_signal(signal.SIGINT)
    try:
        running.process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        running.process.kill()
        raise


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Start a studio over a copy of an example, or over an empty folder."""
    running: list[Studio] = []

    def start(example: str | None, *arguments: str) -> Studio:
        folder = tmp_path / "project"
        if example is None:
            folder.mkdir()
        else:
            shutil.copytree(ROOT / "examples" / example, folder)
        running.append(started(folder, *arguments))
        return running[-1]

    yield start
    for one in running:
        ended(one)


@pytest.fixture(scope="session")
def smokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One studio over the smokers for all tests that save nothing."""
    folder = tmp_path_factory.mktemp("smokers") / "project"
    shutil.copytree(ROOT / "examples" / "smokers", folder)
    running = started(folder, "smokers.hb", "--facts", "facts")
    yield running
    ended(running)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1180, "height": 760}, accept_downloads=True)
    context.set_default_timeout(SECONDS * 1000)
    asked: list[str] = []
    complaints: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda message: (
            complaints.append(message.text) if "Content Security Policy" in message.text else None
        ),
    )
    yield opened
    context.close()
    here = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "file://")
    assert [url for url in asked if not url.startswith(here)] == []
    assert complaints == []
