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
FIRST_BLOCKS = {"docs/own-task.md": 3}
"""Pages that train for long: `make check-all` runs them to the end, the ordinary tests so many blocks. The
game that is trained further down has its short tests in tests/tasks/test_own_tasks.py."""
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
STEP = re.compile(
    r"<!-- file (\S+) -->\n```\n([^`]*)```|^\$ (herbrand .*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE
)
"""Of a page that makes a folder of its own: a file to write, or a command and what it prints."""
ALONE = "<!-- in a new folder -->"
DEMO = re.compile(r"<!-- demo output -->\n```\n(.*?)```", re.DOTALL)


def commands() -> list[object]:
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(COMMANDS.findall(page.read_text()))
    ]


def python_pages() -> list[object]:
    """The Python of each page, one block after another as a reader would run them.

    Dialogues with ``>>>`` are doctests, run by their own pages' tests.
    """
    found = {
        page: [block for block in PYTHON.findall(page.read_text()) if not block.startswith(">>>")]
        for page in PAGES
    }
    named = {str(page.relative_to(ROOT)): blocks for page, blocks in found.items() if blocks}
    begun = [pytest.param(named[name][:most], id=f"{name}-begun") for name, most in FIRST_BLOCKS.items()]
    return begun + [
        pytest.param(blocks, id=name, marks=[pytest.mark.slow] * (name in FIRST_BLOCKS))
        for name, blocks in named.items()
    ]


@pytest.mark.parametrize("block", commands())
def test_commands_run(block: str, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "herbrand"
        outcome = herbrand(*arguments)
        assert outcome.status == 0, outcome.err
        assert outcome.out


def dialogues() -> list[object]:
    """Each ``$ herbrand ...`` of a console, and what is shown below it."""
    return [
        pytest.param(command, shown.rstrip("\n"), id=f"{page.relative_to(ROOT)}-{command}")
        for page in PAGES
        if ALONE not in page.read_text()
        for block in CONSOLE.findall(page.read_text())
        for command, shown in re.findall(r"^\$ (herbrand .*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


@pytest.mark.parametrize(("command", "shown"), dialogues())
def test_consoles_show_the_true_output(
    command: str, shown: str, herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results, or the message where the input is wrong; notes beside results are left out."""
    monkeypatch.chdir(ROOT)
    outcome = herbrand(*shlex.split(command)[1:])
    assert (outcome.err if outcome.status == 1 else outcome.out).rstrip("\n") == shown


PROJECTS = [page for page in PAGES if ALONE in page.read_text()]


@pytest.mark.parametrize("page", PROJECTS, ids=lambda page: page.stem)
def test_a_project_grows_as_its_page_shows(
    page: Path, herbrand: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text, command, shown in STEP.findall(page.read_text()):
        if name:
            (tmp_path / name).write_text(text)
        else:
            outcome = herbrand(*shlex.split(command)[1:])
            assert (outcome.err if outcome.status == 1 else outcome.out).rstrip() == shown.rstrip()


@pytest.mark.parametrize("blocks", python_pages())
def test_python_blocks_run(blocks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of their own beside the examples: some write files."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "<docs>", "exec"), names)


def test_the_readme_shows_the_demos_true_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    assert "@$(BIN)/python examples/tour.py" in Path("Makefile").read_text()
    shown = DEMO.search(Path("README.md").read_text())
    assert shown is not None
    assert runpy.run_path("examples/tour.py")["tour"]() == shown[1]
