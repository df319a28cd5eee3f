"""The words of a text have the roles that the parser gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from herbrand.editing.words import words
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import (
    Atom,
    Bound,
    Choice,
    Constant,
    Formula,
    Rule,
    ValueIs,
    Variable,
    WeightedFormula,
    leaf_terms,
    walk,
)
from herbrand.language.theory import Theory
from tests.conftest import ROOT

THEORIES = sorted((ROOT / "examples").rglob("*.hb"))


def formulas(theory: Theory) -> Iterator[Formula]:
    for statement in theory.statements:
        match statement:
            case WeightedFormula(_, formula, where):
                yield from (formula, *where)
            case Bound(event, given):
                yield from (event, *([] if given is None else [given]))
            case Rule(head, body):
                yield from (head, *body)
            case Choice(alternatives, body):
                yield from (*(each.head for each in alternatives), *body)


def parsed_roles(theory: Theory) -> Iterator[tuple[int, str, str]]:
    """Where the parser saw an atom or a term of an atom, its name, and its role."""
    for formula in formulas(theory):
        for part in walk(formula):
            if isinstance(part, ValueIs) and part.atom.span is not None:
                yield part.atom.span.start, part.atom.predicate, "predicate"
            if isinstance(part, Atom) and part.span is not None:
                yield part.span.start, part.predicate, "predicate"
            if isinstance(part, Atom):
                for term in leaf_terms(part):
                    # A computed argument is a variable that bears its text as its name: no word.
                    word = term.span is not None and re.fullmatch(r"`[^`\n]+`|\w+", term.span.text)
                    if isinstance(term, Variable) and term.span is not None and word:
                        yield term.span.start, term.name, "variable"
                    if isinstance(term, Constant) and term.span is not None:
                        yield term.span.start, "", "text" if isinstance(term.value, str) else "number"


@pytest.mark.parametrize("path", THEORIES, ids=lambda path: path.name)
def test_roles_are_those_of_the_parser(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    at = {word.start: word for word in words(text)}
    for start, name, role in parsed_roles(parse_theory(text)):
        word = at[start]
        while name and word.text in ("(", "-"):
            word = at[min(place for place in at if place > word.start)]
        if role == "number" and word.text == "-":
            continue
        assert word.role == role and (not name or word.name == name), (name, role, word)


STATEMENTS = {
    "exists y, z: f(x, y) and y != z": {"y": "variable", "z": "variable", "f": "predicate", "x": "variable"},
    "1.5 * s: near(x, y, s)": {"s": "variable", "near": "predicate"},
    "?[w]: word(d, w) => topic(d)": {"w": "variable", "word": "predicate", "topic": "predicate"},
    "p :: edge(x, y) :- road(x, y, p)": {"p": "variable", "edge": "predicate", "road": "predicate"},
    "total(x, s) :- person(x), s = sum(a, y: pays(x, y, a))": {
        "total": "predicate", "s": "variable", "sum": "function", "a": "variable", "pays": "predicate",
    },
    "hard: count(y: matched(x, y)) <= 1": {"count": "function", "y": "variable", "matched": "predicate"},
    "late(o) :- due(o, d), sent(o, e), abs(e - d) > 2": {"abs": "function", "e": "variable"},
    "price(x, p) :- net(x, n), p = n * 1.19": {"p": "variable", "n": "variable"},
    'predicate mood in {"good"}\n1: mood = "good"': {"mood": "predicate"},
    "predicate area(paper) in topic": {"area": "predicate", "paper": "type", "topic": "type"},
    "predicate friends(person, person): observed": {"friends": "predicate", "observed": "keyword"},
    'type day = date\ndue("a", date "2026-11-22")': {"day": "type", "date": "keyword", "due": "predicate"},
    "[s2] P(a xor b) <= 0.8 independent": {
        "s2": "label", "P": "keyword", "a": "predicate", "independent": "keyword",
    },
    "1: independent => a": {"independent": "predicate"},
    "1: `a b` and rain": {"`a b`": "predicate", "rain": "predicate"},
    "1: max(x) => min": {"max": "predicate", "min": "predicate"},
}  # fmt: skip


@pytest.mark.parametrize("text", STATEMENTS)
def test_roles_of_every_kind_of_statement(text: str) -> None:
    found: dict[str, set[str]] = {}
    for word in words(text):
        found.setdefault(word.text, set()).add(word.role)
    assert {name: found[name] for name in STATEMENTS[text]} == {
        name: {role} for name, role in STATEMENTS[text].items()
    }


BROKEN = ["1: f(x, ", 'a("b', "predicate", "[", "1: f(x))", "P(", "`", "\x00", "1: (("]


@pytest.mark.parametrize("text", BROKEN)
def test_broken_text_has_words_too(text: str) -> None:
    found = words(text)
    assert "".join(word.text for word in found) == "".join(text.split())
