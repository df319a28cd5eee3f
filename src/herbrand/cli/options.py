"""Options that several commands share, said once: one by one, and in groups that commands take whole."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from herbrand.whole_files import refuse_unwritable


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class Header(StrEnum):
    yes = "yes"
    no = "no"


Theories = Annotated[
    list[str], typer.Argument(metavar="THEORY...", help="Theory files; together one theory.")
]
Facts = Annotated[
    list[str] | None,
    typer.Option(
        "--facts", metavar="PATH", help="A folder or file of fact tables, or PREDICATE=PATH. Repeatable."
    ),
]
Dialect = Annotated[
    str | None,
    typer.Option("--dialect", metavar="NAME", help="How to read the theory files, if not by their ending."),
]
Open = Annotated[
    list[str] | None,
    typer.Option("--open", metavar="PRED", help="What is not listed is unknown. Repeatable."),
]
Closed = Annotated[
    list[str] | None,
    typer.Option("--closed", metavar="PRED", help="What is not listed is false. Repeatable."),
]
HasHeader = Annotated[
    Header | None, typer.Option("--header", help="Whether text tables begin with a line of column names.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="weights|bounds|rules", help="Leave out statements of this kind. Repeatable."
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="A database that holds the facts and does the work: duckdb:FILE or spark://HOST:PORT/FOLDER.",
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--given", metavar="LITERAL", help="One more fact for this call. Repeatable."),
]
Query = Annotated[
    list[str] | None,
    typer.Option("--query", metavar="QUERY", help="A predicate, an atom or any formula. Repeatable."),
]
EngineName = Annotated[str, typer.Option("--engine", metavar="NAME", help="Which engine runs it.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Equal seeds give equal results.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="How results are written.")]
ChosenFormat = Annotated[
    Format | None, typer.Option("--format", help="How results are written; else the ending of -o decides.")
]
_BY_ENDING = {
    ".json": Format.json,
    ".csv": Format.csv,
    ".parquet": Format.parquet,
    ".pq": Format.parquet,
}


def writable(path: str | None) -> str | None:
    """The name of a file, if one can be written there; told before the work."""
    if path is not None:
        refuse_unwritable(path)
    return path


def keepable(path: str | None) -> str | None:
    """As :func:`writable`; the folders it needs will be made."""
    if path is not None:
        refuse_unwritable(path, folders=True)
    return path


Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", callback=writable, help="Write there instead of standard output."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="AMOUNT", help="At most this much, such as 4GB (default: 70 %)."),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", min=0, help="At most this long.")
]
Tolerance = Annotated[
    float | None, typer.Option("--tolerance", metavar="T", min=0, help="Stop when a step moves less.")
]
Iterations = Annotated[int | None, typer.Option("--iterations", metavar="N", min=1, help="At most N steps.")]
Schedule = Annotated[
    str | None,
    typer.Option(
        "--schedule", metavar="NAME", help="In which order beliefs are updated: parallel, sequential."
    ),
]
Damping = Annotated[
    float | None,
    typer.Option(
        "--damping", metavar="D", min=0, max=1, help="The share of the old belief that a step keeps."
    ),
]
Starts = Annotated[
    int | None, typer.Option("--starts", metavar="N", min=1, help="Runs, or chains, from different seeds.")
]
Samples = Annotated[
    int | None, typer.Option("--samples", metavar="N", min=1, help="How many worlds a sampler draws.")
]
Cost = Annotated[
    float | None, typer.Option("--cost", metavar="OPERATIONS", min=0, help="How large a region may grow.")
]
Structure = Annotated[
    str | None,
    typer.Option("--structure", metavar="NAME", help="regions: merged, counts, elements, partial or ground."),
]
Clip = Annotated[
    float | None,
    typer.Option(
        "--clip",
        metavar="C",
        help="mean-field: a statement moves an atom by less than C times its weight. Another model.",
    ),
]


@dataclass(frozen=True)
class Opened:
    """A theory and its facts."""

    theory: Theories
    facts: Facts = None
    dialect: Dialect = None
    open: Open = None
    closed: Closed = None
    header: HasHeader = None
    ignore: Ignore = None
    on: On = None


@dataclass(frozen=True)
class Limited:
    """How much a call may take."""

    memory: Memory = None
    time_limit: TimeLimit = None
    seed: Seed = 0

    def told(self) -> dict[str, Any]:
        """As keyword arguments; what is not given is left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Stepped(Limited):
    """How an engine steps, and how much it may take; what is not given the engine chooses."""

    tolerance: Tolerance = None
    iterations: Iterations = None
    schedule: Schedule = None
    damping: Damping = None
    starts: Starts = None
    samples: Samples = None
    cost: Cost = None
    structure: Structure = None
    clip: Clip = None


@dataclass(frozen=True)
class Written:
    """Where a result goes, and how."""

    format: ChosenFormat = None
    output: Output = None

    @property
    def chosen(self) -> Format:
        """What is asked for, or what the ending of the file says; else a table."""
        ending = "" if self.output is None else Path(self.output).suffix.lower()
        return self.format or _BY_ENDING.get(ending, Format.table)
