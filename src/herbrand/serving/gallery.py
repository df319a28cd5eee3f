"""The examples that come with Herbrand, for the studio's gallery."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import herbrand
from herbrand.serving.projects import Project
from herbrand.serving.refusals import NOT_FOUND, RefusedError

PACKAGE = Path(herbrand.__file__).parent
FOLDERS = (PACKAGE / "examples", PACKAGE.parents[1] / "examples")
"""Folders of examples, in an installed package and in a checkout."""
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def _folder() -> Path | None:
    return next((folder for folder in FOLDERS if folder.is_dir()), None)


def examples() -> list[dict[str, Any]]:
    """Name and title of each example that has a theory."""
    folder = _folder()
    paths = sorted(folder.iterdir()) if folder is not None else []
    return [{"name": each.name, "title": _title(each)} for each in paths if each.is_dir() and _theories(each)]


def example(name: str) -> dict[str, Any]:
    """Files of an example, and the theory to open first."""
    if name not in {each["name"] for each in examples()}:
        raise RefusedError(NOT_FOUND, f"there is no example '{name}'")
    folder = _folder()
    assert folder is not None, "it has examples"
    project = Project(folder / name)
    files = [file for file in project.files() if not file["name"].endswith(".py")]
    return {"name": name, "title": _title(folder / name), "main": _theories(folder / name)[0], "files": files}


def _theories(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.hb"))


def _title(folder: Path) -> str:
    readme = folder / "README.md"
    heading = HEADING.search(readme.read_text(encoding="utf-8")) if readme.is_file() else None
    return heading[1] if heading else folder.name.replace("_", " ").capitalize()
