"""What the readers of all formats share: tokens, connectives, names, lines of facts, lists of mistakes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import BudgetError, LanguageError, Mistakes, Source, Span, UnsupportedError
from herbrand.language.dialects import (
    DIALECTS,
    dialect_of,
    read_facts_file,
    read_theory_file,
    write,
    write_facts,
)
from herbrand.language.dialects.alchemy.directives import rest_of_line
from herbrand.language.dialects.alchemy.formulas import FormulaReader, Names
from herbrand.language.dialects.alchemy.lexicon import TOKENS, is_plain_name, text_of_string, written_constant
from herbrand.language.dialects.alchemy.weights import read_weight
from herbrand.language.dialects.collecting import as_text, written_lines
from herbrand.language.dialects.infix import Connective, Sign, grouped_left, read_formula, write_formula
from herbrand.language.dialects.renaming import SpelledNames, fresh_name
from herbrand.language.dialects.rows import PredicateRows, grouped_lines
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token, tokens_of
from herbrand.language.dialects.tensorlog.declarations import Declarations
from herbrand.language.formulas import DEEPEST_NESTING
from herbrand.language.signature import Signature
from herbrand.language.syntax import And, Atom, Formula, Iff, Implies, Not, Or
from herbrand.language.theory import Theory
from tests.laws import tries

PATTERN = re.compile(
    r"(?P<name>\w+|[v^!]|<=>|=>)|(?P<newline>\n)|(?P<sign>[()])|(?P<comment>#[^\n]*)|(?P<blank>[^\S\n]+)|(?P<unknown>.)"
)
SIGNS = {
    "<=>": Connective(1, grouped_left(Iff)), "=>": Connective(2, grouped_left(Implies)),
    "v": Connective(3, Or), "^": Connective(4, And),
}  # fmt: skip
WRITTEN = {
    Iff: Sign(1, " <=> "), Implies: Sign(2, " => "), Or: Sign(3, " v "), And: Sign(4, " ^ "),
    Not: Sign(5, "!"),
}  # fmt: skip


def cursor_of(text: str) -> Cursor:
    return Cursor(Source("t", text), PATTERN)


class CountedTokens(list[Token]):
    """Tokens that count how many of them were taken, by slices too."""

    taken = 0

    def __getitem__(self, place: Any) -> Any:
        self.taken += len(range(*place.indices(len(self)))) if isinstance(place, slice) else 1
        return super().__getitem__(place)


def test_a_line_of_an_alchemy_file_costs_the_same_in_a_long_one() -> None:
    """Each line copied the rest of the file: a hundred thousand formulas took half an hour."""

    def taken(lines: int) -> int:
        cursor = Cursor(Source("t.mln", "log(2) S(x) ^ F(x, y)\n" * lines), TOKENS)
        cursor.tokens = tokens = CountedTokens(cursor.tokens)
        reader = FormulaReader(cursor, Names())
        assert read_weight(cursor) == pytest.approx(math.log(2)) and len(rest_of_line(cursor)) == 11
        reader.statement(1.0)
        return tokens.taken

    assert taken(2) == taken(200)


def formula_of(text: str) -> Formula:
    cursor = cursor_of(text)

    def operand() -> Formula:
        if cursor.accept("("):
            inside = read_formula(cursor, SIGNS, operand)
            cursor.expect(")")
            return inside
        if cursor.accept("!"):
            return Not(operand())
        return Atom(cursor.expect_kind("name", "an atom").text, ())

    found = read_formula(cursor, SIGNS, operand)
    assert cursor.at_end
    return found


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a v b v c", "a v b v c"),
        ("a v b ^ c", "a v (b ^ c)"),
        ("(a v b) ^ c", "(a v b) ^ c"),
        ("a => b => c", "(a => b) => c"),
        ("a => (b => c)", "a => (b => c)"),
        ("a <=> b => c v d ^ !e", "a <=> (b => (c v (d ^ !e)))"),
        ("a ^ b v c => d <=> e", "(((a ^ b) v c) => d) <=> e"),
        ("a v\nb", "a v b"),
        ("!a ^ !(b v c)", "!a ^ !(b v c)"),
        ("a ^ (b ^ c)", "a ^ (b ^ c)"),
    ],
)
def test_the_stronger_connective_binds_tighter(text: str, grouped: str) -> None:
    assert formula_of(text) == formula_of(grouped)


formulas = st.recursive(
    st.sampled_from("abc").map(lambda name: Atom(name, ())),
    lambda parts: st.one_of(
        st.builds(Not, parts),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
        st.builds(
            lambda kind, some: kind(tuple(some)),
            st.sampled_from([And, Or]),
            st.lists(parts, min_size=2, max_size=3),
        ),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=tries(60), deadline=None)
@given(formulas)
def test_what_is_written_reads_back(formula: Formula) -> None:
    text = write_formula(formula, WRITTEN, lambda leaf: leaf.predicate)  # type: ignore[union-attr]
    assert formula_of(text) == formula


def test_a_cursor_walks_and_refuses() -> None:
    cursor = cursor_of("p # what\n( q")
    assert [token.kind for token in cursor.tokens] == ["name", NEWLINE, "sign", "name", END]
    assert cursor.token_ahead(9).kind == END and cursor.after.kind == NEWLINE and cursor.at("p", "q")
    assert cursor.take().text == "p" and cursor.accept("(") is None
    assert str(cursor.expected("a formula")) == (
        "t:1:9: expected a formula, found the end of the line\n  p # what\n          ^"
    )
    cursor.skip(NEWLINE)
    assert cursor.expect("(").start == 9
    assert cursor.span_from(9).text == "(" and cursor.span_of(cursor.here).text == "q"
    cursor.skip_past("nothing")
    assert cursor.at_end and cursor.take().kind == END and cursor.take().kind == END
    with pytest.raises(LanguageError, match="expected a name, found the end of the text"):
        cursor.expect_kind("name", "a name")
    long = cursor_of("x" * 100)
    assert long.here.shown == f"'{'x' * 37}...'"
    part = tokens_of(Source("t", "a b c"), PATTERN, 2, 3)
    assert [(token.text, token.start) for token in part] == [("b", 2), ("", 3)]


def test_a_cursor_goes_only_so_deep() -> None:
    cursor = cursor_of("a")
    for _ in range(DEEPEST_NESTING):
        cursor.enter()
    with pytest.raises(LanguageError, match="nested"):
        cursor.enter()
    cursor.surface()
    cursor.enter()
    cursor.leave()


def test_names_that_do_not_collide() -> None:
    names = SpelledNames(["b", "B", "a", "A1", "_"], str.upper)
    given_names = [names[name] for name in ("b", "B", "a", "A1", "_")]
    assert given_names == ["B1", "B", "A", "A1", "_"]
    assert [names.fresh("A"), names.fresh("A"), names.fresh("C")] == ["A2", "A3", "C"]
    assert fresh_name("x", {"x", "x1", "x3"}) == "x2" and fresh_name("y", {"x"}) == "y"


@settings(max_examples=tries(40), deadline=None)
@given(st.lists(st.sampled_from(["p(a)", "q(b)", "", "  ", "p", "p(d)(e)"]), max_size=8))
def test_lines_by_what_they_begin_with(lines: list[str]) -> None:
    text = "\n".join(lines)
    expected: dict[str, list[tuple[int, str]]] = {}
    start = 0
    for line in lines:
        head, _, tail = line.partition("(")
        if head.strip():
            expected.setdefault(head, []).append((start, tail))
        start += len(line) + 1
    found = {
        head: list(zip(group.starts, group.tails, strict=True))
        for head, group in grouped_lines(text, "(").items()
    }
    assert found == expected
    assert all(group.head == head for head, group in grouped_lines(text, "(").items())


def test_rows_stand_in_the_order_of_the_file() -> None:
    source = Source("t", "p a 1\np b 2\np c 3")
    table = PredicateRows("p", "weighted")
    table.add([["c"]], [12])
    table.add([["a", "b"]], [0, 6])
    table.numbers = [3.0, 1.0, 2.0]
    rows = table.fact_rows(source)
    assert rows.columns == (("a", "b", "c"),) and rows.numbers == (1.0, 2.0, 3.0)
    assert [rows.row_span(place).text for place in range(3)] == ["p a 1", "p b 2", "p c 3"]
    assert rows.span is not None and rows.span.text == source.text


def test_mistakes_come_in_the_order_of_the_files() -> None:
    one, other = Source("a.mln", "x\ny"), Source("b.mln", "z")
    mistakes = Mistakes()
    mistakes.raise_any()
    mistakes.note("second", Span(one, 2, 3), "do this")
    mistakes.note("third", Span(other, 0, 1))
    with mistakes.collecting():
        raise UnsupportedError("first", span=Span(one, 0, 1))
    mistakes.note("nowhere")
    with pytest.raises(LanguageError) as told:
        mistakes.raise_any()
    assert [mistake.message for mistake in told.value.mistakes] == ["nowhere", "first", "second", "third"]
    with pytest.raises(ZeroDivisionError), mistakes.collecting():
        _ = 1 / 0
    with pytest.raises(BudgetError), mistakes.collecting():
        raise BudgetError("too much work is no mistake")


def test_all_that_cannot_be_written_is_told_together() -> None:
    def lines(part: int) -> list[str]:
        if part % 2:
            raise UnsupportedError(f"{part} is odd")
        return [str(part)] * part

    assert as_text(written_lines([0, 2], lines)) == "2\n2\n"
    with pytest.raises(UnsupportedError) as refused:
        written_lines([1, 2, 3], lines)
    assert [mistake.message for mistake in refused.value.mistakes] == ["1 is odd", "3 is odd"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("Anna", "Anna"), ("anna", '"anna"'), ("New York", '"New York"'), ("7", "7"), ("-2.5", "-2.5"),
        ("2.", '"2."'), ("", '""'), ("EXIST", '"EXIST"'), ("Forall", '"Forall"'), ("v", '"v"'), ("V", "V"),
        ('say "no"', r'"say \"no\""'), ("a\\b", r'"a\\b"'), ("a\tb\n", r'"a\tb\n"'),
        ("O'Brien-2", "O'Brien-2"),
        ("Été", "Été"), (7, "7"), (-2.5, "-2.5"), ("A-", '"A-"'), ("1e5", '"1e5"'),
    ],
)  # fmt: skip
def test_constants_of_alchemy(value: str | float, written: str) -> None:
    assert written_constant(value) == written
    if written.startswith('"'):
        assert text_of_string(written) == value


def test_plain_names_of_alchemy() -> None:
    names = ("p", "P2", "v", "exist", "Forall", "2p", "a b", "x-y", "é", "_p", "")
    assert list(filter(is_plain_name, names)) == ["p", "P2", "x-y", "é", "_p"]


def test_declarations_of_tensorlog() -> None:
    told = Declarations()
    for comment in (
        "# :- q(a,b)",
        "# :- q( a , b ).",
        "# :- trainable(q,2)",
        "# :- trainable(w,1)",
        "# none",
        "#",
    ):
        told.read(comment, None)
    assert [told.arity(name) for name in ("q", "w", "r")] == [2, 1, None]
    assert told.covers({"q"}) and not told.covers({"q", "w"})
    (only,) = told.statements()
    assert (only.name, only.types, only.role) == ("q", ("a", "b"), "learned")
    with pytest.raises(LanguageError, match="'q' is declared in two ways"):
        told.read("# :- q(a,c)", None)
    with pytest.raises(LanguageError, match="this is no declaration\n  declarations read '# :- predicate"):
        told.read("# :- q(a,", None)


def test_which_format_a_file_is_in(tmp_path: Path) -> None:
    for name, expected in (
        ("a.mln", "mln"),
        ("A.MLN", "mln"),
        ("x.ppr", "ppr"),
        ("x.tlog", "tlog"),
        ("b.lcn", "lcn"),
    ):
        assert dialect_of(Path(name), None).name == expected
    assert dialect_of(tmp_path, None).name == dialect_of(Path("facts"), None).name == "benchmark"
    assert dialect_of(Path("a.txt"), "lcn").name == "lcn"
    with pytest.raises(
        LanguageError, match=r"it is not known which dialect 'a\.txt' is in\n  known endings: \.mln"
    ):
        dialect_of(Path("a.txt"), None)
    with pytest.raises(UnsupportedError, match="there is no dialect 'mnl' for this\n  did you mean 'mln'"):
        dialect_of(Path("a.txt"), "mnl")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda at: read_facts_file(at / "x.txt", "lcn"), "there is no dialect 'lcn' for this"),
        (lambda at: read_facts_file(at / "x.txt", None), "it is not known which dialect"),
        (lambda at: read_theory_file(at / "no.mln"), "there is no file"),
        (lambda at: write(Theory(()), Signature({}, {}), "tlog"), "there is no dialect 'tlog' for this"),
        (lambda at: write_facts(Theory(()), Signature({}, {}), "lcn"), "there is no dialect 'lcn' for this"),
    ],
)
def test_what_a_format_cannot_do(call: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    with pytest.raises((LanguageError, UnsupportedError), match=message):
        call(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.mln").write_bytes(b"1 P(x)\n1 Q(\xff)\n")
    with pytest.raises(LanguageError) as refused:
        read_theory_file(tmp_path / "a.mln")
    assert "is not UTF-8 text: byte 0xff on line 2\n  save the file as UTF-8" in str(refused.value)
    (tmp_path / "b.mln").mkdir()
    with pytest.raises(LanguageError, match="is a folder; expected a file"):
        read_theory_file(tmp_path / "b.mln", "mln")


def test_every_format_reads_or_writes_something() -> None:
    for name, row in DIALECTS.items():
        assert row.name == name and row.endings and (row.reads_theories or row.write or row.write_facts)
        assert row.facts is None or DIALECTS[row.facts].write_facts is not None
