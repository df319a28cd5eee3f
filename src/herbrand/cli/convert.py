"""``herbrand convert``: any readable format to the language, and back where it can be said there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli import options
from herbrand.cli.output import note, write_text


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
    write_text(text, output)
    if facts is not None:
        _write_facts(*facts, output)


def _write_facts(ending: str, text: str, output: str | None) -> None:
    """Facts that the format keeps in a file of their own: beside the output, if that is a file."""
    if output is None:
        note(
            f"facts are left out: this format keeps them in {ending} files; with -o FILE they are written too"
        )
        return
    beside = str(Path(output).with_suffix(ending))
    write_text(text, beside)
    note(f"facts are in {beside}")
