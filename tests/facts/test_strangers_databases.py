"""A database file from a stranger: its tables and views of them are facts, views of files are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import herbrand as hb
from herbrand.errors import FactsError

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
"""
FRIENDS = "CREATE TABLE friends AS SELECT 'anna' AS a, 'bob' AS b"

Read = Callable[[Path], hb.Model]
READ: dict[str, Read] = {
    "in memory": lambda path: hb.Model(hb.parse(THEORY), path),
    "its own place": lambda path: hb.Model(hb.parse(THEORY), on=f"duckdb:{path}"),
    "another place": lambda path: hb.Model(
        hb.parse(THEORY), path, on=f"duckdb:{path.with_name('ours.duckdb')}"
    ),
}
roads = pytest.mark.parametrize("read", READ.values(), ids=list(READ))


def made(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def files(folder: Path) -> None:
    (folder / "secret.csv").write_text("top secret\n")
    pq.write_table(pa.table({"a": ["top secret"]}), folder / "secret.parquet")


@roads
@pytest.mark.parametrize(
    "reading",
    [
        "SELECT content FROM read_text('{folder}/secret.csv')",
        "SELECT content::VARCHAR FROM read_blob('{folder}/secret.csv')",
        "SELECT * FROM read_csv('{folder}/secret.csv', header = false)",
        "SELECT * FROM '{folder}/secret.parquet'",
        "SELECT file FROM glob('{folder}/*')",
        "SELECT content FROM read_text('/etc/hostname')",
        "SELECT (SELECT content FROM read_text('{folder}/secret.csv')) AS content",
        "SELECT * FROM innocent",
    ],
)
def test_views_of_files_are_refused_by_name(tmp_path: Path, read: Read, reading: str) -> None:
    files(tmp_path)
    inner = f"CREATE VIEW innocent AS SELECT content FROM read_text('{tmp_path}/secret.csv')"
    path = made(
        tmp_path / "world.duckdb", FRIENDS, inner, f"CREATE VIEW smokes AS {reading.format(folder=tmp_path)}"
    )
    if "innocent" not in reading:
        made(path, "DROP VIEW innocent")
    with pytest.raises(FactsError) as caught:
        read(path).infer()
    assert "secret" not in str(caught.value)
    assert "smokes" in str(caught.value)
    assert "is a view of files outside its database" in str(caught.value)


@roads
def test_views_of_its_own_tables_are_facts(tmp_path: Path, read: Read) -> None:
    path = made(
        tmp_path / "world.duckdb",
        "CREATE TABLE knows AS SELECT 'anna' AS a, 'bob' AS b",
        "CREATE SCHEMA inner_schema",
        "ALTER TABLE knows RENAME TO friends",
        "CREATE VIEW smokes AS SELECT a FROM friends",
    )
    found = read(path).infer(iterations=50)
    assert {row.text for row in found.rows()} == {'smokes("bob")'}


def test_no_variable_of_ours_is_a_table(tmp_path: Path) -> None:
    """A view of a table that is not there: DuckDB would look for it among the variables of the program."""
    path = made(tmp_path / "world.duckdb", FRIENDS, "CREATE TABLE secret(a VARCHAR)")
    made(path, "CREATE VIEW smokes AS SELECT * FROM secret", "ALTER TABLE secret RENAME TO gone")
    secret = pa.table({"a": ["anna"]})
    with pytest.raises(FactsError, match="smokes cannot be read"):
        hb.Model(hb.parse(THEORY), path).infer()
    assert len(secret) == 1


def test_what_the_user_opened_is_the_users(tmp_path: Path) -> None:
    files(tmp_path)
    with duckdb.connect() as connection:
        connection.execute(FRIENDS)
        connection.execute(f"CREATE VIEW smokes AS SELECT * FROM '{tmp_path}/secret.parquet'")
        assert len(hb.Model(hb.parse(THEORY), connection).infer()) == 2


def test_all_tables_of_a_connection(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        for statement in (FRIENDS, "CREATE TABLE smokes AS SELECT 'anna' AS a, 0.5 AS probability"):
            connection.execute(statement)
        tables = {name: connection.table(name) for name in ("friends", "smokes")}
        for facts in (connection, tables):
            assert len(hb.Model(hb.parse(THEORY), facts).infer()) == 2


@pytest.mark.parametrize("place", [None, "ours.duckdb"])
@pytest.mark.parametrize("name", ["plain.parquet", "odd [1]*?.parquet", "it's.parquet", "a.csv", "a.jsonl"])
def test_files_beside_it_are_still_read(tmp_path: Path, place: str | None, name: str) -> None:
    path = made(tmp_path / "world.duckdb", FRIENDS)
    beside = tmp_path / name
    match beside.suffix:
        case ".parquet":
            pq.write_table(pa.table({"person": ["anna"]}), beside)
        case ".csv":
            beside.write_text("anna\n")
        case _:
            beside.write_text('["anna"]\n')
    on = None if place is None else f"duckdb:{tmp_path / place}"
    found = hb.Model(hb.parse(THEORY), [path, f"smokes={beside}"], on=on).infer(iterations=50)
    assert {row.text for row in found.rows()} == {'smokes("bob")'}
