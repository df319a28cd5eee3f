"""The whole idea in a minute (``make demo``): a theory of each kind, what is asked of it, and the answer.

Shown as typed: every command below can be run as it stands.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from pathlib import Path

from herbrand.cli.app import main

ROOT = Path(__file__).parents[1]
SMOKERS = "examples/smokers/smokers.hb --facts examples/smokers/facts"
ALARM = "examples/alarm_bounds/alarm.hb"
FAMILY = "examples/family/family.hb"

TOUR = {
    "What tends to be so: weighted rules, tables of facts, marginal probabilities": (
        f"infer {SMOKERS}",
        f"explain {SMOKERS} 'smokes(\"frank\")'",
    ),
    "What is known within bounds: the tightest interval that follows": (
        f"bound {ALARM} --query 'P(burglary | mary_calls)'",
    ),
    "What follows by rules: answers, weighed by their proofs": (
        f"query {FAMILY} 'uncle(\"liam\", y)'",
        f'explain {FAMILY} \'uncle("liam", "carl")\'',
    ),
}


def tour() -> str:
    """All commands and what they print."""
    parts = []
    for number, (title, commands) in enumerate(TOUR.items(), 1):
        theory = commands[0].split()[1]
        parts.append(f"{number}. {title}\n\n{statements(ROOT / theory)}")
        parts += [f"$ herbrand {command}\n{printed(command)}" for command in commands]
    return "\n".join(parts)


def statements(path: Path) -> str:
    """What a theory says, without its declarations, facts and remarks."""
    said = (line.split("#")[0].rstrip() for line in path.read_text().splitlines())
    marks = ("hard:", ": ", "P(", ":-")
    return "".join(
        f"    {line}\n" for line in said if any(m in line for m in marks) and "predicate" not in line
    )


def printed(command: str) -> str:
    """What ``herbrand COMMAND`` writes to a terminal."""
    told = io.StringIO()
    before, sys.argv = sys.argv, ["herbrand", *shlex.split(command)]
    try:
        with (
            contextlib.redirect_stdout(told),
            contextlib.redirect_stderr(told),
            contextlib.suppress(SystemExit),
        ):
            main()
    finally:
        sys.argv = before
    return told.getvalue()


if __name__ == "__main__":
    os.chdir(ROOT)
    print(tour())
