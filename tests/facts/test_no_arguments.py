"""A predicate without arguments in every kind of table: its rows hold the special column alone."""

from __future__ import annotations

import duckdb
import pytest

from herbrand.errors import FactsError
from herbrand.facts.sources.base import MARKS
from tests.facts.formats import MARKED, Table
from tests.facts.vocabulary import load


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("written", MARKED, ids=lambda written: written.__name__)
def test_one_row(written, mark, tmp_path):
    value = {"truth": False, "probability": 0.25, "weight": 2.5}[mark]
    table = load(written(Table("alarm", (), [()], mark, [value]), tmp_path)).tables["alarm"]
    assert (len(table.true), len(table.false), len(table.soft)) == {
        "truth": (0, 1, 0), "probability": (0, 0, 1), "weight": (1, 0, 0),
    }[mark]  # fmt: skip
    assert table.probabilities.tolist() == ([0.25] if mark == "probability" else [])
    assert (None if table.weights is None else table.weights.tolist()) == (
        [2.5] if mark == "weight" else None
    )


def test_a_connection_whose_last_result_is_not_fetched_to_its_end():
    """DuckDB 2 refuses other work on it until then, and the result is the user's: the message says so."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE smokes AS SELECT 'anna' AS person")
    connection.execute("SELECT * FROM range(100000)").fetchone()
    for facts in (connection, {"smokes": connection.table("smokes")}):
        try:
            assert len(load(facts).tables["smokes"].true) == 1  # older versions read on
        except FactsError as error:
            assert "cannot be read: connection has an unfinished result" in str(error)
