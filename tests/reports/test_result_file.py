"""Results that ``infer`` wrote are read back the same from every format; anything else is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
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
        Scored(
            *(row.atom, row.predicate, tuple(map(str, row.arguments)), row.probability),
            None if row.value is None else str(row.value),
        )
        for row in rows
    ]
    assert len(rows) == 4 + 12 + 8 + 1 + 4


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
    ("r.txt", "p 0.5"): "'{path}' has no ending that says how to read it\n  known are .json, .csv, .parquet",
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
    (tmp_path / "r.json").write_text(told(*rows))
    assert {row.arguments for row in read_result(tmp_path / "r.json")} == {("1",)}
