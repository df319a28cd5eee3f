"""Where a statement ends: with its line, unless a bracket is open or the last token asks for more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language.layout import stretches
from herbrand.language.parse import parse_theory
from tests.laws import tries

GOES_ON = [
    *[",", ":", ":-", "=>", "<=>", "=", "!=", "|", "@", "~", "::", ";"],
    *["and", "or", "xor", "not", "in", "where"],
]
OTHERS = ["<", ">", "<=", ">=", ")", "x", "1", "?", "true", "band", "nor", "`and`", '"and"', '","']


def texts(text: str) -> list[str]:
    return [text[s.start : s.end] for s in stretches(text)]


@pytest.mark.parametrize("token", GOES_ON)
@pytest.mark.parametrize("gap", ["\n", "  \n", " # why\n", "\n\n# a line of its own\n   \n"])
def test_a_line_that_asks_for_more_goes_on(token: str, gap: str) -> None:
    assert texts(f"a {token}{gap}b\nc") == [f"a {token}{gap}b", "c"]


@pytest.mark.parametrize("token", OTHERS)
def test_any_other_last_token_ends_the_statement(token: str) -> None:
    assert texts(f"a {token}\nb") == [f"a {token}", "b"]


@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_an_open_bracket_goes_on(brackets: str) -> None:
    text = f"a {brackets[0]}\n\n# note ) ] }}\n b{brackets[1]}"
    assert texts(f"{text}\nc") == [text, "c"]


@pytest.mark.parametrize("ending", ["# and", "#,", '"and"', "`,`"])
def test_comments_and_quotes_do_not_ask_for_more(ending: str) -> None:
    assert texts(f"a {ending}\nb")[-1] == "b"


def test_statements_over_several_lines_mean_what_they_mean_on_one() -> None:
    spread = """
        predicate p(
            person,   # who
            person
        ):
          observed
        type level = {
          "junior", "senior"
        }
        1.5:
          p(x, y) and
          p(y, z) =>
          p(x, z) where
            x !=
            z
        P(p(x, y) |
          p(y, x)) in
          [0.1,
           0.2]
        q(x) :-
          p(x, y),
          not p(y, x) @
          0.5
        p("a", "b") ~
          0.5
    """
    plain = """
        predicate p(person, person): observed
        type level = {"junior", "senior"}
        1.5: p(x, y) and p(y, z) => p(x, z) where x != z
        P(p(x, y) | p(y, x)) in [0.1, 0.2]
        q(x) :- p(x, y), not p(y, x) @ 0.5
        p("a", "b") ~ 0.5
    """
    assert parse_theory(spread) == parse_theory(plain)


@pytest.mark.parametrize(
    "following", ["type t", "predicate q", "hard: a", "-1.5e3: a", "?: a", "P(a) = 1", "  1 : a"]
)
def test_an_unclosed_bracket_does_not_swallow_what_is_plainly_a_statement(following: str) -> None:
    assert texts(f"p(x\n{following}") == ["p(x", following.strip()]


def test_alternatives_stand_on_lines_of_their_own() -> None:
    text = "0.4 :: a;  # one\n  0.5 ::\n  b;\n? :: c"
    assert texts(f"{text}\n0.2 :: d") == [text, "0.2 :: d"]
    assert texts("0.4 :: a;\n1.5: b") == ["0.4 :: a;", "1.5: b"]


def test_a_line_that_asks_for_more_does_not_take_what_is_plainly_a_statement() -> None:
    assert texts("1: a and\n2: b\nhard: c =>\n\n# note\ntype t") == [
        "1: a and",
        "2: b",
        "hard: c =>",
        "type t",
    ]


def test_an_unclosed_bracket_ends_with_its_line_and_hides_nothing() -> None:
    text = "p(x\np(1)\nq(\nr) and\n(s\np(2)"
    assert texts(text) == ["p(x", "p(1)", "q(\nr) and\n(s", "p(2)"]
    with pytest.raises(LanguageError) as error:
        parse_theory(text)
    assert [mistake.span.line for mistake in error.value.mistakes] == [1, 5]


@settings(max_examples=tries(300), deadline=None)
@given(st.text(st.sampled_from(list('ab1 ",#()[]{}\n=|and"`')), max_size=60))
def test_stretches_cover_all_that_is_said(text: str) -> None:
    found = list(stretches(text))
    rest = list(text)
    ends = [*(following.start for following in found[1:]), len(text)]
    for one, end in zip(found, ends, strict=bool(found)):
        assert one.start < one.end <= end
        rest[one.start : one.end] = " " * (one.end - one.start)
    assert all(re.fullmatch(r"\s*(#.*)?", line) for line in "".join(rest).split("\n"))


@settings(max_examples=tries(300), deadline=None)
@given(
    st.lists(
        st.sampled_from(["p(x", "(a)", ")", "[", "type t", "1: a", "b and", "q(\n1)", "{(]"]), max_size=12
    )
)
def test_what_is_remembered_of_unclosed_brackets_changes_nothing(lines: list[str]) -> None:
    """Each statement is what a fresh look from its beginning finds."""
    text = "\n".join(lines)
    for stretch in stretches(text):
        fresh = next(stretches(text[stretch.start :]))
        assert (fresh.end, fresh.unclosed is None) == (stretch.end - stretch.start, stretch.unclosed is None)
