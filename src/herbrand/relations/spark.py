"""Relations on Spark: every table is a folder of Parquet files, made whole by one job.

The SQL is that of DuckDB. Spark recomputes what a lost executor had; what was finished is on disk under a
name that ``tables.json`` gives, so that a new session goes on where the last one ended. The folder must be
one that the driver and all executors see.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.files import written_whole
from herbrand.relations.database import NUMBERS, Database
from herbrand.relations.dialects import SPARK
from herbrand.relations.expression import too_large

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",  # times have no zone: no hour is skipped or repeated
}


class Spark(Database):
    """Spark session on a master such as ``spark://host:7077`` or ``local-cluster[2,1,1024]``."""

    dialect = SPARK

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

    def make(self, table: str, query: str, temporary: bool = False) -> None:
        with _plain_errors(self.name):
            self._write(table, self._session.sql(query))

    def make_by(
        self,
        table: str,
        query: str,
        function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> None:
        """Create a table by applying a function to a query's rows on the executors; it returns
        rows of ``schema``."""
        kinds = ", ".join(f"{field.name} {NUMBERS[field.type]}" for field in schema)
        with _plain_errors(self.name):
            self._write(table, self._session.sql(query).mapInArrow(function, kinds))

    def put(self, table: str, data: pa.Table, temporary: bool = False) -> None:
        import pyarrow.parquet  # only here: no other run needs it

        place = self._new_place(table)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        pyarrow.parquet.write_table(data, place / "part-0.parquet")
        self._put_in_place(table, place, _schema(data.schema))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with _plain_errors(self.name):
            return [tuple(row) for row in self._session.sql(query).collect()]

    def arrow(self, query: str) -> pa.Table:
        with _plain_errors(self.name):
            return self._session.sql(query).toArrow()

    def keep(self, table: str, text: str) -> None:
        """Store a text in a file, as a table of one text would need a job."""
        with written_whole(self._note(table)) as file:
            file.write(text.encode())

    def kept(self, table: str) -> str:
        return self._note(table).read_text()

    def drop(self, table: str) -> None:
        self._note(table).unlink(missing_ok=True)
        place = self._tables.pop(table, None)
        if place is not None:
            self._write_catalogue()
            self._session.catalog.dropTempView(table)
            shutil.rmtree(self.folder / place, ignore_errors=True)

    def has(self, table: str) -> bool:
        return table in self._tables or self._note(table).exists()

    def close(self) -> None:
        self._session.stop()

    def _note(self, table: str) -> Path:
        return self.folder / f"{table}.note"

    def _write(self, table: str, rows: Any) -> None:
        place = self._new_place(table)
        rows.write.mode("overwrite").parquet(str(place))
        self._put_in_place(table, place, rows.schema)

    def _new_place(self, table: str) -> Path:
        """Unused one of the table's two folders, so that current rows stay readable until the new
        ones are whole."""
        turns = (f"{table}.0", f"{table}.1")
        return self.folder / next(turn for turn in turns if self._tables.get(table) != turn)

    def _put_in_place(self, table: str, place: Path, schema: Any = None) -> None:
        before = self._tables.get(table)
        self._tables[table] = place.name
        self._write_catalogue()
        self._show(table, place, schema)
        if before is not None:
            shutil.rmtree(self.folder / before, ignore_errors=True)

    def _show(self, table: str, place: Path, schema: Any = None) -> None:
        """Register a folder as a view. Giving ``schema`` saves the job that would infer it."""
        reader = self._session.read if schema is None else self._session.read.schema(schema)
        reader.parquet(str(place)).createOrReplaceTempView(table)

    def _write_catalogue(self) -> None:
        with written_whole(self._catalogue) as file:
            file.write(json.dumps(self._tables).encode())


def _schema(schema: pa.Schema) -> Any:
    """Spark's schema for one of Arrow."""
    from pyspark.sql.pandas.types import from_arrow_schema  # pyright: ignore[reportMissingImports]

    return from_arrow_schema(schema)


def _session(master: str, memory: int | None) -> Any:
    try:
        from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UnsupportedError(
            "Spark is not installed", hint="pip install 'herbrand[scale]', and Java 17 or newer"
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors run this library's functions
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


class _plain_errors:  # noqa: N801  (used as a statement)
    """Context that raises Spark's errors as this library's, in one line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, HerbrandError):
            if "ARITHMETIC_OVERFLOW" in str(error):
                raise too_large() from None
            raise HerbrandError(
                f"{self.name}: {_first_line(error)}",
                hint="what was finished stands, and --resume goes on from there",
            ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
