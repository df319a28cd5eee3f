"""Tables with types of their own (Parquet, Arrow, DataFrames, DuckDB) that cannot be taken."""

from __future__ import annotations

import datetime
import enum
import os
import struct
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from herbrand.errors import FactsError
from herbrand.facts.sources.arrow import ArrowFile
from herbrand.facts.sources.base import Reading
from herbrand.facts.store import Store
from herbrand.language.parse import parse_theory
from herbrand.model import Model
from tests.facts.vocabulary import constants, load, message

AT_MOST = "and after them at most one named truth, probability or weight"

BAD = [
    ("friends", {"a": ["x"]}, f": 1 column ('a'), but 'friends' takes 2 columns (person, person) {AT_MOST}"),
    (
        "friends",
        {"a": ["x", None], "b": ["y", "z"]},
        ", row 2: column 1 is empty; expected a constant of type 'person'",
    ),
    ("frends", {"a": ["x"], "b": ["y"]}, ": there is no predicate 'frends'\n  did you mean 'friends'?"),
    (
        "born",
        {"a": ["x"], "b": ["1990"]},
        ", row 1: \"1990\" in column 2 is text; type 'year' holds numbers\n"
        "  numbers are written without quotes",
    ),
    (
        "born",
        {"a": ["x", "y"], "b": [1990.0, float("-inf")]},
        ", row 2: column 2 holds -inf; a constant is text or a finite number",
    ),
    (
        "rank",
        {"a": ["x", "y"], "b": ["junior", "boss"]},
        ', row 2: "boss" in column 2 is not in type \'level\' ("junior", "senior")',
    ),
    (
        "rank",
        {"a": ["x"], "b": [1]},
        ", row 1: 1 in column 2 is a number; type 'level' holds text",
    ),
    (
        "smokes",
        {"a": ["x", "y"], "probability": [0.5, -1.0]},
        ", row 2: '-1.0' is not a probability; expected a number from 0 to 1",
    ),
    (
        "smokes",
        {"a": ["x"], "probability": [True]},
        ", row 1: 'True' is not a probability; expected a number from 0 to 1",
    ),
    (
        "smokes",
        {"a": ["x", "y"], "truth": [1, 2]},
        ", row 2: '2' is not a truth value; expected true or false",
    ),
    (
        "smokes",
        {"a": ["x"], "truth": [[1]]},
        ", row 1: '[1]' is not a truth value; expected true or false",
    ),
    (
        "smokes",
        {"weight": [1.0], "a": ["x"]},
        f": 2 columns ('weight', 'a'), but 'smokes' takes 1 column (person) {AT_MOST}",
    ),
    (
        "smokes",
        {"a": ["x"], "truth": [True], "weight": [1.0]},
        f": 3 columns ('a', 'truth', 'weight'), but 'smokes' takes 1 column (person) {AT_MOST}"
        "\n  leave out all of truth, probability and weight but one",
    ),
]


@pytest.mark.parametrize(("predicate", "columns", "expected"), BAD)
@pytest.mark.parametrize("given", ["arrow", "pandas", "polars", "parquet", "feather", "duckdb"])
def test_message(tmp_path, given, predicate, columns, expected):
    if given == "arrow":
        facts, name = {predicate: pa.table(columns)}, predicate
    elif given == "pandas":
        facts, name = {predicate: pd.DataFrame(columns)}, predicate
    elif given == "polars":
        facts, name = {predicate: pl.DataFrame(columns)}, predicate
    elif given == "parquet":
        facts, name = parquet(tmp_path, predicate, columns), f"{predicate}.parquet"
    elif given == "feather":
        facts, name = feather(tmp_path, predicate, columns), f"{predicate}.feather"
    else:
        facts, name = database(tmp_path, predicate, columns), f"world.duckdb, table {predicate}"
    assert message(facts) == name + expected


def parquet(folder: Path, predicate: str, columns: dict) -> Path:
    pq.write_table(pa.table(columns), folder / f"{predicate}.parquet")
    return folder / f"{predicate}.parquet"


def feather(folder: Path, predicate: str, columns: dict) -> Path:
    path, table = folder / f"{predicate}.feather", pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return path


def database(folder: Path, predicate: str, columns: dict) -> Path:
    with duckdb.connect(str(folder / "world.duckdb")) as connection:
        given = pa.table(columns)
        connection.register("given", given)
        connection.execute(f"CREATE TABLE {predicate} AS FROM given")
    return folder / "world.duckdb"


STRANGE = [
    (pa.array([datetime.time(9, 30)]), "time64[us]", "TIME"),
    (pa.array([True]), "bool", "BOOLEAN"),
    (pa.array([["y"]]), "list<item: string>", "VARCHAR[]"),
    (pa.array([b"y"]), "binary", "BLOB"),
    (pa.array([{"y": 1}]), "struct<y: int64>", "STRUCT(y BIGINT)"),
]


@pytest.mark.parametrize(("column", "arrow", "sql"), STRANGE)
def test_a_column_that_holds_no_constants(tmp_path, column, arrow, sql):
    columns = {"a": pa.array(["x"]), "b": column}
    ending = "; a constant is text or a number\n  convert the column to text"
    assert message({"friends": pa.table(columns)}) == f"friends: column 2 has the type {arrow}{ending}"
    path = parquet(tmp_path, "friends", columns)
    told = message(path).replace(" WITH TIME ZONE", "")  # as older versions of Arrow write it
    assert told == f"friends.parquet: column 2 has the type {sql}{ending}"


BROKEN = [
    ("friends.parquet", "friends.parquet cannot be read: File '{path}' too small to be a Parquet file"),
    (
        "friends.arrow",
        "friends.arrow is no Arrow IPC file: Expected to read 1936748399 metadata bytes, but only read 0",
    ),
    (
        "world.duckdb",
        'world.duckdb cannot be read: The file "{path}" exists, but it is not a valid DuckDB database file!',
    ),
]


@pytest.mark.parametrize(("name", "expected"), BROKEN)
def test_a_file_that_is_something_else(tmp_path, name, expected):
    path = tmp_path / name
    path.write_bytes(b"oops")
    assert message(path) == expected.format(path=path)


def test_numbers_of_more_than_64_bits(tmp_path):
    columns = {"a": ["x"], "b": pa.array([2**64 - 1], pa.uint64())}
    assert message({"born": pa.table(columns)}) == "born: column 2 holds a whole number of more than 64 bits"
    beyond = ", a whole number of more than 64 bits, which is no constant"
    beyond += "\n  convert the column to text, or to fractions"
    path = tmp_path / "wide.duckdb"
    assert message(parquet(tmp_path, "born", columns)) == f"born.parquet holds 18446744073709551615{beyond}"
    for kind, number in (("HUGEINT", -(2**126)), ("DECIMAL(38, 0)", 10**37)):
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE OR REPLACE TABLE born AS SELECT 'x' AS a, {number}::{kind} AS b")
        assert message(path) == f"wide.duckdb, table born holds {number}{beyond}"
        model = Model(
            parse_theory("predicate born(p, n): observed"), path, on=f"duckdb:{tmp_path / 'work.duckdb'}"
        )
        with pytest.raises(FactsError, match=r"wide\.duckdb, table born: a number does not fit into 64 bits"):
            model.query("born(x, y)")


def test_a_pandas_frame_whose_index_is_no_column():
    """Grouping moves columns into the index."""
    pairs = pd.DataFrame({"a": ["x", "x"], "b": ["y", "z"], "truth": [True, True]})
    hint = "\n  the index ('a', 'b') is no column; reset_index() makes it one"
    assert message({"friends": pairs.groupby(["a", "b"]).min()}).endswith(f"{AT_MOST}{hint}")
    assert message({"friends": pairs.set_index("a")[["b"]]}).endswith(
        "the index ('a') is no column; reset_index() makes it one"
    )
    assert message({"friends": pairs[["a"]]}).endswith(AT_MOST)


def test_a_pandas_column_of_objects():
    frame = pd.DataFrame({"a": ["x", 1, float("nan")], "b": ["y", "z", "w"]})
    assert message({"friends": frame}) == (
        'friends, row 2: 1 is a number, but "x" (friends, row 1) is text; '
        "the constants of type 'person' must be all text or all numbers\n"
        "  if they are numbers, declare `type person = number`"
    )


def test_a_relation_whose_table_is_gone():
    """DuckDB looks the table up again when the columns are asked for."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE friends AS SELECT 'a', 'b'")
        relation = connection.table("friends")
        connection.execute("DROP TABLE friends")
        assert message({"friends": relation}).startswith(
            "friends cannot be read: Table with name friends does"
        )


def test_duckdb_files_and_connections(tmp_path):
    path = tmp_path / "world.duckdb"
    duckdb.connect(str(path)).close()
    assert message(path) == "world.duckdb holds no table"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE friends AS SELECT 'a', 'b'")
        connection.execute("CREATE VIEW smokes AS SELECT 'a', 0.5 AS probability")
    assert message(f"frends={path}") == ("world.duckdb holds no table 'frends'\n  did you mean 'friends'?")
    facts = load(path)
    assert constants(facts, "friends") == [("a", "b")]
    assert facts.tables["smokes"].probabilities.tolist() == [0.5]
    assert not len(load(f"smokes={path}").tables["friends"].true)
    with duckdb.connect() as connection:
        assert message(connection) == "the DuckDB connection has no table"


def test_types_that_are_constants_after_all(tmp_path):
    texts = pa.array(["x", "y"]).dictionary_encode()
    tables = {
        "friends": pa.table({"a": texts, "b": pa.array(["u", "v"], pa.string_view())}),
        "born": pa.table({"a": texts, "b": pa.array(["1.5", "2"]).cast(pa.decimal128(5, 2))}),
        "active": pa.table({"a": texts, "b": pa.array([1990, 1991], pa.uint16())}),
    }
    written = {**tables, "friends": tables["friends"].cast(pa.schema({"a": texts.type, "b": pa.string()}))}
    paths = [parquet(tmp_path, name, dict(zip("ab", t.columns, strict=True))) for name, t in written.items()]
    for facts in (tables, paths):
        loaded = load(facts)
        assert constants(loaded, "friends") == [("x", "u"), ("y", "v")]
        assert constants(loaded, "born") == [("x", 1.5), ("y", 2)]
        assert constants(loaded, "active") == [("x", 1990), ("y", 1991)]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["y", "x"])], ids=["categories", "enumeration"])
def test_what_a_dictionary_of_polars_encodes(kind):
    texts = pl.Series(["x", "y", "x"], dtype=kind)
    loaded = load(
        {
            "friends": pl.DataFrame({"a": texts, "b": texts}),
            "smokes": pl.concat([pl.DataFrame({"a": texts.slice(n, 1)}) for n in range(3)], rechunk=False),
        }
    )
    assert constants(loaded, "friends") == [("x", "x"), ("y", "y")]
    assert constants(loaded, "smokes") == [("x",), ("y",)]
    assert message({"smokes": pl.DataFrame({"a": pl.Series(["x", None], dtype=kind)})}) == (
        "smokes, row 2: column 1 is empty; expected a constant of type 'person'"
    )


@pytest.mark.parametrize(
    "marks",
    [
        pl.Series([0.7, 0.2]),
        pl.Series(["0.7", "0.2"]),
        pl.Series(["0.7", "0.2"], dtype=pl.Categorical),
        pd.Series([0.7, 0.2], dtype="category"),
        pa.array(["0.7", "0.2"], pa.string_view()),
    ],
    ids=["numbers", "texts", "categories of polars", "categories of pandas", "views"],
)
def test_columns_of_probabilities(marks):
    frames = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}
    smokes = frames[type(marks).__module__.split(".")[0]]({"a": ["x", "y"], "probability": marks})
    assert load({"smokes": smokes}).tables["smokes"].probabilities.tolist() == [0.7, 0.2]


class Level(enum.StrEnum):
    """Its members are texts, and show themselves as something else."""

    HIGH = "high"

    def __str__(self):
        return "the highest"


class Year(enum.IntEnum):
    FIRST = 1990


def test_members_of_enumerations_are_the_values_that_they_are():
    assert constants(load({"smokes": [Level.HIGH, "low"]}), "smokes") == [("high",), ("low",)]
    assert constants(load({"born": [(Level.HIGH, Year.FIRST)]}), "born") == [("high", 1990)]


def test_moments_of_pandas_in_rows():
    moments = [pd.Timestamp("2024-01-02 03:04"), datetime.datetime(2024, 1, 3)]
    expected = [("2024-01-02T03:04:00",), ("2024-01-03T00:00:00",)]
    assert constants(load({"smokes": moments}), "smokes") == expected
    finer = pd.Timestamp("2024-01-02") + pd.Timedelta(1, "ns")
    assert message({"smokes": [finer]}) == (
        'smokes, row 1: column 1 holds "2024-01-02 00:00:00.000000001" (Timestamp), which is no constant\n'
        "  moments are kept to the microsecond: round them"
    )
    assert message({"smokes": pd.Series([finer])}).endswith("moments are kept to the microsecond: round them")


@pytest.mark.parametrize("other", ["x", "2024-05-06", 3])
def test_dates_of_python_beside_other_values(other):
    told = message({"smokes": [(other,), (datetime.date(2024, 1, 2),)]})
    assert told == (
        'smokes, row 2: column 1 holds "2024-01-02" (date), which is no constant\n'
        "  dates are taken where a column holds nothing else; as text they are value.isoformat()"
    )


def test_offsets_of_a_damaged_arrow_file(tmp_path):
    """Reading a cell at a wild offset would end the process."""
    path = tmp_path / "smokes.arrow"
    table = pa.table({"a": ["ab", "cd"]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    whole, wild = path.read_bytes(), struct.pack("<3i", 0, 2, 2**30)
    assert whole.count(struct.pack("<3i", 0, 2, 4)) == 1
    path.write_bytes(whole.replace(struct.pack("<3i", 0, 2, 4), wild))
    assert message(path).startswith("smokes.arrow is no Arrow IPC file: ")


def test_files_that_are_cut_or_gone_while_they_are_read(tmp_path):
    """Reading the pages of a mapped file that was cut would end the process."""
    path, rows = tmp_path / "smokes.arrow", 10_000
    table = pa.table({"a": [f"person {row}" for row in range(rows)]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with Store() as store:
        (opened,) = ArrowFile("smokes", path).open(store, Reading({}))
        os.truncate(path, 0)
        assert opened.interned(["person"], marked=False).row_count == rows
    assert [ArrowFile("smokes", path).size, ArrowFile("smokes", tmp_path / "gone.arrow").size] == [0, 0]
