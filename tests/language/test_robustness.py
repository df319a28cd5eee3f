"""Odd, huge and hostile texts work, or fail with a plain message, in linear time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language.check import check
from herbrand.language.parse import parse_formula, parse_literal, parse_probability, parse_theory
from herbrand.language.syntax import And, Atom, Constant, WeightedFormula
from herbrand.language.theory import Theory, show
from tests.laws import long, tries
from tests.work import calls

TOKENS = [
    *["p", "x", "(", ")", '"a"', ",", "\n", " ", "1", ":", "=>", "not", "in", "{", "}", "[", "]", "P", "|"],
    *["=", "~", "@", "?", ":-", "type", "predicate", "..", "exists", '"', "`", "#", "\\"],
]


def message(text: str) -> str:
    with pytest.raises(LanguageError) as error:
        check(parse_theory(text))
    return str(error.value)


def first_line(text: str) -> str:
    return message(text).split("\n")[0]


@settings(max_examples=tries(400), deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(TOKENS),
            max_size=20,
        ).map("".join),
    )
)
def test_any_text_is_read_or_refused_with_places(text: str) -> None:
    for read in (parse_theory, parse_formula, parse_probability, parse_literal):
        try:
            read(text)
        except LanguageError as error:
            assert all(mistake.span is not None for mistake in error.mistakes)
            assert str(error)


@pytest.mark.parametrize(
    "text", ["", "\n", "   ", "# only a comment", "#\n\n  # two", "\ufeff", "\ufeff# bom\n"]
)
def test_texts_without_statements(text: str) -> None:
    assert parse_theory(text) == Theory()
    assert show(Theory()) == ""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_marks(ends: str) -> None:
    text = '\ufeffpredicate p(t)\np("a")\n1: p(x) =>\n\tp(y)'
    assert parse_theory(text.replace("\n", ends)) == parse_theory(text)
    assert first_line(ends.join(["p(1)", "p(", "p(2)"])) == "<text>:2:2: this '(' is never closed"


def test_a_file_without_a_final_line_end() -> None:
    assert parse_theory("p(1)\n1: a") == parse_theory("p(1)\n1: a\n")
    assert parse_theory("1: a\np(1)") == parse_theory("1: a\np(1)\n")


def test_what_is_no_text() -> None:
    assert first_line("p(1)\n\0") == "<text>:2:1: a NUL byte: this is not a text file"
    assert first_line("p(1)\n1: \ud800") == "<text>:2:4: half a character: this is not valid Unicode"
    assert first_line('p("\\ud800")') == '<text>:1:3: "\\ud800" holds half a character'
    assert parse_theory('p("\\ud83d\\ude00")').facts[0].row(0) == ("\U0001f600",)
    assert parse_theory('p("\\u0000")').facts[0].row(0) == ("\0",)


def test_unicode_names_and_carets_under_them() -> None:
    assert parse_theory('1: カ(x) => größe(x)\n`é t`("名")').formulas[0].formula.premise.predicate == "カ"
    assert message('名前("カナ") -> x') == (
        "<text>:1:10: unexpected '->'\n  名前(\"カナ\") -> x\n               ^^\n  write => for 'implies'"
    )


@pytest.mark.parametrize("space", ["\x0b", "\x1c", "\x85", "\xa0", "\u2003", "\u2028", "\ufeff", "\u200b"])
def test_odd_spaces_are_told(space: str) -> None:
    assert first_line(space * 2 if space == "\ufeff" else space).startswith(
        "<text>:1:1: unexpected character "
    )
    assert first_line(f"1: a{space}").startswith("<text>:1:5: unexpected character ")
    assert parse_theory(f'p("{space}")').facts[0].row(0) == (space,)


def test_tabs_keep_carets_in_place() -> None:
    assert message("\t1:\ta\t-> b").split("\n")[1:3] == ["   1: a -> b", "        ^^"]


@pytest.mark.parametrize("count", long([201, 1_200, 2_000, 10_000], 2))
@pytest.mark.parametrize(
    ("begin", "middle", "end"),
    [
        ("not ", "a", ""),
        ("a => ", "a", ""),
        ("exists x: ", "p(x)", ""),
        ("not (", "a", ")"),
        ("(a and ", "a", ")"),
        ("(a <=> ", "a", ")"),
        ("forall x: not ", "p(x)", ""),
    ],
)
def test_deep_nesting_is_refused_plainly(begin: str, middle: str, end: str, count: int) -> None:
    text = begin * count + middle + end * count
    told = "the formula is nested more than 200 levels deep"
    assert told in first_line(f"1: {text}")
    assert told in first_line(f"P({text}) = 0.5")
    assert told in first_line(f"P(a | {text}) = 0.5")
    with pytest.raises(LanguageError, match=told):
        parse_formula(text)
    with pytest.raises(LanguageError, match=told):
        parse_probability(text)
    with pytest.raises(LanguageError):
        parse_literal(text)


@pytest.mark.parametrize(
    "value",
    ["+".join(["x"] * 2000), "-" * 2000 + "x", "abs(" * 2000 + "x" + ")" * 2000],
    ids=["a sum", "minus", "a function"],
)
def test_values_that_are_nested_too_deep_are_refused_plainly(value: str) -> None:
    told = "the formula is nested more than 200 levels deep"
    for text in (
        f"p(x) :- q(x), y = {value}, y > 1",
        f"p({value}) :- q(x)",
        f"0.3 :: p({value}) :- q(x)",
        f"1: q(x) and p({value})",
        f"1: q(x) and {value} > 3",
        f"P(q(x) and {value} > 3) >= 0.3",
        f"p(x) :- q(x), count(y: q(y), y < {value}) > 3",
    ):
        assert told in first_line(text), text[:40]


def test_aggregates_within_aggregates_are_refused_plainly() -> None:
    body = reduce(lambda body, i: f"q(x{i}), count(x{i}: {body}) > 0", range(300), "q(x0)")
    assert "nested more than 200 levels deep" in first_line(f"p(x) :- q(x), {body}")


def test_deep_brackets_alone_are_no_nesting() -> None:
    deep = "(" * 10_000 + "a" + ")" * 10_000
    assert parse_formula(deep) == Atom("a")
    assert parse_theory(f"{deep}\n{deep}") == parse_theory("a\na")
    assert "is never closed" in message("(" * 10_000)
    assert "there is no '('" in message("a" + ")" * 10_000)


def test_the_deepest_formula_allowed_can_be_used() -> None:
    def at_depth(frames: int, then):
        return then() if frames == 0 else at_depth(frames - 1, then)

    def use() -> None:
        text = "1: " + "(a and (b => not " * 66 + "a" + "))" * 66
        theory, again = parse_theory(text), parse_theory(text)
        assert theory == again
        assert hash(theory) == hash(again)
        assert parse_theory(show(theory)) == theory
        assert check(theory).predicates.keys() == {"a", "b"}
        assert repr(theory)

    at_depth(100, use)


def test_statements_built_in_python_refuse_deep_formulas_too() -> None:
    deep = reduce(lambda formula, name: And((formula, Atom(name))), "a" * 300, Atom("a"))
    with pytest.raises(LanguageError, match="nested more than 200 levels deep"):
        WeightedFormula(1.0, deep)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("9" * 5000, "the number 9999999999999999999999999999999999999... is too large for a constant"),
        ("9223372036854775808", "the number 9223372036854775808 is too large for a constant"),
        ("1e999", "the number 1e999 is too large for a constant"),
    ],
)
def test_numbers_that_would_not_be_kept(number: str, told: str) -> None:
    assert first_line(f"p({number})") == f"<text>:1:3: {told}"
    assert first_line(f"1: p({number})") == f"<text>:1:6: {told}"


def test_large_numbers() -> None:
    assert parse_theory("p(9223372036854775807, -9223372036854775808, 1e300)").facts[0].row(0) == (
        2**63 - 1,
        -(2**63),
        1e300,
    )
    assert first_line("1e999: a") == "<text>:1:1: the number 1e999 is too large"
    assert first_line("a @ " + "9" * 5000).endswith("is too large")
    assert parse_theory("1e-999: a").formulas[0].weight == 0
    assert parse_theory(f"{'9' * 300}: a").formulas[0].weight == 1e300


def test_a_long_string() -> None:
    text = "x" * 1_000_000
    assert parse_theory(f'p("{text}")').facts[0].row(0) == (text,)
    assert parse_theory(f'1: p("{text}")').formulas[0].formula.arguments == (Constant(text),)
    escaped = "\\n" * 500_000
    assert parse_theory(f'1: p("{escaped}")').formulas[0].formula.arguments == (Constant("\n" * 500_000),)
    assert len(message(f'p("{text}\\q")')) < 600
    assert len(message(f'p("{text}')) < 600


def refused(text: str) -> None:
    with pytest.raises(LanguageError):
        parse_theory(text)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("p(x\n", 4_000),
        ("p([{((x\n", 2_000),
        ("p(x) ~ 2 # wrong\n", 1_000),
        ("p(1) ~ 2\n", 1_000),
        ('p("x\n', 1_500),
        (")\n", 1_000),
    ],
)
def test_many_mistakes_are_read_in_linear_time(line: str, count: int) -> None:
    refused(line)
    assert calls(refused, line * count) < 15 * calls(refused, line * (count // 10))


def test_unclosed_brackets_before_one_plain_statement() -> None:
    small, large = (calls(refused, "p(x\n" * count + "type t\n") for count in (250, 2_500))
    assert large < 15 * small


def test_mistakes_are_shown_up_to_a_number_and_counted() -> None:
    lines = message("p(\n" * 2_500).split("\n")
    assert lines[-1] == "... and 2,480 more mistakes"
    assert len(lines) == 20 * 3 + 1
    assert message("p(\n" * 21).split("\n")[-1] == "... and 1 more mistake"
    rows = 'p("a")\n' * 3 + "p(1)\n" * 30_000
    assert (
        message(f'type t = {{"a"}}\npredicate p(t)\n{rows}').split("\n")[-1] == "... and 29,980 more mistakes"
    )


def test_a_statement_over_many_lines() -> None:
    long = "1: (a and\n# why\n\n" + "b and # so\n\n" * 10_000 + "c)\np(1)"
    theory = parse_theory(long)
    assert len(theory.formulas[0].formula.operands) == 10_002
    comments = "1: a and\n" + "# a comment of some length, to be passed over\n" * 20_000 + "b"
    assert len(parse_theory(comments).formulas) == 1


def test_rules_are_read_in_linear_time() -> None:
    rules = "1.5: smokes(x) and friends(x, y) => smokes(y)\n"
    parse_theory(rules)
    small, large = calls(parse_theory, rules * 50), calls(parse_theory, rules * 500)
    assert large < 15 * small


@pytest.mark.parametrize("read", [parse_formula, parse_probability])
def test_long_questions_are_read_in_linear_time(read: Callable[[str], object]) -> None:
    read("a or a")
    small, large = (calls(read, " or ".join(["a", "not b"] * count)) for count in (100, 1_000))
    assert large < 15 * small


@pytest.mark.parametrize("read", [parse_formula, parse_probability])
def test_deep_questions_are_refused_in_linear_time(read: Callable[[str], object]) -> None:
    def tried(text: str) -> None:
        with pytest.raises(LanguageError):
            read(text)

    tried("not " * 300 + "a")
    small, large = (calls(tried, "not " * count + "a") for count in (300, 3_000))
    assert large < 15 * small


def test_bulk_facts() -> None:
    facts = "".join(f'friends("p{i}", "p{i * 7 % 9973}")\nage("p{i}", {i / 4})\n' for i in range(20_000))
    theory = parse_theory(facts)
    assert [rows.row_count for rows in theory.facts] == [20_000, 20_000]
    assert calls(check, theory) < 1_000
    assert show(theory).count("\n") >= 40_000


def test_threads_may_read_at_the_same_time() -> None:
    texts = [f'1: p{i}(x) => q(x, "{i}")\np{i}({i})\n' * 20 for i in range(40)] + ["1: p(x) ->"] * 10

    def outcome(text: str) -> Theory | str:
        try:
            return parse_theory(text)
        except LanguageError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outcome, texts)) == list(map(outcome, texts))
