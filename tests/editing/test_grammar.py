"""The TextMate grammar gives the words of every example the scopes of their roles; its extension is whole.

The grammar holds flat patterns with expressions that Python reads as editors do, so it can be run here: at
each place the pattern that matches first wins, the first listed one where several begin there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from herbrand.editing.words import words
from tests.conftest import ROOT

EDITORS = ROOT / "editors"
GRAMMAR = json.loads((EDITORS / "herbrand.tmLanguage.json").read_text())
PATTERNS = [(re.compile(each["match"]), each) for each in GRAMMAR["patterns"]]
THEORIES = sorted((ROOT / "examples").rglob("*.hb"))
SCOPES = {
    "comment": ("comment.line",),
    "text": ("string.quoted",),
    "number": ("constant.numeric",),
    "keyword": ("keyword",),
    "function": ("support.function",),
    "label": ("entity.name.label",),
    "variable": ("variable.other",),
    "type": ("entity.name.type", "variable.other"),
    "predicate": ("entity.name.function", "variable.other"),
    "sign": ("keyword.operator", ""),
}
"""A regular expression cannot tell a predicate without arguments from a variable."""


def scopes(text: str) -> Iterator[tuple[int, str]]:
    """The scope at each character of a text that has one."""
    start = 0
    for line in text.split("\n"):
        at = 0
        while at < len(line):
            matches = [(found.start(), rank, found) for rank, (pattern, _) in enumerate(PATTERNS)
                       if (found := pattern.search(line, at)) and found.end() > found.start()]  # fmt: skip
            if not matches:
                break
            _, rank, found = min(matches, key=lambda match: match[:2])
            each = PATTERNS[rank][1]
            for place in range(found.start(), found.end()):
                yield start + place, each.get("name", "")
            for group, capture in each.get("captures", {}).items():
                for place in range(*found.span(int(group))):
                    yield start + place, capture["name"]
            at = found.end()
        start += len(line) + 1


EVERYTHING = """\
[s2] P(cancer(x) | smokes(x) and not friends(x, x)) >= 0.6 independent  # last
type day = date
type year = 1990..2030
predicate area(paper) in {"ai", "say \\"#\\""} : observed
late(o) :- due(o, d), count(y: `odd name`(y)) >= 2, d < date "2026-11-22" @ 0.9
?[w]: has_word(d, w) => topic(d)
"""


@pytest.mark.parametrize(
    "text",
    [*(path.read_text() for path in THEORIES), EVERYTHING],
    ids=[*(path.name for path in THEORIES), "all"],
)
def test_scopes_are_those_of_the_roles(text: str) -> None:
    given = dict(scopes(text))
    for word in words(text):
        scope = given.get(word.start, "")
        assert scope.startswith(SCOPES[word.role]), (word, scope)
        if word.role == "predicate" and text[word.end : word.end + 1] == "(":
            assert scope.startswith("entity.name.function")


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((EDITORS / "vscode" / "package.json").read_text())
    contributed = package["contributes"]
    paths = [package["main"], contributed["languages"][0]["configuration"], *package["files"]]
    made = {"herbrand.tmLanguage.json"}  # copied from the folder above when the extension is packed
    assert not [p for p in paths if p not in made and not (EDITORS / "vscode" / p).is_file()]
    assert contributed["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
    assert contributed["configuration"]["properties"]["herbrand.command"]["default"] == ["herbrand", "lsp"]
    assert all("\n" not in pattern.pattern for pattern, _ in PATTERNS)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_extension_is_javascript() -> None:
    subprocess.run(["node", "--check", str(EDITORS / "vscode" / "extension.js")], check=True)
