"""``herbrand query``: what it prints, in every format, and what it says of wrong input."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.conftest import ROOT, Outcome

Herbrand = Callable[..., Outcome]
FAMILY = str(ROOT / "examples" / "family" / "family.hb")


def test_json_has_the_keys_of_the_contract(herbrand: Herbrand) -> None:
    outcome = herbrand("query", FAMILY, 'uncle("liam", y)', "--format", "json")
    told = json.loads(outcome.out)
    assert outcome.status == 0 and not outcome.err
    assert list(told) == ["engine", "guarantee", "converged", "truncated", "seconds", "answers"]
    assert (told["engine"], told["guarantee"], told["converged"], told["truncated"]) == (
        "proof",
        "exact",
        True,
        False,
    )
    assert told["answers"] == [
        {"bindings": {"y": "bob"}, "weight": 1.0},
        {"bindings": {"y": "carl"}, "weight": 0.9},
    ]


def test_a_table_for_people(herbrand: Herbrand) -> None:
    outcome = herbrand("query", FAMILY, 'uncle("liam", y)')
    assert outcome.out == 'proof answers (exact)\ny       weight\n"bob"   1.0000\n"carl"  0.9000\n'


def test_a_variable_named_like_a_constant_is_told(herbrand: Herbrand, tmp_path: Path) -> None:
    """In a ``.pl`` file the same word is the constant."""
    (tmp_path / "alarm.pl").write_text("0.3 :: burglary.\n0.7 :: calls(mary) :- burglary.\n")
    outcome = herbrand("query", tmp_path / "alarm.pl", "calls(mary)")
    assert outcome.status == 0 and outcome.err == 'mary is a variable; the constant is "mary"\n'
    assert herbrand("query", tmp_path / "alarm.pl", "calls(who)").err == ""


def test_an_empty_answer_is_an_empty_answer(herbrand: Herbrand) -> None:
    outcome = herbrand("query", FAMILY, 'uncle("ruth", y)', "--format", "json")
    assert outcome.status == 0 and json.loads(outcome.out)["answers"] == [] and outcome.err == "no answer\n"


def test_depth_and_what_it_cuts(herbrand: Herbrand) -> None:
    outcome = herbrand("query", FAMILY, 'ancestor("liam", y)', "--depth", "0", "--format", "json")
    told = json.loads(outcome.out)
    assert outcome.status == 0 and told["truncated"]
    assert {row["bindings"]["y"] for row in told["answers"]} == {"mary", "tom"}
    assert "a call was cut by the depth" in outcome.err
    whole = herbrand("query", FAMILY, 'ancestor("liam", y)', "--depth", "fixpoint", "--format", "json")
    assert len(json.loads(whole.out)["answers"]) == 4 and not whole.err


def test_normalize_and_top(herbrand: Herbrand) -> None:
    options = ("--normalize", "sum", "--top", "1", "--format", "csv")
    rows = list(csv.reader(io.StringIO(herbrand("query", FAMILY, 'related("liam", y)', *options).out)))
    assert rows[0] == ["y", "weight"] and rows[1][0] == "nora" and float(rows[1][1]) == pytest.approx(4 / 12)
    assert len(rows) == 2


def test_algebras(herbrand: Herbrand) -> None:
    def weights(*options: str) -> list[float]:
        out = herbrand("query", FAMILY, 'related("liam", "nora")', "--format", "json", *options).out
        return [row["weight"] for row in json.loads(out)["answers"]]

    assert weights() == [4.0]
    for algebra in ("boolean", "max", "probability"):
        assert weights("--algebra", algebra) == [1.0]
    assert weights("--exact") == [4]


def test_parquet_to_a_file(herbrand: Herbrand, tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    assert herbrand("query", FAMILY, "aunt(x, y)", "--format", "parquet", "-o", str(path)).status == 0
    assert pyarrow.parquet.read_table(path).column_names == ["x", "y", "weight"]


def test_given_facts(herbrand: Herbrand) -> None:
    arguments = (
        "query",
        FAMILY,
        'uncle("bob", y)',
        "--given",
        'parent("bob", "mia")',
        "--given",
        'brother("mia", "liam")',
    )
    assert json.loads(herbrand(*arguments, "--format", "json").out)["answers"] == [
        {"bindings": {"y": "liam"}, "weight": 1.0}
    ]


def test_a_sum_that_does_not_converge_is_status_3(herbrand: Herbrand, tmp_path: Path) -> None:
    path = tmp_path / "loop.hb"
    path.write_text('p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\ne("a", "b")\ne("b", "a")\n')
    outcome = herbrand("query", str(path), 'p("a", y)', "--depth", "fixpoint", "--format", "json")
    assert outcome.status == 3 and not json.loads(outcome.out)["converged"]
    assert "the sum over all proofs grows without end or too slowly; give a depth" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (('uncel("liam", y)',), "did you mean 'uncle'?"),
        (('uncle("lima", y)',), "did you mean 'liam'?"),
        (('uncle("liam")',), "uncle takes 2 arguments, not 1"),
        (("uncle(x, y)", "--algebra", "sum"), "there is no algebra 'sum'"),
        (("uncle(x, y)", "--depth", "x"), "'x' is no depth"),
        (("uncle(x, y)", "--memory", "lots"), "'lots' is not an amount of memory"),
        (
            ("uncle(x, y)", "--algebra", "probability", "--given", 'parent("bob", "mia") @ 3'),
            "is no probability",
        ),
    ],
)
def test_wrong_input_is_a_message(herbrand: Herbrand, arguments: tuple[str, ...], message: str) -> None:
    outcome = herbrand("query", FAMILY, *arguments)
    assert outcome.status == 1 and not outcome.out
    assert message in outcome.err and "Traceback" not in outcome.err


def test_a_missing_goal_is_a_wrong_call(herbrand: Herbrand) -> None:
    assert herbrand("query", FAMILY).status == 2
