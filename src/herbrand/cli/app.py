"""The program ``herbrand``: its commands, and what becomes of errors.

A command imports what it needs when it runs (by attributes of ``herbrand``, which are lazy), and only the
command that is asked for is built with its options, so that ``--help`` costs little more than its library.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from collections.abc import Callable, Collection
from typing import NoReturn

import typer

import herbrand
from herbrand.errors import HerbrandError

COMMANDS = ("check", "infer", "query", "bound", "explain", "learn", "induce", "score", "compare", "convert")
INTERRUPTED = 130
COMPLETING = "_HERBRAND_COMPLETE"


def program(whole: Collection[str] = COMMANDS, listed: bool = False) -> typer.Typer:
    """These commands with all their options; the others are there by name, ``listed`` with what they do."""
    app = typer.Typer(
        name="herbrand",
        help="One engine for first-order logic under uncertainty.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help: drawing boxes costs more than everything else a --help does
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in COMMANDS:
        command = _command(name) if name in whole or listed else _by_name
        app.command(name, help=command.__doc__)(command if name in whole else _by_name)
    return app


def _command(name: str) -> Callable[..., None]:
    return importlib.import_module(f"herbrand.cli.{name}").command


def _by_name() -> None:
    """Never runs: a command that is asked for is there whole."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"herbrand {herbrand.__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Tell the version."
    ),
) -> None:
    """One engine for first-order logic under uncertainty."""


def _asked(arguments: list[str]) -> typer.Typer:
    """As much of the program as these arguments need."""
    if COMPLETING in os.environ:
        return program()
    asked = [argument for argument in arguments if not argument.startswith("-")][:1]
    return program(asked, listed=not asked and "--version" not in arguments)


def run() -> None:
    """:func:`main` as a process of its own, which ends at once: nobody needs torch taken apart again."""
    status = 1

    def end() -> None:
        """The last of all exit handlers, as the others are registered later."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # nothing else can be done for a pipe that nobody reads
            os._exit(status)

    atexit.register(end)
    try:
        main()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise


def main() -> None:
    """Run a command; a mistake in the input is a message and status 1, never a traceback."""
    try:
        _asked(sys.argv[1:])(standalone_mode=True)
    except HerbrandError as error:
        _told(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:  # while a module is imported
        _interrupted()
    except SystemExit as end:  # typer's word for an interrupted command is its status
        if end.code == INTERRUPTED:
            _interrupted()
        raise
    except Exception as error:
        if os.environ.get("HERBRAND_DEBUG"):
            raise
        if _lacks_memory(error):
            _told(
                "the machine gave no more memory; no file was written\n"
                "  ask for less, such as --top or one --query, or give --memory what there is:"
                " what needs more is then refused before it begins"
            )
        _told(
            f"internal error: {type(error).__name__}: {error}\n"
            "  this is a fault of herbrand, not of your input; HERBRAND_DEBUG=1 shows where"
        )


def _lacks_memory(error: Exception) -> bool:
    """Whether it is Python's own or torch's way to say so, told without importing torch."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error)


def _interrupted() -> NoReturn:
    print("interrupted; no file was written", file=sys.stderr)
    sys.exit(INTERRUPTED)


def _told(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(1)
