"""Blank answers of a survey: which to fill in, and whom to call. python examples/survey/run.py"""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent
QUESTIONS = ("belt", "helmet", "insured", "serviced", "speeds")


def main(folder: Path) -> None:
    runpy.run_path(str(HERE / "tables.py"))["make"](folder / "tables")
    survey = f"{folder}/tables/survey.csv"
    facts = [f"{name}={survey}(person, {name} as truth) nulls unknown" for name in QUESTIONS]
    model = hb.Model(hb.read(HERE / "survey.hb"), facts)
    learned = model.learn("likelihood", target=QUESTIONS, latent=[*QUESTIONS, "cautious"], starts=2, l2=0)
    blanks = hb.Model(learned.theory, facts).infer(list(QUESTIONS))
    blanks.to_pandas().to_parquet(folder / "filled.parquet")

    filled = f"said={folder}/filled.parquet(argument_1, predicate, probability as p)"
    call = hb.parse(
        "type p = number\nopen(x, n) :- said(x, _, _), n = count(q, p: said(x, q, p), p > 0.3, p < 0.7)"
    )
    calls = hb.Model(call, [filled]).query("open(x, n)").to_pandas()
    for row in calls[calls["n"] >= 2].sort_values(["n", "x"], ascending=[False, True]).head(5).itertuples():
        print(f"call {row.x}: {row.n} answers are open")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
