"""Bayesian and Markov networks by plain loops: the product of the tables over every world.

A network is its variables with their numbers of values, and tables: a scope and entries in the order in
which the last variable of the scope changes fastest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Table(NamedTuple):
    scope: tuple[int, ...]
    entries: tuple[float, ...]


class Answer(NamedTuple):
    """``total``: the sum over worlds that agree with the evidence; ``marginals`` [variable][value]."""

    total: float
    marginals: list[list[float]]


def entry(table: Table, sizes: Sequence[int], world: Sequence[int]) -> float:
    place = 0
    for variable in table.scope:
        place = place * sizes[variable] + world[variable]
    return table.entries[place]


def summed(sizes: Sequence[int], tables: Sequence[Table], evidence: Mapping[int, int]) -> Answer:
    marginals = [[0.0] * size for size in sizes]
    total = 0.0
    for world in itertools.product(*(range(size) for size in sizes)):
        if any(world[variable] != value for variable, value in evidence.items()):
            continue
        weight = 1.0
        for table in tables:
            weight *= entry(table, sizes, world)
        total += weight
        for variable, value in enumerate(world):
            marginals[variable][value] += weight
    if total:
        marginals = [[share / total for share in row] for row in marginals]
    return Answer(total, marginals)
