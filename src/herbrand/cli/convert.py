"""``herbrand convert``: any readable format to the language, and back where it can be said there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.output import note, write_text, write_texts


def command(
    theory: options.Theories,
    to: Annotated[str, typer.Option("--to", metavar="hb|mln|lcn|ppr", help="The format to write.")] = "hb",
    output: options.Output = None,
    dialect: options.Dialect = None,
) -> None:
    """Any readable format to the language, and back where it can be said there.

    Files of facts (.db, .cfacts) are read as theories of facts.
    """
    said = hb.read(theory, dialect)
    text, facts = hb.written(said, to), hb.written_facts(said, to)
    if facts is None:
        write_text(text, output)
        return
    ending, listed = facts
    if output is None:
        write_text(text, None)
        note(
            f"facts are left out: this format keeps them in {ending} files; with -o FILE they are written too"
        )
        return
    beside = str(Path(output).with_suffix(ending))
    write_texts({output: text, beside: listed})
    note(f"facts are in {beside}")
