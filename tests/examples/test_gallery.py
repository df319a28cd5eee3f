"""Every example runs, and shows in its README what it truly prints."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
TRAINED = [folder for folder in EXAMPLES if "def main(seeds" in (folder / "run.py").read_text()]
"""Examples that train with and without logic, over several seeds."""
STEPS = 20
OUTPUT = re.compile(r"<!-- output -->\n```\n(.*?)```", re.DOTALL)


def test_every_folder_has_a_readme_and_a_script() -> None:
    folders = sorted(
        path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[0] not in "._"
    )
    assert [f.name for f in folders if f.name != "learning"] == [f.name for f in EXAMPLES]
    assert all((folder / "run.py").exists() for folder in EXAMPLES)


@pytest.mark.parametrize("folder", [f for f in EXAMPLES if f not in TRAINED], ids=lambda folder: folder.name)
def test_runs_and_prints_what_the_readme_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    shown = OUTPUT.search((folder / "README.md").read_text())
    if shown is not None:
        assert printed.rstrip() == shown[1].rstrip()
    else:
        assert len(printed.splitlines()) >= 2


@pytest.mark.parametrize("folder", TRAINED, ids=lambda folder: folder.name)
def test_logic_helps_and_the_curves_are_drawn(folder: Path, tmp_path: Path) -> None:
    """A short version, of one seed; each fits on a page."""
    assert len((folder / "run.py").read_text().splitlines()) < 80
    main = runpy.run_path(str(folder / "run.py"), run_name="example")["main"]
    found = main(seeds=1, steps=STEPS, picture=str(tmp_path / "curve.svg"))
    (alone,), (helped,) = found.values()
    assert 0 <= alone < helped <= 1
    assert (tmp_path / "curve.svg").read_text().count("<polyline") == 2
