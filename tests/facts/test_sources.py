"""What may be given as facts, and what is said of what may not."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from herbrand.errors import FactsError
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from tests.facts.vocabulary import ANYTHING, constants, load

ENDINGS = ".csv, .tsv, .parquet, .jsonl, .ndjson, .json, .arrow, .feather, .ipc"


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
    assert refusal(missing) == f"there is no file '{missing}'\n  did you mean 'smokes.csv'?"
    assert refusal("nowhere/at/all.csv") == "there is no file 'nowhere/at/all.csv'"
    assert refusal(folder / "README.md") == (
        f"'{folder / 'README.md'}' has no ending that tells how to read it\n"
        f"  known are {ENDINGS}, .duckdb, .db, .cfacts"
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
    (folder / "smokes.parquet").unlink()
    (folder / "likes.xlsx").write_text("")
    assert refusal(folder) == (
        f"'{folder / 'likes.xlsx'}' has no ending that tells how to read it\n"
        f"  known are {ENDINGS}, .duckdb, .db, .cfacts"
    )
    (folder / "likes.xlsx").unlink()
    (folder / "parts.parquet").mkdir()
    assert refusal(folder) == f"'{folder / 'parts.parquet'}' is a folder, not a table"


def test_values_that_are_no_facts():
    alone = '\n  name its predicate: {"friends": ...}'
    assert refusal(3) == f"facts cannot be taken from an int alone{alone}"
    assert refusal([("a", "b")]) == f"facts cannot be taken from a list alone{alone}"
    assert refusal(pd.DataFrame()) == f"facts cannot be taken from a DataFrame alone{alone}"
    assert refusal(pa.table({})) == f"facts cannot be taken from a Table alone{alone}"
    assert refusal({"smokes": {"a": 0.7}}).startswith("facts of 'smokes' cannot be taken from a dict\n")
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
