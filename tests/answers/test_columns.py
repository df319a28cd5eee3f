"""Columns stand under each other whatever the texts: ASCII, wide signs, marks that take no room."""

from __future__ import annotations

import pytest

from herbrand.answers.columns import aligned, in_columns, width


@pytest.mark.parametrize(
    ("text", "cells"),
    [("", 0), ("abc", 3), ("東京", 4), ("é", 1), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("a\u0300\u0301b", 2)],
)
def test_width(text: str, cells: int) -> None:
    assert width(text) == cells


def test_rows_are_asked_for_twice_and_never_kept() -> None:
    asked = []

    def rows():
        asked.append(1)
        return ([str(i)] for i in range(3))

    assert list(aligned(lambda: in_columns(rows()), ())) == [["0", "1", "2"]] and len(asked) == 2
    assert list(aligned(lambda: in_columns([]), ())) == []
