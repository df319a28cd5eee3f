"""Two catalogues with typos: how likely pairs are the same article, and the best one-to-one matching.

python examples/catalogues/run.py
"""

from __future__ import annotations

from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent


def main() -> None:
    theory, facts = hb.read(HERE / "catalogues.hb"), HERE / "facts"
    likely = hb.Model(theory, facts).infer("same")
    print(likely.filtered(top=5))

    report = hb.score(likely.rows(), f"same={HERE / 'same.csv'}", closed="same")
    print(f"average precision {report.average_precision:.3f}, best F1 {report.pooled.best_f1:.3f}")

    matching = theory + hb.read(HERE / "one_to_one.hb")
    decided = hb.Model(matching, facts).infer(map=True)
    pairs = {row.arguments for row in decided.rows() if row.predicate == "same" and row.probability == 1}
    true = {tuple(line.split(",")) for line in (HERE / "same.csv").read_text().split()}
    right = len(pairs & true)
    print(f"{len(pairs)} pairs decided ({decided.guarantee.value}), {right} of {len(true)} right")


if __name__ == "__main__":
    main()
