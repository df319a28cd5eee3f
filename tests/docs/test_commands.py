"""Every command and Python block of README and docs is run; the README shows the demo's true output."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, Outcome

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = re.compile(r"<!-- run -->\n```\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
DEMO = re.compile(r"<!-- demo output -->\n```\n(.*?)```", re.DOTALL)


def found(pattern: re.Pattern[str]) -> list[object]:
    """The blocks of all pages; dialogues with ``>>>`` are doctests, run by their own pages' tests."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(pattern.findall(page.read_text()))
        if not block.startswith(">>>")
    ]


@pytest.mark.parametrize("block", found(COMMANDS))
def test_commands_run(block: str, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "herbrand"
        outcome = herbrand(*arguments)
        assert outcome.status == 0, outcome.err
        assert outcome.out


@pytest.mark.parametrize("block", found(PYTHON))
def test_python_blocks_run(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(block, "<docs>", "exec"), {})


def test_the_readme_shows_the_demos_true_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    assert "@$(BIN)/python examples/tour.py" in Path("Makefile").read_text()
    shown = DEMO.search(Path("README.md").read_text())
    assert shown is not None
    assert runpy.run_path("examples/tour.py")["tour"]() == shown[1]
