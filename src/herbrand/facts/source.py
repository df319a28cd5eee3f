"""Everything that a user may give as facts, as sources.

A path (a file or a folder), ``name=path``, several paths, a mapping from predicates to tables, a DuckDB
connection. What a file is read by, its ending tells; every kind of source is a file in ``sources``.

>>> [source.name for source in fact_sources({"friends": [("anna", "bob")], "smokes": ["anna"]})]
['friends', 'smokes']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from herbrand.errors import FactsError, nearest
from herbrand.facts.sources.arrow import ArrowData, ArrowFile
from herbrand.facts.sources.base import FactSource
from herbrand.facts.sources.dialect import DialectFile
from herbrand.facts.sources.duckdb_tables import DuckDBConnection, DuckDBFile, DuckDBRelation
from herbrand.facts.sources.json_lines import JsonLinesFile
from herbrand.facts.sources.memory import PythonRows
from herbrand.facts.sources.parquet import ParquetFile
from herbrand.facts.sources.text import TextFile

Reader = Callable[[str, Path], FactSource]

TABLE_READERS: Mapping[str, Reader] = {
    ".csv": TextFile,
    ".tsv": lambda predicate, path: TextFile(predicate, path, "\t"),
    ".parquet": ParquetFile,
    ".jsonl": JsonLinesFile,
    ".ndjson": JsonLinesFile,
    ".json": JsonLinesFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}
"""What reads a file of one table, by its ending; called with the predicate's name and the path."""

COMPRESSED = ".gz"
COMPRESSIBLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
UNREADABLE = (".xlsx", ".xls", ".ods", ".zip", ".sqlite", ".sqlite3")
"""Tables that are not read, and must not be overlooked in a folder either."""


def fact_sources(facts: Any = None) -> tuple[FactSource, ...]:
    """The sources of what was given as facts; raises ``FactsError`` where it is nothing that can be read."""
    match facts:
        case None:
            return ()
        case FactSource():
            return (facts,)
        case str() | os.PathLike():
            return _of_path(os.fspath(facts))
        case duckdb.DuckDBPyConnection():
            return (DuckDBConnection(facts),)
        case Mapping():
            return tuple(_of_table(str(name), table) for name, table in facts.items())
        case Sequence() if all(isinstance(part, str | os.PathLike | FactSource) for part in facts):
            return tuple(source for part in facts for source in fact_sources(part))
    raise FactsError(
        f"facts cannot be taken from {_kind(facts)} alone", hint='name its predicate: {"friends": ...}'
    )


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


# Tables that are named


def _of_table(name: str, table: Any) -> FactSource:
    match table:
        case FactSource():
            return table
        case str() | os.PathLike():
            return _of_file(Path(table), name)
        case duckdb.DuckDBPyRelation():
            return DuckDBRelation(name, table)
    if hasattr(table, "__arrow_c_stream__"):
        return ArrowData(name, table)
    rows = table.tolist() if hasattr(table, "tolist") else table
    if isinstance(rows, Iterable) and not isinstance(rows, Mapping | bytes):
        return PythonRows(name, list(rows))
    raise FactsError(
        f"facts of '{name}' cannot be taken from {_kind(table)}",
        hint="give a list of rows, a DataFrame, an Arrow table, a DuckDB relation or a path",
    )


# Paths


def _of_path(text: str) -> tuple[FactSource, ...]:
    if not text:  # which would be the folder that we are in
        raise FactsError("an empty name is no file or folder of facts", hint="the folder itself is '.'")
    path = Path(text)
    name, equals, rest = text.partition("=")
    if equals and not path.exists() and name == Path(name).name and rest:
        return (_of_file(Path(rest), name),)
    return _of_folder(path) if path.is_dir() else (_of_file(path),)


def _of_folder(folder: Path) -> tuple[FactSource, ...]:
    """One source a file, in the order of their names; what begins with a dot or an underscore is left out."""
    files = sorted(p for p in folder.iterdir() if p.name[0] not in "._" and _holds_facts(p))
    if not files:
        hint = f"tables end in {', '.join(TABLE_READERS)}"
        raise FactsError(f"the folder '{folder}' holds no table", hint=hint)
    _refuse_equal_names([path for path in files if _ending(path)[0] in TABLE_READERS])
    return tuple(map(_of_file, files))


def _holds_facts(path: Path) -> bool:
    ending = _ending(path)[0]
    return ending in TABLE_READERS or ending in FILE_READERS or ending in UNREADABLE


def _refuse_equal_names(files: Sequence[Path]) -> None:
    known: dict[str, Path] = {}
    for path in files:
        name = _ending(path)[1]
        other = known.setdefault(name, path)
        if other is not path:
            raise FactsError(
                f"'{other.name}' and '{path.name}' in '{path.parent}' are both the table '{name}'",
                hint=f"name the one that counts: {name}={path}",
            )


def _of_file(path: Path, predicate: str | None = None) -> FactSource:
    ending, name = _ending(path)
    if not path.is_file():
        raise FactsError(_missing(path), hint=_similar(path))
    if ending in FILE_READERS:
        return FILE_READERS[ending](path, predicate)
    if ending in TABLE_READERS:
        return TABLE_READERS[ending](predicate or name, path)
    endings = ", ".join([*TABLE_READERS, *FILE_READERS])
    raise FactsError(f"'{path}' has no ending that tells how to read it", hint=f"known are {endings}")


def _missing(path: Path) -> str:
    return f"'{path}' is a folder, not a table" if path.is_dir() else f"there is no file '{path}'"


def _similar(path: Path) -> str:
    return nearest(path.name, os.listdir(path.parent)) if path.parent.is_dir() and not path.exists() else ""


def _ending(path: Path) -> tuple[str, str]:
    """The ending that tells the format, and the name before it."""
    whole = Path(path.name)
    if whole.suffix == COMPRESSED and whole.with_suffix("").suffix.lower() in COMPRESSIBLE:
        whole = whole.with_suffix("")
    return whole.suffix.lower(), whole.stem


FILE_READERS: Mapping[str, Callable[[Path, str | None], FactSource]] = {
    ".duckdb": DuckDBFile,
    ".db": DialectFile,
    ".cfacts": DialectFile,
}
"""What reads a file that names its predicates itself; called
with the path and, if only one is wanted, its name."""
