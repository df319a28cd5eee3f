"""Convert everything that a user may give as facts to sources.

That is a path (a file or a folder), ``name=path``, several paths, a mapping from predicates to tables, a
theory of facts, or a DuckDB connection. A file's ending selects its reader; each kind of source is a module
in ``sources``, imported on first use.

>>> [source.name for source in fact_sources({"friends": [("anna", "bob")], "smokes": ["anna"]})]
['friends', 'smokes']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from herbrand.language.theory import Theory

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
"""Readers of files with one table, by ending; called with the predicate's name and the path."""

COMPRESSIBLE = (".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson", ".json")
"""Endings of text files that may be compressed; :mod:`herbrand.facts.sources.base` opens these."""
_SQLITE = b"SQLite format 3\0"
_TEXTS = (".md", ".rst", ".tex", ".bib", ".html", ".htm", ".css", ".pdf", ".doc", ".docx", ".odt", ".log")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico")
_PROGRAMS = (".py", ".pyc", ".ipynb", ".r", ".jl", ".js", ".ts", ".sql", ".sh", ".bat")
_SETTINGS = (".yaml", ".yml", ".toml", ".ini", ".cfg", ".lock", ".license", ".safetensors", ".pt", ".ev")
NO_TABLES = frozenset(_TEXTS + _PICTURES + _PROGRAMS + _SETTINGS)
"""Endings of texts, pictures and programs, which are ignored in a folder of facts, as theories are."""
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
"""Names of files that describe a folder, whatever their ending; they are ignored."""


def fact_sources(facts: Any = None) -> tuple[FactSource, ...]:
    """Sources of the given facts; raises a ``FactsError`` for anything that cannot be read."""
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
            named = frozenset(filter(None, map(_named_place, facts)))
            return _each_once(source for part in facts for source in _of_part(part, named))
    raise FactsError(f"facts cannot be taken from {_kind(facts)} alone", hint=_how_to_give(facts))


def _how_to_give(facts: Any) -> str:
    """Advice for facts that are neither named tables nor paths."""
    parts = facts if isinstance(facts, list | tuple) else [facts]
    if any(isinstance(part, str | os.PathLike) for part in parts):
        return 'name tables and paths in one mapping: {"friends": ..., "smokes": "smokes.csv"}'
    if type(facts).__name__ == "Connection":
        return "give the path of the database's file, or a connection of DuckDB"
    return 'name its predicate: {"friends": ...}'


def _each_once(sources: Iterable[FactSource]) -> tuple[FactSource, ...]:
    """Drop repeated sources of the same file and tables, whose opinions would otherwise count twice."""
    by_key: dict[object, FactSource] = {}
    for source in sources:
        key: object = id(source)
        if isinstance(source, FileSource) and is_dataclass(source) and not isinstance(source, type):
            key = replace(source, path=source.path.absolute())  # type: ignore[call-arg]
        by_key.setdefault(key, source)
    return tuple(by_key.values())


def _is_of_duckdb(value: object, kind: str) -> bool:
    """Whether a value is an object of DuckDB, without importing DuckDB."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(value, getattr(duckdb, kind))


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


# Tables that are named


def _of_table(name: str, table: Any) -> FactSource:
    """Source of one table; ``name`` may select columns and rows: ``pays(sender, amount) where amount >
    100``."""
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
    given = "a list of rows, a DataFrame, an Arrow table, a DuckDB relation or a path"
    raise FactsError(
        f"facts of '{name}' cannot be taken from {_kind(table)}",
        hint="its collect() gives the rows" if hasattr(table, "collect") else f"give {given}",
    )


def _holds_moments(table: Any) -> bool:
    """Whether a NumPy array has times or durations, which ``tolist`` may turn into whole numbers."""
    return getattr(getattr(table, "dtype", None), "kind", "") in ("M", "m")


# Paths


def _of_path(text: str, named: Collection[str] = ()) -> tuple[FactSource, ...]:
    address = parse_address(text)
    if address == Address(None, address.location) and os.path.isdir(address.location):
        return _of_folder(Path(address.location), named)
    return (_of_address(address),)


def _of_part(part: str | os.PathLike[str] | FactSource, named: Collection[str]) -> tuple[FactSource, ...]:
    return (part,) if isinstance(part, FactSource) else _of_path(os.fspath(part), named)


def _named_place(part: str | os.PathLike[str] | FactSource) -> str:
    """Real path of a folder, or of a file that is named as its own table; empty for all others."""
    if isinstance(part, FactSource):
        return ""
    address = parse_address(os.fspath(part))
    own_name = address.predicate in (None, _ending(Path(address.location))[1])
    return os.path.realpath(address.location) if own_name and not address.selection else ""


def _path(address: Address) -> Path:
    """Path of an address; raises an error for a name that no file can have."""
    try:
        os.stat(address.location)
    except (OSError, ValueError) as error:
        if (unusable := no_file_name(error)) is not None:
            raise FactsError(unusable) from None
    return Path(address.location)


def _of_address(address: Address) -> FactSource:
    """Source of one file or database: all its tables or the named one, with the selected columns and rows."""
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
    """Whether a file is an SQLite database by its content; ``.db`` may also be a file of Alchemy.

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


def _of_folder(folder: Path, named: Collection[str] = ()) -> tuple[FactSource, ...]:
    """A source for each file, in the order of names; names with a leading dot or underscore are left out.

    ``named``: places of files and folders that are given by themselves: such folders, and other files of the
    same table as such a file, are left out, too. Raises an error for each file that may hold facts and cannot
    be read, so that none is ignored silently.
    """
    entries = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    apart = {path for path in entries if os.path.realpath(path) in named}
    tables = {_ending(path)[1] for path in apart if _is_table(path)}
    entries = [
        path
        for path in entries
        if (path.is_file() if path in apart else not (_is_table(path) and _ending(path)[1] in tables))
    ]
    files = [path for path in entries if _is_readable(path)]
    unread = [path for path in entries if path not in files and not _is_no_table(path)]
    if unread:
        raise FactsError(list(map(_unread, unread)))
    if not files:
        hint = f"tables end in {', '.join(TABLE_READERS)}"
        raise FactsError(f"the folder '{folder}' holds no table", hint=hint)
    _refuse_equal_names(list(filter(_is_table, files)))
    return tuple(map(_of_file, files))


def inner_folders(folder: Path) -> list[Path]:
    """Folders of a folder in the order of their names, without leading dots or underscores."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")


def holds_tables(folder: Path) -> bool:
    """Whether some file of the folder is read as facts."""
    return any(path.name[0] not in "._" and _is_readable(path) for path in folder.iterdir())


def _is_readable(path: Path) -> bool:
    ending = _ending(path)[0]
    return path.is_file() and (ending in TABLE_READERS or ending in fact_endings() or _is_database(path))


def _is_table(path: Path) -> bool:
    return path.is_file() and _ending(path)[0] in TABLE_READERS


def _is_no_table(path: Path) -> bool:
    """Whether a path is a theory, a text or a picture, or a folder without tables."""
    if path.is_dir():
        looks_like_table = _ending(path)[0] in TABLE_READERS
        return not looks_like_table and not any(map(_is_readable, path.iterdir()))
    ending = path.suffix.lower()
    return ending in NO_TABLES or ending in theory_endings() or path.name.split(".")[0].lower() in ABOUT


def _unread(path: Path) -> Mistake:
    """Mistake for a file in a folder of facts that cannot be read."""
    aside = "or move it elsewhere; what begins with '_' is passed over"
    if path.is_dir():
        return Mistake(f"'{path}' is a folder in a folder of facts", hint=f"give it by --facts too, {aside}")
    return Mistake(_unknown(path), hint=f"{_readable(path)}, {aside}")


def _unknown(path: Path) -> str:
    return f"'{path}' has no ending that says how to read it"


def _readable(path: Path) -> str:
    """Advice for a file of unknown ending."""
    if _plain_ending(path) in TABLE_READERS or _plain_ending(path) in fact_endings():
        return "decompress it"
    if path.suffix.lower() in (".txt", ".dat", ".data", ""):
        return "rename it, .csv for commas between cells, .tsv for tabs, .psv for |"
    return "convert it to CSV or Parquet"


def _plain_ending(path: Path) -> str:
    """Ending of a file, without that of its compression."""
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
        pattern = any(sign in path.name for sign in "*?[")
        raise FactsError(_missing(path), hint=_NO_PATTERN if pattern else similar_file(path))
    if _is_database(path):
        return (_duckdb if ending == ".duckdb" else _sqlite)(path, predicate)
    if ending in fact_endings():  # such a file names its predicates itself
        return _dialect(path, predicate)
    if ending in TABLE_READERS:
        return TABLE_READERS[ending](predicate or name, path)
    endings = ", ".join([*TABLE_READERS, *fact_endings(), *DATABASES])
    raise FactsError(_unknown(path), hint=f"{_readable(path)}; known are {endings}")


_NO_PATTERN = "patterns are not expanded: name each file, or a folder"


def _missing(path: Path) -> str:
    kind = irregular(path)
    return f"there is no file '{path}'" if kind is None else f"'{path}' is {kind}, not a table"


def _ending(path: Path) -> tuple[str, str]:
    """Ending that determines the format, and the name before it."""
    whole = Path(path.name)
    if _plain_ending(whole) in COMPRESSIBLE:
        whole = whole.with_suffix("")
    return whole.suffix.lower(), whole.stem


DATABASES = (".duckdb", ".sqlite", ".sqlite3")
"""Endings of databases, which have many tables; an SQLite file may have any ending."""


def reads_ending(ending: str) -> bool:
    """Whether files of this ending are read as facts, or are compressed files that may be.

    >>> reads_ending(".tsv"), reads_ending(".gz"), reads_ending(".txt")
    (True, True, False)
    """
    return any(ending in known for known in (TABLE_READERS, fact_endings(), DATABASES, OPENERS))
