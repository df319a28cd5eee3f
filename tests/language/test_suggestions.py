"""Spellings of other languages are told with what to write, and writing that is understood."""

from __future__ import annotations

import re

import pytest

from herbrand.errors import LanguageError, Mistake
from herbrand.language import suggestions
from herbrand.language.check import check
from herbrand.language.parse import parse_formula, parse_theory

CONNECTIVES = {
    sign: advice
    for sign, advice in suggestions._FOREIGN.items()
    if re.fullmatch(r"write ('and'|'or'|'xor'|=>.*|<=>.*)", advice) and sign != "||"
}
"""Two bars are told of as one bar out of its place, with the same advice."""
COMPARISONS = {
    sign: advice
    for sign, advice in suggestions._FOREIGN.items()
    if re.fullmatch(r"write (= for equality|!= .*|<=|>=)", advice)
}
NEGATIONS = {sign: a for sign, a in suggestions._FOREIGN.items() if a == "write 'not'"}


def only(text: str) -> Mistake:
    with pytest.raises(LanguageError) as error:
        check(parse_theory(text))
    (mistake,) = error.value.mistakes
    return mistake


@pytest.mark.parametrize("sign", CONNECTIVES)
@pytest.mark.parametrize("space", ["", " "])
def test_connectives(sign: str, space: str) -> None:
    """What the advice says to write in its place can be read."""
    mistake = only(f"1: a(x){space}{sign}{space}b(x)")
    assert mistake.hint == CONNECTIVES[sign]
    assert mistake.span is not None and mistake.span.text == sign
    write = re.match(r"write '?([^' ]+)", mistake.hint)
    assert write is not None
    assert parse_formula(f"a(x) {write[1]} b(x)")


@pytest.mark.parametrize("sign", COMPARISONS)
@pytest.mark.parametrize("space", ["", " "])
def test_comparisons(sign: str, space: str) -> None:
    mistake = only(f"h(x) :- a(x, y), x{space}{sign}{space}y")
    assert mistake.hint == COMPARISONS[sign]
    assert mistake.span is not None and mistake.span.text == sign
    write = re.match(r"write (\S+)", mistake.hint)
    assert write is not None
    assert parse_theory(f"h(x) :- a(x, y), x {write[1]} y").rules


@pytest.mark.parametrize("sign", NEGATIONS)
@pytest.mark.parametrize("text", ["{}a(x)", "b(x) and {}a(x)", "b(x) => ({} a(x))"])
def test_negations(sign: str, text: str) -> None:
    mistake = only(f"1: {text.format(sign)}")
    assert mistake.hint == "write 'not'"
    assert mistake.span is not None and mistake.span.text == sign
    assert parse_formula(text.format("not "))


@pytest.mark.parametrize("word", ["v", "implies", "iff", "given"])
def test_words_for_connectives(word: str) -> None:
    assert only(f"1: a(x) {word} b(x)").hint == suggestions._WORDS[word]
    assert only(f"1: a(x) {word.upper()} b(x)").hint == suggestions._WORDS[word]


@pytest.mark.parametrize("word", ["AND", "Or", "XOR", "IN", "Where", "FORALL x:", "Exists x:", "NOT"])
def test_words_in_capitals(word: str) -> None:
    text = (
        f"1: {word} a(x)" if word.upper().startswith(("NOT", "FORALL", "EXISTS")) else f"1: a(x) {word} b(x)"
    )
    assert only(text).hint == f"write '{word.split()[0].lower()}'"


@pytest.mark.parametrize("sign", ["∃", "∀"])
def test_quantifiers(sign: str) -> None:
    assert only(f"1: {sign}x: a(x)").hint == f"write '{'exists' if sign == '∃' else 'forall'} x: ...'"


@pytest.mark.parametrize("comment", ["// note", "/* note */", "-- note", "% note"])
@pytest.mark.parametrize("before", ["", "1: a(x) "])
def test_comments(comment: str, before: str) -> None:
    assert only(f"{before}{comment}").hint == "comments begin with #"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hard :: smokes(x)", "a probability stands before its atom: 0.3 :: rain"),
        ("1: a(x).", "a statement ends with its line; no full stop is needed"),
        ("1: a(x);", "a statement ends with its line; an alternative is written 'or'"),
        ("1,5: a(x)", "a decimal point is written '.'"),
        ("1: a(f(x))", "arguments are variables, constants and what is computed: there are no functions"),
        ("1: a || b", "'|' means 'given' and stands once, inside P( | ); an alternative is written 'or'"),
        ("a x", "arguments stand in brackets: a(...)"),
        ("a :- b(x) c(x)", "the parts of a rule's body are separated by commas"),
        ("1: a(x y)", "a comma is missing before it"),
        ("1: a()", "without arguments there are no brackets: a"),
        ("1: a(x,)", "leave out the last comma"),
        ("1: a(x))", "there is no '(' for it"),
        ("1: a <=> b <=> c", "<=> is not chained: use brackets"),
        ("h(x) :- a(x, y, z), x < y < z", "comparisons are not chained: join them by 'and'"),
        ("1: exists x a(x)", "a colon ends the variables: 'exists x, y: ...'"),
        ("type t = {a}", 'constants stand in quotes: "a"'),
        ("type t = 1...9", "a range has two points: 1..9"),
        ("predicate a(t) in 0..3", "a range is a type of its own: type level = 0..3; then 'in level'"),
        (
            "predicate a(x: t)",
            "a declaration names the types of arguments alone: predicate likes(person, food)",
        ),
        ("predicate a(t) in (1, 2)", 'a set of values stands in braces: {"ai", "db"}'),
        ("typ person", "did you mean 'type'?"),
        ("predicte a(t)", "did you mean 'predicate'?"),
        ("a @ ?", "the weights of facts are learned where their predicate is declared ': learned'"),
        ("P(a) in 0.5", "an interval is written [lower, upper]"),
        ("1: predicate", "'predicate' is a reserved word; as a name it stands in back-quotes: `predicate`"),
        ("1: has-word(x)", "a name with '-' in it stands in back-quotes: `...`"),
        ("1: has.", "a statement ends with its line; no full stop is needed"),
        ("1: has.word(x)", "a name with '.' in it stands in back-quotes: `...`"),
        ("1: €uro(x)", ""),
        ("1: a€(x)", "a name with this character in it stands in back-quotes: `...`"),
        ("if a then b", "write 'premise => conclusion'"),
        (
            'p("a") 0.7',
            "a fact's probability is written '~ 0.7'; a formula's weight stands before it: '1.5: ...'",
        ),
        ("a: 1.5", "a weight is a number, 'hard' or '?'"),
        ("–0.5: a", "a minus is written '-'"),
        ("−0.5: a", "a minus is written '-'"),
        ("p(‘a’)", "constants stand in double quotes"),
        ("p(x) :- q(x), x =< 3", "write <="),
        ("p(x) :- q(x), x =:= 3", "write = for equality"),
        ("p(x) :- q(x), x =\\= 3", "write != for inequality"),
        ("p(x) :- q(x), x \\== 3", "write != for inequality"),
        ("?- p(x)", "a goal stands by itself, without ?-"),
        ('p("a") = true', "an atom that is true stands by itself, one that is false behind 'not'"),
        ("1: forall x. a(x)", "a colon ends the variables: 'exists x, y: ...'"),
        ("1: b and exists x, y.a(x, y)", "a colon ends the variables: 'exists x, y: ...'"),
        ('type t: {"a"}', "the values of a type stand behind '=': type level = {...}"),
        ('a("x", 1), a("y", 2)', "each fact stands on a line of its own; the head of a rule is one atom"),
        ("0.6 :: a, 0.3 :: b", "heads of one choice stand apart by ';', other choices on lines of their own"),
        ("P(a) = 0.2, 0.3", "write both bounds as 'in [lower, upper]'"),
        ("P(a) = 0.2,0.3", "write both bounds as 'in [lower, upper]'"),
        ("P(a) = 0,3", "a decimal point is written '.'"),
        ('a("x") ~ 0,3', "a decimal point is written '.'"),
        ("1: a(x) if b(x)", "write 'premise => conclusion'"),
        ("a(x) :- b(x); c(x)", "write one rule for each alternative"),
        ("hard: a(x) :- b(x)", "a rule always holds: leave out 'hard:'"),
        (
            "0.7 a(x) :- b(x)",
            "a rule's weight stands behind it: 'head :- body @ weight'; a probability is followed by '::'",
        ),
        (
            'p("a"): 0.7',
            "a fact's probability is written '~ 0.7'; a formula's weight stands before it: '1.5: ...'",
        ),
        ('a("x") :: 0.3', "a probability stands before its atom: 0.3 :: rain"),
        ("a :: 0.3", "a probability stands before its atom: 0.3 :: rain"),
        ("0.3 :: a; 0.2: b", "the probability of each head is followed by '::'"),
        ("-inf: a(x)", "a weight is a number, 'hard' or '?'"),
        (
            "observed a(t)",
            "a closed world is declared behind the predicate: predicate likes(person): observed",
        ),
        ('include "more.hb"', "theory files are named together where they are read, and are one theory"),
        ("p(a(x)) = 0.3", "a probability bound is written P(...) = 0.5"),
        (
            "1: a(x) = b(x)",
            "equal values have one variable: a(x) = v and b(x) = v; "
            "of true and false atoms write a(x) <=> b(x)",
        ),
        ("1: a(x) != b(x)", "of true and false atoms write a(x) xor b(x)"),
        (
            'a("x") and not a("y")',
            "each fact stands on a line of its own; "
            "a formula begins with a weight: 'hard: ...' or '1.5: ...'",
        ),
        ("h(x) :- a(x), not (b(x) and c(x))", "define a predicate by a rule, and negate its atom"),
        ("h(x) :- a(x), not (b(x) or c(x))", "negate each alternative, separated by commas"),
        (
            "h(n) :- n = count(x: a(x) or b(x))",
            "define a predicate by one rule for each alternative, and use it here",
        ),
    ],
)
def test_what_is_likely_meant(text: str, hint: str) -> None:
    mistake = only(text)
    assert mistake.hint == hint
    assert mistake.span is not None and mistake.span.start < mistake.span.end


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("P(a)", "here stands what is inside; a predicate named P"),
        (
            "P(a | b)",
            "here stands what is inside before the bar; what is given stands in --given; a predicate",
        ),
        ("?- a(x)", "a goal stands by itself, without ?-"),
    ],
)
def test_queries_of_other_kinds(query: str, hint: str) -> None:
    with pytest.raises(LanguageError) as error:
        parse_formula(query)
    (mistake,) = error.value.mistakes
    assert hint in mistake.hint
