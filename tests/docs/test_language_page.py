"""The examples of ``docs/language.md``: theories fit together, wrong ones are told as the page says."""

from __future__ import annotations

import re

import pytest

from herbrand.errors import LanguageError
from herbrand.language.check import check, check_all
from herbrand.language.parse import parse_theory, read_theory
from herbrand.language.theory import show
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
THEORIES = re.findall(r"^```hb\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
WRONG = re.findall(r"^```hb-wrong\n(.*?)^```\n+^```message\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", THEORIES, ids=range(len(THEORIES)))
def test_examples_read_check_and_print(text: str) -> None:
    theory = parse_theory(text)
    check(theory)
    assert parse_theory(show(theory)) == theory


@pytest.mark.parametrize(("text", "told"), WRONG, ids=range(len(WRONG)))
def test_wrong_examples_are_told_as_shown(text: str, told: str) -> None:
    with pytest.raises(LanguageError) as error:
        check_all([read_theory(text, "theory.hb")])
    assert f"{error.value}\n" == told


def test_every_block_is_run() -> None:
    opened = re.findall(r"^```(\S+)$", PAGE, re.MULTILINE)
    assert len(THEORIES) >= 9
    assert opened.count("hb") == len(THEORIES)
    assert opened.count("hb-wrong") == opened.count("message") == len(WRONG) >= 3
    assert set(opened) == {"hb", "hb-wrong", "message", "python"}
