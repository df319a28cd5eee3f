"""The raw tables of the recommendations: python examples/recommendations/tables.py FOLDER"""

from __future__ import annotations

import csv
import math
import random
import sys
from pathlib import Path

USERS, BOOKS, AUTHORS, THEMES = 40, 60, 15, 8
SHOWN = 0.5
"""The share of verdicts that are known."""


def make(folder: Path, seed: int = 4) -> None:
    """A CSV file a predicate; ``hidden``: verdicts that were not asked for, which only a test reads."""
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    users, books = [f"u{n}" for n in range(USERS)], [f"b{n}" for n in range(BOOKS)]
    author = {book: f"author{draw.randrange(AUTHORS)}" for book in books}
    theme = {book: f"theme{draw.randrange(THEMES)}" for book in books}
    admires = {(user, f"author{draw.randrange(AUTHORS)}") for user in users for _ in range(3)}
    follows = {(user, f"theme{draw.randrange(THEMES)}") for user in users for _ in range(2)}
    friends = {(user, draw.choice(users)) for user in users for _ in range(2)}
    verdicts = [("u", "b", "truth")]
    hidden = []
    for user in users:
        for book in books:
            reasons = 2.5 * ((user, author[book]) in admires) + 1.5 * ((user, theme[book]) in follows)
            likes = draw.random() < 1 / (1 + math.exp(1.5 - reasons))
            if draw.random() < SHOWN:
                verdicts.append((user, book, str(likes).lower()))
            else:
                hidden.append((user, book, str(likes).lower()))
    tables = {
        "likes": verdicts,
        "hidden": hidden,
        "wrote": sorted((a, b) for b, a in author.items()),
        "about": sorted(theme.items()),
        "admires": sorted(admires),
        "follows": sorted(follows),
        "friends": sorted((u, v) for u, v in friends if u != v),
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
