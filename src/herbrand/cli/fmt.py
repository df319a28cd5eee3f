"""``herbrand fmt``: theory files in one style of blanks and indents."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import herbrand as hb
from herbrand.cli.output import note, write_text, write_texts
from herbrand.cli.parameters import takes
from herbrand.errors import HerbrandError, counted

STANDARD_INPUT = "-"


@takes("fmt")
def command(
    theory: Annotated[list[str], typer.Argument(metavar="THEORY...", help="Theory files, each by itself.")],
    check: bool = False,
) -> None:
    """Write theory files in one style: blanks, indents, empty lines. Words and comments stay.

    A file with mistakes is left alone and they are reported; "-" reads standard input and prints.
    """
    if theory == [STANDARD_INPUT]:
        write_text(hb.formatted(sys.stdin.read(), "standard input"), None)
        return
    changed = {path: after for path in theory if (after := hb.formatted_file(path)) is not None}
    files, are = counted(len(theory), "file"), "is" if len(changed) == 1 else "are"
    if not check:
        write_texts(changed)
        note(f"{len(changed)} of {files} written anew")
    elif changed:
        raise HerbrandError(
            f"{len(changed)} of {files} {are} written in another style: {', '.join(changed)}",
            hint=f"herbrand fmt {' '.join(changed)}",
        )
