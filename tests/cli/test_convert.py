"""``herbrand convert``: to the language and back, facts included, and what cannot be said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import herbrand as hb
from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

MLN = """\
Smokes(person)
Friends(person, person)
1.5 Smokes(x) ^ Friends(x, y) => Smokes(y) : x != y
!Smokes(Carl).
"""


def test_mln_to_hb(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "s.mln").write_text(MLN)
    outcome = herbrand("convert", tmp_path / "s.mln")
    assert outcome == Outcome(
        0,
        "predicate Smokes(person)\npredicate Friends(person, person)\n"
        "1.5: Smokes(x) and Friends(x, y) => Smokes(y) where x != y\n"
        'hard: not Smokes("Carl")\n',
        "a predicate with facts may be closed in the format read, and is open in .hb unless it is "
        "': observed' there: Smokes, Friends\n",
    )
    (tmp_path / "s.mln").write_text(MLN.replace("Friends(person, person)\n", "*Friends(person, person)\n"))
    assert herbrand("convert", tmp_path / "s.mln").err == ""


def test_the_ending_of_the_output_names_the_format(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "s.hb").write_text("predicate smokes(person)\n1.5: smokes(x)\n")
    assert herbrand("convert", tmp_path / "s.hb", "-o", tmp_path / "s.mln").status == 0
    assert (tmp_path / "s.mln").read_text() == "// -ow smokes\nsmokes(person)\n\n1.5 smokes(x)\n"
    assert herbrand("convert", tmp_path / "s.hb", "--to", "mln", "-o", tmp_path / "s.txt").status == 0
    assert (tmp_path / "s.txt").read_text() == (tmp_path / "s.mln").read_text()
    assert herbrand("convert", tmp_path / "s.mln", "-o", tmp_path / "t.txt").status == 0
    assert (tmp_path / "t.txt").read_text() == (tmp_path / "s.hb").read_text()


def test_an_ending_that_no_format_has_is_refused_unless_the_format_is_named(
    herbrand: Herbrand, tmp_path: Path
) -> None:
    theory, out = tmp_path / "s.hb", tmp_path / "s.unknown"
    theory.write_text("predicate smokes(person)\n1.5: smokes(x)\n")
    outcome = herbrand("convert", theory, "-o", out)
    assert outcome.status == 1 and not out.exists()
    assert "not written as .unknown" in outcome.err and ".hb, .bif, .lcn, .mln, .pl, .ppr" in outcome.err
    assert herbrand("convert", theory, "--to", "hb", "-o", out).status == 0
    assert out.read_text() == theory.read_text()


def test_back_again_with_facts_beside(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "s.hb"
    theory.write_text(
        'predicate smokes(person)\n1.5: smokes(x) => smokes("Anna")\nsmokes("Anna")\nnot smokes("Bob")\n'
    )
    out = tmp_path / "s.mln"
    outcome = herbrand("convert", theory, "--to", "mln", "-o", out)
    assert (outcome.status, outcome.err) == (0, f"facts are in {tmp_path / 's.db'}\n")
    assert hb.read([out, tmp_path / "s.db"]) == hb.read(theory)
    assert "facts are left out" in herbrand("convert", theory, "--to", "mln").err


@pytest.mark.parametrize(
    ("text", "to", "message"),
    [
        ("P(a) >= 0.5", "mln", "an .mln file has no probability bounds"),
        ("1.0: a => b", "lcn", "has no weighted formulas"),
        ("1.0: a => b", "ppr", "a .ppr file has no weighted formulas"),
        ("p(x) :- q(x, y)", "lcn", "has no rules"),
        ("1.0: a", "doc", "'doc' for this\n  one of hb, mln, ppr"),
    ],
)
def test_what_cannot_be_said(herbrand: Herbrand, tmp_path: Path, text: str, to: str, message: str) -> None:
    (tmp_path / "t.hb").write_text(text)
    outcome = herbrand("convert", tmp_path / "t.hb", "--to", to)
    assert (outcome.status, outcome.out) == (1, "")
    assert message in outcome.err


def test_queries_that_a_format_has_no_words_for_are_named(herbrand: Herbrand, tmp_path: Path) -> None:
    """What a .pl file asks was left out in silence, and the .hb file's answer was about all atoms."""
    theory = tmp_path / "asks.pl"
    theory.write_text("0.3::rain(monday).\n0.5::sun.\nquery(rain(X)).\nquery(sun).\n")
    outcome = herbrand("convert", theory)
    assert outcome.status == 0
    (said,) = outcome.err.splitlines()
    assert said.startswith("queries are left out") and said.endswith("infer --query 'rain(X)' --query 'sun'")
    again = herbrand("convert", theory, "--to", "pl")
    assert "query(rain(X))." in again.out and not again.err
