"""A schedule worth the most in expectation, proven optimal. python examples/schedule/run.py"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    runpy.run_path(str(HERE / "tables.py"))["make"](folder / "tables")
    model = hb.Model(hb.read(HERE / "schedule.hb"), folder / "tables")
    plan = model.infer("does", map=True, min=1, engine="integer")
    plan.to_pandas().to_parquet(folder / "plan.parquet")
    print(f"{len(list(plan.rows()))} tasks planned ({plan.guarantee.value})")

    busy = hb.parse("type slot = number\nslots(p, n) :- does(p, _, _), n = count(s: does(p, _, s))")
    address = f"does={folder}/plan.parquet(argument_1, argument_2, argument_3)"
    slots = hb.Model(busy, address).query("slots(p, n)").to_pandas().sort_values("p")
    for who, count in zip(slots["p"], slots["n"], strict=True):
        print(f"{who} works in {count} slots")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
