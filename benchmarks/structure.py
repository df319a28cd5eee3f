"""How large the source is, and how many of its files one call enters.

python -m benchmarks structure

A file is entered when one of its functions runs, other than by being imported. ``cold``: the first call of a
process, from reading the theory on; ``warm``: the same call again.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import herbrand as hb

SOURCE = Path(hb.__file__).parent
CALLS = {
    "infer": ("smokers/smokers.hb", "smokers/facts", ()),
    "bound": ("alarm_bounds/alarm.hb", None, ("P(burglary | mary_calls)",)),
    "query": ("family/family.hb", None, ('uncle("liam", y)',)),
}
EXAMPLES = Path(__file__).parents[1] / "examples"


def report() -> str:
    rooms = Counter[str]()
    lengths: list[int] = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        place = path.relative_to(SOURCE)
        rooms[place.parts[0] if len(place.parts) > 1 else "files beside the rooms"] += text.count("\n")
        nodes = ast.walk(ast.parse(text))
        lengths += [(n.end_lineno or 0) - n.lineno + 1 for n in nodes if isinstance(n, ast.FunctionDef)]
    lines = ["| room | lines |", "| --- | ---: |"]
    lines += [f"| {room} | {count:,} |" for room, count in rooms.most_common()]
    lines += [f"| **all** | **{sum(rooms.values()):,}** |", ""]
    lines += [f"{len(lengths):,} functions, of {median(lengths):.0f} lines (median).", ""]
    lines += ["| one call | files cold | functions cold | files warm | functions warm |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {command} | {' | '.join(entered_apart(command))} |" for command in CALLS]
    return "\n".join(lines)


def entered_apart(command: str) -> list[str]:
    """The four numbers of a command, in a process that has done nothing else."""
    call = [sys.executable, "-m", "benchmarks.structure", command]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()


def entered(work: Callable[[], Any]) -> tuple[Any, int, int]:
    """What the work gives, and how many files and functions of the package it entered."""
    found = set[tuple[str, str]]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = event == "call" and code.co_flags & inspect.CO_OPTIMIZED  # the body of a class is not
        if is_function and _is_ours(frame) and not _is_importing(frame):
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, len({file for file, _ in found}), len(found)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(SOURCE))


def _is_importing(frame: FrameType | None) -> bool:
    """Whether some file of the package is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _is_ours(frame):
            return True
        frame = frame.f_back
    return False


def main(command: str) -> None:
    theory, facts, asked = CALLS[command]

    def first() -> Callable[[], Any]:
        model = hb.Model(EXAMPLES / theory, facts and EXAMPLES / facts)
        method = getattr(model, command)
        method(*asked)
        return lambda: method(*asked)

    again, *cold = entered(first)
    _, *warm = entered(again)
    print(*cold, *warm)


if __name__ == "__main__":
    main(sys.argv[1])
