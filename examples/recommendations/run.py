"""What to recommend to whom, over a knowledge graph. python examples/recommendations/run.py"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent
TABLES = ("likes", "wrote", "about", "admires", "follows", "friends")


def main(folder: Path) -> None:
    runpy.run_path(str(HERE / "tables.py"))["make"](folder / "tables")
    facts = [str(folder / "tables" / f"{name}.csv") for name in TABLES]
    facts.append(f"liked={folder}/tables/likes.csv(u, b, truth)")
    theory = hb.read(HERE / "recommendations.hb")
    learned = hb.Model(theory, facts).learn("likelihood", target="likes", latent="likes", l2=0)
    chances = hb.Model(learned.theory, facts, open=["likes"]).infer("likes")
    chances.to_pandas().to_parquet(folder / "chances.parquet")

    chosen = hb.parse("type p = number\nbest(u, b, p) :- chance(u, b, p), p = max(q: chance(u, _, q))")
    likely = f"chance={folder}/chances.parquet(argument_1, argument_2, probability as p)"
    best = hb.Model(chosen, [likely]).query("best(u, b, p)").to_pandas()
    best.to_parquet(folder / "best.parquet")
    for row in best.sort_values(["p", "u"], ascending=[False, True]).head(5).itertuples():
        print(f"{row.u} may like {row.b}: {row.p:.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
