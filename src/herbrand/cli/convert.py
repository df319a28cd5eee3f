"""``herbrand convert``: any readable format to the language, and back where it can be said there."""

from __future__ import annotations

from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.output import write_text

NAME = "convert"


def command(
    theory: options.Theories,
    to: Annotated[str, typer.Option("--to", metavar="hb|mln|lcn|ppr", help="The format to write.")] = "hb",
    output: options.Output = None,
    dialect: options.Dialect = None,
) -> None:
    """Any readable format to the language, and back where it can be said there.

    Files of facts (.db, .cfacts) are read as theories of facts.
    """
    write_text(hb.written(hb.read(theory, dialect), to), output)
