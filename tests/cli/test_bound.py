"""``herbrand bound`` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.credal_networks import cyclic
from tests.conftest import Outcome

Run = Callable[..., Outcome]
EXAMPLE_2 = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\nP(b) in [0.3, 0.4]\n"


@pytest.fixture
def theory(tmp_path: Path) -> Path:
    path = tmp_path / "two.hb"
    path.write_text(EXAMPLE_2)
    return path


def test_every_atom_as_json(herbrand: Run, theory: Path) -> None:
    outcome = herbrand("bound", theory, "--engine", "exact", "--format", "json")
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert {"engine", "guarantee", "converged", "iterations", "seconds", "bounds"} <= set(told)
    assert (told["engine"], told["guarantee"], told["converged"]) == ("exact", "exact", True)
    a, b = told["bounds"]
    assert (a["query"], b["query"]) == ("a", "b") and a["certified"] and b["certified"]
    assert (b["lower"], b["upper"]) == pytest.approx((0.3, 0.35), abs=1e-6)


def test_nothing_to_bound_is_told(herbrand: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.hb").write_text("")
    outcome = herbrand("bound", tmp_path / "empty.hb")
    assert outcome.status == 0 and "the theory has no atom, so there is nothing to bound" in outcome.err


def test_queries_conditions_and_facts(herbrand: Run, theory: Path) -> None:
    asked = ("--query", "P(a | b)", "--query", "a and not b", "--format", "json")
    told = json.loads(herbrand("bound", theory, "--engine", "exact", *asked).out)["bounds"]
    assert [row["query"] for row in told] == ["a | b", "a and not b"]
    given = json.loads(
        herbrand("bound", theory, "--engine", "exact", "--given", "b", "--query", "a", "--format", "json").out
    )["bounds"]
    assert given[0]["lower"] == pytest.approx(told[0]["lower"]) and given[0]["query"] == "a"


def test_the_table(herbrand: Run, theory: Path) -> None:
    outcome = herbrand("bound", theory, "--engine", "exact")
    assert outcome.out == (
        "exact bounds\nquery   lower   upper\na      0.2000  0.3000\nb      0.3000  0.3500\n"
    )


def test_csv_and_parquet(herbrand: Run, theory: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        path = tmp_path / f"out.{ending}"
        outcome = herbrand("bound", theory, "--engine", "exact", "--format", ending, "-o", path)
        assert outcome.status == 0 and path.stat().st_size, outcome.err
    heads = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert heads == '"query","predicate","lower","upper","certified","gap"'


def test_auto_says_what_it_chose(herbrand: Run, theory: Path) -> None:
    outcome = herbrand("bound", theory)
    assert outcome.status == 0 and "engine exact: about" in outcome.err


@pytest.mark.parametrize(("option", "value"), [("--mode", "paper"), ("--iterations", "7")])
def test_auto_takes_an_engine_that_uses_every_option(
    herbrand: Run, theory: Path, option: str, value: str
) -> None:
    """The exact engine was chosen, and the option that it does not use had no effect without a word."""
    found = herbrand("bound", theory, option, value, "--format", "json")
    assert found.status == 0 and json.loads(found.out)["engine"] == "ariel"
    assert f"engine ariel, as exact does not use {option}" in found.err


def test_a_search_that_is_stopped_ends_with_status_3(herbrand: Run, theory: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    path = tmp_path / "cyclic.lcn"
    path.write_text(cyclic(7, 1))
    assert herbrand("bound", theory, "--engine", "exact").status == 0  # imports, which the clock counts too
    for seconds in ("0.4", "1.6", "6.4", "25.6"):  # on a busy machine it takes longer until the search begins
        outcome = herbrand("bound", path, "--engine", "exact", "--time-limit", seconds, "--format", "json")
        if outcome.status != 1:
            break
    assert outcome.status == 3 and "not converged" in outcome.err
    assert not json.loads(outcome.out)["converged"]


def test_contradictions_are_status_1_and_name_statements(herbrand: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.lcn"
    path.write_text("s1: 0.2 <= P(a) <= 0.3\ns2: 0.1 <= P(b) <= 0.2\ns3: 0.5 <= P(a) <= 0.6\n")
    outcome = herbrand("bound", path, "--engine", "exact")
    assert outcome.status == 1 and not outcome.out
    assert "bad.lcn:1:1" in outcome.err and "bad.lcn:3:1" in outcome.err and "bad.lcn:2:1" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--query", "P(a | c)"), "predicate 'c' is not declared"),
        (("--query", "P(a |"), "<query>:1"),
        (("--engine", "exat"), "did you mean 'exact'?"),
        (("--query", "P(a | b and not b)"), "upper probability of what is given"),
        (("--memory", "much"), "not an amount of memory"),
    ],
)
def test_wrong_input_is_status_1(
    herbrand: Run, theory: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = herbrand(
        "bound", theory, *arguments, *(() if "--engine" in arguments else ("--engine", "exact"))
    )
    assert outcome.status == 1 and not outcome.out
    assert message in outcome.err and "Traceback" not in outcome.err


def test_wrong_options_are_status_2(herbrand: Run, theory: Path) -> None:
    assert herbrand("bound", theory, "--independence", "some").status == 2
    assert herbrand("bound", theory, "--mode", "fast").status == 2


def test_weighted_formulas_are_no_bounds(herbrand: Run, theory: Path) -> None:
    theory.write_text(EXAMPLE_2 + "1.5: a => b\n")
    outcome = herbrand("bound", theory, "--engine", "exact")
    assert outcome.status == 1 and "--ignore weights" in outcome.err
    assert herbrand("bound", theory, "--engine", "exact", "--ignore", "weights").status == 0


def test_without_independence(herbrand: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.hb"
    path.write_text("P(a) = 0.5\nP(b) = 0.5\n")
    plain = herbrand("bound", path, "--engine", "exact", "--query", "a and b", "--independence", "none")
    assert plain.out.splitlines()[-1] == "a and b  0.0000  0.5000"


def test_an_empty_theory_has_no_rows(herbrand: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.hb"
    path.write_text("")
    outcome = herbrand("bound", path, "--format", "json")
    assert outcome.status == 0 and json.loads(outcome.out)["bounds"] == []


def test_the_example(herbrand: Run) -> None:
    pytest.importorskip("pyscipopt")
    outcome = herbrand("bound", "examples/alarm_bounds/alarm.hb", "--query", "P(burglary | mary_calls)")
    assert outcome.status == 0, outcome.err
    assert "burglary | mary_calls" in outcome.out
