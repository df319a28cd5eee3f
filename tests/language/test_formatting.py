"""``herbrand fmt``: white space changes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.language.formatting import spaced
from herbrand.language.parse import read_theory
from tests.conftest import ROOT

OPERATORS = [*"()[]{},;:=<>|~@?-+*/#\n", "::", ":-", "..", "=>", "<=>", "!=", "<=", ">="]
WORDS = [*OPERATORS, "x", "smokes", "`a b`", '"a  b"', '"#"', "1.5", "-2e3", "not", "P", "in", "hard"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.5:s( x )and f(x,y)=>s(y)", "1.5: s(x) and f(x, y) => s(y)\n"),
        ("?[x,y] :a( x )=>b(y)", "?[x, y]: a(x) => b(y)\n"),
        ("[r1]  hard:not(a or b)", "[r1] hard: not (a or b)\n"),
        ("P(a|b)in[0.1,0.2]independent", "P(a | b) in [0.1, 0.2] independent\n"),
        ("type t={A,\"b\"}", 'type t = {A, "b"}\n'),
        ("type t = 1 .. 5", "type t = 1..5\n"),
        ("predicate p ( t,t ) in{1,2}:observed", "predicate p(t, t) in {1, 2}: observed\n"),
        ("0.2::c(x)=1;0.8::c(x)=2:-ball(x)", "0.2 :: c(x) = 1; 0.8 :: c(x) = 2 :- ball(x)\n"),
        ("a(x):-b(x,y),\n  not c(y)@0.5", "a(x) :- b(x, y),\n    not c(y) @ 0.5\n"),
        ('f("a  #  b")#why', 'f("a  #  b")  #why\n'),
        ("\n\na\n\n\n\n  # alone\nb~0.5\n\n", "a\n\n# alone\nb ~ 0.5\n"),
        ("-1.0:exists x,y:p(x,y)where x<3", "-1.0: exists x, y: p(x, y) where x < 3\n"),
    ],
)  # fmt: skip
def test_one_style(before: str, after: str) -> None:
    assert spaced(before) == after


@given(st.lists(st.sampled_from(WORDS)).map(" ".join) | st.lists(st.sampled_from(WORDS)).map("".join))
def test_it_is_done_once(text: str) -> None:
    """Any text at all: a second time changes nothing, and only white space has changed."""
    once = spaced(text)
    assert spaced(once) == once
    assert "".join(once.split()) == "".join(text.split())


FOLDERS = (ROOT / "examples", ROOT / "tests", ROOT / "docs", ROOT.parent / "shared")
FILES = sorted(path for folder in FOLDERS for path in folder.rglob("*.hb"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_that_is_written_anew_stays_as_it_is(path: Path) -> None:
    """The files of the other dialects are no text of the language: `fmt` refuses them."""
    once = spaced(path.read_text())
    assert spaced(once) == once


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.hb")), ids=lambda path: path.stem)
def test_examples_state_the_same(path: Path) -> None:
    text = path.read_text()
    assert read_theory(spaced(text), path.name).theory == read_theory(text, path.name).theory
