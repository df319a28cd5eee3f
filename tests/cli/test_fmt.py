"""``herbrand fmt`` and ``herbrand init``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from herbrand.cli.init import FILES
from tests.conftest import Outcome

Command = Callable[..., Outcome]


def test_files_are_written_in_one_style(herbrand: Command, tmp_path: Path) -> None:
    path = tmp_path / "t.hb"
    path.write_text('1:a( x )=>b(x)# why\na("c")\n')
    checked = herbrand("fmt", "--check", path)
    assert checked.status == 1 and f"1 of 1 file is written in another style: {path}" in checked.err
    assert path.read_text() == '1:a( x )=>b(x)# why\na("c")\n'
    written = herbrand("fmt", path)
    assert written.status == 0 and "1 of 1 file written anew" in written.err
    assert path.read_text() == '1: a(x) => b(x)  # why\na("c")\n'
    assert herbrand("fmt", "--check", path).status == 0


def test_a_file_with_mistakes_stays(herbrand: Command, tmp_path: Path) -> None:
    """And so do the files beside it."""
    good, bad = tmp_path / "good.hb", tmp_path / "bad.hb"
    good.write_text("1:a\n")
    bad.write_text("1: a(x:\n")
    outcome = herbrand("fmt", good, bad)
    assert outcome.status == 1 and "bad.hb" in outcome.err
    assert (good.read_text(), bad.read_text()) == ("1:a\n", "1: a(x:\n")


def test_other_formats_are_refused(herbrand: Command, tmp_path: Path) -> None:
    path = tmp_path / "t.mln"
    path.write_text("p(x)\n1 p(x)\n")
    outcome = herbrand("fmt", path)
    assert outcome.status == 1 and f"herbrand convert {path} -o {path.with_suffix('.hb')}" in outcome.err


def test_a_new_project_runs(herbrand: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that its own page says to try."""
    folder = tmp_path / "project"
    assert herbrand("init", folder).status == 0
    assert all((folder / name).read_text() == text for name, text in FILES.items())
    monkeypatch.chdir(folder)
    lines = [line for line in FILES["README.md"].splitlines() if line.startswith("    herbrand")]
    assert len(lines) == 4
    for line in lines:
        assert herbrand(*shlex.split(line)[1:]).status == 0
    assert herbrand("fmt", "--check", "theory.hb").status == 0


def test_no_file_is_written_over(herbrand: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    outcome = herbrand("init", tmp_path)
    assert outcome.status == 1 and "is not empty" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
