"""Tables for programs have one column an argument; every answer is iterable and says what it holds."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import herbrand as hb
from herbrand.answers.argument_columns import kind_of
from tests.cli.test_infer import Herbrand

LIKES = """predicate likes(w, w)
predicate rain
0.5: likes(x, y)
1.0: rain
"""
TWINS = {"likes": [("new york", "san jose"), ("new", "york san jose")]}


def test_rows_that_join_to_the_same_text_stay_apart() -> None:
    table = hb.Model(hb.parse(LIKES), TWINS).infer(["likes"]).to_arrow()
    assert table.column_names == ["atom", "predicate", "argument_1", "argument_2", "probability", "value"]
    rows = list(zip(table["argument_1"].to_pylist(), table["argument_2"].to_pylist(), strict=True))
    assert len(set(rows)) == len(rows) and ("new york", "york san jose") in rows


@pytest.mark.parametrize(
    ("constants", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, 2.5], pa.float64()),
        (["a", 1], pa.string()),
        ([None, 3], pa.int64()),
        ([None], pa.string()),
        ([2**70], pa.float64()),
    ],
)
def test_types_of_columns(constants: list, kind: pa.DataType) -> None:
    assert kind_of(constants) == kind


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet", ".pq", ".txt", ".CSV"])
def test_the_ending_decides(herbrand: Herbrand, tmp_path: Path, ending: str) -> None:
    theory, out = tmp_path / "t.hb", tmp_path / f"out{ending}"
    theory.write_text(LIKES + 'likes("new york", "san jose")\n')
    assert herbrand("infer", str(theory), "-o", str(out)).status == 0
    begin = out.read_bytes()[:4]
    expected = {".csv": b'"ato', ".json": b'{"en', ".parquet": b"PAR1", ".pq": b"PAR1", ".txt": b"exac"}
    assert begin == expected[ending.lower()]
    assert herbrand("infer", str(theory), "-o", str(out), "--format", "table").status == 0
    assert out.read_bytes()[:4] == b"exac"


@pytest.mark.parametrize(
    ("command", "statement", "more"),
    [
        ("bound", "P(a) in [0.2, 0.4]", ()),
        ("query", 'p(x) :- q(x)\nq("b")', ("p(x)",)),
        ("explain", "0.5: a", ("a",)),
        ("check", "0.5: a", ()),
        ("compare", "0.5: a", ()),
    ],
)
def test_the_same_for_every_command(
    herbrand: Herbrand, tmp_path: Path, command: str, statement: str, more: tuple[str, ...]
) -> None:
    theory = tmp_path / "t.hb"
    theory.write_text(statement)
    assert herbrand(command, str(theory), *more, "-o", str(tmp_path / "out.parquet")).status == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows
    assert herbrand(command, str(theory), *more, "-o", str(tmp_path / "out.json")).status == 0
    assert (tmp_path / "out.json").read_text().startswith("{")


def test_answers_of_a_query_are_facts_again(herbrand: Herbrand, tmp_path: Path) -> None:
    theory, out = tmp_path / "t.hb", tmp_path / "near.csv"
    theory.write_text("near(y, x) :- likes(x, y)\n")
    (tmp_path / "likes.csv").write_text("new york,san jose\nnew,york san jose\n")
    facts = ("--facts", str(tmp_path / "likes.csv"))
    assert herbrand("query", str(theory), *facts, "near(y, x)", "-o", str(out)).status == 0
    again = hb.Model(hb.parse("far(x, y) :- near(x, y)"), out).query("far(x, y)")
    assert ("san jose", "new york") in again and ("york san jose", "new") in again and len(again) == 2


def test_going_through_answers_and_asking_what_they_hold() -> None:
    model = hb.Model(hb.parse(LIKES), TWINS)
    result = model.infer()
    assert [row.atom for row in result] == [row.atom for row in result.rows()]
    assert "likes" in result and "rain" in result and 'likes("new", "new york")' in result
    assert "hates" not in result and "snow" not in result
    assert ("new", "new york") in result["likes"] and ("new", "old") not in result["likes"]
    assert len(list(result["likes"])) == len(result["likes"])
    answers = hb.Model(hb.parse("p(x) :- q(x)"), {"q": ["a", "b"]}).query("p(x)")
    assert "a" in answers and ("b",) in answers and "c" not in answers
    assert sorted(row.bindings["x"] for row in answers) == ["a", "b"]
    bounds = hb.Model(hb.parse("P(a) in [0.2, 0.4]")).bound()
    assert "a" in bounds and "P(a)" in bounds and "b" not in bounds
    assert [row.query for row in bounds] == ["a"]
    assert list(model.explain("rain"))
    assert list(hb.size_report(model)) and list(hb.compare(model, ["exact"], query="rain"))


def test_a_model_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.hb"
    path.write_text("0.5: rain\n")
    for theory in (str(path), path, [path]):
        assert "rain" in hb.Model(theory).infer()
    for wrong in (3, None, [3], [], {"a": 1}):
        with pytest.raises(hb.HerbrandError, match="a model is made of a theory or of theory files"):
            hb.Model(wrong)  # type: ignore[arg-type]
    with pytest.raises(hb.HerbrandError, match="no file"):
        hb.Model("nowhere.hb")
    for text in ("0.5: rain", "a(x) :- b(x)", "0.5: rain\n" * 300):
        with pytest.raises(hb.HerbrandError, match=r"of the text '.{1,60}'\n  hb.Model\(hb.parse"):
            hb.Model(text)
    for long in ("a" * 5000, "a." * 2500):
        with pytest.raises(hb.HerbrandError, match="File name too long"):
            hb.Model(long)


def test_the_arguments_and_probability_of_a_result_are_soft_facts(tmp_path: Path) -> None:
    found = hb.Model(hb.parse(LIKES), TWINS).infer()
    theory = hb.parse("predicate likes(w, w)\n0.7: likes(x, y)")
    soft = found["likes"].to_arrow().drop_columns(["atom"])
    pq.write_table(found.to_arrow(), tmp_path / "result.parquet")
    rows = duckdb.sql(
        f"SELECT argument_1, argument_2, probability FROM '{tmp_path}/result.parquet' "
        "WHERE predicate = 'likes'"
    )
    for table in (soft, rows):
        again = hb.Model(theory, {"likes": table}).infer()["likes"]
        assert again["new", "new"] == pytest.approx(1 / (1 + math.exp(-1.2)))
    with pytest.raises(hb.HerbrandError, match="a result of infer is no table of facts: keep"):
        hb.Model(theory, {"likes": tmp_path / "result.parquet"}).infer()


def test_bounds_have_the_arguments_of_the_atom_that_is_asked_for(tmp_path: Path) -> None:
    theory = hb.parse(
        'predicate ill(w, n)\npredicate `is old`(w)\npredicate area(w) in {"a", "b"}: observed\n'
        'area("x | y") = "a"\nP(ill(w, n)) in [0.2, 0.4]\nP(`is old`(w)) >= 0.5\n'
        'P(`is old`("x | y")) <= 0.9\nP(ill("(a), \\"b\\"", 2)) <= 0.3'
    )
    queries = ["P(ill(w, n))", 'P(`is old`("x | y") | ill(w, 2))', 'P(not ill("x | y", 2))', "P(true)"]
    table = hb.Model(theory).bound(queries).to_arrow()
    assert table.column_names == [
        *("query", "predicate", "argument_1", "argument_2", "lower", "upper", "certified", "gap")
    ]
    asked = [
        *zip(*(table[name].to_pylist() for name in ("predicate", "argument_1", "argument_2")), strict=True)
    ]
    people = ('(a), "b"', "x | y")
    assert asked == [
        *[("ill", person, 2) for person in people],
        *[("is old", "x | y", None)] * len(people),
        *[(None, None, None)] * 2,
    ]
    pq.write_table(table, tmp_path / "bounds.parquet")
    address = f"risk={tmp_path}/bounds.parquet(argument_1, argument_2, upper) where predicate = 'ill'"
    again = hb.parse("type u = number\nrisky(w, n) :- risk(w, n, p), p > 0.35")
    assert {tuple(row.bindings.values()) for row in hb.Model(again, address).query("risky(w, n)")} == {
        ("x | y", 2)
    }
