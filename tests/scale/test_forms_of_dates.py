"""Dates in any form that memory takes: a database puts them into the same one, and refuses the same."""

from __future__ import annotations

import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import herbrand as hb
from tests.laws import long

CALENDARS = ("date", "time")
FORMS = {
    "a day": ["2024-01-05"],
    "a day in other forms": ["20240105", "2024-W01-5", " 2024-01-05 ", "2024-01-05T00:00:00", "2024-01-05"],
    "midnight after a blank": ["2024-01-05 00:00:00", "2024-01-06 00:00:00.000"],
    "without seconds": ["2024-01-05T10:00", "2024-01-05T10"],
    "a blank": ["2024-01-05 10:00:00", "2024-01-05T10:00:00"],
    "a fraction": ["2024-01-05T10:00:00.5", "2024-01-05T10:00:00.500000", "2024-01-05T10:00:00,120"],
    "no fraction": ["2024-01-05T09:30:00.000000"],
    "a zone": ["2024-01-05T10:00:00+02:00", "2024-01-05T08:00:00Z"],
    "zeros behind the microsecond": ["2024-01-05T10:00:00.123456000"],
    "nanoseconds": ["2024-01-05T10:00:00.123456789"],
    "no month of two digits": ["2024-1-5"],
    "a year": ["2024"],
    "no date": ["2024-01-05", "soon"],
}
DAY, MOMENT = datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 5, 10, 0, 0, 123456)
COLUMNS = {
    "DATE": pa.array([DAY]),
    "TIMESTAMP at midnight": pa.array([datetime.datetime(2024, 1, 5)], pa.timestamp("us")),
    "TIMESTAMP_S": pa.array([MOMENT.replace(microsecond=0)], pa.timestamp("s")),
    "TIMESTAMP": pa.array([MOMENT], pa.timestamp("us")),
    "TIMESTAMPTZ": pa.array([MOMENT], pa.timestamp("us", "Europe/Berlin")),
    "TIMESTAMP_NS of whole microseconds": pa.array([1_704_448_800_123_456_000], pa.timestamp("ns")),
    "TIMESTAMP_NS": pa.array([1_704_448_800_123_456_789], pa.timestamp("ns")),
    "TIMESTAMP_NS of few nanoseconds": pa.array([1_704_448_800_000_000_123], pa.timestamp("ns")),
}


def atoms(facts: Path, declared: str, on: str | None) -> list[tuple[str, float]] | str:
    """What is latent, with its probability; ``no`` and what the column does not hold, where it is refused."""
    theory = hb.parse(f"{declared}predicate at(o, t): observed\npredicate r(t)\n1: at(o, d) => r(d)\n")
    facts_of = {"at": str(facts)} if facts.suffix == ".parquet" else str(facts)
    try:
        answer = hb.Model(theory, facts_of, on=on).infer(engine="mean-field", iterations=1)
    except hb.HerbrandError as error:
        return next(what for what in ("no date", "no time") if what in str(error))
    return sorted((row["atom"], round(row["probability"], 6)) for row in answer.to_dict()["marginals"])


def written(folder: Path, column: pa.Array, kept: str) -> Path:
    """A table of one column of dates, as a file of Parquet or of DuckDB."""
    table = pa.table({"o": [f"o{place}" for place in range(len(column))], "d": column})
    if kept == "parquet":
        pq.write_table(table, folder / "at.parquet")
        return folder / "at.parquet"
    with duckdb.connect(str(folder / "at.duckdb")) as connection:
        connection.register("given", table)
        connection.execute('CREATE TABLE "at" AS SELECT * FROM given')
    return folder / "at.duckdb"


# A text is a text wherever it stands, so two forms of it are enough for Parquet. Types of their own are not.
PLACES = [(column, kept) for kept in ("duckdb", "parquet") for column in (*COLUMNS, *FORMS)]


@pytest.mark.parametrize("declared", ["", "type t = date\n", "type t = time\n"], ids=["text", *CALENDARS])
@pytest.mark.parametrize("place", long(PLACES, len(PLACES) - len(FORMS) + 2), ids="-".join)
def test_a_database_takes_dates_as_memory_does(place: tuple[str, str], declared: str, tmp_path: Path) -> None:
    column, kept = place
    facts = written(tmp_path, COLUMNS[column] if column in COLUMNS else pa.array(FORMS[column]), kept)
    in_memory = atoms(facts, declared, None)
    assert atoms(facts, declared, f"duckdb:{tmp_path / 'world.duckdb'}") == in_memory
    assert in_memory, "nothing was latent"


@pytest.mark.parametrize("kept", ["parquet", "duckdb"])
@pytest.mark.parametrize("column", ["TIMESTAMP_NS", "TIMESTAMP_NS of few nanoseconds", "nanoseconds"])
@pytest.mark.parametrize("on", [False, True], ids=["memory", "database"])
def test_no_nanosecond_is_left_out_in_silence(on: bool, column: str, kept: str, tmp_path: Path) -> None:
    facts = written(tmp_path, COLUMNS[column] if column in COLUMNS else pa.array(FORMS[column]), kept)
    place = f"duckdb:{tmp_path / 'world.duckdb'}" if on else None
    fine = {"TIMESTAMP_NS of few nanoseconds": "000000123"}.get(column, "123456789")
    assert atoms(facts, "", place) == [(f'r("2024-01-05T10:00:00.{fine}")', 0.731059)]
    assert atoms(facts, "type t = time\n", place) == "no time"


def test_a_text_file_of_nanoseconds_is_refused_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "at.csv").write_text("a,2024-01-05T10:00:00.123456\nb,2024-01-05T10:00:00.1234567\n")
    theory = hb.parse("type t = time\npredicate at(o, t): observed\npredicate r(t)\n1: at(o, d) => r(d)\n")
    with pytest.raises(hb.HerbrandError, match=r'row 2: "2024-01-05T10:00:00.1234567" .* to the microsecond'):
        hb.Model(theory, str(tmp_path / "at.csv")).infer()
