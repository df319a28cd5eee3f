"""Builds the wheel and the sdist, and tries the wheel in a clean environment: ``make dist``.

There every command of the first-minute page is run, and what it prints is compared with the page. The sdist
must hold what the wheel was built from. ``--release`` goes through the check-list of a release as well.
``--extras`` installs the wheel with each extra alone, and does something that needs it.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/herbrand/language/grammar.lark")
WITHOUT = ("torch", "IPython", "pygls", "fastapi", "pandas")
"""Packages that a plain installation must not bring."""

EXTRAS = {
    "torch": "hb.Model(hb.parse('1.5: rain => wet')).infer(engine='mean-field'); hb.nn",
    "scale": "from pyspark.sql import SparkSession; import herbrand.relations.spark",
    "studio": "import herbrand.serving.service, herbrand.serving.studio_server, uvicorn",
    "postgresql": "import adbc_driver_postgresql, herbrand.facts.sources.postgres",
    "worlds": "import gymnasium, herbrand.tasks.environment",
    "lsp": "import herbrand.editing.server",
    "check": "import pyagrum",
}
"""What must work where the wheel was installed with one extra and no other."""


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built without the network."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_contents(wheel: Path, sdist: Path) -> None:
    """The sdist holds what is needed to build again; the wheel holds the package and nothing else."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in NEEDED if name not in names]
    assert not missing, f"the sdist lacks {missing}"
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
    assert any(name.endswith("py.typed") for name in inside), "the wheel lacks py.typed"
    odd = [name for name in inside if not name.startswith(("herbrand/", "herbrand-"))]
    assert not odd, f"the wheel holds {odd}"


def installed(what: str, folder: Path) -> str:
    """The interpreter of a clean environment that has the wheel."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), what], check=True)
    return python


def try_extras(wheel: Path, folder: Path) -> None:
    """Install each extra alone and do what needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert EXTRAS.keys() == project["optional-dependencies"].keys() - {"dev"}
    for extra, doing in EXTRAS.items():
        python = installed(f"{wheel}[{extra}]", folder / extra)
        subprocess.run([python, "-m", "pip", "check"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([python, "-c", f"import herbrand as hb; {doing}"], cwd=folder, check=True)
        shutil.rmtree(folder / extra)
        sys.stdout.write(f"installs alone: herbrand[{extra}]\n")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel in a clean environment and run what the first-minute page shows."""
    python = installed(str(wheel), folder)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    brought = {line.partition("==")[0].lower() for line in listed.stdout.splitlines()}
    assert not [name for name in WITHOUT if name.lower() in brought], "an extra's package came with the core"
    page = (ROOT / "docs" / "first-minute.md").read_text()
    for block in CONSOLE.findall(page):
        for command, shown in re.findall(r"^\$ (herbrand .*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = [str(folder / "bin" / "herbrand"), *shlex.split(command)[1:]]
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
            given = done.stderr if done.returncode == 1 else done.stdout
            assert given.rstrip() == shown.rstrip(), f"{command}\n{done.stdout}{done.stderr}"
            sys.stdout.write(f"as the page shows: {command}\n")


def release_mistakes() -> list[str]:
    """What stands in the way of a release, apart from tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = (ROOT / "src" / "herbrand" / "__init__.py").read_text()
    version = re.findall(r'^__version__ = "(.*)"', source, re.MULTILINE)[0]
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = {
        "the working tree has changes": bool(changed.stdout),
        f"CHANGELOG.md has no heading for {version}": f"## {version}"
        not in (ROOT / "CHANGELOG.md").read_text(),
        f"CITATION.cff has another version than {version}": f"version: {version}"
        not in (ROOT / "CITATION.cff").read_text(),
        "changelog.d has notes that are not in a version": any((ROOT / "changelog.d").glob("*.md")),
        "pyproject.toml has no classifiers": not project.get("classifiers"),
    }
    return [mistake for mistake, wrong in found.items() if wrong]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="store_true", help="the check-list of a release too")
    parser.add_argument("--extras", action="store_true", help="each extra in an environment of its own")
    chosen = parser.parse_args()
    if chosen.release and (mistakes := release_mistakes()):
        sys.exit("\n".join(mistakes))
    with tempfile.TemporaryDirectory() as scratch:
        wheel, sdist = built(ROOT / "dist")
        check_contents(wheel, sdist)
        try_wheel(wheel, Path(scratch) / "clean")
        if chosen.extras or chosen.release:
            try_extras(wheel, Path(scratch))


if __name__ == "__main__":
    main()
