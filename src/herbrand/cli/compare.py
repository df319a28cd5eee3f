"""``herbrand compare``: several engines on one theory, side by side."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.opening import open_model
from herbrand.cli.output import text_table, write_result

NAME = "compare"


def command(
    theory: options.Theories,
    facts: options.Facts = None,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="NAME", help="Repeatable; all engines if not given."),
    ] = None,
    query: options.Query = None,
    given: options.Given = None,
    format: options.OutputFormat = options.Format.table,
    output: options.Output = None,
    memory: options.Memory = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    dialect: options.Dialect = None,
    open: options.Open = None,
    closed: options.Closed = None,
    header: options.HasHeader = None,
    ignore: options.Ignore = None,
) -> None:
    """Several engines on one theory, with time and the largest difference from the exact answer."""
    model = open_model(theory, facts, dialect, open, closed, header, ignore)
    found = hb.compare(
        model,
        engine or (),
        query=query or (),
        given=given or (),
        memory=memory,
        time_limit=time_limit,
        seed=seed,
    )

    def tables() -> list[Table]:
        heads = ("engine", "guarantee", "seconds", "log partition", "largest difference")
        return [text_table(heads, found.summary()), text_table(("atom", *found.answers), found.rows())]

    write_result(format, output, found.to_dict, tables, found.to_arrow)
