"""Spaces, line breaks and comments between words change nothing; numbers, strings and names at the edge."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language.names import (
    RESERVED,
    is_reserved,
    number_from,
    shown_constant,
    shown_name,
    shown_number,
    text_from,
)
from herbrand.language.parse import is_probability, parse_formula, parse_literal, parse_theory
from herbrand.language.show import show_formula
from herbrand.language.syntax import Atom, Constant, Variable
from herbrand.language.theory import show
from tests.language.theories import formulas
from tests.laws import tries

WORDS = re.compile(
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|`[^`\n]+`|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?'
    r"|<=>|=>|:-|<=|>=|!=|\.\.|[^\W\d]\w*|[^\s]"
)
COMMENTS = ["# why", "#", "# ( [ {", '# "open', "# and", "## x, y:", "# `"]
inside = st.sampled_from([" ", "  ", "\t", "\f", "\n", "\n\n", *(f" {note}\n" for note in COMMENTS)])
between = st.sampled_from([" ", "  ", "\t", " \f "])
RUNS_ON = {"and", "or", "xor", "not", "in", "where", ",", ":", ":-", "=>", "<=>", "=", "!=", "|", "@", "~"}


def spread(draw: st.DrawFn, line: str) -> str:
    """The words of a statement with other blanks between them, line breaks where the page allows them."""
    words = WORDS.findall(line)
    text, depth = words[0], int(words[0] in "([{")
    for before, word in pairwise(words):
        text += draw(inside if depth or before in RUNS_ON else between) + word
        depth += (word in "([{") - (word in ")]}")
    return text


@settings(max_examples=tries(100), deadline=None)
@given(st.data())
def test_blanks_between_words_change_no_formula(data: st.DataObject) -> None:
    formula = data.draw(formulas)
    words = WORDS.findall(show_formula(formula))
    text = words[0] + "".join(data.draw(inside) + word for word in words[1:])
    assert parse_formula(text) == formula


STATEMENTS = [
    'type level = {"junior", "senior"}',
    "type year = 1990 .. 2030",
    "type age = number",
    "predicate friends(person, person): observed",
    'predicate area(paper) in {"ai", "db"}: observed',
    'friends("anna", "bob")',
    'not smokes("carl")',
    'area("p1") = "ai" ~ 0.5',
    'edge("a", 1) @ -2.5e-3',
    "1.5: smokes(x) and friends(x, y) => smokes(y) where x != y",
    "hard: forall x, y: friends(x, y) <=> not not friends(y, x)",
    "?[w]: has_word(d, w) xor `in`(d) or true",
    "[s2] P(cancer(x) | smokes(x) and not friends(x, x)) >= 0.6 independent",
    '["a b"] P(a) in [0.1, 1e0]',
    "uncle(x, y) :- aunt(x, z), married(z, y), x != y, z < 3 @ ?",
]


@pytest.mark.parametrize("line", STATEMENTS)
@settings(max_examples=tries(12), deadline=None)
@given(data=st.data())
def test_blanks_between_words_change_no_statement(line: str, data: st.DataObject) -> None:
    text = data.draw(st.composite(spread)(line))
    assert parse_theory(text) == parse_theory(line)
    assert parse_theory(f"\n{text}  # so\n\n1: last") == parse_theory(f"{line}\n1: last")


@pytest.mark.parametrize("line", STATEMENTS)
def test_words_need_no_blanks_where_signs_part_them(line: str) -> None:
    words = WORDS.findall(line)
    text = words[0]
    for before, word in pairwise(words):
        apart = re.fullmatch(r".*\w", before) and re.match(r"\w", word)
        text += f"{' ' if apart or (before, word) == (':', '-') else ''}{word}"
    assert parse_theory(text) == parse_theory(line)


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("007", 7),
            ("-007", -7),
            ("1.0", 1),
            ("1.50", 1.5),
            ("1e2", 100),
            ("1E+2", 100),
            ("12e-1", 1.2),
            ("1e308", 1e308),
            ("-1e308", -1e308),
            ("1e-400", 0),
            ("4.9e-324", 5e-324),
            ("9007199254740993", 9007199254740993),
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
            ("00000000000000000001", 1),
        ],
    )
    def test_as_constants(self, text: str, value: float) -> None:
        found = number_from(text)
        assert (found == value and isinstance(found, int) == float(value).is_integer()) or abs(value) > 2**63
        for read in (parse_literal(f"p({text})"), parse_theory(f"p({text})").facts[0]):
            assert read.row(0) == (value,)
        atom = parse_formula(f"p({text})")
        assert isinstance(atom, Atom) and atom.arguments == (Constant(value),)

    @pytest.mark.parametrize("text", ["1e309", "-1e309", "9223372036854775808", "1" * 21, "1e99999"])
    def test_that_no_table_can_hold(self, text: str) -> None:
        with pytest.raises(OverflowError):
            number_from(text)
        with pytest.raises(LanguageError, match="is too large for a constant"):
            parse_formula(f"p({text})")

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            (".5", "a number has a digit before its point: 0.5"),
            ("1.", "a number has a digit after its point: 1.0"),
            ("+1", "a positive number has no sign; values are added on a side of a comparison: m = n + 1"),
            ("1e", "a comma is missing before it"),
            ("0x1F", "a comma is missing before it"),
            ("1_000", "a comma is missing before it"),
            ("1/2", "write a fraction as a decimal number"),
            ("50%", "write 0.7 for 70 %"),
        ],
    )
    def test_written_in_other_ways(self, text: str, hint: str) -> None:
        for statement in (f"p({text})", f'p("a", {text})'):
            with pytest.raises(LanguageError) as error:
                parse_theory(statement)
            assert error.value.mistakes[0].hint == hint

    @pytest.mark.parametrize("text", ["inf", "nan", "infinity", "NaN"])
    def test_infinity_is_a_variable_and_no_weight(self, text: str) -> None:
        atom = parse_formula(f"p({text})")
        assert isinstance(atom, Atom) and atom.arguments == (Variable(text),)
        with pytest.raises(LanguageError, match="unexpected ':'"):
            parse_theory(f"{text}: p(x)")

    @settings(max_examples=tries(60), deadline=None)
    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_weights_read_back_to_the_last_bit(self, weight: float) -> None:
        found = parse_theory(f"{shown_number(weight)}: a").formulas[0].weight
        assert isinstance(found, float) and math.copysign(1, found) == math.copysign(1, weight)
        assert found == weight

    @pytest.mark.parametrize("probability", ["0", "1", "0.0", "1.0", "1e-300", "0.9999999999999999"])
    def test_probabilities_at_the_ends(self, probability: str) -> None:
        number = float(probability)
        assert parse_theory(f"p(1) ~ {probability}").facts[0].numbers == (number,)
        (bound,) = parse_theory(f"P(p(1)) in [{probability}, 1]").bounds
        assert (bound.lower, bound.upper) == (number, 1.0)

    @pytest.mark.parametrize("probability", ["-0.1", "1.0000000000000002", "2", "-1e-300", "100"])
    def test_what_is_no_probability(self, probability: str) -> None:
        texts = [f"p(1) ~ {probability}", f"P(a) = {probability}", f"P(a) >= {probability}"]
        for text in texts:
            with pytest.raises(LanguageError) as error:
                parse_theory(text)
            (mistake,) = error.value.mistakes
            assert mistake.message == f"{probability} is not a probability"
            assert mistake.span is not None and mistake.span.text == probability
            assert mistake.hint == "expected a number from 0 to 1"


class TestStrings:
    @settings(max_examples=tries(60), deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_json_reads_what_is_shown(self, text: str) -> None:
        shown = shown_constant(text)
        assert json.loads(shown) == text_from(shown) == text

    @pytest.mark.parametrize(
        ("token", "text"),
        [
            ('""', ""),
            (r'"\""', '"'),
            (r'"\\"', "\\"),
            (r'"\/"', "/"),
            (r'"\b\f\n\r\t"', "\b\f\n\r\t"),
            (r'"\u00e9\u00E9"', "éé"),
            (r'"\ud83d\ude00"', "\U0001f600"),
            ('"a\tb"', "a\tb"),
            (r'"\\n"', "\\n"),
            ('"#"', "#"),
            ('"`"', "`"),
            ('"1"', "1"),
        ],
    )
    def test_escapes(self, token: str, text: str) -> None:
        assert text_from(token) == text
        assert parse_literal(f"p({token})").row(0) == (text,)
        assert parse_theory(f"1: p({token})  # {token}").formulas[0].formula.arguments == (Constant(text),)

    @pytest.mark.parametrize(
        "token", [r'"\q"', r'"\x41"', r'"\u12"', r'"\u12G4"', r'"\N{DASH}"', r'"\8"', r'"\ "']
    )
    def test_escapes_of_other_languages_are_refused(self, token: str) -> None:
        for text in (f"p({token})", f"1: p({token})", f"type t = {{{token}}}"):
            with pytest.raises(LanguageError) as error:
                parse_theory(text)
            (mistake,) = error.value.mistakes
            assert mistake.message == f"{token} is not a valid string"
            assert mistake.span is not None and mistake.span.text == token
            assert "a backslash is written \\\\" in mistake.hint

    @pytest.mark.parametrize("token", [r'"\ud83d"', r'"\ude00"', r'"\ude00\ud83d"', r'"a\ud83db"'])
    def test_half_a_character_is_refused(self, token: str) -> None:
        with pytest.raises(LanguageError) as error:
            parse_literal(f"p({token})")
        (mistake,) = error.value.mistakes
        assert mistake.message == f"{token} holds half a character"

    @pytest.mark.parametrize("text", ['p("a)', 'p("a\nb")', '1: p("a', "p('a')", "p(“a”)"])
    def test_strings_that_do_not_end_or_stand_in_other_quotes(self, text: str) -> None:
        with pytest.raises(LanguageError) as error:
            parse_theory(text)
        first = error.value.mistakes[0]
        assert first.message == "a string that is not closed on its line" or "double quotes" in first.hint


class TestNames:
    @settings(max_examples=tries(60), deadline=None)
    @given(st.text(st.characters(exclude_characters="`\n\r\0", exclude_categories=["Cs"]), min_size=1))
    def test_any_name_can_be_written(self, name: str) -> None:
        assert parse_formula(shown_name(name)) == Atom(name)
        assert parse_formula(f"p({shown_name(name)})") == Atom("p", (Variable(name),))

    @pytest.mark.parametrize("name", sorted(RESERVED))
    def test_reserved_words_are_names_in_back_quotes(self, name: str) -> None:
        assert is_reserved(name) and shown_name(name) == f"`{name}`"
        assert parse_formula(f"`{name}`(x)") == Atom(name, (Variable("x"),))
        assert shown_name(f"{name}_") == f"{name}_" and not is_reserved(name.swapcase())

    @pytest.mark.parametrize(
        "name", ["observed", "learned", "independent", "number", "p", "Type", "e", "E1", "_x"]
    )
    def test_words_of_some_places_are_names_elsewhere(self, name: str) -> None:
        assert not is_reserved(name) and shown_name(name) == name
        text = f'predicate {name}({name}): observed\n1.0: {name}({name})\n{name}("{name}")'
        theory = parse_theory(text)
        assert theory.predicates[0].name == name and theory.predicates[0].types == (name,)
        assert parse_theory(show(theory)) == theory

    def test_back_quotes_make_no_other_name(self) -> None:
        assert parse_theory("1: `p`(`x`)\n`p`(1)") == parse_theory("1: p(x)\np(1)")
        assert parse_formula("`a b` and `A B`") != parse_formula("`a b` and `a b`")

    @pytest.mark.parametrize("text", ["``", "p(``)", "`a", "`a\nb`", "1: `"])
    def test_names_that_are_empty_or_do_not_end(self, text: str) -> None:
        with pytest.raises(LanguageError, match=r"an empty name|a back-quoted name that is not closed"):
            parse_theory(text)

    @pytest.mark.parametrize("one, other", [("é", "e\u0301"), ("ﬁ", "fi"), ("Å", "\u212b")])
    def test_names_that_look_alike_are_not_made_equal(self, one: str, other: str) -> None:
        assert parse_formula(shown_name(one)) != parse_formula(shown_name(other))


@pytest.mark.parametrize("text", ["P(a)", " P (a | b)", "\nP\t(a)", "P("])
def test_what_asks_for_a_probability(text: str) -> None:
    assert is_probability(text)


@pytest.mark.parametrize("text", ["", "P", "p(a)", "Pa(x)", "`P`(x)", "not P(a)", "P a (x)", "P)"])
def test_what_does_not(text: str) -> None:
    assert not is_probability(text)
