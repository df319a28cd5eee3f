"""The examples of the page on dialects are true."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_page_on_dialects() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "dialects.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 15 and result.failed == 0
