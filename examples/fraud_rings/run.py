"""Fraud rings among 100,000 transfers in DuckDB: whom to check. python examples/fraud_rings/run.py"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    runpy.run_path(str(HERE / "tables.py"))["make"](folder)
    pays = f"pays={folder}/bank.duckdb:transactions(sender, receiver, amount, day) where amount > 1000"
    found = hb.Model(hb.read(HERE / "fraud_rings.hb"), pays).infer("fraud")
    found.to_pandas().to_parquet(folder / "found.parquet")

    check = hb.parse("type p = number\ncheck(x) :- fraud(x, p), p > 0.5")
    address = f"fraud={folder}/found.parquet(argument_1, probability as p)"
    decided = {row.bindings["x"] for row in hb.Model(check, address).query("check(x)")}
    hidden = set((folder / "rings.csv").read_text().split())
    print(f"{len(decided)} accounts to check, {len(decided & hidden)} of the {len(hidden)} in hidden rings")
    print("first:", ", ".join(sorted(map(str, decided))[:5]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
