"""Try damaged theories, tables and options on all commands, in processes of their own.

    python -m tests.fuzz --cases 20000 --first 0 --processes 2      (make fuzz CASES=20000 FIRST=0)

Case number n is the same on every machine. What goes wrong is kept in build/fuzz, a folder a case. A process
that hangs or dies is ended and counted as wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.trial import case
from tests.fuzz.workers import outcomes


def keep(number: int, message: str, folder: Path) -> None:
    """Write a case and what is wrong with it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder.mkdir(parents=True, exist_ok=True)
        case(number, Path(scratch)).kept(folder)
    (folder / "wrong.txt").write_text(message + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Try damaged theories, tables and options on all commands.")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first case's number, its seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    asked = parser.parse_args()
    tried, faults, start = 0, Counter[str](), time.monotonic()
    for number, message in outcomes(range(asked.first, asked.first + asked.cases), asked.processes):
        tried += 1
        if message:
            last = message.strip().splitlines()[-1][:160]
            faults[last] += 1
            keep(number, message, asked.keep / str(number))
            print(f"case {number}: {last}", flush=True)
        if tried % 1000 == 0:
            print(f"{tried} cases, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{tried} cases, {sum(faults.values())} wrong, {time.monotonic() - start:.0f} s")
    for message, count in faults.most_common():
        print(f"{count:6} {message}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
