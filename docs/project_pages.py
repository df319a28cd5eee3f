"""A step of the site's build: the six worked projects of ``examples`` as how-to pages.

A page is the project's README, its theories and its program: each is written once, where the tests run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

EXAMPLES = Path(__file__).parents[1] / "examples"
PROJECTS = ("catalogues", "fraud_rings", "fault_tree", "recommendations", "survey", "schedule")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """The site's files and a page for each project."""
    for name in PROJECTS:
        files.append(File.generated(config, f"projects/{name}.md", content="\n".join(_page(EXAMPLES / name))))
    return files


def _page(folder: Path) -> Iterator[str]:
    yield (folder / "README.md").read_text(encoding="utf-8")
    for kind, language in (("*.hb", ""), ("run.py", "python")):
        for path in sorted(folder.glob(kind)):
            yield f"## {path.name}\n\n```{language}\n{path.read_text(encoding='utf-8').rstrip()}\n```\n"
