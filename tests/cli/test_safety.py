"""What commands do not do: steer a terminal, hang on a pipe, leave folders, lose results in silence."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from herbrand.cli import app
from herbrand.files import ALIVE, PREFIX, ScratchFolder
from herbrand.language.parse import parse_theory
from tests.conftest import Outcome

Run = Callable[..., Outcome]
STEERING = "a\x1b[31m\u202e\x07\x9bb\u2028\u200f\ttab\x7f"
PROGRAM = (sys.executable, "-m", "herbrand")


def steers(text: str) -> list[str]:
    return [character for character in text if not character.isprintable() and character != "\n"]


@pytest.fixture
def evil(tmp_path: Path) -> tuple[str, ...]:
    quoted = json.dumps(STEERING, ensure_ascii=False)
    (tmp_path / "evil.hb").write_text(f"1.5: p(x)\np2({quoted})\nr(x) :- p2(x)\n")
    (tmp_path / "p.jsonl").write_text(json.dumps([STEERING]) + "\n")
    return (str(tmp_path / "evil.hb"), "--facts", str(tmp_path / "p.jsonl"))


@pytest.mark.parametrize("format", ["table", "json"])
@pytest.mark.parametrize(
    "command",
    [
        ("query", "r(y)", "--ignore", "weights"),
        ("infer", "--query", "p", "--open", "p", "--ignore", "rules"),
        ("check",),
    ],
)
def test_constants_do_not_steer_a_terminal(
    herbrand: Run, evil: tuple[str, ...], command: tuple[str, ...], format: str
) -> None:
    name, *rest = command
    goal = [rest.pop(0)] if name == "query" else []
    theory, *facts = evil
    told = [] if name == "check" else ["--format", format]
    outcome = herbrand(name, theory, *goal, *facts, *rest, *told)
    assert outcome.status == 0 and not steers(outcome.out + outcome.err)


def test_json_and_theories_mean_the_same_text(herbrand: Run, evil: tuple[str, ...]) -> None:
    answers = json.loads(herbrand("query", evil[0], "r(y)", "--ignore", "weights", "--format", "json").out)[
        "answers"
    ]
    assert answers[0]["bindings"] == {"y": STEERING}
    again = parse_theory(herbrand("convert", evil[0]).out)
    assert again.facts[0].row(0) == (STEERING,)
    assert STEERING in herbrand("query", evil[0], "r(y)", "--ignore", "weights", "--format", "csv").out


def test_messages_do_not_steer_a_terminal(herbrand: Run, tmp_path: Path) -> None:
    (tmp_path / "a.hb").write_text("type t = {1, 2}\npredicate p(t): observed\n1: p(x)\n")
    name = "e\x1b[2J\u202evil"
    (tmp_path / f"{name}.csv").write_text("1\n")
    for facts in (f"p={tmp_path}/{name}.csv", f"{tmp_path}/{name}.csv", f"{tmp_path}/{name}"):
        outcome = herbrand("infer", tmp_path / "a.hb", "--facts", facts)
        assert outcome.err and not steers(outcome.err)
    (tmp_path / "p.jsonl").write_text(json.dumps([STEERING]))
    outcome = herbrand("infer", tmp_path / "a.hb", "--facts", tmp_path / "p.jsonl")
    assert outcome.status == 1 and "\\u001b[31m\\u202e" in outcome.err and not steers(outcome.err)


@pytest.mark.parametrize(
    ("cell", "is_formula"), [("=cmd|x", True), ("@a", True), ("+x", True), ("-5", False)]
)
def test_formulas_in_csv_are_noted_and_read_back(
    herbrand: Run, tmp_path: Path, cell: str, is_formula: bool
) -> None:
    (tmp_path / "a.hb").write_text(f"q({json.dumps(cell)})\np(x) :- q(x)\n")
    outcome = herbrand("query", tmp_path / "a.hb", "p(y)", "--format", "csv")
    assert f'"{cell}"' in outcome.out
    assert ("a spreadsheet would take" in outcome.err) == is_formula


# Files that are none


def irregular(folder: Path, kind: str, name: str) -> Path:
    path = folder / name
    match kind:
        case "a named pipe":
            os.mkfifo(path)
        case "a circle of links":
            path.symlink_to(path)
        case "a device":
            path.symlink_to("/dev/zero")
        case "a folder":
            path.mkdir()
        case _:
            with socket.socket(socket.AF_UNIX) as one:
                before = os.getcwd()
                os.chdir(folder)
                one.bind(name)
                os.chdir(before)
    return path


@pytest.mark.parametrize("kind", ["a named pipe", "a circle of links", "a device", "a socket", "a folder"])
def test_what_is_no_regular_file_is_refused(herbrand: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.hb").write_text("1: p(x)\n")
    table, included = irregular(tmp_path, kind, "p.csv"), irregular(tmp_path, kind, "more.mln")
    (tmp_path / "b.mln").write_text('#include "more.mln"\nSmokes(x)\n')
    commands = [
        ("infer", tmp_path / "a.hb", "--facts", f"p={table}"),
        ("check", tmp_path / "b.mln"),
    ]
    if kind != "a folder":
        result = irregular(tmp_path, kind, "r.json")
        commands += [
            ("infer", tmp_path / "a.hb", "--facts", table),
            ("check", included),
            ("check", irregular(tmp_path, kind, "p.hb")),
            ("score", result, "--facts", tmp_path / "a.hb"),
        ]
    for command in commands:
        outcome = herbrand(*command)
        assert outcome.status == 1 and not outcome.out, command
        assert kind in outcome.err or "lies outside the folder" in outcome.err, (command, outcome.err)
        assert "internal error" not in outcome.err


def test_a_theory_through_a_pipe_of_the_shell() -> None:
    for command in ("echo rain | {} convert /dev/stdin", "{} convert <(echo rain)"):
        done = subprocess.run(
            ["bash", "-c", command.format(" ".join(PROGRAM))], capture_output=True, text=True
        )
        assert done.returncode == 0 and "rain" in done.stdout


# Standard output that takes nothing


@pytest.mark.parametrize(
    "arguments", [("convert", "a.hb"), ("query", "a.hb", "p(y)", "--format", "parquet"), ("--help",)]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device_is_a_plain_error(tmp_path: Path, arguments: tuple[str, ...], unbuffered: str) -> None:
    (tmp_path / "a.hb").write_text('q("a")\np(x) :- q(x)\n')
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr == "standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(("closing", "status"), [(">&-", 1), ("2>&-", 0), ("2>/dev/full", 0)])
def test_closed_streams(tmp_path: Path, closing: str, status: int) -> None:
    (tmp_path / "a.hb").write_text("rain\n")
    command = f"{' '.join(PROGRAM)} convert a.hb {closing}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == status and "Traceback" not in done.stderr
    assert ("standard output cannot be written" in done.stderr) == bool(status)


# Signals


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_signals_end_a_command_cleanly(tmp_path: Path, number: int, status: int) -> None:
    """While facts stream through a store; after SIGKILL the next store removes what was left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    waiting = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # as where no nohup began the tests
        "import sys, time, herbrand; from herbrand.cli import app; from herbrand.facts.store import Store\n"
        "def wait(*arguments, **options):\n"
        "    with Store() as store:\n"
        "        store.connection.execute('CREATE TABLE t AS FROM range(3)')\n"
        "        print('waiting', flush=True); time.sleep(100)\n"
        "herbrand.Model = wait\n"
        "sys.argv = ['herbrand', 'check', 'a.hb']; app.run()\n"
    )
    (tmp_path / "a.hb").write_text("rain\n")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", waiting],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        assert [path.name.startswith(PREFIX) for path in temporary.iterdir()] == [True]
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert len(list(temporary.iterdir())) == (number == signal.SIGKILL)
    if number != signal.SIGKILL:
        assert told.endswith("; no file is left half-written\n")
    subprocess.run(
        [sys.executable, "-c", "from herbrand.files import ScratchFolder as F\nwith F(): pass"],
        env=environment, check=True,
    )  # fmt: skip
    assert not list(temporary.iterdir())


def test_ctrl_c_while_the_program_is_imported() -> None:
    """Where users' scripts begin: the entry that the package names."""
    module, _, run = tomllib.loads(Path("pyproject.toml").read_text())["project"]["scripts"][
        "herbrand"
    ].partition(":")
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Pressed())\n"
        f"from {module} import {run}\n"
        f"sys.exit({run}())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_of_which_a_library_makes_an_error(
    herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    """DuckDB raises a ``RuntimeError`` for what interrupts a query."""

    def asked(arguments: list[str]) -> None:
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    before = {each: signal.getsignal(each) for each in app.ENDING}
    monkeypatch.setattr(app, "_asked", asked)
    try:
        signal.signal(number, signal.SIG_DFL)  # who runs the tests behind a shell has Ctrl-C set aside
        app.stop_on_signals()
        outcome = herbrand("check", "a.hb")
    finally:
        app._stopped_by.clear()
        for each, handler in before.items():
            signal.signal(each, handler)
    assert outcome.status == status and outcome.err.endswith("; no file is left half-written\n")


def test_folders_of_the_living_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"{PREFIX}of somebody else").mkdir()
    with ScratchFolder() as ours:
        began = time.monotonic()
        with ScratchFolder() as other:
            assert ours != other and Path(ours, ALIVE).exists()
        assert Path(ours).exists() and time.monotonic() >= began
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}of somebody else"]


def test_a_full_disk_met_by_a_library_is_a_plain_error(
    herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/cache")

    monkeypatch.setattr("herbrand.cli.app._asked", full)
    outcome = herbrand("infer", "theory.hb")
    assert outcome.status == 1
    assert outcome.err.startswith("nothing can be written to /tmp/cache: No space left on device")
