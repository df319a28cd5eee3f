"""What a command writes, in any format, is what Python answers: row by row, to the last digit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import herbrand as hb
from tests.conftest import Outcome

WEIGHTS = """\
type person = {"anna", "b \\"ob\\"", "東京"}
predicate friends(person, person): observed
predicate smokes(person)
predicate mood(person) in {"good", "so, so"}
friends("anna", "b \\"ob\\"")
0.8: smokes(x) and friends(x, y) => smokes(y)
-0.4: smokes(x)
0.5: smokes(x) => mood(x) = "good"
smokes("anna")
smokes("東京") ~ 0.25
"""
BOUNDS = "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\nP(b | not a) in [0.1, 0.3]\n"
RULES = """\
reach(x, y) :- link(x, y) @ 0.5
reach(x, y) :- link(x, z), reach(z, y)
link("a", "東, 京")
link("東, 京", "c")
"""
BOB = 'smokes("b \\"ob\\"")'
Asked = tuple[str, tuple[str, ...], Callable[[hb.Model], Any], str]
CALLS: dict[str, Asked] = {
    "infer": (WEIGHTS, ("infer",), lambda m: m.infer(), "marginals"),
    "infer --engine bp": (WEIGHTS, ("infer", "--engine", "bp"), lambda m: m.infer(engine="bp"), "marginals"),
    "infer --query": (
        WEIGHTS,
        ("infer", "--query", BOB, "--query", "mood", "--query", f"{BOB} or {BOB}"),
        lambda m: m.infer([BOB, "mood", f"{BOB} or {BOB}"]),
        "marginals",
    ),
    "infer --top --min": (
        WEIGHTS,
        ("infer", "--top", "3", "--min", "0.3"),
        lambda m: m.infer(top=3, min=0.3),
        "marginals",
    ),
    "infer --map": (WEIGHTS, ("infer", "--map"), lambda m: m.infer(map=True), "marginals"),
    "infer gibbs": (
        WEIGHTS,
        ("infer", "--engine", "gibbs", "--samples", "200", "--seed", "7"),
        lambda m: m.infer(engine="gibbs", samples=200, seed=7),
        "marginals",
    ),
    "bound": (BOUNDS, ("bound",), lambda m: m.bound(), "bounds"),
    "bound --query": (
        BOUNDS,
        ("bound", "--query", "P(b)", "--query", "P(a | b)", "--given", "b"),
        lambda m: m.bound(["P(b)", "P(a | b)"], given="b"),
        "bounds",
    ),
    "bound --engine ariel": (
        BOUNDS,
        ("bound", "--engine", "ariel", "--mode", "paper"),
        lambda m: m.bound(engine="ariel", mode="paper"),
        "bounds",
    ),
    "query": (RULES, ("query", 'reach("a", y)'), lambda m: m.query('reach("a", y)'), "answers"),
    "query --normalize": (
        RULES,
        ("query", "reach(x, y)", "--normalize", "softmax", "--top", "2", "--depth", "1"),
        lambda m: m.query("reach(x, y)", normalize="softmax", top=2, depth=1),
        "answers",
    ),
    "query boolean": (
        RULES,
        ("query", 'reach("a", y)', "--algebra", "boolean"),
        lambda m: m.query('reach("a", y)', algebra="boolean"),
        "answers",
    ),
    "explain": (WEIGHTS, ("explain", BOB), lambda m: m.explain(BOB), "reasons"),
    "explain --top": (WEIGHTS, ("explain", BOB, "--top", "1"), lambda m: m.explain(BOB, top=1), "reasons"),
    "explain proof": (
        RULES,
        ("explain", 'reach("a", "c")'),
        lambda m: m.explain('reach("a", "c")'),
        "reasons",
    ),
    "sample": (WEIGHTS, ("sample", "--worlds", "5"), lambda m: m.sample(5), "worlds"),
    "compare": (
        WEIGHTS,
        ("compare", "--engine", "exact", "--engine", "lifted"),
        lambda m: hb.compare(m, ["exact", "lifted"]),
        "marginals",
    ),
}


def timeless(told: Any) -> Any:
    """Seconds differ from run to run."""
    match told:
        case Mapping():
            return {key: timeless(value) for key, value in told.items() if key != "seconds"}
        case list():
            return list(map(timeless, told))
    return told


@pytest.fixture
def run(herbrand: Callable[..., Outcome], tmp_path: Path) -> Callable[..., Outcome]:
    def command(text: str, arguments: tuple[str, ...], *more: str) -> Outcome:
        theory = tmp_path / "thé ory.hb"
        theory.write_text(text, encoding="utf-8")
        name, *others = arguments
        outcome = herbrand(name, theory, *others, *more)
        assert outcome.status == 0, outcome.err
        return outcome

    return command


@pytest.mark.parametrize("call", CALLS)
def test_json_is_to_dict(call: str, run: Callable[..., Outcome]) -> None:
    text, arguments, ask, rows = CALLS[call]
    told = json.loads(run(text, arguments, "--format", "json").out)
    expected = json.loads(json.dumps(ask(hb.Model(hb.parse(text))).to_dict(), allow_nan=False))
    assert timeless(told) == timeless(expected)
    assert isinstance(told[rows], list) and told[rows]


@pytest.mark.parametrize("call", CALLS)
def test_tables_are_to_arrow(call: str, run: Callable[..., Outcome], tmp_path: Path) -> None:
    text, arguments, ask, _ = CALLS[call]
    table = ask(hb.Model(hb.parse(text))).to_arrow()
    run(text, arguments, "--format", "parquet", "-o", str(tmp_path / "out.parquet"))
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").equals(table)
    run(text, arguments, "--format", "csv", "-o", str(tmp_path / "out.csv"))
    rows = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert rows[0] == table.column_names and len(rows) == table.num_rows + 1
    for row, known in zip(rows[1:], table.to_pylist(), strict=True):
        for text_cell, value in zip(row, known.values(), strict=True):
            match value:
                case float():
                    assert float(text_cell) == value
                case list():
                    assert text_cell == " ".join(map(str, value))
                case None:
                    assert text_cell == ""
                case bool():
                    assert text_cell == str(value).lower()
                case _:
                    assert text_cell == str(value)


@pytest.mark.parametrize("call", [name for name in CALLS if not name.startswith(("compare", "infer gibbs"))])
def test_text_is_repr(call: str, run: Callable[..., Outcome]) -> None:
    """Beside figures of the whole, which the command puts under the title."""
    text, arguments, ask, _ = CALLS[call]
    answer = ask(hb.Model(hb.parse(text)))
    assert len(answer) <= 20
    lines = run(text, arguments).out.splitlines()
    told = [line for line in lines if not line.startswith("log weight ")]
    assert told == repr(answer).splitlines()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_a_file_holds_what_standard_output_shows(
    call: str, format: str, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    text, arguments, _, _ = CALLS[call]
    shown = run(text, arguments, "--format", format)
    written = run(text, arguments, "--format", format, "-o", str(tmp_path / "out"))
    assert written.out == ""
    held = (tmp_path / "out").read_text(encoding="utf-8")
    if format == "json":
        assert timeless(json.loads(held)) == timeless(json.loads(shown.out))
    elif call != "compare":
        assert held == shown.out
