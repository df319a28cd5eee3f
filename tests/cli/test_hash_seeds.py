"""What a command writes is the same in every process, whatever order Python's sets have there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """0.3::bad(a). 0.2::bad(b). 0.1::bad(c). 0.4::bad(d).
late(X) :- bad(X). late(X) :- next(X, Y), late(Y).
next(a, b). next(b, c). next(c, d). next(d, a).
query(late(X)) :- next(X, _).
evidence(late(X), true) :- next(X, c).
"""
THEORY = """1.5: smokes(x) and friends(x, y) => smokes(y)
-0.7: smokes(x)
0.3 :: ill(x) :- smokes(x)
friends("anna", "bob")
friends("bob", "carl")
friends("carl", "dora")
"""
RULES = """predicate likes(person)
predicate meets(person, person)
predicate linked(person, person)
predicate lone(person)
predicate busy
type person = {"anna", "bob", "carl"}
0.5 :: meets(x, y)
linked(x, y) :- meets(x, y)
linked(x, z) :- linked(x, y), linked(y, z)
busy :- likes(x)
lone(x) :- meets(x, x), not likes(x)
"""
BOUNDS = """P(smokes("anna")) in [0.2, 0.4]
P(ill(x) | smokes(x)) >= 0.3
P(smokes("bob") | smokes("anna")) >= 0.5
P(smokes("carl")) <= 0.1
"""
FILES = {"program.pl": PROGRAM, "theory.hb": THEORY, "rules.hb": RULES, "bounds.hb": BOUNDS}
COMMANDS = {
    "queries of a .pl file": ("infer", "program.pl"),
    "marginals": ("infer", "theory.hb"),
    "the most probable world": ("infer", "theory.hb", "--map"),
    "samples": ("sample", "theory.hb", "--worlds", "5", "--seed", "3"),
    "samples of what several rules derive": ("sample", "rules.hb", "--worlds", "20"),
    "reasons": ("explain", "theory.hb", 'ill("dora")'),
    "bounds": ("bound", "bounds.hb"),
    "facts of another format": ("convert", "theory.hb", "--to", "hb"),
}


ONE_BY_ONE = """
import io, json, sys
from contextlib import redirect_stdout
from herbrand.cli import main

for arguments in json.load(sys.stdin):
    sys.argv = ["herbrand", *arguments]
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(out):
        try:
            main()
        except SystemExit as end:
            assert not end.code, arguments
    print(json.dumps(out.buffer.getvalue().decode()))
"""
"""The commands one after another: a process each would mostly import."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[dict[tuple[str, ...], str]]:
    """What the commands write in two processes, which run side by side."""
    folder = tmp_path_factory.mktemp("theories")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_BY_ONE],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    asked = json.dumps([(*command, *options(command)) for command in COMMANDS.values()])
    found = []
    for process in processes:
        out, _ = process.communicate(asked)
        assert process.returncode == 0
        found.append(dict(zip(COMMANDS.values(), map(json.loads, out.splitlines()), strict=True)))
    return found


def options(command: tuple[str, ...]) -> tuple[str, ...]:
    return () if command[0] == "convert" else ("--format", "json")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_two_processes_write_the_same(
    command: tuple[str, ...], written: list[dict[tuple[str, ...], str]]
) -> None:
    one, other = (without_seconds(command, each[command]) for each in written)
    assert one and one == other


def without_seconds(command: tuple[str, ...], text: str) -> str:
    if not options(command):
        return text
    answer = json.loads(text)
    answer.pop("seconds", None)
    return json.dumps(answer)
