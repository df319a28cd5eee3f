"""Results that ``infer`` wrote are read back the same from every format; anything else is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import herbrand as hb
from herbrand.answers.marginals import AtomTable
from herbrand.errors import HerbrandError
from herbrand.reports.result_file import Scored, read_result
from tests.conftest import Outcome

THEORY = """\
type t = {"", "quo\\"te,\\n", "東京", "x y"}
type n = {-1, 2.5, 30000000000}
predicate p(t)
predicate `not`(n, t)
predicate c(t) in {"red", "green"}
predicate rain
0.5: p(x) => c(x) = "red"
-0.25: `not`(y, x)
1.5: rain
"""


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_what_was_written_is_read(format: str, tmp_path: Path, herbrand: Callable[..., Outcome]) -> None:
    theory, result = tmp_path / "t.hb", tmp_path / f"result.{format.upper()}"
    theory.write_text(THEORY)
    queries = ["p", "`not`", "c", "rain", "p(x) or rain"]
    asked = (part for query in queries for part in ("--query", query))
    outcome = herbrand("infer", theory, *asked, "--engine", "exact", "--format", format, "-o", result)
    assert outcome.status == 0, outcome.err
    rows = list(hb.Model(hb.parse(THEORY)).infer(queries, engine="exact").rows())
    assert read_result(result) == [
        Scored(row.atom, row.predicate, tuple(row.arguments), row.probability, row.value) for row in rows
    ]
    assert len(rows) == 4 + 12 + 8 + 1 + 4


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "pq"])
def test_labels_and_values_are_of_one_form(
    ending: str, tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    """A Parquet column of 1 and 2.5 has 1.0, which was no label of 1; an empty text was no value at all."""
    theory, result = tmp_path / "t.hb", tmp_path / f"result.{ending}"
    theory.write_text(
        'predicate grade(p) in {1, 2.5, 1e-7}\npredicate note(p) in {"", "NA"}\n'
        '1: grade("a") = 1\n1: grade("b") = 2.5\n1: grade("c") = 1e-7\n1: note("a") = ""\n1: note("b") = "NA"'
    )
    outcome = herbrand("infer", theory, "-o", result)
    assert outcome.status == 0, outcome.err
    found = hb.score(
        result, {"grade": [("a", 1), ("b", 2.5), ("c", 1e-7)], "note": [("a", ""), ("b", "NA"), ("c", "")]}
    )
    assert (found.pooled.rows, found.pooled.true, found.missing, found.accuracy) == (15, 6, 0, 5.5 / 6)


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_labels_of_a_text_file_are_read_as_the_constants_of_the_result(
    ending: str, tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    """A `1.0` of a CSV file was no label of the number 1, and where it was a value, every value was wrong."""
    theory, result = tmp_path / "t.hb", tmp_path / f"result.{ending}"
    theory.write_text(
        "type n = number\ntype day = date\npredicate p(n)\npredicate d(day)\npredicate v(n) in {1, 2}\n"
        'predicate w(n) in {"a", "1"}\npredicate z(name)\n1: p(1)\n1: p(2.5)\n1: d(date "2026-11-22")\n'
        '1: v(1) = 1\n1: v(2.5) = 2\n1: w(1) = "a"\n1: z("1") or z("01")'
    )
    outcome = herbrand("infer", theory, "-o", result)
    assert outcome.status == 0, outcome.err
    for name, text in {
        "p": "n,truth\n1.0,true\n+2.50,true\n",
        "d": "day,truth\n20261122,true\n",
        "v": "n,v,truth\n1.00,1.0,true\n2.5,2,true\n",
        "w": "n,v,truth\n1,a,true\n",
        "z": "name,truth\n1,true\n01,false\n1.0,false\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = hb.score(result, [str(tmp_path / f"{name}.csv") for name in "pdvwz"])
    shown = {name: (one.rows, one.true, one.accuracy) for name, one in found.predicates.items()}
    assert shown == {"p": (2, 2, 1), "d": (1, 1, 1), "v": (4, 2, 1), "w": (2, 1, 1), "z": (2, 1, 0.5)}
    assert found.missing == 1  # z("1.0") is another text
    (tmp_path / "p.csv").write_text("n,truth\n1.0,true\n1,false\n")
    with pytest.raises(HerbrandError, match=r"p of \(1\) is true, and that it is false"):
        hb.score(result, tmp_path / "p.csv")


def test_lines_within_constants_of_a_long_table(tmp_path: Path) -> None:
    """Arrow cuts a file into blocks at ends of lines, unless it is said that a cell may hold some."""
    names = [f"a\nb{number}{'x' * 80}\n\n" for number in range(6_000)]
    table = AtomTable("p", (names,), np.full((len(names), 2), 0.5)).to_arrow()
    table = table.append_column("predicate", pa.array(["p"] * len(names)))
    table = table.append_column("value", pa.nulls(len(names), pa.string()))
    pyarrow.csv.write_csv(table, tmp_path / "result.csv")
    assert (tmp_path / "result.csv").stat().st_size > 1 << 20
    assert [row.arguments for row in read_result(tmp_path / "result.csv")] == [(name,) for name in names]


ROW = {"atom": "p(1)", "predicate": "p", "arguments": [1], "probability": 0.5, "value": None}


def told(*rows: Any) -> str:
    return json.dumps({"marginals": list(rows)})


NO_LIST = "'{path}' has no list of 'marginals'\n  give what 'herbrand infer --format json' wrote"
GIVE = "\n  give what 'herbrand infer' wrote"
WRONG = {
    ("r.json", ""): "'{path}' is no JSON: Expecting value: line 1 column 1 (char 0)",
    ("r.json", "[1]"): NO_LIST,
    ("r.json", '{"marginals": 3}'): NO_LIST,
    ("r.json", told(1)): NO_LIST,
    ("r.json", told({**ROW, "probability": 1.5})): "{path}, row 1: 1.5 is no probability",
    ("r.json", told(ROW, {**ROW, "probability": -1e-9})): "{path}, row 2: -1e-09 is no probability",
    ("r.json", told({**ROW, "probability": "high"})): "{path}, row 1: 'high' is no probability",
    ("r.json", told({**ROW, "probability": None})): "{path}, row 1: None is no probability",
    ("r.json", told({**ROW, "probability": [0.5]})): "{path}, row 1: [0.5] is no probability",
    ("r.json", told({**ROW, "probability": True})): "{path}, row 1: True is no probability",
    ("r.json", told({**ROW, "probability": 10**400})): f"{{path}}, row 1: {10**400} is no probability",
    ("r.json", told({**ROW, "probability": "0_1"})): "{path}, row 1: '0_1' is no probability",
    (
        "r.json",
        told(ROW, {**ROW, "probability": 0.9}),
    ): "{path}, row 2: p(1) has a probability in row 1 already\n  score one answer at a time",
    (
        "r.json",
        told({**ROW, "value": "x"}, {**ROW, "value": "y"}, {**ROW, "value": "x"}),
    ): "{path}, row 3: p(1) has a probability in row 1 already\n  score one answer at a time",
    (
        "r.json",
        told({"atom": "p(1)"}),
    ): "'{path}' has no column 'predicate'" + GIVE,
    (
        "r.json",
        told(ROW, {"atom": "p(2)"}),
    ): "{path}, row 2 has no column 'predicate'" + GIVE,
    ("r.json", told({**ROW, "atom": 5})): "{path}, row 1: atom and predicate are texts",
    ("r.json", told({**ROW, "predicate": ["p"]})): "{path}, row 1: atom and predicate are texts",
    ("r.json", told({**ROW, "value": ["red"]})): "{path}, row 1: the value is one constant, or missing",
    ("r.json", told({**ROW, "value": {"is": "red"}})): "{path}, row 1: the value is one constant, or missing",
    ("r.json", told({**ROW, "atom": "p(x)"})): None,
    ("r.json", told({**ROW, "atom": "p(1) and p(2)"})): None,
    ("r.json", told({**ROW, "atom": "p("})): None,
    ("r.json", "[" * 100_000): None,
    ("r.json", b"\xff\xfe{"): None,
    ("r.csv", ""): None,
    (
        "r.csv",
        "atom,predicate\np,p\n",
    ): "'{path}' has no column 'probability'" + GIVE,
    ("r.csv", "atom,predicate,probability,value\np,p\n"): None,
    ("r.csv", "atom,predicate,probability,value\np,p,x,\n"): "{path}, row 1: 'x' is no probability",
    ("r.parquet", "PAR1"): None,
    (
        "r.txt",
        "p 0.5",
    ): "'{path}' has no ending that says how to read it\n  known are .json, .csv, .parquet, .pq",
}


@pytest.mark.parametrize(("name", "content"), WRONG)
def test_what_is_no_result(name: str, content: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(HerbrandError) as caught:
        read_result(path)
    message = WRONG[name, content]  # type: ignore[index]
    if message is not None:
        assert str(caught.value) == message.replace("{path}", str(path))
    known = (str(path), "holds rows that are no atoms", "ground atom")
    assert any(part in str(caught.value) for part in known)


def test_no_rows_at_all(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(told())
    assert read_result(tmp_path / "r.json") == []
    with pytest.raises(HerbrandError, match="there is no file"):
        read_result(tmp_path)


def test_atoms_spelt_otherwise_are_the_same_atoms(tmp_path: Path) -> None:
    rows = [{**ROW, "atom": text} for text in ("p( 1 )", "`p`(1)", "p(1.0)")]
    for row in rows:
        (tmp_path / "r.json").write_text(told(row))
        assert [one.arguments for one in read_result(tmp_path / "r.json")] == [(1,)]
    (tmp_path / "r.json").write_text(told(*rows))
    with pytest.raises(HerbrandError, match=r"row 2: `p`\(1\) has a probability in row 1 already"):
        read_result(tmp_path / "r.json")
