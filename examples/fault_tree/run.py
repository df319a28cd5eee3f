"""A fault tree with expert intervals: which components to watch. python examples/fault_tree/run.py"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    runpy.run_path(str(HERE / "tables.py"))["make"](folder / "tables")
    model = hb.Model(hb.read(HERE / "fault_tree.hb"), folder / "tables")
    print(model.bound('P(fails("accident"))', engine="exact"))
    blame = model.bound('P(fails(x) | fails("accident"))', engine="exact")
    blame.to_pandas().to_parquet(folder / "blame.parquet")

    watch = hb.parse("type p = number\nwatch(x, u) :- blame(x, u), kind(x, _), u >= 0.1")
    bounds = f"blame={folder}/blame.parquet(argument_1, upper)"
    decided = hb.Model(watch, [bounds, str(folder / "tables" / "kind.csv")]).query("watch(x, u)").to_pandas()
    for row in decided.sort_values(["u", "x"], ascending=[False, True]).itertuples():
        print(f"watch {row.x}: failed in at most {row.u:.1%} of accidents")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
