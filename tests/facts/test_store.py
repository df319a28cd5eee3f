"""The database that facts pass through while they are read: progress, interruption, odd paths, codes."""

from __future__ import annotations

import gzip
import os
import threading
import time

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.background import Background
from herbrand.facts import store as stores
from herbrand.facts.column import filled
from herbrand.facts.store import Store
from tests.facts.vocabulary import constants, load, message
from tests.laws import tries

LONG = "SELECT sum(a.range * b.range) AS c0 FROM range(60000) a, range(60000) b"


def test_a_table_that_is_kept_and_read_as_codes():
    """Columns of one type share their constants; each row keeps its place."""
    rows = [("a", "b", 1), ("b", "b", 2), ("c", "a", 1), ("a", None, None)]
    with Store() as store:
        name = store.register(
            pa.table({f"c{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))})
        )
        staged = store.stage(f"SELECT * FROM {name}")
        assert staged.row_count == 4
        found = store.interned(staged, ("person", "person", "year"))
        decoded = [
            [None if code < 0 else column.values[int(code)].as_py() for code in column.codes]
            for column in found.columns
        ]
        assert found.columns[0].values is found.columns[1].values
        places = [found.row(position) for position in range(found.row_count)]
        by_place = sorted(zip(places, *decoded, strict=True))
        assert by_place == [(place, *row) for place, row in enumerate(rows)]
        left = store.connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        assert left == (0,), "nothing but what was registered stays"


cells = st.one_of(st.none(), st.text("abü ", max_size=3))


@given(st.lists(st.tuples(cells, cells, st.one_of(st.none(), st.floats(allow_nan=False)))), st.booleans())
@settings(deadline=None, max_examples=tries(30))
def test_constants_of_one_hash_are_told_apart(rows, weak):
    """Each cell decodes to itself, however many constants share a hash; constants ascend."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    kinds = [pa.string(), pa.string(), pa.float64()]
    data = {
        f"c{i}": pa.array(column, kind) for i, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    }
    with Store() as store, pytest.MonkeyPatch.context() as patch:
        if weak:
            patch.setattr(stores, "_HASH", "(hash({}) % 3)::UBIGINT")
        found = store.interned(
            store.stage(f"FROM {store.register(pa.table(data))}"), ("person", "person", "year")
        )
    for column, given_cells in zip(found.columns, columns, strict=True):
        values = column.values.to_pylist()
        assert [None if code < 0 else values[code] for code in column.codes] == given_cells
        assert values == sorted(set(values))
    assert found.rows is None


close = st.one_of(st.none(), st.integers(0, 30))


@given(
    st.sampled_from([-(2**63), -7, 0, 2**40, 2**63 - 31]),
    st.lists(st.tuples(close, close, st.integers(0, 1))),
    st.booleans(),
)
@settings(deadline=None, max_examples=tries(30))
def test_whole_numbers_are_kept_however_close_they_stand(least, rows, far):
    """Those within a small range index an array, others are found by their hash; columns share constants."""
    rows = [tuple(None if cell is None else cell + least for cell in row[:2]) + row[2:] for row in rows]
    rows += [(least, None, 0), (-least - 1, None, 1)] if far else []
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    data = pa.table({f"c{i}": pa.array(column, pa.int64()) for i, column in enumerate(columns)})
    with Store() as store:
        found = store.interned(store.stage(f"FROM {store.register(data)}"), ("year", "year"), marked=True)
    one, other = found.columns
    assert one.values is other.values and one.values.type == pa.int64()
    values = one.values.to_pylist()
    assert values == sorted({cell for column in columns[:2] for cell in column if cell is not None})
    for column, given_cells in zip(found.columns, columns, strict=False):
        assert column.codes.dtype == np.int32
        assert [None if code < 0 else values[code] for code in column.codes] == given_cells
    assert found.marks is not None and not isinstance(found.marks, np.ndarray)
    assert found.marks.to_pylist() == columns[2]


class TestProgress:
    def test_shares_rise_from_0_to_1(self, monkeypatch):
        monkeypatch.setattr(stores, "_POLL_SECONDS", 0.001)
        told: list[float] = []
        with Store() as store:
            assert (
                store.stage("SELECT range AS c0 FROM range(3000000)", progress=told.append).row_count
                == 3_000_000
            )
        assert told == sorted(told) and all(0 <= share <= 1 for share in told)

    def test_the_end_of_a_query_is_told_however_soon_it_came(self, monkeypatch):
        monkeypatch.setattr(Background, "start", Background.run)  # ended before it is looked at
        monkeypatch.setattr(Background, "is_alive", lambda _: False)
        told: list[float] = []
        with Store() as store:
            store.stage("SELECT 1 AS c0", progress=told.append)
        assert told == [1.0]

    def test_an_interruption_ends_the_query_and_the_store_goes_on(self):
        def interrupted(share: float) -> None:
            raise KeyboardInterrupt

        with Store() as store:
            with pytest.raises(KeyboardInterrupt):
                store.stage(LONG, progress=interrupted)
            assert store.stage("SELECT 1 AS c0", progress=lambda share: None).row_count == 1

    def test_an_interruption_before_the_query_begins_ends_it_too(self, monkeypatch):
        """DuckDB forgets an interruption as a query begins."""
        interrupted, ended = threading.Event(), []
        execute = Store._execute

        def late(store, *told):
            interrupted.wait()
            time.sleep(0.2)
            try:
                return execute(store, *told)
            except duckdb.InterruptException:
                ended.append("interrupted")
                raise

        def now(share: float) -> None:
            interrupted.set()
            raise KeyboardInterrupt

        monkeypatch.setattr(Store, "_execute", late)
        with Store() as store, pytest.raises(KeyboardInterrupt):
            store.stage(LONG, progress=now)
        assert ended == ["interrupted"]

    def test_what_is_wrong_is_told_as_without_progress(self):
        with Store() as store:
            for progress in (None, lambda share: None):
                with pytest.raises(duckdb.Error, match="nowhere"):
                    store.stage("SELECT * FROM nowhere", progress=progress)


def test_its_folder_goes_with_it(tmp_path):
    (tmp_path / "a[1]*.csv").write_text("x\n")
    with Store() as store:
        plain, odd = store.path(tmp_path / "plain.csv"), store.path(tmp_path / "a[1]*.csv")
        assert plain == str(tmp_path / "plain.csv")
        assert os.path.samefile(odd, tmp_path / "a[1]*.csv") and not set(odd) & set("*?[")
        folder = os.path.dirname(odd)
    assert not os.path.exists(folder) and (tmp_path / "a[1]*.csv").exists()


@given(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=tries(60), deadline=None)
def test_numbers_that_are_not_there_are_filled(values, before, after):
    """Of a slice of a column too, whose mask begins within a byte."""
    column = pa.array([None] * before + values + [1] * after, pa.int32())[before : before + len(values)]
    found = filled(column, -7)
    assert found.tolist() == [-7 if value is None else value for value in values]
    assert found.dtype == np.int32


@pytest.mark.parametrize("name", ["friends.csv.gz", "friends.tsv.gz", "friends.jsonl.gz"])
def test_a_compressed_file_that_is_cut(tmp_path, name):
    rows = {"csv": b"anna,bob\n", "tsv": b"anna\tbob\n", "jsonl": b'["anna", "bob"]\n'}[name.split(".")[1]]
    whole = gzip.compress(b"".join(rows.replace(b"anna", b"anna%d" % number) for number in range(500)))
    (tmp_path / name).write_bytes(whole)
    assert len(constants(load(tmp_path / name), "friends")) == 500
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    assert message(tmp_path / name).startswith(f"{name} cannot be read: ")


def test_what_was_loaded_cannot_be_changed():
    facts = load({"friends": [("a", "b")]})
    with pytest.raises(ValueError, match="read-only"):
        facts.tables["friends"].true[0, 0] = 5
