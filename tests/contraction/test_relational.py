"""Contractions over relations against nested loops, in every algebra; and limits of the database below."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from herbrand.contraction import Contraction, Sparse
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.relations.database import DuckDB
from tests.contraction import problems as given_problems
from tests.contraction.in_relations import contract_in, contract_in_memory
from tests.contraction.problems import Problem, agree, problems
from tests.laws import tries

LAWS = settings(
    max_examples=tries(60),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def database() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as opened:
        yield opened


@LAWS
@given(problems() | given_problems.joins())
def test_it_is_nested_loops(database: DuckDB, problem: Problem) -> None:
    agree(contract_in(database, problem.contraction, problem.relations).to_dense(), problem.truth())
    agree(contract_in_memory(problem.contraction, problem.relations).to_dense(), problem.truth())


def test_axes_of_one_place_are_never_distinct(database: DuckDB) -> None:
    asked = Contraction.parse(
        "y -> z", {"x": 1, "y": 1, "z": 3}, distinct=[("x", "y")], algebra="max_product"
    )
    found = contract_in(database, asked, [Sparse.of([(0,)], [0.7], (1,), algebra="max_product")])
    assert found.to_dense().tolist() == [0.0, 0.0, 0.0]


def test_backgrounds_of_large_tables_stay_one_number() -> None:
    """A constant over 10¹² entries: nothing is written out but what is listed."""
    asked = Contraction.parse("x y, y -> x", {"x": 10**6, "y": 10**6})
    links = Sparse.of([(0, 1), (7, 3)], [1.0, 0.5], (10**6, 10**6), default=0.25)
    marks = Sparse.of([(1,), (3,)], [2.0, 4.0], (10**6,))
    with DuckDB() as database:
        found = contract_in(database, asked, [links, marks])
    assert isinstance(found, Sparse)
    assert found.default == 0.25 * 6
    listed = dict(zip(found.indices[:, 0].tolist(), found.values.tolist(), strict=True))
    assert listed[0] == pytest.approx(1.0 * 2 + 0.25 * 4)
    assert listed[7] == pytest.approx(0.25 * 2 + 0.5 * 4)


def test_counts_that_leave_64_bits_are_refused() -> None:
    asked = Contraction.parse("x, x ->", {"x": 1}, algebra="counting")
    large = Sparse.of([(0,)], torch.tensor([2**40]), (1,), 0, "counting")
    with DuckDB() as database, pytest.raises(UnsupportedError, match="64 bits"):
        contract_in(database, asked, [large, large])


FULL_DISK = """
import resource, sys
from herbrand.relations.database import DuckDB
from herbrand.errors import BudgetError
with DuckDB(sys.argv[1], memory=60 << 20, threads=1) as database:
    database.make("kept", "SELECT 1 AS a")
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
    try:
        database.make("kept", "SELECT HASH(i) AS a FROM range(3000000) t(i)")
    except BudgetError as error:
        print(error)
"""


class TestLimits:
    def test_a_query_that_is_interrupted_ends_as_any_other_work_does(self) -> None:
        """Again and again: an interruption is lost where the query has not begun."""
        ended = threading.Event()

        def interrupting(connection: duckdb.DuckDBPyConnection) -> None:
            while not ended.wait(0.1):
                connection.interrupt()

        with DuckDB(threads=1) as database:
            other = threading.Thread(target=interrupting, args=(database.connection,))
            other.start()
            with pytest.raises(KeyboardInterrupt):
                database.rows("SELECT SUM(HASH(a.range + b.range)) FROM range(10000000) a, range(10000000) b")
            ended.set()
            other.join()
            assert database.number("SELECT 1") == 1

    @pytest.mark.slow
    def test_a_full_disk_is_a_plain_error_and_nothing_is_lost(self, tmp_path: Path) -> None:
        path = tmp_path / "w.duckdb"
        run = [sys.executable, "-c", FULL_DISK, str(path)]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        assert "has no disk left" in done.stdout and "--resume" in done.stdout
        with DuckDB(path) as database:
            assert database.rows("SELECT * FROM kept") == [(1,)]

    def test_too_little_memory_is_a_plain_error_and_nothing_is_lost(self, tmp_path: Path) -> None:
        with DuckDB(tmp_path / "w.duckdb", memory=20 << 20, threads=1) as database:
            database.make("kept", "SELECT 1 AS a")
            with pytest.raises(BudgetError, match=r"within 20\.0 MB of memory"):
                database.make("kept", "SELECT LIST(i) AS a FROM range(20000000) t(i)")
            assert database.rows("SELECT * FROM kept") == [(1,)]
