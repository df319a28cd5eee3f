"""``herbrand score``: every format of a result, labels as facts, and what it says of wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

THEORY = """\
predicate smokes(person)
predicate area(person) in {"ai", "db"}
1.5: smokes("anna, or ann")
-1.0: smokes("bob")
0.5: smokes("carl")
2.0: area(x) = "ai"
"""


@pytest.fixture
def folder(herbrand: Herbrand, tmp_path: Path) -> Path:
    (tmp_path / "t.hb").write_text(THEORY)
    for ending in ("json", "csv", "parquet"):
        outcome = herbrand("infer", tmp_path / "t.hb", "--format", ending, "-o", tmp_path / f"r.{ending}")
        assert outcome.status == 0
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "smokes.csv").write_text('person,truth\n"anna, or ann",true\nbob,false\n')
    (labels / "area.csv").write_text("bob,ai\ncarl,db\n")
    return tmp_path


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_every_format_of_a_result(herbrand: Herbrand, folder: Path, ending: str) -> None:
    outcome = herbrand("score", folder / f"r.{ending}", "--facts", folder / "labels", "--format", "json")
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert (told["rows"], told["true"], told["unlabelled"], told["missing"]) == (6, 3, 3, 0)
    assert told["predicates"]["smokes"]["average_precision"] == 1.0
    assert told["predicates"]["area"]["accuracy"] == 0.5
    assert told["log_loss"] > 0 and told["calibration"]


def test_a_table_for_people(herbrand: Herbrand, folder: Path) -> None:
    outcome = herbrand("score", folder / "r.json", "--facts", folder / "labels")
    assert [line.split()[0] for line in outcome.out.splitlines()[2:5]] == ["area", "smokes", "(all)"]


def test_closed_predicates_and_missing_rows(herbrand: Herbrand, folder: Path) -> None:
    (folder / "labels" / "area.csv").unlink()
    (folder / "labels" / "smokes.csv").write_text('"anna, or ann"\nzoe\n')
    loose = herbrand("score", folder / "r.json", "--facts", folder / "labels", "--format", "json")
    assert "1 labels have no row" in loose.err and "no label is false" in loose.err
    strict = herbrand(
        "score", folder / "r.json", "--facts", folder / "labels", "--closed", "smokes", "--format", "json"
    )
    assert (json.loads(loose.out)["rows"], json.loads(strict.out)["rows"]) == (1, 3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.json", None, "there is no file"),
        ("r.txt", "x", "no ending that says"),
        ("r.json", "{", "is no JSON"),
        ("r.json", "{}", "no list of 'marginals'"),
        ("r.json", '{"marginals": [{"atom": "p"}]}', "no column 'predicate'"),
        (
            "r.json",
            '{"marginals": [{"atom": "p", "predicate": "p", "probability": 7, "value": null}]}',
            "row 1: 7 is no probability",
        ),
        ("r.csv", "a,b\n1,2\n", "no column 'atom'"),
        ("r.parquet", "nothing of the kind", "is no Parquet file"),
        ("r.json", '{"marginals": []}', "no row of the result has a label"),
    ],
)
def test_wrong_results(herbrand: Herbrand, folder: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (folder / name).write_text(text)
    outcome = herbrand("score", folder / name, "--facts", folder / "labels")
    assert outcome.status == 1 and message in outcome.err
    assert not outcome.out and "Traceback" not in outcome.err


def test_labels_that_are_no_labels(herbrand: Herbrand, folder: Path) -> None:
    (folder / "labels" / "smokes.csv").write_text("person,probability\nbob,0.5\n")
    outcome = herbrand("score", folder / "r.json", "--facts", folder / "labels")
    assert outcome.status == 1 and "labels are true or false" in outcome.err
    outcome = herbrand("score", folder / "r.json", "--facts", folder / "labels", "--closed", "smoke")
    assert outcome.status == 1


@pytest.mark.parametrize(("ending", "begins"), [("html", "<!doctype html>"), ("svg", "<svg ")])
def test_pages_and_pictures(herbrand: Herbrand, folder: Path, ending: str, begins: str) -> None:
    asked = ("score", folder / "r.json", "--facts", folder / "labels")
    assert herbrand(*asked, "-o", folder / f"s.{ending}").status == 0
    written = (folder / f"s.{ending}").read_text()
    assert written.startswith(begins) and "smokes" in written
    assert herbrand(*asked, "--format", ending).out == written
    assert herbrand("infer", folder / "t.hb", "--format", ending).status == 2
