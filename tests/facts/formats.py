"""One table written in every format that facts are read from."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracles.facts import Constant, Said


@dataclass(frozen=True)
class Table:
    """Rows of one predicate, perhaps with a special column."""

    predicate: str
    types: tuple[str, ...]
    rows: Sequence[tuple[Constant, ...]]
    mark: str | None = None
    marks: Sequence[bool | float] = field(default=())

    @property
    def names(self) -> list[str]:
        own = [f"{name} {i}" for i, name in enumerate(self.types)]
        return own if self.mark is None else [*own, self.mark]

    @property
    def records(self) -> list[tuple[Any, ...]]:
        if self.mark is None:
            return list(self.rows)
        return [(*row, mark) for row, mark in zip(self.rows, self.marks, strict=True)]

    def said(self) -> list[Said]:
        if self.mark is None:
            return [Said(self.predicate, row, source="table") for row in self.rows]
        return [
            Said(self.predicate, row, source="table", **{self.mark: mark})
            for row, mark in zip(self.rows, self.marks, strict=True)
        ]

    def statements(self) -> list[Said]:
        """The same rows as statements of a theory."""
        return [replace(said, source=None) for said in self.said()]

    def arrow(self) -> pa.Table:
        columns = list(zip(*self.records, strict=True)) or [()] * len(self.names)
        return pa.table([pa.array(column) for column in columns], self.names)


def _text(table: Table, folder: Path, ending: str, **options: Any) -> Path:
    path = folder / f"{table.predicate}{ending}"
    opened = gzip.open if ending.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, **options)
        writer.writerow(table.names)
        writer.writerows(table.records)
    return path


def csv_file(table: Table, folder: Path) -> Any:
    return _text(table, folder, ".csv")


def quoted_csv(table: Table, folder: Path) -> Any:
    return _text(table, folder, ".csv", quoting=csv.QUOTE_ALL, lineterminator="\n")


def compressed_csv(table: Table, folder: Path) -> Any:
    return _text(table, folder, ".csv.gz")


def tsv(table: Table, folder: Path) -> Any:
    return _text(table, folder, ".tsv", delimiter="\t")


def parquet(table: Table, folder: Path) -> Any:
    path = folder / f"{table.predicate}.parquet"
    pq.write_table(table.arrow(), path)
    return path


def json_objects(table: Table, folder: Path) -> Any:
    path = folder / f"{table.predicate}.jsonl"
    rows = (dict(zip(table.names, record, strict=True)) for record in table.records)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def arrow_file(table: Table, folder: Path) -> Any:
    path = folder / f"{table.predicate}.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.arrow().schema) as writer:
        writer.write_table(table.arrow())
    return path


def arrow_table(table: Table, folder: Path) -> Any:
    return {table.predicate: table.arrow()}


def pandas_frame(table: Table, folder: Path) -> Any:
    frame = pd.DataFrame(table.records, columns=table.names)
    return {table.predicate: frame.set_index(pd.Index(range(5, 5 + len(frame)), name="key"))}


def polars_frame(table: Table, folder: Path) -> Any:
    return {table.predicate: pl.DataFrame(table.records, schema=table.names, orient="row")}


def duckdb_file(table: Table, folder: Path) -> Any:
    path = folder / "world.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        given = table.arrow()
        connection.register("given", given)
        connection.execute(f'CREATE TABLE "{table.predicate}" AS FROM given')
    return path


def duckdb_relation(table: Table, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register("given", table.arrow())
    return {table.predicate: connection.sql("FROM given")}


def duckdb_connection(table: Table, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register(table.predicate, table.arrow())
    return connection


MARKED: Sequence[Callable[[Table, Path], Any]] = (
    csv_file,
    quoted_csv,
    compressed_csv,
    tsv,
    parquet,
    json_objects,
    arrow_file,
    arrow_table,
    pandas_frame,
    polars_frame,
    duckdb_file,
    duckdb_relation,
    duckdb_connection,
)
"""Formats that name their columns, and so may have a special one."""


def python_rows(table: Table, folder: Path) -> Any:
    return {table.predicate: table.rows}


def json_arrays(table: Table, folder: Path) -> Any:
    path = folder / f"{table.predicate}.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in table.rows))
    return path


PLAIN = (*MARKED, python_rows, json_arrays)
