"""Output of commands: results to standard output or a file, notes and progress to standard error.

Terminal controls are escaped (:mod:`herbrand.visible`) in tables, notes, errors and JSON, where the escapes
mean the same text. CSV and Parquet hold constants unchanged.

A file is written whole or not at all, so that an interrupted command leaves nothing half-written. The library
of progress bars is imported when one is drawn, so that ``--help`` costs little.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

import typer

from herbrand.budget import GUARDS
from herbrand.cli.options import Format, Written
from herbrand.cli.tables import Table, lines
from herbrand.errors import HerbrandError
from herbrand.facts.place import shown
from herbrand.files import written_whole
from herbrand.visible import visible, visible_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.progress import Progress, TaskID

    from herbrand.answers.guarantee import Status

NOT_CONVERGED = 3
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-][\d .,eE+-]*$"
WAIT = 1.0
"""Seconds of work after which a progress bar appears."""


def note(text: str) -> None:
    """Write a note to standard error."""
    print(visible_lines(text), file=sys.stderr)


def leave_unconverged(status: Status) -> None:
    """Exit with status 3 and the reason if the work did not converge; the results are written by then. Write
    a note if another method than the named one did the work."""
    if not status.converged:
        note(f"not converged: {status.advice}")
        raise typer.Exit(NOT_CONVERGED)
    if status.advice:
        note(status.advice)


def write_result(
    written: Written,
    to_dict: Callable[[], dict[str, Any]],
    to_tables: Callable[[], Sequence[Table]],
    to_arrow: Callable[[], pa.Table],
) -> None:
    """Write a result in the chosen format to a file or to standard output; from then on no limit ends the
    command."""
    format, output = written.chosen, written.output
    if written.into is not None:
        importlib.import_module("herbrand.cli.into_database").write_table(to_arrow(), *written.target)
    elif format is Format.json:
        write_json(json.dumps(to_dict(), ensure_ascii=False, allow_nan=False), output)
    elif format is Format.table:
        _write_lines(lines(to_tables(), on_terminal=output is None and sys.stdout.isatty()), output)
    elif format in (Format.csv, Format.parquet):
        table = to_arrow()
        if format is Format.csv and (cell := _formula(table)) is not None:
            note(
                f"a spreadsheet would take some cells for formulas, such as {shown(cell)}: "
                "import columns as text, or write --format parquet"
            )
        _write_binary(_encoder(format, table), output)
    GUARDS.answered()


def _formula(table: pa.Table) -> str | None:
    """A cell that a spreadsheet would run as a formula, for a note; it is written unchanged, so that programs
    read it back."""
    import pyarrow.compute  # only here

    compute: Any = pyarrow.compute
    for column in table.columns:
        texts = compute.list_flatten(column) if pyarrow.types.is_list(column.type) else column
        if pyarrow.types.is_string(texts.type) or pyarrow.types.is_large_string(texts.type):
            formulas = texts.filter(compute.match_substring_regex(texts, FORMULA))
            formulas = formulas.filter(compute.invert(compute.match_substring_regex(formulas, NUMBER)))
            if len(formulas):
                return formulas[0].as_py()
    return None


def write_json(text: str, output: str | None) -> None:
    """Write a JSON object on one line."""
    write_text(visible(text) + "\n", output)


def write_text(text: str, output: str | None) -> None:
    if output is None:
        sys.stdout.write(visible_lines(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    else:
        write_texts({output: text})


def write_texts(texts: Mapping[str, str]) -> None:
    """Write files, given as texts by name; none replaces an old file before all are written."""
    with ExitStack() as files:
        for path, text in texts.items():
            files.enter_context(written_whole(path)).write(text.encode())


def _write_lines(lines: Iterable[Sequence[str]], output: str | None) -> None:
    """Write lines in batches, so that a long table is never whole in memory."""
    parts = ("\n".join((*some, "")) for some in lines)
    if output is None:
        sys.stdout.writelines(parts)
        sys.stdout.flush()
    else:
        _write_file(output, lambda file: file.writelines(map(str.encode, parts)))


def _encoder(format: Format, table: pa.Table) -> Callable[[IO[bytes]], object]:
    if format == Format.csv:
        import pyarrow.csv  # only here

        return lambda file: pyarrow.csv.write_csv(table, file)
    import pyarrow.parquet

    return lambda file: pyarrow.parquet.write_table(table, file)


def _write_binary(encode: Callable[[IO[bytes]], object], output: str | None) -> None:
    if output is not None:
        _write_file(output, encode)
        return
    if sys.stdout.isatty():
        raise HerbrandError("this format is not for a terminal", hint="name a file: -o FILE")
    encode(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _write_file(output: str, write: Callable[[IO[bytes]], object]) -> None:
    with written_whole(output) as file:
        write(file)


class Bar:
    """A progress bar on standard error, on a terminal only, for work that takes over a second."""

    def __init__(self, title: str, began: float) -> None:
        self._title, self._began = title, began
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def show(self, what: str, share: float) -> None:
        """Show the task ``what`` and the ``share`` of the work that is done."""
        if not sys.stderr.isatty() or time.monotonic() - self._began < WAIT:
            return
        if self._progress is None:
            import rich.console
            import rich.progress as bars

            text = bars.TextColumn("{task.description}", markup=False)
            columns = (text, bars.BarColumn(), bars.TimeRemainingColumn())
            console = rich.console.Console(file=sys.__stderr__)
            self._progress = bars.Progress(*columns, console=console, transient=True)
            self._task = self._progress.add_task(self._title, total=1.0)
            self._progress.start()
        assert self._task is not None
        self._progress.update(self._task, completed=share, description=visible(what))
        if share >= 1:
            self._progress.stop()
            self._progress = None
