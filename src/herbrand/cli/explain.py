"""``herbrand explain``: why an atom has its probability, its bound or its weight."""

from __future__ import annotations

from typing import Annotated

import typer

from herbrand.cli import options
from herbrand.cli.grouping import spread
from herbrand.cli.opening import last_argument, open_model
from herbrand.cli.output import note, write_result
from herbrand.cli.tables import sheet_table


@spread
def command(
    opened: options.Opened,
    stepped: options.Stepped,
    written: options.Written,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="WHAT", help="An atom, P(...), or a goal; or name it last."),
    ] = None,
    given: options.Given = None,
    engine: options.EngineName = "auto",
    top: Annotated[
        int | None, typer.Option("--top", metavar="K", min=0, help="The K heaviest reasons.")
    ] = None,
) -> None:
    """Why: the statements and groundings that moved a probability, a bound or a weight, heaviest first.

    What to explain is the last argument: herbrand explain smokers.hb --facts facts 'smokes("anna")'
    """
    opened, query = (opened, query) if query else last_argument(opened, "what to explain")
    why = open_model(opened).explain(
        query, given=given or (), engine=engine, top=top, note=note, **stepped.told()
    )
    write_result(
        written,
        why.to_dict,
        lambda: [sheet_table(end) for end in why.ends],
        why.to_arrow,
    )
