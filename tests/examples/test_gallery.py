"""Every example runs, and shows in its README what it truly prints."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
OUTPUT = re.compile(r"<!-- output -->\n```\n(.*?)```", re.DOTALL)


def test_every_folder_has_a_readme_and_a_script() -> None:
    folders = sorted(
        path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[0] not in "._"
    )
    assert [f.name for f in folders if f.name != "learning"] == [f.name for f in EXAMPLES]
    assert all((folder / "run.py").exists() for folder in EXAMPLES)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_runs_and_prints_what_the_readme_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    shown = OUTPUT.search((folder / "README.md").read_text())
    if shown is not None:
        assert printed.rstrip() == shown[1].rstrip()
    else:
        assert len(printed.splitlines()) >= 2
