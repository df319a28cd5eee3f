"""What is shipped: wheel and source archive hold every file they need, and build without the network."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "src"


def sources() -> set[str]:
    """Every file of the package, data files and the examples among them."""
    examples = ROOT / "examples"
    homes = dict.fromkeys(PACKAGE.rglob("*"), PACKAGE) | dict.fromkeys(examples.rglob("*"), examples)
    found = {path: home for path, home in homes.items() if path.is_file() and "__pycache__" not in path.parts}
    return {
        f"{'herbrand/examples/' if home == examples else ''}{path.relative_to(home).as_posix()}"
        for path, home in found.items()
    }


def built(what: str, folder: Path, source: Path = ROOT) -> Path:
    """A wheel or a source archive, by the build backend alone."""
    call = f"import sys, hatchling.build; print(hatchling.build.build_{what}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", call, str(folder)], cwd=source, check=True, capture_output=True, text=True
    )
    return folder / done.stdout.strip()


def shipped(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_file_and_works_where_it_lies(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    wheel = built("wheel", tmp_path)
    assert shipped(wheel) == sources()
    assert {"herbrand/py.typed", "herbrand/language/grammar.lark"} <= shipped(wheel)
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    call = "import herbrand as hb; print(hb.__file__); print(hb.show(hb.parse('1: a=>b')), end='')"
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "unpacked")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{tmp_path / 'unpacked' / 'herbrand' / '__init__.py'}\n1.0: a => b\n"


@pytest.mark.slow
def test_the_source_archive_makes_the_same_wheel_and_holds_the_tests(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    archive = built("sdist", tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert shipped(built("wheel", tmp_path, source)) == sources()
    told = (
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "mkdocs.yml",
        "docs/index.md",
    )
    assert not [name for name in told if not (source / name).is_file()]
    assert (source / "tests" / "conftest.py").is_file()


@pytest.mark.slow
def test_pip_builds_the_wheel_without_the_network(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "-w", str(tmp_path), "."], cwd=ROOT, check=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert shipped(wheel) == sources()
