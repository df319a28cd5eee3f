"""Fixtures that several rooms of the tests share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from herbrand.cli.app import main
from herbrand.language.collection import collector_paused

ROOT = Path(__file__).parents[1]

# The same random theories every time, so that a change is judged by itself. `make check-all` draws others and
# more: a hundred where a law names no number, and `tries` gives the whole number that it names. Neither
# judges how fast anything is drawn, as the machine may be busy.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeated", CALM, derandomize=True, max_examples=20)
settings.register_profile("explore", CALM, print_blob=True)
settings.load_profile("repeated")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: a third of collecting them went into looking for garbage.

    Frozen, they are not looked at later either: of 18,000 tests, each full collection took two seconds.
    """
    with collector_paused():
        found = yield
    gc.freeze()
    return found


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def herbrand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command in this process, from the project's folder unless the test has moved."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["herbrand", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture
def reference_cases() -> Path:
    """The folder of reference cases beside the checkout, where there is one."""
    folder = ROOT.parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("no reference cases beside the checkout")
    return folder
