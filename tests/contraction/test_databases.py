"""A database as the relational executor uses it: tables come and go, and its complaints are told plainly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from herbrand.contraction import Contraction, Dense, Sparse
from herbrand.contraction.over_relations import Operand, contracted, planned
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.relations.database import DuckDB
from herbrand.relations.dialects import DUCKDB, SPARK
from herbrand.relations.stored import Scratch, Stored
from tests.contraction.in_relations import contract_in


@pytest.fixture
def database() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as opened:
        yield opened


class TestTables:
    def test_they_are_made_replaced_and_dropped(self, database: DuckDB) -> None:
        assert not database.has("t")
        database.make("t", "SELECT 1 AS a UNION ALL SELECT 2")
        assert database.has("t") and sorted(database.rows("SELECT a FROM t")) == [(1,), (2,)]
        database.make("t", "SELECT 'x' AS b")
        assert database.rows("SELECT * FROM t") == [("x",)]
        database.drop("t")
        database.drop("t")
        assert not database.has("t")

    def test_data_in_memory_can_be_put_and_read_back(self, database: DuckDB) -> None:
        data = pa.table({"a": [3, 1, 2], "b": ["x", None, "é"]})
        database.put("t", data)
        assert database.arrow("SELECT * FROM t").sort_by("a").to_pydict() == data.sort_by("a").to_pydict()
        database.put("t", pa.table({"a": pa.array([], pa.int64())}))
        assert database.number("SELECT COUNT(*) FROM t") == 0
        assert not database.rows("SELECT * FROM duckdb_views() WHERE view_name = 'given_data'")

    def test_rows_come_in_batches_while_tables_are_made(self, database: DuckDB) -> None:
        found = []
        for batch in database.batches("SELECT range AS i FROM range(5000)", 1000):
            database.make("last", f"SELECT {batch.num_rows} AS n")
            found += batch.column("i").to_pylist()
        assert sorted(found) == list(range(5000))
        assert 0 < database.number("SELECT n FROM last") <= 5000

    def test_schemas_are_apart(self, tmp_path: Path) -> None:
        path = tmp_path / "w.duckdb"
        with DuckDB(path, schema="one", threads=1) as one:
            one.make("t", "SELECT 1 AS a")
        with DuckDB(path, schema="two", threads=1) as two:
            assert not two.has("t")
            two.make("t", "SELECT 2 AS a")
        with DuckDB(path, schema="one", threads=1) as again:
            assert again.rows("SELECT a FROM t") == [(1,)]
            assert [batch.to_pydict() for batch in again.batches("SELECT a FROM t", 10)] == [{"a": [1]}]


class TestNotes:
    @pytest.mark.parametrize("text", ["", "it's", '"quoted"', "a\nb", "東京; DROP TABLE t"])
    def test_a_text_is_kept(self, database: DuckDB, text: str) -> None:
        database.keep("note", text)
        assert database.kept("note") == text

    @pytest.mark.parametrize(
        ("text", "noted"),
        [('{"a": 1}', {"a": 1}), ("{}", {}), ("[1]", {}), ("nonsense", {}), ("", {}), ("null", {})],
    )
    def test_what_was_noted_or_nothing(self, database: DuckDB, text: str, noted: dict[str, int]) -> None:
        assert database.noted("note") == {}
        database.keep("note", text)
        assert database.noted("note") == noted

    def test_another_table_of_that_name_is_no_note(self, database: DuckDB) -> None:
        database.make("empty", "SELECT 'x' AS kept WHERE FALSE")
        database.make("other", "SELECT 1 AS something")
        database.make("number", "SELECT 3 AS kept")
        assert [database.noted(name) for name in ("empty", "other", "number")] == [{}, {}, {}]


class TestComplaints:
    def test_what_is_no_query(self, database: DuckDB) -> None:
        with pytest.raises(HerbrandError, match=r"^DuckDB: .*nothere"):
            database.rows("SELECT * FROM nothere")

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        path = tmp_path / "w.duckdb"
        path.write_text("not a database, but long enough to look at: " * 100)
        with pytest.raises(HerbrandError, match=r"w\.duckdb") as error:
            DuckDB(path)
        assert "\n" not in str(error.value)

    def test_a_count_beyond_64_bits(self, database: DuckDB) -> None:
        with pytest.raises(UnsupportedError, match="a whole number does not fit in 64 bits"):
            database.rows("SELECT CAST(9223372036854775807 AS BIGINT) + CAST(1 AS BIGINT)")

    def test_other_errors_are_not_hidden(self, database: DuckDB) -> None:
        with pytest.raises(RuntimeError, match="of ours"), database._plain_errors():
            raise RuntimeError("of ours")


class TestContractions:
    SPARSE = Sparse.of([(0, 1), (2, 0)], [2.0, 3.0], (3, 3))

    def test_operands_are_dropped_whatever_happens(self, database: DuckDB) -> None:
        asked = Contraction.parse("a b, b a ->", {"a": 3, "b": 3})
        contract_in(database, asked, [self.SPARSE, self.SPARSE])
        assert database.rows("SELECT table_name FROM duckdb_tables()") == []
        counts = Contraction.parse("a, a ->", {"a": 1}, algebra="counting")
        large = Sparse.of([(0,)], torch.tensor([2**40]), (1,), 0, "counting")
        with pytest.raises(UnsupportedError):
            contract_in(database, counts, [large, large])
        assert database.rows("SELECT table_name FROM duckdb_tables()") == []

    def test_a_table_without_axes_and_one_without_rows(self, database: DuckDB) -> None:
        asked = Contraction.parse(", a -> a", {"a": 2})
        scalar = Dense(torch.tensor(3.0, dtype=torch.float64))
        nothing = Sparse.of(np.zeros((0, 1), np.int64), [], (2,), 0.5)
        assert contract_in(database, asked, [scalar, nothing]).to_dense().tolist() == [1.5, 1.5]

    def test_no_operands(self, database: DuckDB) -> None:
        found = contract_in(database, Contraction.parse("-> a", {"a": 2, "b": 5}), [])
        assert found.to_dense().tolist() == [5.0, 5.0]

    def test_a_query_names_what_is_stored(self, database: DuckDB) -> None:
        """Any source, any expression over its columns; nothing runs before rows are read."""
        asked = Contraction.parse("x y, y -> x", {"x": 4, "y": 4})
        scratch = Scratch(database)
        links = scratch.query("SELECT 1 AS f, 2 AS t, 8 / 2 AS v", {"f": "int", "t": "int", "v": "float"})
        operands = [
            Operand(links, ("f", "t"), count=1),
            Operand(scratch.table("marks", m="int"), ("m",), count=1),
        ]
        plan = planned(asked, [one.statistics for one in operands])
        found = contracted(plan, operands, scratch.numbers)
        database.make("marks", "SELECT 2 AS m")
        assert isinstance(found.rows, Stored) and found.everywhere is None
        assert found.rows.rows() == [(1, 4.0)]

    def test_records_are_ordered_by_their_first_field(self, database: DuckDB) -> None:
        record = DUCKDB.record(a="i % 2", b="-i")
        (found,) = database.rows(f"SELECT MAX({record}) FROM (SELECT range AS i FROM range(5))")[0]
        assert found == {"a": 1, "b": -1}
        assert SPARK.record(a="x", b="y") == "STRUCT(x AS a, y AS b)"
        assert DUCKDB.hashed(["a", "b"]) == "CAST(HASH(a, b) >> 2 AS BIGINT)"
        assert database.number(f"SELECT {DUCKDB.hashed(['1', '2'])}") >= 0
