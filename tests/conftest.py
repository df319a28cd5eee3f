"""Fixtures that several rooms of the tests share."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from herbrand.budget import machine_memory
from herbrand.cli.app import main
from herbrand.files import ScratchFolder
from herbrand.language.collection import collector_paused
from herbrand.loops import OPERATIONS

ROOT = Path(__file__).parents[1]

# The same random theories every time, so that a change is judged by itself. `make check-all` draws others and
# more: a hundred where a law names no number, and `tries` gives the whole number that it names. Neither
# judges how fast anything is drawn, as the machine may be busy.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeated", CALM, derandomize=True, max_examples=20)
settings.register_profile("explore", CALM, print_blob=True)
settings.load_profile("repeated")
# Hypothesis would also draw constants of those modules of the project that are imported by then: other
# examples after each change of any line, and after each order in which two workers take the files. The oldest
# version that is allowed draws none.
with suppress(ModuleNotFoundError):
    _PROVIDERS = import_module("hypothesis.internal.conjecture.providers")
    if hasattr(_PROVIDERS, "_get_local_constants"):
        _PROVIDERS._get_local_constants = _PROVIDERS.Constants


MEMORY_DISK = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes; a run needs a tenth of them."""


def pytest_configure(config: pytest.Config) -> None:
    """Temporary files lie in memory where there is room and nobody has named another place.

    What databases and written files wait for the disk to keep was a tenth of the work, and where the disk was
    busy with something else more than half of the time. The folder goes with the run: to look at files of a
    test that fails, name a place by TMPDIR or --basetemp. Workers have this process's.
    """
    if "TMPDIR" in os.environ or config.option.basetemp is not None or not has_room(MEMORY_DISK):
        return
    before, tempfile.tempdir = tempfile.tempdir, str(MEMORY_DISK)
    try:
        folder = ScratchFolder()
    finally:
        tempfile.tempdir = before
    os.environ["TMPDIR"] = tempfile.tempdir = folder.name

    def end() -> None:
        tempfile.tempdir = before
        del os.environ["TMPDIR"]
        folder.cleanup()

    config.add_cleanup(end)


def has_room(folder: Path) -> bool:
    """Whether files can lie in a folder that is memory, with enough of it left for the tests."""
    if not os.access(folder, os.W_OK | os.X_OK) or not os.path.ismount(folder):
        return False
    return min(shutil.disk_usage(folder).free, machine_memory() // 2) >= ROOM


COLLECTED_AFTER = 500_000
"""New objects after which garbage is looked for: after 700, as is usual, that takes a twelfth of the time,
and after 50,000 a thirtieth still, as most of them go by themselves. A process takes 40 MB more."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Modules and tests stay until the end: a third of collecting them went into looking for garbage.

    Frozen, they are not looked at later either: of 18,000 tests, each full collection took two seconds.
    """
    with collector_paused():
        if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and session.config.args_source == FROM_SETTINGS:
            import_from_the_end(session.config.rootpath)
        found = yield
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER, 10, 10)
    return found


FROM_SETTINGS = pytest.Config.ArgsSource.TESTPATHS
"""Nobody has named a file: all tests are collected."""


def import_from_the_end(root: Path) -> None:
    """Import the modules of tests, the last one first.

    In a fresh checkout each worker rewrote and compiled all of them, half of the time of collecting. So one
    begins at the end and the other at the beginning, and from where they meet each finds what the other has
    kept. What cannot be imported is told by the collection.
    """
    for path in sorted(root.glob("tests/**/test_*.py"), reverse=True):
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(root).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker reports the call of a test that passes, not that it was set up and taken down as well.

    Each report is packed, sent, unpacked and looked at: of 16,000 tests these two took eight seconds. Where
    durations are listed all are sent.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or item.config.getoption("durations"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Modules without an example are not searched for one: of 1,200 files, 850 show none."""
    found = yield
    if file_path.suffix != ".py" or b">>> " in file_path.read_bytes():
        return found
    return [each for each in found if type(each) is pytest.Module]


@pytest.fixture(scope="module", autouse=True)
def as_if_nothing_ran_before() -> None:
    """A file has the same random numbers and compiled loops whichever files its worker has taken before."""
    OPERATIONS.clear()
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


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
def eager_threads() -> Generator[None, None, None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def reference_cases() -> Path:
    """The folder of reference cases beside the checkout, where there is one."""
    folder = ROOT.parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("no reference cases beside the checkout")
    return folder
