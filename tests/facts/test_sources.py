"""What may be given as facts, and what is said of what may not."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import herbrand as hb
from herbrand.errors import FactsError
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from herbrand.files import similar_file
from herbrand.language.parse import parse_theory
from herbrand.language.signature import Predicate, Signature, Type
from tests.facts.vocabulary import ANYTHING, constants, load

ENDINGS = ".csv, .tsv, .tab, .psv, .parquet, .pq, .jsonl, .ndjson, .json, .arrow, .feather, .ipc"


def names(facts) -> list[str]:
    return [source.name for source in fact_sources(facts)]


def refusal(facts) -> str:
    with pytest.raises(FactsError) as caught:
        fact_sources(facts)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    for name in (
        "smokes.csv",
        "friends.tsv.gz",
        "knows.jsonl",
        "world.db",
        ".hidden.csv",
        "_log.csv",
        "README.md",
    ):
        (tmp_path / name).write_text("")
    return tmp_path


def test_nothing_and_sources_themselves():
    assert fact_sources() == fact_sources(None) == fact_sources([]) == fact_sources({}) == ()
    source = fact_sources({"a": []})[0]
    assert fact_sources(source) == fact_sources([source]) == fact_sources({"a": source}) == (source,)


def test_a_folder_in_the_order_of_its_names(folder):
    expected = ["friends.tsv.gz", "knows.jsonl", "smokes.csv", "world.db"]
    assert names(folder) == names(str(folder)) == expected


def test_files_and_names(folder):
    assert names([folder / "smokes.csv", f"likes={folder / 'knows.jsonl'}"]) == ["smokes.csv", "knows.jsonl"]
    named = fact_sources({"likes": folder / "knows.jsonl"}) + fact_sources(f"likes={folder / 'knows.jsonl'}")
    assert [source.predicate for source in named] == ["likes", "likes"]  # type: ignore[attr-defined]
    odd = folder / "a=b.csv"
    odd.write_text("x\n")
    assert constants(load(odd, ANYTHING), "a=b", signature=load_signature(odd)) == [("x",)]


def load_signature(path):
    return load_facts((), ANYTHING, fact_sources(path))[0]


def test_missing_and_unknown_files(folder):
    missing = folder / "smoke.csv"
    assert refusal(missing) == f"there is no file '{missing}'\n  did you mean '{folder / 'smokes.csv'}'?"
    assert refusal("nowhere/at/all.csv") == "there is no file 'nowhere/at/all.csv'"
    assert refusal(folder / "smo*.csv") == (
        f"there is no file '{folder / 'smo*.csv'}'\n  patterns are not expanded: name each file, or a folder"
    )
    assert refusal(folder / "README.md") == (
        f"'{folder / 'README.md'}' has no ending that says how to read it\n"
        f"  convert it to CSV or Parquet; known are {ENDINGS}, "
        ".db, .cfacts, .evid, .duckdb, .sqlite, .sqlite3"
    )
    assert refusal({"friends": str(folder)}) == f"'{folder}' is a folder, not a table"


def test_folders_that_cannot_be_taken(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    assert refusal(empty) == f"the folder '{empty}' holds no table\n  tables end in {ENDINGS}"
    (folder / "smokes.parquet").write_text("")
    assert refusal(folder) == (
        f"'smokes.csv' and 'smokes.parquet' in '{folder}' are both the table 'smokes'\n"
        f"  name the one that counts: smokes={folder / 'smokes.parquet'}"
    )
    sources = fact_sources([str(folder), f"smokes={folder / 'smokes.parquet'}"])
    assert [source.name for source in sources if source.name.startswith("smokes")] == ["smokes.parquet"]
    (folder / "smokes.parquet").unlink()


ASIDE = "or move it elsewhere; what begins with '_' is passed over"
RENAMED = "rename it, .csv for commas between cells, .tsv for tabs, .psv for |"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("likes.xlsx", "convert it to CSV or Parquet"),
        ("likes.txt", RENAMED),
        ("likes", RENAMED),
        ("likes.parquet.gz", "decompress it"),
        ("world.db.gz", "decompress it"),
        ("likes.csv.zip", "convert it to CSV or Parquet"),
        ("likes.avro", "convert it to CSV or Parquet"),
    ],
)
def test_no_file_of_a_folder_is_passed_over_in_silence(folder, name, advice):
    (folder / name).write_text("")
    assert refusal(folder) == (
        f"'{folder / name}' has no ending that says how to read it\n  {advice}, {ASIDE}"
    )
    (folder / name).rename(folder / f"_{name}")
    assert len(names(folder)) == 4


def test_folders_in_a_folder(folder):
    (folder / "pictures").mkdir()
    (folder / "parts.parquet").mkdir()
    (folder / "more").mkdir()
    (folder / "more" / "likes.csv").write_text("a,b")
    told = refusal(folder)
    assert f"'{folder / 'parts.parquet'}' is a folder in a folder of facts" in told
    assert f"'{folder / 'more'}' is a folder in a folder of facts\n  give it by --facts too, {ASIDE}" in told
    assert "pictures" not in told
    (folder / "parts.parquet").rmdir()
    assert "likes.csv" in names([folder, f"{folder}/more"])


@pytest.mark.parametrize("name", ["README", "readme.txt", "LICENSE", "theory.hb", "plot.png", "notes.md"])
def test_what_is_clearly_no_table_stays_unread(folder, name):
    (folder / name).write_text("")
    assert len(names(folder)) == 4


def test_other_endings_for_the_same(tmp_path):
    rows = [("anna", "bob"), ("bob", "carl")]
    for name, cell in (
        ("a.tab", "\t"),
        ("b.psv", "|"),
        ("c.csv.bz2", ","),
        ("d.tab.xz", "\t"),
        ("e.psv.gz", "|"),
    ):
        text = "".join(f"{cell.join(row)}\n" for row in rows)
        packed = {".bz2": bz2.compress, ".xz": lzma.compress, ".gz": gzip.compress}.get(
            Path(name).suffix, bytes
        )
        (tmp_path / name).write_bytes(packed(text.encode()))
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "f.jsonl.bz2").write_bytes(bz2.compress(lines.encode()))
    pq.write_table(pa.table({"x": ["anna", "bob"], "y": ["bob", "carl"]}), tmp_path / "g.pq")
    signature, facts = load_facts((), ANYTHING, fact_sources(tmp_path))
    for name in "abcdefg":
        assert constants(facts, name, signature=signature) == rows


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.csv.xz", "a.csv.gz", "a.jsonl.bz2"])
def test_a_compressed_file_that_is_none(tmp_path, name):
    (tmp_path / name).write_text("anna,bob\n")
    assert refusal_of_load(tmp_path).startswith(f"{name} cannot be read: ")


def refusal_of_load(facts):
    with pytest.raises(FactsError) as caught:
        load_facts((), ANYTHING, fact_sources(facts))
    return str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b"], name="weight"),
        pl.Series("weight", ["a", "b"]),
        pa.array(["a", "b"]),
        pa.chunked_array([["a"], ["b"]]),
    ],
    ids=["pandas", "polars", "Arrow", "chunks of Arrow"],
)
def test_a_series_is_a_column(column):
    signature = Signature({"p": Type("p")}, {"smokes": Predicate("smokes", ("p",))})
    _, facts = load_facts([], signature, fact_sources({"smokes": column}))
    assert list(facts.domains["p"]) == ["a", "b"] and facts.tables["smokes"].true.tolist() == [[0], [1]]


def test_a_series_of_what_is_no_constant():
    signature = Signature({"p": Type("p")}, {"smokes": Predicate("smokes", ("p",))})
    with pytest.raises(FactsError, match="smokes, row 2: column 1 holds"):
        load_facts([], signature, fact_sources({"smokes": pd.Series(["a", {"b": 1}])}))


def test_a_theory_of_facts_alone():
    theory = parse_theory('friends("anna", "bob")\nnot smokes("carl")\nsmokes("dora") ~ 0.7')
    found = load(theory)
    assert constants(found, "friends") == [("anna", "bob")]
    assert constants(found, "smokes", found.tables["smokes"].false) == [("carl",)]
    with pytest.raises(FactsError) as refused:
        load(parse_theory('smokes("anna")\n1.5: smokes(x)'))
    assert str(refused.value) == (
        "<text>:2:1: a theory given as facts states facts alone\n  1.5: smokes(x)\n  ^^^^^^^^^^^^^^\n"
        "  add other statements to the theory of the model"
    )


def test_names_of_files_as_constants_are_noted(tmp_path, monkeypatch):
    """A list is rows, not files: the names of files became persons without a word."""
    monkeypatch.chdir(tmp_path)
    Path("more.csv").write_text("anna\n")
    model = hb.Model(hb.parse("1: smokes(x)"), {"smokes": ["more.csv"]})
    model.infer()
    assert (
        'smokes: "more.csv" was taken as a constant, though there is such a file; '
        'to read files, name the table of each: ["smokes=more.csv", ...]'
    ) in model.notes
    other = hb.Model(hb.parse("1: smokes(x)"), {"smokes": ["other.csv"]})
    other.infer()
    assert not any("other.csv" in note for note in other.notes)


def test_values_that_are_no_facts():
    alone = '\n  name its predicate: {"friends": ...}'
    assert refusal(3) == f"facts cannot be taken from an int alone{alone}"
    assert refusal([("a", "b")]) == f"facts cannot be taken from a list alone{alone}"
    assert refusal(pd.DataFrame()) == f"facts cannot be taken from a DataFrame alone{alone}"
    assert refusal(pa.table({})) == f"facts cannot be taken from a Table alone{alone}"
    both = 'name tables and paths in one mapping: {"friends": ..., "smokes": "smokes.csv"}'
    assert refusal(["friends.csv", {"smokes": ["a"]}]).endswith(f"a list alone\n  {both}")
    with sqlite3.connect(":memory:") as connection:
        given = "give the path of the database's file, or a connection of DuckDB"
        assert refusal(connection) == f"facts cannot be taken from a Connection alone\n  {given}"
    assert refusal({"smokes": {"a": 0.7}}).startswith("facts of 'smokes' cannot be taken from a dict\n")
    lazy = pl.LazyFrame({"p": ["a"]})
    assert refusal({"smokes": lazy}) == (
        "facts of 'smokes' cannot be taken from a LazyFrame\n  its collect() gives the rows"
    )
    assert refusal({"friends": 3}) == (
        "facts of 'friends' cannot be taken from an int\n"
        "  give a list of rows, a DataFrame, an Arrow table, a DuckDB relation or a path"
    )


@pytest.mark.parametrize("facts", ["", [""], ("friends.csv", "")])
def test_an_empty_name_is_not_the_folder_we_are_in(tmp_path, monkeypatch, facts):
    (tmp_path / "friends.csv").write_text("anna,bob\n")
    monkeypatch.chdir(tmp_path)
    assert refusal(facts) == "an empty name is no file or folder of facts\n  the folder itself is '.'"
    assert constants(load("."), "friends") == [("anna", "bob")]


def test_a_file_that_is_given_twice_is_read_once(tmp_path, monkeypatch):
    """Its opinions counted twice."""
    monkeypatch.chdir(tmp_path)
    Path("ill.csv").write_text("person,probability\nann,0.9\n")
    Path("t.hb").write_text("predicate ill(person)\n0.4: ill(x)\n")
    once = hb.Model("t.hb", "ill.csv").infer()["ill"]["ann"]
    for facts in (["ill.csv", "./ill.csv"], ["ill=ill.csv", tmp_path / "ill.csv"], ["ill.csv"] * 3):
        assert hb.Model("t.hb", facts).infer()["ill"]["ann"] == pytest.approx(once)
    Path("other.csv").write_text("person,probability\nann,0.9\n")
    assert hb.Model("t.hb", ["ill.csv", "ill=other.csv"]).infer()["ill"]["ann"] > once


def test_what_a_missing_file_may_be_called(tmp_path):
    (tmp_path / "Theory.hb").write_text("1: a")
    (tmp_path / "r.hb").write_text("1: a")
    (tmp_path / "link.hb").symlink_to("gone.hb")
    assert similar_file(tmp_path / "THEORY.HB") == f"did you mean '{tmp_path / 'Theory.hb'}'?"
    assert similar_file(tmp_path / "link.hb") == "it is a link to 'gone.hb', which is not there"
