"""The raw table of the survey: python examples/survey/tables.py FOLDER"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

QUESTIONS = ("belt", "helmet", "insured", "serviced", "speeds")
YES = {True: (0.95, 0.85, 0.9, 0.8, 0.1), False: (0.4, 0.2, 0.5, 0.25, 0.75)}
"""How many of those who are cautious, and of the others, would say yes to each question."""
BLANK = 0.3


def make(folder: Path, people: int = 400, seed: int = 3) -> None:
    """Answers as they came in, and all that would have been given, which only a test reads."""
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    asked, whole = [("person", *QUESTIONS)], [("person", *QUESTIONS)]
    for number in range(people):
        says = [draw.random() < share for share in YES[draw.random() < 0.6]]
        whole.append((f"p{number}", *(str(one).lower() for one in says)))
        asked.append((whole[-1][0], *("" if draw.random() < BLANK else cell for cell in whole[-1][1:])))
    for name, rows in (("survey", asked), ("whole", whole)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
