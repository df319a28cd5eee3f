"""``herbrand lsp``: the language server, on standard input and output."""

from __future__ import annotations

import sys

import herbrand as hb
from herbrand.cli.parameters import takes
from herbrand.extras import imported


@takes("lsp")
def command() -> None:
    """A language server for editors, on standard input and output (extra: lsp)."""
    # Standard output carries the protocol alone: the guarded stream of other commands is left out.
    assert sys.__stdin__ is not None and sys.__stdout__ is not None
    made = imported("herbrand.editing.server").server(hb.__version__)
    made.start_io(sys.__stdin__.buffer, sys.__stdout__.buffer)
