"""Databases as users have them: tables missing or wrong, files that are no database, too little room."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

import herbrand as hb
from herbrand.errors import BudgetError, FactsError, HerbrandError, UnsupportedError
from herbrand.relations.database import DuckDB
from herbrand.scale import place

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x)
"""


def made(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def inferred(path: Path, **options: Any) -> dict[str, float]:
    found = hb.Model(hb.parse(THEORY), on=f"duckdb:{path}").infer(iterations=2, **options)
    return {row.text: row.probability for row in found.rows()}


FRIENDS = "CREATE TABLE friends AS SELECT 'a' AS x, 'b' AS y"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["CREATE TABLE freinds AS SELECT 1 AS a, 2 AS b"], "did you mean 'friends'"),
        (["CREATE TABLE friends AS SELECT 1 AS a"], "takes 2 columns"),
        (["CREATE TABLE friends AS SELECT 1 AS a, 2 AS b, 3 AS c"], "3 columns"),
        (["CREATE TABLE friends AS SELECT [1] AS a, 2 AS b"], "column 1 has the type"),
        (["CREATE TABLE friends AS SELECT TIME '09:30' AS a, 2 AS b"], "column 1 has the type TIME"),
        (["CREATE TABLE friends AS SELECT 1 AS a, NULL AS b"], "column 2 is empty in 1 row;"),
        (["CREATE TABLE friends AS SELECT 'nan'::DOUBLE AS a, 2 AS b"], "no finite number"),
        (
            ["CREATE TABLE friends AS SELECT 170141183460469231731687303715884105727::HUGEINT AS a, 2 AS b"],
            "64 bits",
        ),
        (["CREATE TABLE friends AS SELECT 1 AS a, 2 AS b, 7 AS truth"], "no truth value"),
        (["CREATE TABLE friends AS SELECT 1 AS a, 2 AS b, 'maybe' AS truth"], "no truth value"),
        ([FRIENDS, "CREATE TABLE smokes AS SELECT 'a' AS x, 1.5 AS probability"], "no probability"),
        ([FRIENDS, "CREATE TABLE smokes AS SELECT 'a' AS x, 'much' AS probability"], "no probability"),
        ([FRIENDS, "CREATE TABLE smokes AS SELECT 'a' AS x, true AS probability"], "no probability"),
        ([FRIENDS, "CREATE TABLE smokes AS SELECT 1 AS x"], "mixes text"),
        (
            ["CREATE TABLE t AS SELECT 1 AS a, 2 AS b", "CREATE VIEW friends AS FROM t", "DROP TABLE t"],
            "read",
        ),
    ],
)
def test_tables_that_are_wrong(tmp_path: Path, statements: list[str], said: str) -> None:
    with pytest.raises(FactsError, match=said):
        inferred(made(tmp_path / "world.duckdb", *statements))


def test_no_tables_are_no_facts(tmp_path: Path) -> None:
    assert inferred(made(tmp_path / "world.duckdb")) == {}
    assert inferred(made(tmp_path / "other.duckdb", "CREATE TABLE friends(a INT, b INT)")) == {}


def test_files_that_are_no_database(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("friends(a, b)\n" * 100)
    with pytest.raises(FactsError, match="not a valid DuckDB database"):
        inferred(tmp_path / "text.duckdb")
    for name in ("friends.csv", "friends.json"):
        (tmp_path / name).write_text("1,2\n")
        with pytest.raises(FactsError) as caught:
            inferred(tmp_path / name)
        assert str(caught.value) == (
            f"'{tmp_path / name}' is not a valid DuckDB database\n"
            "  facts in other files are given by --facts; --on names a database, new or old"
        )
        assert (tmp_path / name).read_text() == "1,2\n"
    with pytest.raises(UnsupportedError, match="is a folder"):
        inferred(tmp_path)


@pytest.mark.parametrize("facts", ["{}", "friends={}:transfers(s, r)"])
def test_the_database_itself_is_no_further_file(tmp_path: Path, facts: str) -> None:
    """DuckDB attaches no file twice, and said so in words of its own."""
    world = tmp_path / "world.duckdb"
    made(world, "CREATE TABLE transfers AS SELECT 'a' AS s, 'b' AS r")
    with pytest.raises(UnsupportedError, match=r"is the database of --on(.|\n)*make a view there"):
        hb.Model(hb.parse(THEORY), facts.format(world), on=f"duckdb:{world}").infer()
    made(world, "CREATE VIEW friends AS FROM transfers")
    assert len(inferred(world)) == 2


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    """A disk that was full leaves one, and the next run was refused."""
    (tmp_path / "w.duckdb").touch()
    model = hb.Model(hb.parse(THEORY), {"friends": [("a", "b")]}, on=f"duckdb:{tmp_path / 'w.duckdb'}")
    assert len(model.infer(iterations=2)) == 2
    assert len(model.infer(iterations=2, resume=True)) == 2


def test_a_database_that_another_process_has_open(tmp_path: Path) -> None:
    path = made(tmp_path / "w.duckdb", FRIENDS)
    holds = (
        f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(
            FactsError, match=rf"another process has duckdb:.* open: PID {other.pid}"
        ) as caught:
            inferred(path)
        assert "wait until it has ended" in str(caught.value)
    finally:
        other.communicate("")


def test_files_that_are_damaged(tmp_path: Path) -> None:
    world = made(tmp_path / "world.duckdb", "CREATE TABLE friends AS SELECT range AS x, 1 AS y FROM range(9)")
    content = bytearray(world.read_bytes())
    content[12_388] ^= 255  # behind the headers, where its catalogue stands
    world.write_bytes(content)
    for facts, on in (([], world), ([world], tmp_path / "new.duckdb")):
        model = hb.Model(hb.parse(THEORY), *facts, on=f"duckdb:{on}")
        with pytest.raises(HerbrandError, match=r"world\.duckdb.*: Corrupt"):
            model.infer(iterations=2)


def test_notes_that_are_garbled_are_no_notes(tmp_path: Path) -> None:
    """A later version of this library, or somebody's hand."""
    path = made(tmp_path / "world.duckdb", FRIENDS)
    expected = inferred(path)
    for name in ("run", "facts", "loading"):
        for text in ("not json", "[1, 2]"):
            made(path, f"CREATE OR REPLACE TABLE herbrand.{name} AS SELECT '{text}' AS kept")
            if name != "run":
                assert inferred(path, resume=True) == pytest.approx(expected, abs=1e-12)
    made(path, "CREATE OR REPLACE TABLE herbrand.run AS SELECT 'not json' AS kept")
    with pytest.raises(UnsupportedError, match="keeps no run"):
        inferred(path, resume=True)


def test_users_tables_are_left_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "world.duckdb", FRIENDS, "CREATE VIEW v AS FROM friends")
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW v")
        before = connection.execute("SELECT * FROM friends").fetchall()
    for engine in ("mean-field", "bp"):
        inferred(path, engine=engine)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT * FROM main.friends").fetchall() == before
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
        assert tables.fetchall() == [("friends",)]


def test_connections_are_refused(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(FRIENDS)
        with pytest.raises(UnsupportedError, match="open connection"):
            hb.Model(hb.parse(THEORY), connection, on=f"duckdb:{tmp_path / 'w.duckdb'}").infer()


@pytest.mark.slow
def test_no_room_and_then_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory and no disk to spill to: an error; with more of them the run goes on."""
    links = "SELECT hash(range) % 1500000 AS a, hash(range + 5) % 1500000 AS b FROM range(3000000)"
    path = made(tmp_path / "world.duckdb", f"CREATE TABLE friends AS {links}")
    with monkeypatch.context() as patch:
        patch.setattr(place, "DuckDB", partial(DuckDB, disk=1))
        with pytest.raises(BudgetError, match=r"no disk left|cannot do this step"):
            inferred(path, memory="85MB", top=3)
    with pytest.raises(HerbrandError, match="at least"):
        inferred(path, memory="20MB", top=3)
    found = inferred(path, memory="2GB", top=3, resume=True)
    again = made(tmp_path / "again.duckdb", f"CREATE TABLE friends AS {links}")
    assert found == pytest.approx(inferred(again, top=3), abs=1e-9)
