"""Which records mean the same paper: weights learned on one list of records, used on another.

python examples/citations/run.py
"""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import herbrand as hb

THEORY = Path(__file__).with_name("citations.hb")
WORDS = ["learning", "logic", "networks", "inference", "data", "relational"]
WORDS += ["probabilistic", "models", "rules", "kernels", "graphs", "trees"]
NAMES = [f"author {letter}" for letter in "abcdefgh"]
VENUES = ["ijcai", "aaai", "icml"]


class Records(NamedTuple):
    """Facts by predicate, and the pairs of records that mean one paper."""

    facts: dict[str, list[tuple[str, ...]]]
    same: list[tuple[str, str]]


def made_up(papers: int, seed: int) -> Records:
    """Three records a paper; each drops a word or spells the author in another way now and then."""
    rng = random.Random(seed)
    facts: dict[str, list[tuple[str, ...]]] = {"title": [], "author": [], "venue": []}
    same: list[tuple[str, str]] = []
    for paper in range(papers):
        words, who, where = rng.sample(WORDS, 4), rng.choice(NAMES), rng.choice(VENUES)
        names = [f"p{paper}.{copy}" for copy in range(3)]
        for name in names:
            facts["title"] += [(name, word) for word in words if rng.random() < 0.8]
            facts["author"].append((name, who if rng.random() < 0.8 else who.upper()))
            facts["venue"].append((name, where if rng.random() < 0.7 else rng.choice(VENUES)))
        same += permutations(names, 2)
    return Records(facts, same)


def main() -> None:
    train, test = made_up(10, seed=0), made_up(10, seed=1)
    model = hb.Model(hb.read(THEORY), {**train.facts, "same": train.same})
    learned = model.learn(l2=1.0)
    for weight in sorted(learned.weights, key=lambda w: -w.weight)[:5]:
        print(f"{weight.weight:+.1f}  {weight.statement}  {weight.where}")
    answer = hb.Model(learned.theory, test.facts, open=["same"]).infer("same", engine="bp")
    report = hb.score(answer.rows(), {"same": test.same}, closed="same")
    share = len(test.same) / len(answer)
    print(f"average precision on other records {report.average_precision:.2f}, of a random order {share:.2f}")


if __name__ == "__main__":
    main()
