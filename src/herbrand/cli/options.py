"""Groups of options that several commands share, each a frozen dataclass; their names and kinds of values are
in :mod:`herbrand.options.table`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from herbrand.errors import HerbrandError
from herbrand.extras import later

_reads_ending = later("herbrand.facts.source:reads_ending")
_theory_endings = later("herbrand.language.dialects:theory_endings")
_parse_address = later("herbrand.facts.address:parse_address")
written_by_ending = later("herbrand.language.files:written_by_ending")
"""Imported late, so that options load without the readers of databases and theories."""


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    html = "html"
    svg = "svg"


Theories = Annotated[
    list[str], typer.Argument(metavar="THEORY...", help="Theory files; together one theory.")
]
_BY_ENDING = {
    ".json": Format.json,
    ".csv": Format.csv,
    ".parquet": Format.parquet,
    ".pq": Format.parquet,
}
_DRAWN_BY_ENDING = {".html": Format.html, ".svg": Format.svg}
_OF_NO_TEXT = (".xlsx", *_DRAWN_BY_ENDING, ".htm", ".png", ".pdf")
"""Endings of files that no one expects to hold a table of text, beside those that fact readers claim."""


def refuse_no_theory(output: str | None) -> None:
    """Raise an error if the ending of ``output`` is that of a table, a page, a picture or a dialect, as the
    result is a theory."""
    ending = _ending(output)
    if ending in (*_BY_ENDING, *_OF_NO_TEXT) or (ending and _reads_ending(ending)):
        raise HerbrandError(
            f"a theory is not written as {ending}",
            hint="-o takes the theory, such as learned.hb; --format decides what standard output gets",
        )
    if output is not None and written_by_ending(output) != "hb":
        raise HerbrandError(
            f"this command writes a theory as .hb, not as {ending}",
            hint=f"-o learned.hb, and then: herbrand convert learned.hb -o {output}",
        )


def refuse_overwriting(written: Iterable[str], theories: Iterable[str], facts: Iterable[str]) -> None:
    """Raise an error if a command would write one file twice, or overwrite a file that it reads: a theory, a
    result, a file of facts, or a table in a folder of facts."""
    addresses = [_parse_address(text).location for text in facts]
    read, folders = [*theories, *addresses], [path for path in addresses if os.path.isdir(path)]
    known: set[str] = set()
    for path in written:
        place = os.path.realpath(path)
        if place in known:
            raise HerbrandError(f"'{path}' would be written twice", hint="name two files")
        known.add(place)
        if os.path.isfile(path) and (
            any(os.path.exists(other) and os.path.samefile(other, path) for other in read)
            or (_reads_ending(_ending(path)) and any(_is_inside(place, folder) for folder in folders))
        ):
            raise HerbrandError(
                f"'{path}' is read by this command, and its result would overwrite it",
                hint="name another file",
            )


def _is_inside(place: str, folder: str) -> bool:
    return Path(place).is_relative_to(os.path.realpath(folder))


def _ending(output: str | None) -> str:
    return "" if output is None else Path(output).suffix.lower()


@dataclass(frozen=True)
class Opened:
    """A theory and its facts."""

    theory: Theories
    facts: list[str] | None = None
    dialect: str | None = None
    open: list[str] | None = None
    closed: list[str] | None = None
    header: str | None = None
    ignore: list[str] | None = None
    on: str | None = None


@dataclass(frozen=True)
class OpenedForGoal(Opened):
    """A theory and its facts, with a goal as the last argument."""

    theory: Annotated[
        list[str],
        typer.Argument(
            metavar="THEORY... GOAL", help="Theory files, together one theory; and what is asked."
        ),
    ]


@dataclass(frozen=True)
class OpenedForReasons(Opened):
    """A theory and its facts, with the query to be explained as the last argument."""

    theory: Annotated[
        list[str],
        typer.Argument(
            metavar="THEORY... [WHAT]",
            help="Theory files, together one theory; and what is explained, unless --query names it.",
        ),
    ]


@dataclass(frozen=True)
class Written:
    """Destination and format of a result. ``drawn_by_ending``: the page and picture formats of a command."""

    drawn_by_ending: ClassVar[Mapping[str, Format]] = {}

    format: str | None = None
    output: str | None = None
    into: str | None = None

    def __post_init__(self) -> None:
        if self.into is not None:
            self.target  # noqa: B018 - a place that is none is refused before the work
            if self.output is not None or self.format is not None:
                raise HerbrandError(
                    "--into writes the result into a database, and nowhere else",
                    hint="leave it out, or leave out --output and --format",
                )
        if self.format is None and self._is_read_otherwise:
            raise HerbrandError(
                f"results are not written as {self._ending}",
                hint="-o takes .csv, .parquet and .json, --into a database; --format decides for other names",
            )

    @property
    def target(self) -> tuple[str, str, str]:
        """Kind of database, file and new table that ``into`` names.

        >>> Written(into="duckdb:out/bank.duckdb.found").target
        ('duckdb', 'out/bank.duckdb', 'found')
        """
        kind, _, place = str(self.into).partition(":")
        file, _, table = place.rpartition(".")
        is_whole_name = not Path(file).suffix and _reads_ending(f".{table}")  # bank.duckdb, without a table
        if kind not in ("duckdb", "sqlite") or not file or not table or is_whole_name:
            raise HerbrandError(
                f"'{self.into}' names no table to write into",
                hint="expected duckdb:FILE.TABLE or sqlite:FILE.TABLE",
            )
        return kind, file, table

    @property
    def chosen(self) -> Format:
        """The format given, or that of the file's ending; else a table."""
        return Format(self.format or _BY_ENDING.get(self._ending, Format.table))

    @property
    def drawn(self) -> Format | None:
        """The page or picture format, if the command has it and it was chosen."""
        drawn = self.drawn_by_ending
        chosen = self.format or drawn.get(self._ending)
        return Format(chosen) if chosen in drawn.values() else None

    @property
    def _is_read_otherwise(self) -> bool:
        """Whether the file's ending is that of another kind of file than a table of text."""
        if self._ending in ("", *_BY_ENDING, *self.drawn_by_ending):
            return False
        claimed = self._ending in _OF_NO_TEXT or self._ending in _theory_endings()
        return claimed or _reads_ending(self._ending)

    @property
    def _ending(self) -> str:
        return _ending(self.output)


@dataclass(frozen=True)
class WrittenOrDrawn(Written):
    """Destination and format of a result that may also be a page or a picture."""

    drawn_by_ending: ClassVar[Mapping[str, Format]] = _DRAWN_BY_ENDING
