"""Inductive-logic problems by `induce`: what is found, how often it is wrong, and what does not fit.

    python -m benchmarks.induction_ilp [PROBLEM...]

The problems are folders with facts (`bk.pl`) and examples (`exs.pl`) in Prolog's notation. They are read
where they lie (``HERBRAND_DATA``, or ``shared/data`` beside the checkout) and are never part of the project.
"""

from __future__ import annotations

import csv
import os
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import torch

from herbrand.errors import HerbrandError
from herbrand.induction.induce import induce
from herbrand.language.parse import parse_theory
from herbrand.language.theory import Theory

HERE = Path(__file__).parent
DATA = Path(os.environ.get("HERBRAND_DATA", HERE.parent.parent / "shared" / "data")) / "ilp" / "popper"
BUDGET = 2.0
"""Minutes for a problem."""

KINDS = {
    "zendo": {
        "structure": ("zendo",),
        "structure piece": ("piece",),
        "piece": ("blue", "green", "red", "lhs", "rhs", "strange", "upright"),
        "piece piece": ("contact",),
        "piece number": ("coord1", "coord2", "size"),
        "number": ("small", "medium", "large", "max_size"),
    },
    "iggp-minimal-decay": {
        "game number": ("next_value", "true_value"),
        "game role action": ("does",),
        "number number": ("my_succ",),
        "number": ("c1", "c2", "c3", "c4", "c5"),
        "action": ("press_button", "noop"),
        "role": ("player",),
    },
    "iggp-rps": {
        "game role number": ("next_score", "my_true_score"),
        "game role action": ("does",),
        "game number": ("my_true_step",),
        "number number": ("my_succ",),
        "action action": ("beats",),
        "action": ("action",),
        "role role": ("different",),
        "role": ("c_p1", "c_p2", "player"),
    },
}
"""What the arguments of predicates are, where games and numbers are written alike: else game 3 would be the
number 3."""

FACT = re.compile(r"^([a-z]\w*)\(([^():]*)\)\.$")
EXAMPLE = re.compile(r"^(pos|neg)\(([a-z]\w*)\(([^()]*)\)\)\.$")
Rows = dict[str, list[list[str]]]


def solve(problem: Path, budget: float = BUDGET) -> str:
    """A row of the table."""
    try:
        facts = _facts(problem / "bk.pl")
        target, examples = _examples(problem / "exs.pl")
    except ValueError as error:
        return f"| {problem.name} | | | | {error} |"
    count = f"{sum(e[-1] == 'true' for e in examples)} / {sum(e[-1] == 'false' for e in examples)}"
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world"
        world.mkdir()
        for name, rows in facts.items():
            _write(world / f"{name}.csv", rows)
        columns = [f"{target}_{place}" for place in range(1, len(examples[0]))]
        _write(world / f"{target}.csv", [[*columns, "truth"], *examples])
        try:
            found = induce(
                _theory(problem.name, {target, *facts}), target=target, worlds=folder, budget=budget
            )
        except HerbrandError as error:
            return f"| {problem.name} | {count} | | | {str(error).splitlines()[0]} |"
    rules = "<br>".join(f"`{line}`" for line in found.text.splitlines() if ":-" in line)
    return f"| {problem.name} | {count} | {found.errors} | {found.seconds:.0f} | {rules} |"


def _facts(path: Path) -> Rows:
    """Ground facts by predicate; raises ``ValueError`` where there are rules."""
    facts: Rows = defaultdict(list)
    for line in _lines(path):
        fact = FACT.match(line)
        if fact is None:
            raise ValueError(f"not a fact of constants: `{line}`")
        facts[fact[1]].append(fact[2].split(","))
    return facts


def _examples(path: Path) -> tuple[str, list[list[str]]]:
    """The target, and its tuples with their truth."""
    matches = [EXAMPLE.match(line) for line in _lines(path)]
    found = [m for m in matches if m is not None]
    if len(found) < len(matches):
        raise ValueError("an example is not an atom of constants")
    truth = {"pos": "true", "neg": "false"}
    if all(m[1] == "pos" for m in found):
        raise ValueError("all examples are positive: nothing says what is false")
    return found[0][2], [[*m[3].split(","), truth[m[1]]] for m in found]


def _theory(problem: str, known: set[str]) -> Theory:
    """Declarations of the predicates that a problem has."""
    kinds = next((kinds for name, kinds in KINDS.items() if problem.startswith(name)), {})
    return parse_theory(
        "\n".join(
            f"predicate {name}({', '.join(arguments.split())})"
            for arguments, names in kinds.items()
            for name in names
            if name in known
        )
    )


def _lines(path: Path) -> list[str]:
    """What is said: no comments, and no directives about style."""
    lines = [line.strip().replace(" ", "") for line in path.read_text().splitlines()]
    return [s for s in lines if s and not s.startswith(("%", "#", ":-style_check", ":-discontiguous"))]


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def report(names: list[str] | None = None) -> str:
    """A table of all problems, or of those named."""
    torch.set_num_threads(1)
    if not DATA.is_dir():
        return f"There are no problems at {DATA}."
    lines = [
        f"Each problem has a budget of {BUDGET:g} minutes; the rules are checked exactly.",
        "",
        "| problem | examples, true / false | errors | seconds | rules, or why there are none |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for problem in sorted(DATA.iterdir()):
        if not names or problem.name in names:
            lines.append(solve(problem))
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(sys.argv[1:]))
