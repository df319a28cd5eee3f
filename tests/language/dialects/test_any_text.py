"""Whatever a file holds, a reader takes it or says plainly what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write, write_facts
from herbrand.language.parse import parse_theory
from herbrand.language.theory import show
from tests.laws import tries

GOOD = {
    "mln": 'person = {Anna, "B c"}\nArea(p, t!)\nF(person, person)\n'
    "-1.5 !F(x,y) v EXIST z F(z,+y) ^ x != A : x = y\nF(x,x).",
    "db": 'F(Anna, "B c")\n!S(7) // said\nAlarm\nF(A,B) /* x */ F(C,D)',
    "ppr": "# :- p(a,b)\np(X,Y) :- q(X,_), assign(Y,'a b') {f(W): g(X,W)}.\nq(X) :- r {r1}.",
    "tlog": "p(X,Y) <= q(X,_) & assign(Y,b) // f(W) | g(X,W)\nq(X) <= r // r1",
    "pl": "0.3::p(X); t(_)::q :- b(X), \\+c(X, _) ; X = 1, b(X). % c\nb(1). c(1, 'a b').\n"
    "evidence(q). query(p(X)) :- b(X). s(X) :- \\+ (b(X), X > 2).",
    "cfacts": "# :- e(a,b)\ne\ta\tb\t0.5\nf\ta\nf a 2\ng\n",
    "lcn": "# c\ns1: 0.1 <= P((and a !b) | c xor 1 nor d) <= .5 ; True\ns2: 0 <= P(a) <= 1",
}  # fmt: skip
PIECES = [
    *"()[]{}!^=<>.,:+*?@#/|&;'\"\\`-_ \n\t$%",
    "=>", "<=>", ":-", "<=", " v ", "EXIST ", "not ", "nor", "P(", "...", "//", "/*", "*/", "#include ",
    "x", "Anna", "1", "1e999", "-0.5", '"', "ß", "\x0b", "\u2028", "\x85", "\x1c",
]  # fmt: skip


def changed(text: str) -> st.SearchStrategy[str]:
    """The text with some stretches cut out or replaced by others."""

    def edited(edits: list[tuple[float, int, str]]) -> str:
        result = text
        for place, length, piece in edits:
            at = int(place * len(result))
            result = result[:at] + piece + result[at + length :]
        return result

    edit = st.tuples(st.floats(0, 1), st.integers(0, 4), st.sampled_from(["", *PIECES]))
    return st.lists(edit, min_size=1, max_size=4).map(edited)


@pytest.mark.parametrize("dialect", GOOD)
def test_the_good_texts_are_good(dialect: str) -> None:
    assert read_theory_text(GOOD[dialect], dialect).statements


@pytest.mark.parametrize("dialect", GOOD)
@settings(max_examples=tries(150), deadline=None)
@given(data=st.data())
def test_any_text_is_read_or_refused_plainly(dialect: str, data: st.DataObject) -> None:
    pieces = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    text = data.draw(st.one_of(changed(GOOD[dialect]), pieces))
    try:
        theory = read_theory_text(text, dialect)
    except LanguageError as error:
        assert all(mistake.span is not None and mistake.message for mistake in error.mistakes)
        return
    assert parse_theory(show(theory)) == theory
    try:
        signature = check(theory)
    except LanguageError:
        return
    for target in ("mln", "ppr", "lcn"):
        assert_reads_back(lambda target=target: write(theory, signature, target), target)
    for target in ("db", "cfacts"):
        assert_reads_back(lambda target=target: write_facts(theory, signature, target), target)


def assert_reads_back(written: Callable[[], str], dialect: str) -> None:
    """What can be written at all can be read."""
    try:
        text = written()
    except UnsupportedError:
        return
    read_theory_text(text, dialect)
