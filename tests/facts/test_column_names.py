"""First rows that look like names of columns are noted, wherever text tables are read; data seldom is."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.facts.sources.text import looks_like_names
from tests.cli.test_infer import Herbrand

NOTE = "the first row of friends.csv was taken as data"
EDGES = "anna,bob\nbob,carl\ncarl,anna\n"
THEORY = (
    "predicate friends(p, p): observed\npredicate smokes(p)\n1.5: smokes(x) and friends(x, y) => smokes(y)\n"
)
Rows = list[tuple[str, ...]]


@pytest.mark.parametrize(
    "rows",
    [
        [("from", "to"), ("anna", "bob")],
        [("From", "To"), ("anna", "bob")],
        [("child", "parent"), ("anna", "bob")],
        [("source", "target"), ("n1", "n2")],
        [("person1", "person2"), ("anna", "bob")],
        [("person_id", "item_id"), ("p1", "i1")],
        [("id",), ("p1",), ("p2",)],
        [("who", "born"), ("anna", "1990"), ("bob", "1985")],
        [("p", "q"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c")],
    ],
)
def test_names(rows: Rows) -> None:
    assert looks_like_names(rows[0], rows[1:])


@pytest.mark.parametrize(
    "rows",
    [
        [("anna", "bob"), ("bob", "carl")],
        [("anna", "1"), ("bob", "2"), ("carl", "unknown")],
        [("anna", "bob")],
        [("from", "to"), ("from", "hell")],
        [("1", "2"), ("3", "4")],
        [("anna", "paper"), ("bob", "wood")],
        [("d1", "type"), ("d2", "ball"), ("d3", "word")],
        [("paper",), ("ball",), ("stone",)],
        [("person1", "person2"), ("person3", "person4")],
        [("a", "b"), ("c", "d"), ("d", "c"), ("c", "e"), ("e", "d"), ("f", "c")],
        [("", "to"), ("anna", "bob")],
    ],
)
def test_data(rows: Rows) -> None:
    assert not looks_like_names(rows[0], rows[1:])


def write(folder: Path, **tables: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(rows)
    return folder


def noted(theory: str, folder: Path) -> bool:
    model = hb.Model(hb.parse(theory), folder)
    _ = model.program
    return any(NOTE in note for note in model.notes)


def test_a_constant_elsewhere_names_no_column(tmp_path: Path) -> None:
    assert noted(THEORY, write(tmp_path / "f", friends="child,parent\n" + EDGES))
    assert not noted(THEORY + '1.0: smokes("child")\n', tmp_path / "f")
    assert not noted(THEORY + 'not smokes("parent")\n', tmp_path / "f")
    assert not noted(THEORY, write(tmp_path / "f", smokes="dora\nchild\n"))


def test_two_tables_with_the_same_names_are_one_note(tmp_path: Path) -> None:
    write(tmp_path / "f", friends="from,to\n" + EDGES, knows="from,to\n" + EDGES)
    model = hb.Model(hb.parse("1.0: friends(x, y) => knows(x, y)"), tmp_path / "f")
    _ = model.program
    assert [note for note in model.notes if "friends.csv, knows.csv" in note]


def test_what_cannot_be_read_is_told_as_before(tmp_path: Path) -> None:
    write(tmp_path / "f", friends=EDGES + 'anna,"bob\n')
    with pytest.raises(hb.HerbrandError, match="quoted cell"):
        _ = hb.Model(hb.parse(THEORY), tmp_path / "f").program


@pytest.mark.parametrize("more", [(), ("--on",)])
def test_infer_in_memory_and_on_a_database(tmp_path: Path, herbrand: Herbrand, more: tuple[str, ...]) -> None:
    (tmp_path / "t.hb").write_text(THEORY)
    facts = write(tmp_path / "f", friends="from,to\n" + EDGES)
    place = [part for option in more for part in (option, f"duckdb:{tmp_path / 'w.duckdb'}")]
    asked = ("infer", tmp_path / "t.hb", "--facts", facts, *place)
    outcome = herbrand(*asked)
    assert outcome.err.count(NOTE) == 1 and 'smokes("from")' in outcome.out
    for answer, taken in (("yes", False), ("no", True)):
        outcome = herbrand(*asked, "--header", answer)
        assert "first row" not in outcome.err and ('smokes("from")' in outcome.out) is taken


def test_score(tmp_path: Path, herbrand: Herbrand) -> None:
    (tmp_path / "t.hb").write_text("predicate friends(p, p)\n0.5: friends(x, y) where x != y\n")
    (tmp_path / "t.hb").write_text(
        'predicate friends(p, p)\n0.5: friends("anna", "bob")\n-0.5: friends("bob", "carl")\n'
    )
    herbrand("infer", tmp_path / "t.hb", "--format", "json", "-o", tmp_path / "r.json")
    labels = write(tmp_path / "labels", friends="from,to\nanna,bob\n")
    asked = ("score", tmp_path / "r.json", "--facts", labels, "--closed", "friends")
    outcome = herbrand(*asked)
    assert NOTE in outcome.err and "1 labels have no row" in outcome.err
    outcome = herbrand(*asked, "--header", "yes")
    assert outcome.status == 0 and "first row" not in outcome.err and "labels have" not in outcome.err


def towns(folder: Path) -> Path:
    for n in range(3):
        write(
            folder / f"w{n}",
            friends="from,to\n" + "".join(f"h{i},h{i + 1}\n" for i in range(4 + n)),
            dog=f"id\nh{n + 1}\nh{n + 3}\n",
            warned=f"id\nh{n}\nh{n + 2}\n",
        )
    return folder


def test_induce(tmp_path: Path, herbrand: Herbrand) -> None:
    asked = ("induce", "--target", "warned", "--worlds", towns(tmp_path / "w"), "--budget", "0.02")
    assert "the first row of dog.csv, friends.csv, warned.csv was taken as data" in herbrand(*asked).err
    outcome = herbrand(*asked, "--header", "yes")
    assert "first row" not in outcome.err
    assert outcome.out == "warned(x) :- friends(x, y), dog(y)\n"


def test_learn_from_worlds(tmp_path: Path, herbrand: Herbrand) -> None:
    (tmp_path / "t.hb").write_text("?: dog(y) and friends(x, y) => warned(x)\n")
    asked = ("learn", tmp_path / "t.hb", "--worlds", towns(tmp_path / "w"), "--target", "warned")
    assert (
        herbrand(*asked).err.count("the first row of dog.csv, friends.csv, warned.csv was taken as data") == 1
    )
    assert "first row" not in herbrand(*asked, "--header", "yes").err
