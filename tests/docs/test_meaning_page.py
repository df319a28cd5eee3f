"""The blocks of ``docs/meaning.md`` print what the page says they print."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "meaning.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def said(block: str) -> list[str]:
    """The comments at the ends of lines, and those that stand alone."""
    return [line.partition("# ")[2] for line in block.splitlines() if "# " in line]


def test_what_is_printed_is_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    printing = 0
    for block in BLOCKS:
        exec(compile(block, "docs/meaning.md", "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert printed == said(block)
        printing += bool(printed)
    assert printing == 6
