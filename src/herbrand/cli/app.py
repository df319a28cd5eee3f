"""The program ``herbrand``: its commands, error messages and exit statuses.

A command imports its modules when it runs (by the lazy attributes of ``herbrand``), and only the command that
is run is built with its options, so that ``--help`` costs little more than importing its library.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FrameType
from typing import IO, Any, NoReturn

import typer

import herbrand
from herbrand.budget import GUARDS, lacks_memory
from herbrand.cli.compiling import advice_out_of_time, tell_of_compiling
from herbrand.errors import HerbrandError
from herbrand.extras import imported
from herbrand.files import no_file_name
from herbrand.options.table import COMMANDS
from herbrand.visible import visible_lines

INTERRUPTED = 130
ENDING = {
    getattr(signal, name): word
    for name, word in (
        ("SIGINT", "interrupted"),
        ("SIGTERM", "terminated"),
        ("SIGHUP", "hung up"),
        ("SIGALRM", "out of time"),
    )
    if hasattr(signal, name)
}
"""Signals that end a command after its temporary files are removed, and the word for each."""
COMPLETING = "_HERBRAND_COMPLETE"


def program(whole: Collection[str] = COMMANDS, listed: bool = False) -> typer.Typer:
    """The program with all options of the commands ``whole``; the others have names only, and help texts if
    they are ``listed``."""
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
    return imported(f"herbrand.cli.{name}").command


def _by_name() -> None:
    """Placeholder of a command without options; it never runs, as the command that is run is built whole."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"herbrand {herbrand.__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """One engine for first-order logic under uncertainty."""


def _asked(arguments: list[str]) -> typer.Typer:
    """The program with the options of the command that the arguments name."""
    if COMPLETING in os.environ:
        return program()
    first = [argument for argument in arguments if not argument.startswith("-")][:1]
    return program(first, listed=not first and "--version" not in arguments)


def run() -> None:
    """Run :func:`main` as a process of its own and exit at once, without the slow teardown of torch."""
    status = 1

    def end() -> None:
        """End the process; the last exit handler to run, as it is registered first."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # nothing else can be done for a pipe that nobody reads
            os._exit(status)

    atexit.register(end)
    stop_on_signals()
    GUARDS.own_process = True
    tell_of_compiling()
    try:
        main()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise


_stopped_by: list[int] = []
"""Signals received; a library that is interrupted may raise an error of its own instead."""


def _stop(number: int, frame: FrameType | None) -> None:
    _stopped_by.append(number)
    sys.unraisablehook = _unheard
    raise KeyboardInterrupt


def _unheard(_: object) -> None:
    """Ignore errors that Python cannot raise: those of objects that an interrupted library left
    unfinished."""


class _StandardError:
    """Standard error with terminal controls escaped; errors of writing are ignored, so that a note that
    cannot be written costs no result."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(visible_lines(text))
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _StandardOutput:
    """Standard output or its buffer; raises an error for the user if writing fails."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        with _plain():
            return self._stream.write(data)

    def writelines(self, lines: Iterable[Any]) -> None:
        with _plain():
            self._stream.writelines(lines)

    def flush(self) -> None:
        with _plain():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._stream, name)
        return _StandardOutput(value) if name == "buffer" else value


@contextlib.contextmanager
def _plain() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise HerbrandError(f"standard output cannot be written: {error.strerror}") from None


def stop_on_signals() -> None:
    """Turn the signals that end a process into ``KeyboardInterrupt``; ignored ones stay ignored (nohup).
    SIGINT is among them, since a library may turn Python's own interrupt into another error."""
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)


def main() -> None:
    """Run a command; wrong input gives a message and status 1, never a traceback."""
    if sys.stdout is None:  # closed: writing fails, and does not reach the next file opened
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = io.StringIO()
    error, output = _StandardError(sys.stderr), _StandardOutput(sys.stdout)
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(output):
        _main()


def _main() -> None:
    try:
        try:
            _asked(sys.argv[1:])(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except HerbrandError as error:
        _fail(str(error))
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
        _fault(error)


NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""Errors of a full or read-only disk, which temporary files of libraries can meet as well as ours."""


def _fault(error: Exception) -> NoReturn:
    if os.environ.get("HERBRAND_DEBUG"):
        raise error
    if _stopped_by:
        _interrupted()
    if lacks_memory(error):
        _fail(
            "the machine gave no more memory; no output file was changed\n"
            "  ask for less, such as --top or one --query, or give --memory what there is:"
            " what needs more is then refused before it begins"
        )
    if (unusable := no_file_name(error)) is not None:
        _fail(unusable)
    if isinstance(error, OSError) and error.errno in NO_PLACE:
        place = error.filename or tempfile.gettempdir()
        _fail(
            f"nothing can be written to {place}: {error.strerror}\n"
            "  free space there, or name another folder for temporary files: TMPDIR=FOLDER herbrand ..."
        )
    _fail(
        f"internal error: {type(error).__name__}: {error}\n"
        "  this is a fault of herbrand, not of your input; HERBRAND_DEBUG=1 shows where"
    )


def _interrupted() -> NoReturn:
    if GUARDS.seconds is not None and signal.SIGALRM in _stopped_by:
        _fail(f"not done after {GUARDS.seconds:g} s\n  {advice_out_of_time()}")
    word = ENDING[_stopped_by[0]] if _stopped_by else "interrupted"
    print(f"{word}; no file is left half-written", file=sys.stderr)
    sys.exit(128 + (_stopped_by[0] if _stopped_by else signal.SIGINT))


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(1)
