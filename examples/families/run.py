"""A rule learned from six small families, held against a large one it has never seen, and used there.

python examples/families/run.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import herbrand as hb

HERE = Path(__file__).parent
LARGE = sorted((HERE / "large").glob("*.csv"))
"""A family of 100 people, as the small ones are given."""


def main() -> None:
    found = hb.induce(hb.read(HERE / "families.hb"), target="has_sister", worlds=HERE / "worlds", budget=0.2)
    rules = [line for line in hb.show(found.theory).splitlines() if ":-" in line]
    print("learned:", *rules, sep="\n  ")
    answers = hb.Model(found.theory, LARGE).query("has_sister(x)")
    said = {row.bindings["x"] for row in answers.rows()}
    print(f"in a family of 100: {len(said)} have a sister, {len(said ^ with_sisters())} errors")


def with_sisters() -> set[str]:
    """Who has one: the father has another daughter."""
    known = {path.stem: list(csv.reader(path.open())) for path in LARGE}
    daughters = {(father, daughter) for father, daughter in known["daughter"]}
    return {x for x, father in known["father"] for of, y in daughters if of == father and y != x}


if __name__ == "__main__":
    main()
