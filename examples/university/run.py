"""Who advises whom: weights learned in one department, links predicted in another, and one of them explained.

python examples/university/run.py
"""

from __future__ import annotations

import random
from pathlib import Path

import herbrand as hb

THEORY = Path(__file__).with_name("university.hb")
Facts = dict[str, list[tuple[str, ...]]]


def department(name: str, seed: int) -> tuple[Facts, list[tuple[str, str]]]:
    """Students mostly write with their adviser and help in the adviser's course; not always."""
    rng = random.Random(seed)
    professors = [f"{name} professor {i}" for i in range(5)]
    students = [f"{name} student {i}" for i in range(15)]
    facts: Facts = {"wrote_student": [], "wrote_professor": [], "assists": [], "teaches": []}
    facts["teaches"] = [(who, f"{name} course {i}") for i, who in enumerate(professors)]
    advises = [(rng.choice(professors), student) for student in students]
    for adviser, student in advises:
        for paper in range(rng.randint(0, 3)):
            title = f"{student}, paper {paper}"
            other = rng.choice(professors) if rng.random() < 0.2 else adviser
            facts["wrote_student"].append((student, title))
            facts["wrote_professor"].append((other, title))
        helped = adviser if rng.random() < 0.6 else rng.choice(professors)
        facts["assists"].append((student, f"{name} course {professors.index(helped)}"))
    return facts, advises


def main() -> None:
    facts, advises = department("east", seed=0)
    found = hb.Model(hb.read(THEORY), {**facts, "advises": advises}).learn()
    print(found)
    facts, advises = department("west", seed=1)
    model = hb.Model(found.theory, facts, open=["advises"])
    answer = model.infer("advises")
    report = hb.score(answer.rows(), {"advises": advises}, closed="advises")
    print(f"average precision in another department {report.average_precision:.2f}", end="")
    print(f", of a random order {len(advises) / len(answer):.2f}")
    best = max(answer.rows(), key=lambda row: round(row.probability, 9))  # the first of equal ones
    print(model.explain(best.atom).top(5))


if __name__ == "__main__":
    main()
