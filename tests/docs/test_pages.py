"""The pages hold together: links lead somewhere, every engine has its page, every public name its entry."""

from __future__ import annotations

import importlib
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.engines.registry import BOUND, INFERENCE, QUERY, WORLDS
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
ENGINE_PAGES = sorted(page for page in (DOCS / "engines").glob("*.md") if page.name != "index.md")
PARTS = (
    "## Idea",
    "## Cost, and when it loses",
    "## Worked example",
    "## How it is known to be right",
    "## The published method, and what is different",
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"(tests/[\w/.]+?\.py)?(?:::)?\b(test_\w+)\b(?!\.py)")
FILE = re.compile(r"\b((?:tests/[\w/]+/|)test_\w+\.py|tests/[\w/]+\.py)\b")
FOLDER = re.compile(r"`((?:tests|src|examples|benchmarks|docs)/[\w/.-]+)`")
FUNCTION = re.compile(r"^ *def (test_\w+)", re.MULTILINE)


def named(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]
    )


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def functions_by_file() -> dict[Path, set[str]]:
    return {path: set(FUNCTION.findall(path.read_text())) for path in (ROOT / "tests").rglob("test_*.py")}


@named(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        path = target.partition("#")[0]
        if path and "://" not in target:
            assert (page.parent / path).exists(), target


@named(PAGES)
def test_tests_that_are_named_exist(page: Path) -> None:
    text = prose(page)
    known = functions_by_file()
    everywhere = set().union(*known.values())
    for path, test in TEST.findall(text):
        assert test in (known[ROOT / path] if path else everywhere), f"{path}::{test}"
    for path in FILE.findall(text):
        assert (ROOT / path).is_file() or path in {file.name for file in known}, path
    for path in FOLDER.findall(text):
        assert (ROOT / path.rstrip("/")).exists(), path


@named(ENGINE_PAGES)
def test_an_engines_page_has_every_part_and_a_test_of_its_guarantee(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not [part for part in PARTS if f"\n{part}\n" not in text]
    guarantee = text[text.index("**Guarantee") :].partition("\n\n")[0]
    assert re.search(r"`(exact|bound|approximation)`", guarantee)
    assert re.search(r"tests/[\w/]+/test_\w+\.py::test_\w+", guarantee)


def test_every_engine_has_a_page_and_a_row() -> None:
    pages = {page.stem for page in ENGINE_PAGES}
    wanted = {*INFERENCE, *WORLDS, *({"exact": "bounds"}.get(name, name) for name in BOUND), *QUERY}
    assert wanted == pages
    rows = (DOCS / "engines" / "index.md").read_text(encoding="utf-8")
    assert not [name for name in wanted if f"]({name}.md)" not in rows]


def test_every_decision_is_in_the_index() -> None:
    rows = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (DOCS / "decisions").glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\(([\w-]+\.md)\)", rows))


def test_every_example_is_in_the_gallery() -> None:
    told = set(re.findall(r"^\| `examples/(\w+)` \|", (DOCS / "examples.md").read_text(), re.MULTILINE))
    assert told == {page.parent.name for page in (ROOT / "examples").glob("*/README.md")}


REFERENCE = re.findall(r"^::: (\S+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_names_what_exists_and_is_told(name: str) -> None:
    module, _, member = name.rpartition(".")
    assert getattr(importlib.import_module(module), member).__doc__


def test_every_public_name_is_in_the_reference() -> None:
    public = [f"herbrand.{name}" for name in hb.__all__ if name not in ("nn", "tasks")]
    public += [f"herbrand.nn.{name}" for name in hb.nn.__all__]
    public += [f"herbrand.tasks.{name}" for name in hb.tasks.__all__]
    assert not set(public) - set(REFERENCE)


def test_commands_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        told = re.findall(r"(?:`|^)make ([a-z][\w-]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(told) <= targets, page


def test_the_changelog_has_every_note() -> None:
    scripted = runpy.run_path(str(ROOT / "changelog.d" / "assemble.py"))
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert scripted["with_notes"](page) == page, "run `make changelog`"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = (page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert [page for page in pages if page not in navigation] == []


def test_every_worked_project_is_a_page() -> None:
    hook = runpy.run_path(str(DOCS / "project_pages.py"))
    named = re.findall(r"projects/(\w+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert named == list(hook["PROJECTS"])
    for name in named:
        page = "\n".join(hook["_page"](ROOT / "examples" / name))
        assert "## run.py\n" in page and re.search(r"^## \w+\.hb$", page, re.MULTILINE)


def test_search_works_from_disk() -> None:
    """What the hook replaces is what the theme has; else a page from disk would ask the network."""
    hook = runpy.run_path(str(DOCS / "search_from_disk.py"))
    assert hook["on_post_page"](f"<p>{hook['ELSEWHERE']}</p>") == f"<p>{hook['FRAME']}</p>"
    address = hook["ELSEWHERE"].partition('src="')[2].partition('"')[0]
    theme = importlib.import_module("material.plugins.offline.plugin").__file__
    assert address in Path(theme or "").read_text()
    assert "docs/search_from_disk.py" in (ROOT / "mkdocs.yml").read_text()
