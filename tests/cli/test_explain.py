"""``herbrand explain``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

THEORY = """\
1.5: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x)
smokes("anna")
friends("anna", "bob")
friends("anna", "carl")
"""


@pytest.fixture
def smokers(tmp_path: Path) -> str:
    path = tmp_path / "smokers.hb"
    path.write_text(THEORY)
    return str(path)


def test_the_atom_is_the_last_argument(herbrand: Herbrand, smokers: str) -> None:
    outcome = herbrand("explain", smokers, "--open", "smokes", 'smokes("bob")')
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == 'smokes("bob"): log-odds 0.8000 (exact)'
    rows = [" ".join(line.split()) for line in lines[2:]]
    assert rows == [
        '+1.5000 1.5: smokes(x) and friends(x, y) => smokes(y) x = "anna", y = "bob"',
        '-0.7000 -0.7: smokes(x) x = "bob"',
    ]


def test_json_adds_up(herbrand: Herbrand, smokers: str) -> None:
    outcome = herbrand(
        "explain", smokers, "--open", "smokes", "--query", 'smokes("bob")', "--top", "1", "--format", "json"
    )
    told = json.loads(outcome.out)
    assert set(told) == {
        "subject", "quantity", "value", "engine", "guarantee", "base", "remainder", "note", "reasons"
    }  # fmt: skip
    assert [reason["contribution"] for reason in told["reasons"]] == pytest.approx([1.5])
    assert told["reasons"][0]["grounding"] == {"x": "anna", "y": "bob"}
    total = told["base"] + told["remainder"] + sum(reason["contribution"] for reason in told["reasons"])
    assert total == pytest.approx(told["value"])


def test_infinity_is_told_by_its_name_in_json(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "forced.hb"
    theory.write_text("hard: rain\n0.5: rain and wet\n")
    assert json.loads(herbrand("explain", theory, "rain", "--format", "json").out)["value"] == "inf"


def test_what_is_given_names_its_file_and_row(herbrand: Herbrand, smokers: str, tmp_path: Path) -> None:
    listed = herbrand("explain", smokers, "--open", "smokes", 'smokes("anna")').out
    assert listed.splitlines()[0] == 'smokes("anna"): probability 1.0000 (facts; exact)'
    assert 'smokes("anna") is given: ' in listed and "smokers.hb:3:1" in listed and "inf" not in listed
    table = tmp_path / "likes.csv"
    table.write_text("anna,bob\nbob,carl\n")
    row = herbrand("explain", smokers, "--facts", table, 'likes("bob", "carl")').out
    assert 'likes("bob", "carl") is given: likes.csv, row 2' in row


def test_nothing_to_explain_is_a_wrong_usage(herbrand: Herbrand, smokers: str) -> None:
    outcome = herbrand("explain", smokers)
    assert outcome.status == 2
    assert "what to explain" in outcome.err


def test_an_unknown_constant_is_told(herbrand: Herbrand, smokers: str) -> None:
    outcome = herbrand("explain", smokers, 'smokes("bobb")')
    assert outcome.status == 1
    assert '"bobb" is no constant' in outcome.err


def test_an_interval_has_two_ends(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("P(rain) in [0.2, 0.3]\nP(wet | rain) >= 0.9\n")
    told = json.loads(herbrand("explain", theory, "P(wet)", "--format", "json").out)
    assert told["lower"]["quantity"] == "lower probability"
    assert told["lower"]["value"] == pytest.approx(0.18)
    assert told["upper"]["value"] == pytest.approx(1.0)
    assert herbrand("explain", theory, "P(wet)").out.count("P(wet): ") == 2


def test_an_answer_is_explained_by_its_proofs(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "family.hb"
    theory.write_text(
        'uncle(x, y) :- parent(x, z), brother(z, y)\nparent("a", "b")\nbrother("b", "c")\nbrother("b", "d")\n'
    )
    told = json.loads(herbrand("explain", theory, 'uncle("a", "c")', "--format", "json").out)
    assert (told["quantity"], told["value"]) == ("weight", 1.0)
    assert [part["statement"] for part in told["reasons"][0]["parts"]] == [
        'parent("a", "b")',
        'brother("b", "c")',
    ]


def test_a_setting_of_another_engine_is_refused(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text("P(rain) in [0.2, 0.3]\n")
    outcome = herbrand("explain", theory, "P(rain)", "--schedule", "parallel")
    assert outcome.status == 1
    assert "bound has no option 'schedule'" in outcome.err
