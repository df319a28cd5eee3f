"""``herbrand compare``: several engines on one theory, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import open_model
from herbrand.cli.output import write_result
from herbrand.cli.tables import Table


@spread
def command(
    opened: options.Opened,
    stepped: options.Stepped,
    written: options.Written,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="NAME", help="Repeatable; all engines if not given."),
    ] = None,
    query: options.Query = None,
    given: options.Given = None,
) -> None:
    """Several engines on one theory, with time and the largest difference from the exact answer."""
    found = hb.compare(
        open_model(opened), engine or (), query=query or (), given=given or (), **stepped.told()
    )

    def tables() -> list[Table]:
        heads = ("engine", "guarantee", "seconds", "log partition", "largest difference")
        return [Table(heads, found.summary), Table(found.heads, found.cells)]

    write_result(written, found.to_dict, tables, found.to_arrow)
