"""A mistake is told alike wherever it stands: further down or right, with other line ends, with a comment."""

from __future__ import annotations

from typing import Any

import pytest

from herbrand.errors import LanguageError, Mistake
from herbrand.language.check import check_all
from herbrand.language.parse import read_theory
from tests.language.test_wrong_statements import ALL

Told = tuple[str, str, tuple[int, int] | None, int, list[Any]]

CASES = [case for case in ALL if not str(case.values[0]).startswith("parse_")]
ONE_LINE = [case for case in CASES if "\n" not in str(case.values[1])]


def told(text: str) -> list[Told]:
    """Message, hint, place, length and related places of every mistake."""
    with pytest.raises(LanguageError) as error:
        check_all([read_theory(text, "t.hb")])
    return [_facts(mistake) for mistake in error.value.mistakes]


def _facts(mistake: Mistake) -> Told:
    span = mistake.span
    if span is None:
        return mistake.message, mistake.hint, None, 0, []
    place = span.source.line_and_column(span.start)
    related = [(note, other.source.line_and_column(other.start)) for note, other in mistake.related]
    return mistake.message, mistake.hint, place, span.end - span.start, related


def moved(all_told: list[Told], lines: int = 0, columns: int = 0) -> list[Told]:
    """The same, so many lines further down and columns further right."""

    def there(place: tuple[int, int] | None) -> tuple[int, int] | None:
        return place and (place[0] + lines, place[1] + columns)

    return [
        (message, hint, there(place), length, [(note, there(other)) for note, other in related])
        for message, hint, place, length, related in all_told
    ]


@pytest.mark.parametrize(("kind", "text", "message"), CASES)
def test_further_down(kind: str, text: str, message: str) -> None:
    before = "# a note: ( [ {\n\n   # another\n"
    assert told(before + text) == moved(told(text), lines=3)


@pytest.mark.parametrize(("kind", "text", "message"), CASES)
def test_with_other_line_ends(kind: str, text: str, message: str) -> None:
    expected = told(text)
    assert told(text.replace("\n", "\r\n")) == expected
    assert told(f"\ufeff{text}\n") == expected


@pytest.mark.parametrize(("kind", "text", "message"), ONE_LINE)
def test_further_right(kind: str, text: str, message: str) -> None:
    assert told("\t  " + text) == moved(told(text), columns=3)


@pytest.mark.parametrize(("kind", "text", "message"), ONE_LINE)
def test_before_a_comment(kind: str, text: str, message: str) -> None:
    """Unless a string or a bracket is open, or the line asks for more, the comment is no part of it."""
    if "never closed" in message or "not closed" in message:
        return
    found, expected = told(f"{text}  # and so on: ("), told(text)
    assert [one[:3] for one in found] == [one[:3] for one in expected]


@pytest.mark.parametrize(("kind", "text", "message"), CASES)
def test_the_caret_stands_under_what_is_wrong(kind: str, text: str, message: str) -> None:
    with pytest.raises(LanguageError) as error:
        check_all([read_theory(text)])
    for mistake in error.value.mistakes:
        assert mistake.span is not None
        assert 0 <= mistake.span.start < mistake.span.end <= len(mistake.span.source.text)
        shown, carets = mistake.span.underlined().split("\n")
        start, stop = carets.index("^"), carets.rindex("^") + 1
        lines = mistake.span.text.split("\n")
        if shown.isascii():
            assert shown[start:stop] == lines[0].replace("\t", " ")[: stop - start]
