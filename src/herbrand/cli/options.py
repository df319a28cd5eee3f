"""Options that several commands share, said once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


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
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="AMOUNT", help="At most this much, such as 4GB (default: 70 %)."),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", min=0, help="At most this long.")
]
