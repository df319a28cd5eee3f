"""``herbrand infer``: what it prints, in every format, and what it says of wrong input."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.conftest import Outcome

Herbrand = Callable[..., Outcome]

RAIN = """\
predicate rain(city)
predicate wet(city)
predicate near(city, city): observed
1.5: rain(x) => wet(x)
0.8: rain(x) and near(x, y) => rain(y)
near("bonn", "cologne")
rain("bonn") ~ 0.7
"""


@pytest.fixture
def rain(tmp_path: Path) -> str:
    path = tmp_path / "rain.hb"
    path.write_text(RAIN)
    return str(path)


def test_json_has_the_keys_of_the_contract(herbrand: Herbrand, rain: str) -> None:
    outcome = herbrand("infer", rain, "--format", "json")
    told = json.loads(outcome.out)
    assert outcome.status == 0
    assert {k: told[k] for k in ("engine", "guarantee", "converged", "log_partition_guarantee")} == {
        "engine": "exact",
        "guarantee": "exact",
        "converged": True,
        "log_partition_guarantee": "exact",
    }
    assert isinstance(told["log_partition"], float) and told["iterations"] == 1 and told["seconds"] >= 0
    first = told["marginals"][0]
    assert list(first) == ["atom", "predicate", "arguments", "probability", "value"]
    assert (first["atom"], first["predicate"], first["arguments"], first["value"]) == (
        'rain("bonn")', "rain", ["bonn"], None,
    )  # fmt: skip
    assert [row["atom"] for row in told["marginals"]] == [
        'rain("bonn")', 'rain("cologne")', 'wet("bonn")', 'wet("cologne")',
    ]  # fmt: skip


def test_a_formula_is_a_row_without_a_predicate(herbrand: Herbrand, rain: str) -> None:
    outcome = herbrand("infer", rain, "--format", "json", "--query", 'rain("bonn") and not wet("bonn")')
    (row,) = json.loads(outcome.out)["marginals"]
    assert row["atom"] == 'rain("bonn") and not wet("bonn")' and row["predicate"] is None


def test_all_formats_tell_the_same(herbrand: Herbrand, rain: str, tmp_path: Path) -> None:
    told = json.loads(herbrand("infer", rain, "--format", "json").out)["marginals"]
    table = herbrand("infer", rain).out.splitlines()[2:]
    assert [line.split() for line in table] == [[r["atom"], f"{r['probability']:.4f}"] for r in told]
    rows = list(csv.DictReader(io.StringIO(herbrand("infer", rain, "--format", "csv").out)))
    assert [(r["atom"], float(r["probability"])) for r in rows] == [
        (r["atom"], r["probability"]) for r in told
    ]
    file = tmp_path / "answer.parquet"
    assert herbrand("infer", rain, "--format", "parquet", "-o", str(file)).status == 0
    kept = pyarrow.parquet.read_table(file).to_pylist()
    assert [(r["atom"], r["probability"]) for r in kept] == [(r["atom"], r["probability"]) for r in told]


def test_notes_go_to_standard_error(herbrand: Herbrand, rain: str) -> None:
    outcome = herbrand("infer", rain)
    assert outcome.err.startswith("engine exact, exact at once: about ")
    assert "engine" not in outcome.out


def test_top_and_min(herbrand: Herbrand, rain: str) -> None:
    top = json.loads(herbrand("infer", rain, "--top", "2", "--format", "json").out)["marginals"]
    every = json.loads(herbrand("infer", rain, "--format", "json").out)["marginals"]
    assert top == sorted(every, key=lambda r: -r["probability"])[:2]
    least = json.loads(herbrand("infer", rain, "--min", "0.65", "--format", "json").out)["marginals"]
    assert least == [r for r in every if r["probability"] >= 0.65]


def test_log_partition_in_the_table(herbrand: Herbrand, rain: str, tmp_path: Path) -> None:
    assert herbrand("infer", rain, "--log-partition").out.splitlines()[1].startswith("log partition ")
    (tmp_path / "choice.hb").write_text("0.3 :: rain\n0.9 :: wet :- rain\n")
    of_choices = herbrand("infer", tmp_path / "choice.hb", "--log-partition").out
    assert of_choices.splitlines()[1] == "log partition 0.000000 (exact)", "and not -0.000000"
    drawn = herbrand("infer", rain, "--log-partition", "--engine", "gibbs").out
    assert drawn.splitlines()[1] == "log partition not given by gibbs"
    best = herbrand("infer", rain, "--log-partition", "--map").out
    assert best.splitlines()[1] == "log partition not given with --map"


def test_map_is_a_world(herbrand: Herbrand, rain: str) -> None:
    outcome = herbrand("infer", rain, "--map", "--format", "json")
    told = json.loads(outcome.out)
    assert told["map"] is True and told["log_partition"] is None
    assert {row["probability"] for row in told["marginals"]} <= {0.0, 1.0}


def test_given_changes_one_call(herbrand: Herbrand, rain: str) -> None:
    dry = json.loads(herbrand("infer", rain, "--given", 'not rain("bonn")', "--format", "json").out)
    assert 'rain("bonn")' not in [row["atom"] for row in dry["marginals"]]


def test_several_theory_files_are_one_theory(herbrand: Herbrand, tmp_path: Path) -> None:
    (tmp_path / "a.hb").write_text("1.5: rain => wet\n")
    (tmp_path / "b.hb").write_text("rain\n")
    outcome = herbrand("infer", tmp_path / "a.hb", tmp_path / "b.hb", "--open", "rain", "--format", "json")
    assert [row["atom"] for row in json.loads(outcome.out)["marginals"]] == ["wet"]


def test_output_is_moved_into_place_whole(herbrand: Herbrand, rain: str, tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    out.write_text("old")
    assert herbrand("infer", rain, "--given", "broken(", "-o", str(out), "--format", "json").status == 1
    assert out.read_text() == "old"
    assert herbrand("infer", rain, "-o", str(out), "--format", "json").status == 0
    assert json.loads(out.read_text())["engine"] == "exact"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answer.json", "rain.hb"]


WRONG = [
    (["infer"], 2, "Missing argument 'THEORY...'"),
    (["query"], 2, "Missing argument 'THEORY... GOAL'"),
    (["explain"], 2, "Missing argument 'THEORY... [WHAT]'"),
    (["infer", "{rain}", "--bogus"], 2, "No such option"),
    (["infer", "{rain}", "--top", "-1"], 2, "Invalid value for '--top'"),
    (["query", "{rain}", "rain(x)", "--top", "0"], 2, "Invalid value for '--top'"),
    (["infer", "{rain}", "--format", "xml"], 2, "Invalid value for '--format'"),
    (["infer", "nowhere.hb"], 1, "there is no file 'nowhere.hb'\n"),
    (["infer", "{rain}", "--facts", "nowhere"], 1, "nowhere"),
    (
        ["infer", "{rain}", "--engine", "exakt"],
        1,
        "there is no engine 'exakt' for infer\n  did you mean 'exact'?\n",
    ),
    (
        ["infer", "{rain}", "--query", 'rain("bon")'],
        1,
        '<query>:1:6: "bon" is no constant of type city\n'
        "  rain(\"bon\")\n       ^^^^^\n  did you mean 'bonn'?\n",
    ),
    (
        ["infer", "{rain}", "--query", "rian"],
        1,
        "<query>:1:1: there is no predicate 'rian'\n  rian\n  ^^^^\n  did you mean 'rain'?\n",
    ),
    (
        ["infer", "{rain}", "--query", 'rain("bonn", "x")'],
        1,
        '<query>:1:1: rain takes 1 argument, not 2\n  rain("bonn", "x")\n  ^^^^^^^^^^^^^^^^^\n',
    ),
    (
        ["infer", "{rain}", "--ignore", "everything"],
        1,
        "cannot ignore 'everything'\n  one of weights, bounds, rules\n",
    ),
    (
        ["infer", "{rain}", "--memory", "lots"],
        1,
        "'lots' is not an amount of memory\n  such as 500MB, 4GB or 50%\n",
    ),
    (
        ["infer", "{rain}", "--format", "csv", "-o", "nowhere/x.csv"],
        1,
        "cannot write 'nowhere/x.csv': there is no folder 'nowhere'\n"
        "  make it, or name a file in another folder\n",
    ),
    (["infer", "{rain}", "--given", "rain(x)"], 1, "x is a variable"),
    (["infer", "{rain}", "--closed", "snow"], 1, "there is no predicate 'snow'"),
]


@pytest.mark.parametrize(("arguments", "status", "message"), WRONG)
def test_wrong_input(herbrand: Herbrand, rain: str, arguments: list[str], status: int, message: str) -> None:
    outcome = herbrand(*(argument.format(rain=rain) for argument in arguments))
    assert outcome.status == status
    if message.endswith("\n"):
        assert outcome.err.endswith(message)
    else:
        assert message in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_statements_that_infer_cannot_use(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "mixed.hb"
    theory.write_text("1.0: rain => wet\nP(rain) >= 0.3\nP(wet) >= 0.2\n")
    outcome = herbrand("infer", theory)
    assert outcome.status == 1
    assert outcome.err == (
        f"{theory}:2:1: infer cannot use this statement (and 1 more of its kind): P(rain) >= 0.3\n"
        "  P(rain) >= 0.3\n  ^^^^^^^^^^^^^^\n  leave such statements out by --ignore bounds\n"
    )
    ignored = herbrand("infer", theory, "--ignore", "bounds")
    assert ignored.status == 0


def test_too_much_work_is_refused_before_it_starts(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "wide.hb"
    theory.write_text("type t = 1..40\npredicate p(t)\npredicate f(t, t)\n1.0: p(x) and f(x, y) => p(y)\n")
    outcome = herbrand("infer", theory, "--engine", "exact")
    assert outcome.status == 1
    assert "GB" in outcome.err or "operations" in outcome.err
    assert "Traceback" not in outcome.err


def test_empty_theory(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "empty.hb"
    theory.write_text("")
    told = json.loads(herbrand("infer", theory, "--format", "json").out)
    assert told["marginals"] == [] and told["log_partition"] == 0.0


def test_notes_on_what_may_surprise(herbrand: Herbrand, tmp_path: Path) -> None:
    theory = tmp_path / "t.hb"
    theory.write_text("?: p(x) => q(x)\n")
    notes = herbrand("infer", theory).err.splitlines()[:2]
    assert notes == [
        "weights that are to be learned count as 0",
        "type thing has no constants; point at facts, or declare them: type thing = {...}",
    ]


def test_refusals_name_the_limit(herbrand: Herbrand, tmp_path: Path, rain: str) -> None:
    wide = tmp_path / "wide.hb"
    wide.write_text("type t = 1..30\npredicate f(t, t)\n1: f(x, y) and f(y, z) => f(x, z)\n")
    assert herbrand("infer", wide, "--engine", "exact").err.startswith(
        "exact inference needs more memory than any machine has: "
        "the ground network of 900 latent atoms is too densely linked\n"
    )
    stopped = herbrand("infer", rain, "--time-limit", "0", "--engine", "exact")
    assert stopped.status == 1 and stopped.err == "not done after 0.0 s\n  allow more by --time-limit\n"
    assert herbrand("infer", rain, "--memory", "10", "--engine", "exact").err.startswith(
        "there are 4 latent ground atoms, 2 of them of rain: about 720 B, and 10 B are allowed\n"
    )
