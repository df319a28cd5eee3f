"""A rule-learning problem: random worlds whose target is worked out by plain loops over what was drawn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Value = str | int | float
Row = tuple[Value, ...]
Facts = dict[str, set[Any]]
"""Rows by predicate."""
"""The tuples of each predicate."""

TARGET = "t"

NUMERIC = frozenset({"amount", "real", "years", "money"})
"""Types whose constants are numbers; those of all others are text."""


@dataclass(frozen=True)
class Labelled:
    """The facts of one world, and tuples of the target with their truth."""

    facts: Facts
    labels: dict[Row, bool]


@dataclass(frozen=True)
class Problem:
    """``types`` of each predicate's arguments, the target's among them; ``draw`` makes a world of about so
    many things; ``size``: things to learn from."""

    types: Mapping[str, str]
    draw: Callable[[np.random.Generator, int], Labelled]
    size: int = 100

    @property
    def declarations(self) -> str:
        """The theory to give: types of numbers, and predicates."""
        used = {one for types in self.types.values() for one in types.split()}
        return "\n".join(
            [*(f"type {name} = number" for name in sorted(used & NUMERIC))]
            + [f"predicate {name}({', '.join(types.split())})" for name, types in self.types.items()]
        )


def sampled(rng: np.random.Generator, labels: Mapping[Row, bool], most: int = 400) -> dict[Row, bool]:
    """At most so many tuples: all kinds of both labels, three negatives for each positive if need be."""
    true = sorted((row for row, truth in labels.items() if truth), key=repr)
    false = sorted((row for row, truth in labels.items() if not truth), key=repr)
    true = [true[i] for i in rng.permutation(len(true))[: most // 2]]
    false = [false[i] for i in rng.permutation(len(false))[: max(3 * len(true), 20)][:most]]
    positive = set(true)
    return {row: row in positive for row in sorted((*true, *false), key=repr)}


def labelled(facts: Facts, candidates: Iterable[Row], holds: Callable[..., bool]) -> Labelled:
    return Labelled(facts, {row: bool(holds(*row)) for row in candidates})


def write(facts: Facts, labels: Mapping[Row, bool], folder: Path) -> None:
    """A folder of tables, with the labels as all that is known of the target."""
    folder.mkdir(parents=True)
    for name, rows in facts.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(sorted(rows, key=repr))
    write_labels(labels, folder / f"{TARGET}.csv")


def write_labels(labels: Mapping[Row, bool], path: Path) -> None:
    """A table of a target's tuples with their truth."""
    with path.open("w", newline="") as file:
        arity = len(next(iter(labels)))
        csv.writer(file).writerow([*(f"a{place}" for place in range(arity)), "truth"])
        csv.writer(file).writerows([*row, str(truth).lower()] for row, truth in labels.items())
