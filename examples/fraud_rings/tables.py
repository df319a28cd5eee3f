"""A bank of 100,000 transfers with rings hidden in it: python examples/fraud_rings/tables.py FOLDER"""

from __future__ import annotations

import random
import sys
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pandas as pd

FIRST = date(2026, 1, 1)


def make(folder: Path, seed: int = 7, count: int = 100_000, accounts: int = 5_000, rings: int = 12) -> None:
    """``bank.duckdb``: transactions, and a table that nobody asks for; ``rings.csv``: the hidden accounts."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        sender, receiver = draw.sample(range(accounts), 2)
        rows.append((sender, receiver, draw.lognormvariate(4, 1), draw.randrange(360)))
    hidden = [draw.sample(range(accounts), 3) for _ in range(rings)]
    for members in hidden:
        amount, day = draw.uniform(4000, 9000), draw.randrange(350)
        for place, sender in enumerate(members):
            rows.append((sender, members[(place + 1) % 3], amount * 0.97**place, day + place))
    draw.shuffle(rows)
    transactions = pd.DataFrame(
        [(f"c{s}", f"c{r}", round(amount, 2), FIRST + timedelta(day)) for s, r, amount, day in rows],
        columns=["sender", "receiver", "amount", "day"],
    )
    with duckdb.connect(str(folder / "bank.duckdb")) as bank:
        bank.execute("CREATE TABLE transactions AS SELECT * REPLACE (day::DATE AS day) FROM transactions")
        bank.execute("CREATE TABLE branches AS SELECT 'north' AS branch")
    members = sorted(f"c{member}" for ring in hidden for member in ring)
    (folder / "rings.csv").write_text("".join(f"{member}\n" for member in members))
    assert len(transactions) == len(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
