"""Relational plans on Spark: every table is a folder of Parquet files, made whole by one job.

The SQL is that of DuckDB. Spark recomputes what a lost executor had; what was finished is on disk under a
name that ``tables.json`` gives, so that a new session goes on where the last one ended. The folder must be
one that the driver and all executors see.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from herbrand.contraction.relational import SPARK
from herbrand.contraction.relational_databases import Database
from herbrand.errors import HerbrandError, UnsupportedError

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "true",
}


class Spark(Database):
    """A session of its own on a master, such as ``spark://host:7077`` or ``local-cluster[2,1,1024]``."""

    dialect = SPARK
    reads_sources = False

    def __init__(self, master: str, folder: str | Path, memory: int | None = None) -> None:
        self.name = master
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._session = _session(master, memory)
        self._tables: dict[str, str] = {}
        if self._catalogue.exists():
            self._tables = json.loads(self._catalogue.read_text())
            for table, place in self._tables.items():
                self._show(table, self.folder / place)

    @property
    def _catalogue(self) -> Path:
        return self.folder / "tables.json"

    def make(self, table: str, query: str) -> None:
        place = self._new_place(table)
        with _told(self.name):
            self._session.sql(query).write.mode("overwrite").parquet(str(place))
        self._put_in_place(table, place)

    def put(self, table: str, data: pa.Table) -> None:
        place = self._new_place(table)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        parquet.write_table(data, place / "part-0.parquet")
        self._put_in_place(table, place)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with _told(self.name):
            return [tuple(row) for row in self._session.sql(query).collect()]

    def arrow(self, query: str) -> pa.Table:
        with _told(self.name):
            return self._session.sql(query).toArrow()

    def drop(self, table: str) -> None:
        place = self._tables.pop(table, None)
        self._write_catalogue()
        if place is not None:
            self._session.catalog.dropTempView(table)
            shutil.rmtree(self.folder / place, ignore_errors=True)

    def has(self, table: str) -> bool:
        return table in self._tables

    def close(self) -> None:
        self._session.stop()

    def _new_place(self, table: str) -> Path:
        """A folder that is not the one in which the table stands now."""
        turns = (f"{table}.0", f"{table}.1")
        return self.folder / next(turn for turn in turns if self._tables.get(table) != turn)

    def _put_in_place(self, table: str, place: Path) -> None:
        before = self._tables.get(table)
        self._tables[table] = place.name
        self._write_catalogue()
        self._show(table, place)
        if before is not None:
            shutil.rmtree(self.folder / before, ignore_errors=True)

    def _show(self, table: str, place: Path) -> None:
        self._session.read.parquet(str(place)).createOrReplaceTempView(table)

    def _write_catalogue(self) -> None:
        written = self._catalogue.with_suffix(".new")
        written.write_text(json.dumps(self._tables))
        os.replace(written, self._catalogue)


def _session(master: str, memory: int | None) -> Any:
    try:
        from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UnsupportedError(
            "Spark is not installed", hint="pip install 'herbrand[scale]', and Java 17 or newer"
        ) from None
    builder = SparkSession.builder.master(master).appName("herbrand")  # type: ignore[attr-defined]
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if memory is not None:
        builder = builder.config("spark.driver.memory", f"{max(512, memory >> 20)}m")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise UnsupportedError(
            f"Spark cannot be reached at {master}: {_first_line(error)}", hint="it needs Java 17 or newer"
        ) from None
    session.sparkContext.setLogLevel("ERROR")
    return session


class _told:  # noqa: N801  (used as a statement)
    """What Spark complains of, in one line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, HerbrandError):
            if "ARITHMETIC_OVERFLOW" in str(error):
                raise UnsupportedError(
                    "a count does not fit in 64 bits", hint="use the real algebra"
                ) from None
            raise HerbrandError(
                f"{self.name}: {_first_line(error)}",
                hint="what was finished stands, and --resume goes on from there",
            ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
