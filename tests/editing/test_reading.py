"""A text read part by part has the mistakes of the text read whole, at the same places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.editing.reading import checked
from herbrand.errors import LanguageError
from herbrand.language.check import check_all
from herbrand.language.parse import read_theory
from tests.conftest import ROOT
from tests.laws import tries

THEORIES = [path.read_text() for path in sorted((ROOT / "examples").rglob("*.hb"))]


def whole(text: str) -> list[tuple[str, int, str]]:
    try:
        check_all([read_theory(text, "a.hb")])
    except LanguageError as error:
        return [(m.message, m.span.start, m.hint) for m in error.mistakes if m.span]
    return []


def in_parts(text: str) -> list[tuple[str, int, str]]:
    return [(m.message, m.span.start, m.hint) for m in checked(text, "a.hb").mistakes if m.span]


@pytest.mark.parametrize("text", THEORIES)
def test_a_theory_without_mistakes(text: str) -> None:
    assert in_parts(text) == whole(text) == []


def test_equal_statements_have_places_of_their_own() -> None:
    text = "predicate a(t)\n1: a\n1: a\n"
    assert in_parts(text) == whole(text) and len(whole(text)) == 2


def test_negation_cycles_are_mistakes_too() -> None:
    (found,) = checked("p(x) :- q(x), not p(x)\nq(1)", "a.hb").mistakes
    assert "negation" in found.message and found.span is not None and found.span.text == "not p(x)"


DAMAGED = st.tuples(
    st.sampled_from([text for text in THEORIES if len(text) < 3000]),
    st.integers(0, 2999),
    st.sampled_from(["", "(", ")", '"', "->", "&", "x", "\n", "[", "not ", ": ", "predicate zz\n", "1"]),
    st.integers(0, 12),
)


@settings(max_examples=tries(80), deadline=None)
@given(DAMAGED)
def test_damaged_theories(damage: tuple[str, int, str, int]) -> None:
    base, place, inserted, removed = damage
    text = base[:place] + inserted + base[place + removed :]
    assert in_parts(text) == whole(text)
