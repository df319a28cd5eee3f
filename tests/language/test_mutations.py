"""Good statements with one word wrong: read, or refused where they stand, and their neighbours are read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language.check import check, check_all
from herbrand.language.parse import parse_theory, read_theory
from herbrand.language.syntax import Atom, Variable, WeightedFormula
from herbrand.language.theory import show
from tests.language.test_words_and_spaces import STATEMENTS, WORDS
from tests.laws import tries

STRANGE = [
    *["(", ")", "[", "]", "{", "}", ",", ":", ":-", "=>", "<=>", "=", "!=", "<", ">=", "|", "@", "~", "?"],
    *["and", "or", "xor", "not", "in", "where", "exists", "forall", "P", "hard", "type", "predicate", "true"],
    *["x", "_", "p", '"a"', "1", "-2.5", "1e999", "..", ".", ";", "->", "&", "%", "'a'", "é", "`", '"', "#"],
]
BEFORE, AFTER = "0.25: before(x)", "0.75: after(x)"


@st.composite
def broken(draw: st.DrawFn, line: str) -> str:
    """A statement with one word left out, doubled, put in, exchanged with its neighbour or with another."""
    words = WORDS.findall(line)
    at = draw(st.integers(0, len(words) - 1))
    word = draw(st.sampled_from(STRANGE))
    new = {
        "left out": [],
        "doubled": [words[at]] * 2,
        "put in": [word, words[at]],
        "exchanged": [word],
        "cut": [words[at]],
    }
    how = draw(st.sampled_from(sorted(new)))
    rest = [] if how == "cut" else words[at + 1 :]
    return " ".join([*words[:at], *new[how], *rest])


def kept(text: str) -> set[float]:
    """The weights of the neighbours that were read."""
    found = read_theory(text, "t.hb").theory.formulas
    names = {"before", "after"}
    return {
        formula.weight
        for formula in found
        if isinstance(formula, WeightedFormula)
        and isinstance(formula.formula, Atom)
        and formula.formula.predicate in names
        and isinstance(formula.weight, float)
    }


@pytest.mark.parametrize("line", STATEMENTS)
@settings(max_examples=tries(30), deadline=None)
@given(data=st.data())
def test_one_wrong_word_hides_no_neighbour(line: str, data: st.DataObject) -> None:
    """The next line plainly begins a statement, whatever is left open before it."""
    wrong = data.draw(broken(line))
    assert kept(f"{BEFORE}\n{wrong}\n{AFTER}") == {0.25, 0.75}


@pytest.mark.parametrize("line", STATEMENTS)
@settings(max_examples=tries(30), deadline=None)
@given(data=st.data())
def test_one_wrong_word_is_told_where_it_stands_or_means_something(line: str, data: st.DataObject) -> None:
    wrong = data.draw(broken(line))
    text = f"{BEFORE}\n{wrong}\n{AFTER}"
    reading = read_theory(text, "t.hb")
    for mistake in reading.mistakes:
        assert mistake.span is not None and mistake.message
        assert mistake.span.line == 2
        assert len(str(mistake)) < 1000
    if not reading.mistakes:
        assert parse_theory(show(reading.theory)) == reading.theory


@pytest.mark.parametrize("line", STATEMENTS)
@settings(max_examples=tries(15), deadline=None)
@given(data=st.data())
def test_what_does_not_fit_together_has_a_place_too(line: str, data: st.DataObject) -> None:
    wrong = data.draw(broken(line))
    try:
        check_all([read_theory(f"{BEFORE}\n{wrong}\n{AFTER}", "t.hb")])
    except LanguageError as error:
        assert error.mistakes
        for mistake in error.mistakes:
            assert mistake.span is not None
            assert 1 <= mistake.span.line <= 3


class TestTheChecker:
    """What is wrong between statements that can each be read."""

    @pytest.mark.parametrize(
        ("text", "message", "related"),
        [
            ("1: p(x)\n1: p(x, y)", "p takes 1 argument, not 2", ["first used here"]),
            ("predicate p\n1: p(x)", "p takes no arguments, not 1", ["declared here"]),
            ("predicate p(t)\n1: q", "predicate 'q' is not declared", []),
            ('p("a")\np(1)', 'type thing holds "a" and 1', ["the other is here"]),
            ("predicate p(n)\ntype n = 1..3\n1: p(4)", "4 is not a n", ["declared here"]),
            ('type n = number\npredicate p(n)\np("a")', '"a" is not a number', ["type n is declared here"]),
            ("predicate p(a)\npredicate q(b)\n1: p(x) and q(x)", "x stands for a a and for a b", ["as a"]),
            ("1: p(y) and x = x", "nothing says what x ranges over: it occurs in no atom", []),
            ("1: x = 1", "nothing says what x ranges over: it occurs in no atom", []),
            ("?[y]: p(x)", "y is not a free variable of the formula", []),
            ("1: p(x) where y != x", "y is not a free variable of the formula", []),
            ('predicate m in {"a"}\n1: p(m)', "predicate 'p' is not declared", []),
            (
                'predicate m in {"a"}\npredicate p(t)\n1: p(m)',
                "m is a many-valued predicate, and stands here for a variable",
                [],
            ),
            ('predicate m(t) in {"a"}\n1: m(x) = "b"', '"b" is not a value of m', ["declared here"]),
            ("predicate p(t)\n1: p(x) = 3", "p is true or false and has no other value", ["declared here"]),
            ("[a] p\n[a] q", "the label [a] is given twice", ["first here"]),
        ],
    )
    def test_it_tells_both_places(self, text: str, message: str, related: list[str]) -> None:
        with pytest.raises(LanguageError) as error:
            check(parse_theory(text))
        mistake = error.value.mistakes[0]
        assert mistake.message == message
        assert [note for note, _ in mistake.related] == related
        assert mistake.span is not None
        for _, span in mistake.related:
            assert span.start != mistake.span.start

    @pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 40])
    def test_a_misspelt_name_is_told_once_with_its_first_places(self, count: int) -> None:
        text = "predicate smokes(person)\n" + "1: smoks(x)\n" * count
        with pytest.raises(LanguageError) as error:
            check(parse_theory(text))
        (mistake,) = error.value.mistakes
        assert len(mistake.related) == min(count, 5) - 1
        more = max(0, count - 5)
        ending = f" ({more:,} more place{'s' if more > 1 else ''})" if more else ""
        assert mistake.hint == f"did you mean 'smokes'?{ending}"

    def test_a_place_in_a_rule_with_an_aggregate_is_told_once(self) -> None:
        with pytest.raises(LanguageError) as error:
            check(parse_theory("predicate p(t, t)\nq(x, s) :- r(x), s = sum(y: p(x, y))"))
        found = {m.message: m.related for m in error.value.mistakes}
        assert found["predicate 'r' is not declared"] == found["predicate 'q' is not declared"] == ()

    def test_mistakes_come_in_the_order_of_lines(self) -> None:
        text = "predicate p(t)\n1: q(x)\n1: p(x, y)\n[a] p(1)\n[a] p(2)\n1: r(x)"
        with pytest.raises(LanguageError) as error:
            check(parse_theory(text))
        assert [m.span and m.span.line for m in error.value.mistakes] == [2, 3, 5, 6]

    @pytest.mark.parametrize(
        "text",
        [
            "1: p(x) and x = x",
            "1: p(_) and q(_)",
            "1: exists x: p(x) and (forall x: q(x))",
            'p("a")\np("b")\n1: p(x) where x != "c"',
            "1: p(x) and (exists y: y = x)",
            "h(x) :- p(x, n), n < 3, n >= -1.5",
            "P(a | b) = 0.5\na",
        ],
    )
    def test_what_fits_together_is_taken(self, text: str) -> None:
        signature = check(parse_theory(text))
        assert all(predicate.column_types is not None for predicate in signature.predicates.values())
        assert {t for p in signature.predicates.values() for t in p.column_types} <= set(signature.types)


def test_formulas_made_in_python_are_checked_without_places() -> None:
    theory = parse_theory("predicate p(t)")
    made = WeightedFormula(1.0, Atom("q", (Variable("x"),)))
    with pytest.raises(LanguageError) as error:
        check(type(theory)((*theory.statements, made)))
    (mistake,) = error.value.mistakes
    assert (mistake.message, mistake.span) == ("predicate 'q' is not declared", None)
    assert (
        str(error.value)
        == "predicate 'q' is not declared\n  as soon as one predicate is declared, all must be"
    )
