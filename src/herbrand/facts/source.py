"""Everything that a user may give as facts, as sources.

A path (a file or a folder), ``name=path``, several paths, a mapping from predicates to tables, a theory of
facts alone, a DuckDB connection. A file's ending chooses its reader; every kind of source is a file in
``sources``, imported with the first of its kind.

>>> [source.name for source in fact_sources({"friends": [("anna", "bob")], "smokes": ["anna"]})]
['friends', 'smokes']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from herbrand.errors import FactsError, Mistake
from herbrand.extras import later, member
from herbrand.facts.address import Address, is_server, parse_address, parse_selection
from herbrand.facts.sources.base import OPENERS, FactSource, FileSource, is_compressed
from herbrand.facts.sources.memory import PythonRows, TheoryFacts
from herbrand.files import irregular, no_file_name, similar_file
from herbrand.language.dialects import fact_endings, theory_endings
from herbrand.language.syntax import Theory

Reader = Callable[[str, Path], FactSource]

_ROOM = "herbrand.facts.sources"
_text, _parquet = later(f"{_ROOM}.text:TextFile"), later(f"{_ROOM}.parquet:ParquetFile")
_json_lines, _arrow = later(f"{_ROOM}.json_lines:JsonLinesFile"), later(f"{_ROOM}.arrow:ArrowFile")
_dialect = later(f"{_ROOM}.dialect:DialectFile")
_duckdb, _sqlite = later(f"{_ROOM}.duckdb_tables:DuckDBFile"), later(f"{_ROOM}.sqlite:SqliteFile")
_selected = later(f"{_ROOM}.selected:Selected")

TABLE_READERS: Mapping[str, Reader] = {
    ".csv": _text,
    ".tsv": lambda predicate, path: _text(predicate, path, "\t"),
    ".tab": lambda predicate, path: _text(predicate, path, "\t"),
    ".psv": lambda predicate, path: _text(predicate, path, "|"),
    ".parquet": _parquet,
    ".pq": _parquet,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_lines,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
}
"""What reads a file of one table, by its ending; called with the predicate's name and the path."""

COMPRESSIBLE = (".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson", ".json")
"""Text that may be compressed; what opens it, :mod:`herbrand.facts.sources.base` knows."""
_SQLITE = b"SQLite format 3\0"
_TEXTS = (".md", ".rst", ".tex", ".bib", ".html", ".htm", ".css", ".pdf", ".doc", ".docx", ".odt", ".log")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico")
_PROGRAMS = (".py", ".pyc", ".ipynb", ".r", ".jl", ".js", ".ts", ".sql", ".sh", ".bat")
_SETTINGS = (".yaml", ".yml", ".toml", ".ini", ".cfg", ".lock", ".license", ".safetensors", ".pt", ".ev")
NO_TABLES = frozenset(_TEXTS + _PICTURES + _PROGRAMS + _SETTINGS)
"""Endings of texts, pictures and programs: in a folder of facts they are passed over, as theories are."""
ABOUT = (
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "changelog",
    "makefile",
    "dockerfile",
    "authors",
)
"""Files so named, with any ending, describe the folder."""


def fact_sources(facts: Any = None) -> tuple[FactSource, ...]:
    """The sources of what was given as facts; raises ``FactsError`` where it is nothing that can be read."""
    match facts:
        case None:
            return ()
        case FactSource():
            return (facts,)
        case Theory():
            return (TheoryFacts(facts),)
        case str() | os.PathLike():
            return _of_path(os.fspath(facts))
        case _ if _is_of_duckdb(facts, "DuckDBPyConnection"):
            return (member(f"{_ROOM}.duckdb_tables:DuckDBConnection")(facts),)
        case Mapping():
            return tuple(_of_table(str(name), table) for name, table in facts.items())
        case Sequence() if all(isinstance(part, str | os.PathLike | FactSource) for part in facts):
            return _each_once(source for part in facts for source in fact_sources(part))
    raise FactsError(
        f"facts cannot be taken from {_kind(facts)} alone", hint='name its predicate: {"friends": ...}'
    )


def _each_once(sources: Iterable[FactSource]) -> tuple[FactSource, ...]:
    """A file that is given twice as the same tables is read once: opinions in it would count twice."""
    by_key: dict[object, FactSource] = {}
    for source in sources:
        key: object = id(source)
        if isinstance(source, FileSource) and is_dataclass(source) and not isinstance(source, type):
            key = replace(source, path=source.path.absolute())  # type: ignore[call-arg]
        by_key.setdefault(key, source)
    return tuple(by_key.values())


def _is_of_duckdb(value: object, kind: str) -> bool:
    """Whether a value is one of DuckDB's; there is none where it was never imported."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(value, getattr(duckdb, kind))


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


# Tables that are named


def _of_table(name: str, table: Any) -> FactSource:
    """``name`` may choose columns and rows: ``pays(sender, amount) where amount > 100``."""
    predicate, selection = parse_selection(name)
    if not selection:
        return _unselected(name, table)
    return _selected(predicate, _unselected(predicate, table), selection)


def _unselected(name: str, table: Any) -> FactSource:
    match table:
        case FactSource():
            return table
        case str() | os.PathLike():
            address = parse_address(os.fspath(table))
            return _of_address(replace(address, predicate=name))
        case _ if _is_of_duckdb(table, "DuckDBPyRelation"):
            return member(f"{_ROOM}.duckdb_tables:DuckDBRelation")(name, table)
    if hasattr(table, "__arrow_c_stream__"):
        return member(f"{_ROOM}.arrow:ArrowData")(name, table)
    rows = table.tolist() if hasattr(table, "tolist") and not _holds_moments(table) else table
    if isinstance(rows, Iterable) and not isinstance(rows, Mapping | bytes):
        return PythonRows(name, list(rows))
    raise FactsError(
        f"facts of '{name}' cannot be taken from {_kind(table)}",
        hint="give a list of rows, a DataFrame, an Arrow table, a DuckDB relation or a path",
    )


def _holds_moments(table: Any) -> bool:
    """Whether an array of NumPy holds moments or spans of time, which its list has as whole numbers."""
    return getattr(getattr(table, "dtype", None), "kind", "") in ("M", "m")


# Paths


def _of_path(text: str) -> tuple[FactSource, ...]:
    address = parse_address(text)
    if address == Address(None, address.location) and os.path.isdir(address.location):
        return _of_folder(Path(address.location))
    return (_of_address(address),)


def _path(address: Address) -> Path:
    """Where an address leads; raises for a name that no file can have."""
    try:
        os.stat(address.location)
    except (OSError, ValueError) as error:
        if (unusable := no_file_name(error)) is not None:
            raise FactsError(unusable) from None
    return Path(address.location)


def _of_address(address: Address) -> FactSource:
    """One file or database: its tables or the one that is named, their columns and rows as chosen."""
    predicate, table = address.predicate, address.table
    if is_server(address.location):
        source = member(f"{_ROOM}.postgres:PostgresDatabase")(address.location, table or predicate)
        return _named(source, predicate or table, address)
    path = _path(address)
    if path.is_file() and _is_database(path):
        return _named(_of_file(path, table or predicate), predicate or table, address)
    source = _of_file(path, predicate)
    if table not in (None, _ending(path)[1]):
        raise FactsError(f"'{path}' is one table, so it holds no table '{table}'", hint="leave it out")
    return _named(source, predicate, address)


def _named(source: FactSource, predicate: str | None, address: Address) -> FactSource:
    if not address.selection and (predicate is None or address.table in (None, predicate)):
        return source
    return _selected(predicate, source, address.selection)


def _is_database(path: Path) -> bool:
    return _ending(path)[0] in DATABASES or is_sqlite(path)


def is_sqlite(path: Path) -> bool:
    """Whether a file is one of SQLite, whatever it is called: ``.db`` may be one of Alchemy's as well.

    >>> is_sqlite(Path("facts.csv"))
    False
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _of_folder(folder: Path) -> tuple[FactSource, ...]:
    """One source a file, in the order of their names; what begins with a dot or an underscore is left out.

    Raises for every file that may hold facts and cannot be read: none is passed over in silence.
    """
    entries = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    files = [path for path in entries if _is_readable(path)]
    unread = [path for path in entries if path not in files and not _is_no_table(path)]
    if unread:
        raise FactsError(list(map(_unread, unread)))
    if not files:
        hint = f"tables end in {', '.join(TABLE_READERS)}"
        raise FactsError(f"the folder '{folder}' holds no table", hint=hint)
    _refuse_equal_names([path for path in files if _ending(path)[0] in TABLE_READERS])
    return tuple(map(_of_file, files))


def inner_folders(folder: Path) -> list[Path]:
    """The folders in a folder in the order of their names; what begins with a dot or an underscore is left
    out."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")


def holds_tables(folder: Path) -> bool:
    """True if some file of the folder is read as facts."""
    return any(path.name[0] not in "._" and _is_readable(path) for path in folder.iterdir())


def _is_readable(path: Path) -> bool:
    ending = _ending(path)[0]
    return path.is_file() and (ending in TABLE_READERS or ending in fact_endings() or _is_database(path))


def _is_no_table(path: Path) -> bool:
    """Whether it is a theory, a text or a picture, or a folder without tables."""
    if path.is_dir():
        looks_like_table = _ending(path)[0] in TABLE_READERS
        return not looks_like_table and not any(map(_is_readable, path.iterdir()))
    ending = path.suffix.lower()
    return ending in NO_TABLES or ending in theory_endings() or path.name.split(".")[0].lower() in ABOUT


def _unread(path: Path) -> Mistake:
    """What stands in a folder of facts and is not read."""
    aside = "or move it elsewhere; what begins with '_' is passed over"
    if path.is_dir():
        return Mistake(f"'{path}' is a folder in a folder of facts", hint=f"give it by --facts too, {aside}")
    return Mistake(_unknown(path), hint=f"{_readable(path)}, {aside}")


def _unknown(path: Path) -> str:
    return f"'{path}' has no ending that says how to read it"


def _readable(path: Path) -> str:
    """How a file of unknown ending can be made one that is read."""
    if _plain_ending(path) in TABLE_READERS or _plain_ending(path) in fact_endings():
        return "decompress it"
    if path.suffix.lower() in (".txt", ".dat", ".data", ""):
        return "rename it, .csv for commas between cells, .tsv for tabs, .psv for |"
    return "convert it to CSV or Parquet"


def _plain_ending(path: Path) -> str:
    """The ending before that of a compressed file."""
    return path.with_suffix("").suffix.lower() if is_compressed(path) else ""


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
        raise FactsError(_missing(path), hint=similar_file(path))
    if _is_database(path):
        return (_duckdb if ending == ".duckdb" else _sqlite)(path, predicate)
    if ending in fact_endings():  # such a file names its predicates itself
        return _dialect(path, predicate)
    if ending in TABLE_READERS:
        return TABLE_READERS[ending](predicate or name, path)
    endings = ", ".join([*TABLE_READERS, *fact_endings(), *DATABASES])
    raise FactsError(_unknown(path), hint=f"{_readable(path)}; known are {endings}")


def _missing(path: Path) -> str:
    kind = irregular(path)
    return f"there is no file '{path}'" if kind is None else f"'{path}' is {kind}, not a table"


def _ending(path: Path) -> tuple[str, str]:
    """The ending that names the format, and the name before it."""
    whole = Path(path.name)
    if _plain_ending(whole) in COMPRESSIBLE:
        whole = whole.with_suffix("")
    return whole.suffix.lower(), whole.stem


DATABASES = (".duckdb", ".sqlite", ".sqlite3")
"""Files of many tables; a file of SQLite may have any ending."""


def reads_ending(ending: str) -> bool:
    """Whether files that end so are read as facts, or opened for what is within them.

    >>> reads_ending(".tsv"), reads_ending(".gz"), reads_ending(".txt")
    (True, True, False)
    """
    return any(ending in known for known in (TABLE_READERS, fact_endings(), DATABASES, OPENERS))
