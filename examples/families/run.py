"""A rule learned from six small families, held against a large one it has never seen, and used there.

python examples/families/run.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import herbrand as hb
from herbrand.induction.worlds.tasks import task_named

HERE = Path(__file__).parent
PEOPLE = 100
RELATIONS = ("father", "mother", "son", "daughter")


def main() -> None:
    found = hb.induce(hb.read(HERE / "families.hb"), target="has_sister", worlds=HERE / "worlds", budget=0.2)
    rules = [line for line in hb.show(found.theory).splitlines() if ":-" in line]
    print("learned:", *rules, sep="\n  ")
    facts, truth = large_family()
    answers = hb.Model(found.theory, facts).query("has_sister(x)")
    said = {row.bindings["x"] for row in answers.rows()}
    print(f"in a family of {PEOPLE}: {len(said)} have a sister, {len(said ^ truth)} errors")


def large_family() -> tuple[dict[str, list[tuple[str, str]]], set[str]]:
    """Facts, and who truly has a sister."""
    sample = task_named("has-sister").draw(np.random.default_rng(7), 1, PEOPLE)
    relations = sample.predicates[2][0].numpy() > 0.5
    facts = {
        name: [(f"person{x}", f"person{y}") for x, y in np.argwhere(relations[:, :, place])]
        for place, name in enumerate(RELATIONS)
    }
    return facts, {f"person{x}" for x in np.flatnonzero(sample.target[0].numpy() > 0.5)}


if __name__ == "__main__":
    main()
