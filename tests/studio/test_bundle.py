"""The committed bundle is what the sources build; Node is not needed to see that it was left behind."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "studio"
BUNDLE = ROOT / "src" / "herbrand" / "serving" / "studio"
PARTS = re.compile(r"(src|public)/.*\..|(index\.html|package-lock\.json|tsconfig\.json|vite\.config\.mjs)$")


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the client's sources are not here")
def test_the_bundle_was_built_from_these_sources() -> None:
    names = (path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for name in sorted(name for name in names if PARTS.match(name) and "node_modules" not in name):
        digest.update(f"{name}\n".encode() + (SOURCES / name).read_bytes())
    assert (BUNDLE / "SOURCES.txt").read_text().strip() == digest.hexdigest(), "run `make studio`"


def test_the_bundle_loads_nothing_from_elsewhere() -> None:
    page = (BUNDLE / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]*)"', page) != []
    for address in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert (BUNDLE / address.removeprefix("./")).is_file()
    assert "<style" not in page and "http" not in page


def test_every_package_of_the_bundle_has_its_licence() -> None:
    notices = (BUNDLE / "NOTICES.txt").read_text()
    for name in ("preact", "@codemirror/view", "@lezer/highlight", "style-mod", "cytoscape"):
        assert re.search(rf"^{re.escape(name)} [0-9.]+ \(MIT\)$", notices, re.MULTILINE), name
