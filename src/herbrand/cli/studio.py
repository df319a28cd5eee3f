"""``herbrand studio``: a local web application over a folder of theories and tables."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from herbrand.budget import bytes_of
from herbrand.cli.output import write_text
from herbrand.cli.parameters import takes
from herbrand.extras import imported


@takes("studio")
def command(
    theory: Annotated[
        str | None, typer.Argument(metavar="[THEORY]", help="A theory file; its folder is the project.")
    ] = None,
    facts: list[str] | None = None,
    port: int = 0,
    no_browser: bool = False,
    memory: str | None = None,
    time_limit: float | None = None,
) -> None:
    """Write, run and look at theories in a browser; nothing leaves this machine.

    Prints one line: the address, which holds the key to it. Ctrl-C ends it.
    """

    def announce(address: str) -> None:
        write_text(f"{address}\n", None)
        if not no_browser:
            webbrowser.open(address)

    imported("herbrand.serving.servers").studio(
        theory,
        facts or (),
        port=port,
        memory=None if memory is None else bytes_of(memory),
        seconds=time_limit,
        announce=announce,
    )
