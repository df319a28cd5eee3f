"""``herbrand lsp``: the language server, on standard input and output."""

from __future__ import annotations

import os
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
    # The server closes what it writes to when the editor ends it, and the program still flushes its own.
    with open(os.dup(sys.__stdout__.fileno()), "wb") as written:
        made.start_io(sys.__stdin__.buffer, written)
