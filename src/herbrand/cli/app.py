"""The program ``herbrand``: its commands, and what becomes of errors.

A command imports what it needs when it runs (by attributes of ``herbrand``, which are lazy), so that
``--help`` costs no more than its own two libraries.
"""

from __future__ import annotations

import os
import sys

import typer

import herbrand
from herbrand.cli import bound, check, compare, convert, explain, induce, infer, learn, query, score
from herbrand.errors import HerbrandError

INTERRUPTED = 130

app = typer.Typer(
    name="herbrand",
    help="One engine for first-order logic under uncertainty.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: drawing boxes costs more than everything else a --help does
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (check, infer, query, bound, explain, learn, induce, score, compare, convert):
    app.command(module.NAME)(module.command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"herbrand {herbrand.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Tell the version."
    ),
) -> None:
    """One engine for first-order logic under uncertainty."""


def main() -> None:
    """Run a command; a mistake in the input is a message and status 1, never a traceback."""
    try:
        app(standalone_mode=True)
    except HerbrandError as error:
        _told(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("HERBRAND_DEBUG"):
            raise
        _told(
            f"internal error: {type(error).__name__}: {error}\n"
            "  this is a fault of herbrand, not of your input; HERBRAND_DEBUG=1 shows where"
        )


def _told(message: str) -> None:
    print(message, file=sys.stderr)
    sys.exit(1)
