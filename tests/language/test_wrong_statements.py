"""Wrong input of every kind, and word for word what a user is told.

The cases stand in ``wrong/``, a file a kind: the text, a line ``-----``, the message, a line ``=====``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from herbrand.errors import LanguageError
from herbrand.language import parse
from herbrand.language.check import check_all
from herbrand.language.parse import parse_theory, read_theory

FILES = sorted(Path(__file__).with_name("wrong").glob("*.txt"))


def cases(file: Path) -> list[tuple[str, str]]:
    parts = file.read_text(encoding="utf-8").removesuffix("\n").split("\n=====\n")
    return [(text, told) for text, told in (part.split("\n-----\n") for part in parts)]


ALL = [
    pytest.param(file.stem, text, told, id=f"{file.stem}-{number}")
    for file in FILES
    for number, (text, told) in enumerate(cases(file))
]


@pytest.mark.parametrize(("kind", "text", "told"), ALL)
def test_message(kind: str, text: str, told: str) -> None:
    with pytest.raises(LanguageError) as error:
        getattr(parse, kind)(text) if kind.startswith("parse_") else check_all([read_theory(text)])
    assert str(error.value) == told


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_kind_has_several_cases(file: Path) -> None:
    assert len(cases(file)) >= (2 if file.stem == "together" else 5)


@pytest.mark.parametrize(("kind", "text", "told"), ALL)
def test_a_broken_statement_does_not_hide_its_neighbours(kind: str, text: str, told: str) -> None:
    if kind.startswith("parse_") or len(parse_mistakes(text)) != 1:
        return
    around = f"1: before(x)\n{text}\n1: after(x) ->\n"
    lines = [mistake.span.line for mistake in parse_mistakes(around)]
    assert lines[-1] == around.count("\n")


def parse_mistakes(text: str) -> tuple:
    try:
        parse_theory(text)
    except LanguageError as error:
        return error.mistakes
    return ()
