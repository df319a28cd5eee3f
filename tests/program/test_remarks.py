"""What may surprise is noted once, in few lines: on standard error, and in ``Model.notes``."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.facts.sources.text import looks_like_names
from tests.cli.test_infer import Herbrand

THEORY = """predicate friends(p, p): observed
predicate likes(p, p): observed
predicate smokes(p)
predicate idle(p)
1.5: smokes(x) and friends(x, y) => smokes(y)
0.3: likes(x, y) => smokes(x)
"""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("from", "to"), ("anna", "bob")], True),
        ([("child", "parent"), ("anna", "bob")], True),
        ([("who", "born"), ("anna", "1990"), ("bob", "1985")], True),
        ([("p", "q"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c")], True),
        ([("anna", "bob"), ("bob", "carl")], False),
        ([("anna", "1"), ("bob", "2")], False),
        ([("anna", "bob")], False),
        ([("from", "to"), ("from", "hell")], False),
        ([("1", "2"), ("3", "4")], False),
    ],
)
def test_first_rows_that_look_like_names(rows: list[tuple[str, ...]], expected: bool) -> None:
    assert looks_like_names(rows) is expected


def test_a_doubtful_first_row_is_noted_unless_the_user_decides(tmp_path: Path, herbrand: Herbrand) -> None:
    (tmp_path / "friends.csv").write_text("from,to\nanna,bob\n")
    (tmp_path / "t.hb").write_text(THEORY)
    asked = ("infer", str(tmp_path / "t.hb"), "--facts", str(tmp_path / "friends.csv"))
    told = herbrand(*asked)
    assert "the first row of friends.csv was taken as data" in told.err and 'smokes("from")' in told.out
    for answer, taken in (("yes", False), ("no", True)):
        told = herbrand(*asked, "--header", answer)
        assert "first row" not in told.err and ('smokes("from")' in told.out) is taken


def test_observed_without_facts_unused_and_new_constants() -> None:
    told: list[str] = []
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}, note=told.append)
    model.infer(given='smokes("ana")')
    model.infer(given='smokes("anna")')
    assert told == [
        "observed, but without facts, so that all their atoms are false: likes",
        "declared, but no statement uses them and no facts are given: idle",
        "--given names a new constant of type p, \"ana\"; did you mean 'anna'?",
    ]
    assert model.notes == tuple(told)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("carl", " carl"),
        ("Carl", "carl"),
        ("new  york", "new york"),
        (unicodedata.normalize("NFC", "zoë"), unicodedata.normalize("NFD", "zoë")),
    ],
)
def test_constants_that_look_alike(one: str, other: str) -> None:
    model = hb.Model(hb.parse("p(x) :- q(x)"), {"q": [one, other, "bob"]})
    assert len(model.query("p(x)")) == 3
    (note,) = model.notes
    assert "differ in case, blanks or Unicode form alone" in note and "bob" not in note
    assert not hb.Model(hb.parse("p(x) :- q(x)"), {"q": ["anna", "bob"]}).notes


def test_closed_predicates_are_named() -> None:
    told: list[str] = []
    theory = 'smokes("anna")\nfriends("anna", "bob")\n1.5: smokes(x) and friends(x, y) => smokes(y)\n'
    hb.Model(hb.parse(theory)).infer(note=told.append)
    assert any("every predicate is closed" in text and "--open PRED" in text for text in told)
    told.clear()
    hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}).infer("friends", note=told.append)
    assert any("friends is closed (it is declared observed)" in text for text in told)
