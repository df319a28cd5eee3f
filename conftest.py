"""A test that meets a package which is not installed is skipped, and says which.

A plain installation has no PyTorch, and who only reads the code may leave out others that contributors need;
with all of them nothing is skipped here. Tests of commands end in another error than that of the import, so
it is noted as well which packages were asked for.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Generator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

MODULES = {
    "adbc-driver-postgresql": ("adbc_driver_postgresql",),
    "ipython": ("IPython",),
    "mkdocs-material": ("material", "mkdocs"),
    "pygls": ("pygls", "lsprotocol"),
    "pytest-xdist": ("xdist",),
    "scikit-learn": ("sklearn",),
}
"""The modules that a package brings, where that is not one of its name."""
_TOLD = re.compile(r"No module named '(\w+)|needs ([\w.]+), which is not installed")


def contributors_modules() -> list[str]:
    """What tests may ask for beside the modules of a plain installation."""
    project = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["project"]
    names = (re.split(r"[\[<>=]", each)[0] for each in project["optional-dependencies"]["dev"])
    return [module for name in names for module in MODULES.get(name, (name,))]


class Missed:
    """The last of the finders, so that it is asked for what none has found."""

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        self.asked: dict[str, None] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if (package := name.partition(".")[0]) in self.missing:
            self.asked[package] = None
        return None

    def named(self, told: str) -> str | None:
        """The missing package that a failure tells of, or that the test has asked for."""
        names = ("torch" if name == "PyTorch" else name for pair in _TOLD.findall(told) for name in pair)
        return next((name for name in (*names, *self.asked) if name in self.missing), None)


MISSED = Missed([name for name in contributors_modules() if find_spec(name) is None])
sys.meta_path.append(MISSED)


def skip_for_want(report: pytest.CollectReport | pytest.TestReport, path: Path) -> None:
    """Turn a failure for want of a package into a skip."""
    if report.failed and (name := MISSED.named(report.longreprtext)):
        report.outcome = "skipped"
        report.longrepr = str(path), 0, f"Skipped: {name} is not installed"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    MISSED.asked.clear()
    report = yield
    skip_for_want(report, collector.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    skip_for_want(report, item.path)
    if call.when == "teardown":
        MISSED.asked.clear()
    return report
