"""Faults at every write of every command that writes: a full disk, Ctrl-C, SIGTERM, SIGKILL.

Each command runs in a forked child again and again. The k-th operation that changes the outside (a file
begun, a write, an fsync, a rename, a statement of a database) is where the fault comes, for every k until a
run ends without meeting it. Afterwards: the exit status is that of the fault, each output file is the old one
or a whole new one, nothing temporary is left but what a killed process could not remove, and the next run
removes that and succeeds. A cache that cannot be written is no fault: then the result is there, and whole.

``python -m tests.faults.injector`` (``make fault``) runs all of them, or those of the commands or cases that
are named, and prints how many points were tried and what was wrong.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet

from herbrand import files
from herbrand.cli import app
from herbrand.errors import BudgetError
from herbrand.language.parse import parse_theory
from herbrand.relations.database import DuckDB
from herbrand.tensor_files import read_tensors, save_tensors

FULL = 0
"""The fault that is no signal: no space left on the device."""
FAULTS = {
    "ENOSPC": (FULL, 1),
    "SIGINT": (signal.SIGINT, 130),
    "SIGTERM": (signal.SIGTERM, 143),
    "SIGKILL": (signal.SIGKILL, -signal.SIGKILL),
}
"""By name: the signal, and the exit status that it must lead to."""
MOST_POINTS = 400

RULES = """
type person
predicate friends(person, person): observed
predicate smokes(person)
0.7: smokes(x) and friends(x, y) => smokes(y)
-0.3: smokes(x)
"""
LEARNED = RULES.replace("0.7:", "?:").replace("-0.3:", "?:")
BOUNDS = "P(a) in [0.2, 0.3]\nP(b | a) >= 0.6\n"
HORN = 'e("a", "b")\ne("b", "c")\np(x, y) :- e(x, y)\np(x, z) :- e(x, y), p(y, z)\n'


@dataclass(frozen=True)
class Case:
    """A command, the files it writes, and files that there are before."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    again: tuple[str, ...] = ()
    """A command that must work, or refuse plainly, after whatever the fault left."""


def cases() -> list[Case]:
    """Every command that writes, in every format."""
    found = []
    for ending in ("table", "json", "csv", "parquet"):
        for name, told in (
            ("infer", ("rules.hb", "--facts", "facts")),
            ("bound", ("bounds.hb",)),
            ("query", ("horn.hb", 'p("a", y)')),
            ("explain", ("rules.hb", 'smokes("anna")', "--facts", "facts")),
            ("compare", ("rules.hb", "--facts", "facts", "--engine", "exact", "--engine", "lifted")),
            ("score", ("result.json", "--facts", "labels", "--closed", "smokes")),
        ):
            out = f"out.{ending}"
            found.append(Case(f"{name} {ending}", (name, *told, "--format", ending, "-o", out), (out,)))
        found.append(
            Case(f"infer {ending} to standard output", ("infer", "rules.hb", "--format", ending), ())
        )
    found.append(Case("check", ("check", "rules.hb"), ()))
    learn = ("learn", "learned.hb", "--facts", "labels", "--iterations", "4")
    resumed = (*learn, "--resume", "state")
    found += [
        Case("learn", (*learn, "-o", "out.hb"), ("out.hb",)),
        Case("learn --save", (*learn, "--save", "state", "-o", "out.hb"), ("out.hb", "state"), resumed),
        Case("convert", ("convert", "rules.hb", "-o", "out.hb"), ("out.hb",)),
        Case("convert two files", ("convert", "horn.hb", "--to", "ppr", "-o", "out.ppr"),
             ("out.ppr", "out.cfacts")),
        Case(
            "infer on a database",
            ("infer", "rules.hb", "--facts", "facts", "--on", "duckdb:world.duckdb", "--iterations", "2",
             "--tolerance", "0.9", "-o", "out.table"),
            ("out.table",),
            ("infer", "rules.hb", "--facts", "facts", "--on", "duckdb:world.duckdb", "--iterations", "2",
             "--tolerance", "0.9", "--resume"),
        ),
    ]  # fmt: skip
    return found


def long_cases() -> list[Case]:
    """Those that take a second or more at each point."""
    induce = ("induce", "--target", "grand", "--worlds", "worlds", "--engine", "nlm", "--budget", "0.02")
    return [Case("induce", (*induce, "--save", "machine", "-o", "out.hb"), ("out.hb", "machine"))]


def prepare(folder: Path) -> None:
    """The theories and facts that the commands read."""
    for name, text in (
        ("rules.hb", RULES), ("learned.hb", LEARNED), ("bounds.hb", BOUNDS), ("horn.hb", HORN),
        ("facts/friends.csv", "anna,bob\nbob,carl\n"),
        ("labels/friends.csv", "anna,bob\nbob,carl\n"),
        ("labels/smokes.csv", "anna\nbob\n"),
        ("worlds/one/parent.csv", "a,b\nb,c\nc,d\n"),
        ("worlds/one/grand.csv", "a,c\nb,d\n"),
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    marginals = [
        {"atom": f'smokes("{who}")', "predicate": "smokes", "probability": p, "value": None}
        for who, p in (("anna", 0.9), ("carl", 0.2))
    ]
    (folder / "result.json").write_text(json.dumps({"marginals": marginals}))


# The points


@dataclass
class Fault:
    """Comes at the ``point``-th operation."""

    point: int
    number: int
    met: int = 0

    def step(self) -> None:
        self.met += 1
        if self.met != self.point:
            return
        if self.number == FULL:
            raise OSError(28, os.strerror(28))
        os.kill(os.getpid(), self.number)


class _Raw(io.FileIO):
    """A file whose writes are points."""

    fault: Fault

    def write(self, data: Any, /) -> int | None:
        self.fault.step()
        return super().write(data)


def _before(fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(*arguments: Any, **options: Any) -> Any:
        fault.step()
        return function(*arguments, **options)

    return stepped


def _plant(fault: Fault) -> None:
    """Make every operation that changes the outside a point; only ever in a child."""

    def opened(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "x" not in mode and "w" not in mode:
            return plain(path, mode, *rest, **options)
        fault.step()
        raw = _Raw(path, mode.replace("b", ""))
        raw.fault = fault
        return io.BufferedWriter(raw)

    plain = Path.open
    Path.open = opened  # type: ignore[method-assign, assignment]
    for name in ("replace", "fsync", "rename", "mkdir"):
        setattr(os, name, _before(fault, getattr(os, name)))
    for name in ("run", "put"):
        setattr(DuckDB, name, _database_step(fault, getattr(DuckDB, name)))
    out = _Raw(1, "w", closefd=False)
    out.fault = fault
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(out), "utf-8")


def _database_step(fault: Fault, function: Callable[..., Any]) -> Callable[..., Any]:
    """A full disk is the database's own error there."""

    def stepped(*arguments: Any, **options: Any) -> Any:
        try:
            fault.step()
        except OSError as error:
            raise BudgetError(f"no disk left: {error.strerror}") from None
        return function(*arguments, **options)

    return stepped


# A run


@dataclass(frozen=True)
class Ended:
    status: int
    met: bool
    err: str


def run(folder: Path, arguments: Sequence[str], point: int = -1, number: int = FULL) -> Ended:
    """A command in a child, with a fault at a point; whether it got that far."""
    told = folder / "met"
    told.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        _child(folder, arguments, Fault(point, number), told)
    _, status = os.waitpid(child, 0)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    met = code == -signal.SIGKILL or (told.exists() and int(told.read_text()) >= point > 0)
    return Ended(code, met, (folder / "err").read_text())


def _child(folder: Path, arguments: Sequence[str], fault: Fault, told: Path) -> None:
    os.chdir(folder / "work")
    tempfile.tempdir = str(folder / "tmp")
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    sys.argv = ["herbrand", *arguments]
    write, exit_now = os.write, os._exit
    handle = os.open(told, os.O_WRONLY | os.O_CREAT)

    def leave(status: int) -> None:
        write(handle, str(fault.met).encode())
        exit_now(status)

    os._exit = leave  # type: ignore[assignment]
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _plant(fault)
    status = 1
    try:
        app.stop_on_signals()
        app.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.stderr.write(f"Traceback: {error!r}\n")
        status = 99
    finally:
        sys.stderr.flush()
        atexit._run_exitfuncs()  # as a process of its own would: folders that nothing holds any more
        leave(status)


# What must be true afterwards


@dataclass
class Tally:
    tried: int = 0
    wrong: list[str] = field(default_factory=list)


def tried(case: Case, faults: Sequence[str] = tuple(FAULTS)) -> Tally:
    """A case with each fault at each of its points."""
    tally = Tally()
    for fault in faults:
        number, expected = FAULTS[fault]
        for old in (True, False) if fault == "SIGKILL" else (True,):
            for point in range(1, MOST_POINTS):
                with _place() as folder:
                    before = _old(folder, case) if old else {}
                    ended = run(folder, case.arguments, point, number)
                    if not ended.met:
                        if ended.status not in (0, 3):  # else a case that is broken has no points, none wrong
                            tally.wrong.append(f"{case.name} without a fault: {ended.status}, {ended.err}")
                        break
                    tally.tried += 1
                    for what in _wrong(folder, case, ended, expected, before):
                        tally.wrong.append(
                            f"{case.name}, {fault} at {point}{' over an old file' * old}: {what}"
                        )
    return tally


@contextmanager
def _place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        for name in ("work", "tmp"):
            (folder / name).mkdir()
        prepare(folder / "work")
        yield folder
    finally:
        shutil.rmtree(folder)


def _old(folder: Path, case: Case) -> dict[str, bytes]:
    """Write the old files: no other file than a saved one is overwritten by one."""
    for name in case.outputs:
        path = folder / "work" / name
        if path.suffix:
            path.write_bytes(b"an old file")
        else:
            save_tensors(path, {}, {"old": True})
    return {name: (folder / "work" / name).read_bytes() for name in case.outputs}


def _wrong(folder: Path, case: Case, ended: Ended, expected: int, before: dict[str, bytes]) -> Iterator[str]:
    fulfilled = expected == 1 and ended.status in (0, 3) and _new(folder, case, before)
    if ended.status != expected and not fulfilled:
        yield f"status {ended.status} instead of {expected}: {ended.err}"
    if "Traceback" in ended.err or "internal error" in ended.err:
        yield f"not a plain error: {ended.err}"
    if expected == 1 and not fulfilled and "No space left" not in ended.err:
        yield f"the error does not tell the reason: {ended.err}"
    for name in case.outputs:
        path = folder / "work" / name
        data = path.read_bytes() if path.exists() else None
        if data != before.get(name) and not _whole(path):
            yield f"{name} is neither old nor whole"
    left = list(_temporary(folder))
    if expected != -signal.SIGKILL and left:
        yield f"left behind: {left}"
    if case.again:
        again = run(folder, case.again)
        if again.status not in (0, 1, 3) or "Traceback" in again.err or "internal error" in again.err:
            yield f"afterwards {' '.join(case.again)}: {again.status}, {again.err}"
    if expected != -signal.SIGKILL:
        return
    after = run(folder, case.arguments)
    if after.status not in (0, 3):
        yield f"the next run ends with {after.status}: {after.err}"
    locked = [name for name in _temporary(folder) if name not in _never_locked(folder)]
    if locked:
        yield f"the next run leaves {locked}"
    if not _new(folder, case, before):
        yield "the next run does not write a whole file"


def _new(folder: Path, case: Case, before: dict[str, bytes]) -> bool:
    """Whether all results are there, none of them old."""
    paths = [folder / "work" / name for name in case.outputs]
    return all(_whole(path) and path.read_bytes() != before.get(path.name) for path in paths)


def _temporary(folder: Path) -> Iterator[str]:
    yield from (path.name for path in (folder / "tmp").iterdir() if path.name.startswith(files.PREFIX))
    known = (".spill", files.UNFINISHED)
    yield from (path.name for path in (folder / "work").iterdir() if path.name.endswith(known))


def _never_locked(folder: Path) -> set[str]:
    """Folders whose process was killed before it could lock them: they are ignored."""
    made = (folder / "tmp").iterdir()
    return {path.name for path in made if path.is_dir() and not (path / files.ALIVE).exists()}


def _whole(path: Path) -> bool:
    """Whether a file can be read to its end as what it is."""
    try:
        match path.suffix:
            case ".json":
                return bool(json.loads(path.read_text()))
            case ".csv":
                return pyarrow.csv.read_csv(path).num_rows > 0 and path.read_bytes().endswith(b"\n")
            case ".parquet":
                return pyarrow.parquet.read_table(path).num_rows > 0
            case "":
                return bool(read_tensors(path))
            case _:
                return path.read_bytes().endswith(b"\n")
    except Exception:  # whatever a reader raises, the file is not whole
        return False


def main() -> None:
    """Run the cases and commands that are named, or everything."""
    wanted = sys.argv[1:]
    chosen = [
        case
        for case in (*cases(), *long_cases())
        if not wanted or case.name in wanted or case.arguments[0] in wanted
    ]
    if not chosen:
        sys.exit(f"there is no case or command of these names: {', '.join(wanted)}")
    warm_up({case.arguments[0] for case in chosen})
    points, wrong = 0, []
    for case in chosen:
        tally = tried(case)
        points += tally.tried
        wrong += tally.wrong
        told = [f"{case.name}: {tally.tried} points, {len(tally.wrong)} wrong", *tally.wrong[:5]]
        sys.stdout.write("\n  ".join(told) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{points} points tried, {len(wrong)} wrong\n")
    sys.exit(bool(wrong))


PREPARED = {
    "convert": (
        "language.check",
        "language.files",
        "language.formatting",
        "language.dialects.beside",
        "language.dialects.tensorlog.writer",
    ),
    "infer": ("engines.registry", "scale.inference"),
    "query": ("engines.proof.query",),
    "learn": ("learning.methods",),
    "induce": ("induction.induce",),
}
"""Modules by the command that needs them: else each child imports them, and torch takes seconds."""


def warm_up(commands: Collection[str]) -> None:
    """Import, in this process, what the children need, and make the parser; threads are left to them."""
    for command in commands:
        for name in PREPARED.get(command, ("engines.registry",)):
            importlib.import_module(f"herbrand.{name}")
    parse_theory(RULES)
    app.program()


if __name__ == "__main__":
    main()
