"""Pages, docstrings and messages are in plain words: words to look for, and the length of sentences."""

from __future__ import annotations

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOR_CONTRIBUTORS = {"decisions", "extending", "architecture.md", "benchmarks.md", "CONTRIBUTING.md"}
MODULES = sorted((ROOT / "src").rglob("*.py"))

NOWHERE = {
    r"foret(?:ell|old)": "predict",
    r"what atoms of so many values make": "sum the incoming log-messages of each atom",
    r"nothing, if there is no such": "drop it if it exists",
    r"how many of them are smaller": "rank within its row",
    r"\"\"\"made once\.": "cached lookup",
    r"all that can be said where": "fallback reason when",
    r"as far as settings say": "build the engine; refuse unsupported settings",
    r"the memory of a fixpoint": "rows found so far, with deltas",
    r"\"\"\"two different constants": "true if both are constants and differ",
    r"(?:cannot|can) be seen through": "cannot handle",
    r"what only what": "from ... alone",
    r"pays by size": "use it only when",
    r"takes what the network takes": "takes about a minute",
}
"""Expressions that stand neither in pages nor in docstrings, comments and messages, and what to write."""
NOT_IN_PAGES = {
    r"\btold\b": "reported, stated, given",
    r"in one go\b": "together",
    r"\bto be said\b": "stated",
    r"\bsays no\b": "refuses",
}
LONGEST_MEAN, LONGEST_MEAN_OF_A_PAGE = 18.0, 21.5


@cache
def texts(module: Path) -> str:
    """Strings and comments of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(module.read_text()).readline)
    return "\n".join(token.string for token in tokens if token.type in (tokenize.STRING, tokenize.COMMENT))


def prose(page: str) -> list[str]:
    """Sentences of a page without code, headings and tables; names and links are one word each."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    sentences: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [
            line for line in paragraph.split("\n") if not line.lstrip().startswith(("#", "|", ":::", "!["))
        ]
        for item in re.split(r"^\s*(?:[-*]|\d+\.)\s+", "\n".join(lines), flags=re.MULTILINE):
            plain = re.sub(r"`[^`]*`", "x", item)
            plain = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain).split())
            sentences += re.split(r"(?<=[.!?])\s+", plain)
    return [sentence for sentence in sentences if re.search(r"\w", sentence)]


def length(sentence: str) -> int:
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_words(page: Path) -> None:
    text = page.read_text()
    found = {
        word: instead for word, instead in (NOWHERE | NOT_IN_PAGES).items() if re.search(word, text, re.I)
    }
    assert not found


def test_docstrings_and_messages_are_in_plain_words() -> None:
    found = {
        (str(module.relative_to(ROOT)), word): instead
        for module in MODULES
        for whole in [module.read_text()]
        for word, instead in NOWHERE.items()
        if re.search(word, whole, re.I) and re.search(word, texts(module), re.I)
    }
    assert not found


def test_the_mean_sentence_is_short() -> None:
    lengths = [length(sentence) for page in PAGES for sentence in prose(page.read_text())]
    assert len(lengths) > 1000
    assert sum(lengths) / len(lengths) < LONGEST_MEAN


def test_no_page_for_users_is_long_winded() -> None:
    means = {
        str(page.relative_to(ROOT)): sum(map(length, found)) / len(found)
        for page in PAGES
        if not FOR_CONTRIBUTORS & set(page.relative_to(ROOT).parts[-2:])
        if (found := prose(page.read_text()))
    }
    assert not {page: mean for page, mean in means.items() if mean > LONGEST_MEAN_OF_A_PAGE}


def test_sentences_are_counted() -> None:
    page = "# A title\n\nOne `x y` [two words](a.md). Three?\n\n- four five\n- six\n\n```\ncode\n```\n| a |\n"
    assert [length(sentence) for sentence in prose(page)] == [4, 1, 2, 1]
