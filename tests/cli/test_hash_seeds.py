"""What a command writes is the same in every process, whatever order Python's sets have there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_two_processes_write_the_same(command: tuple[str, ...], tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert written(command, 1, tmp_path) == written(command, 2, tmp_path)


def written(command: tuple[str, ...], seed: int, folder: Path) -> object:
    options = () if command[0] == "convert" else ("--format", "json")
    run = subprocess.run(
        [sys.executable, "-m", "herbrand", *command, *options],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    if not options:
        return run.stdout
    answer = json.loads(run.stdout)
    answer.pop("seconds", None)
    return json.dumps(answer)
