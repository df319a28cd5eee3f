"""Probability bounds without independences in fractions: linear programs over worlds, by the simplex method.

The slow, obviously right version for every scale: one variable for each of the 2^n worlds, one row for each
end of each bound, and Bland's rule. It reads syntax and nothing else of the project; ends of bounds are the
numbers that their doubles are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from herbrand.language import syntax as s
from tests.oracles.credal import Network, holds

Row = list[Fraction]
Ends = tuple[Fraction, Fraction]


def rows_of(network: Network, bounds: Sequence[s.Bound]) -> Iterator[Row]:
    """``row @ p <= 0`` for the masses p of all worlds, for each end that says something."""
    for bound in bounds:
        given = [bound.given is None or holds(bound.given, world) for world in network.cases()]
        both = [g and holds(bound.event, world) for g, world in zip(given, network.cases(), strict=True)]
        lower, upper = Fraction(bound.lower), Fraction(bound.upper)
        if lower > 0:
            yield [lower * g - b for g, b in zip(given, both, strict=True)]
        if upper < 1:
            yield [b - upper * g for g, b in zip(given, both, strict=True)]


def interval(network: Network, event: s.Formula, given: s.Formula | None = None) -> Ends | None:
    """The ends of P(event | given) over all distributions with P(given) > 0; ``None``: there is none.

    All but P(true) = 1 is homogeneous, so P(given) = 1 takes its place.
    """
    scale = [Fraction(given is None or holds(given, world)) for world in network.cases()]
    worth = [w * holds(event, world) for w, world in zip(scale, network.cases(), strict=True)]
    table = list(rows_of(network, network.bounds))
    most = greatest(table, scale, worth)
    least = greatest(table, scale, [-w for w in worth])
    return None if most is None or least is None else (-least, most)


def can_hold(network: Network, bounds: Sequence[s.Bound]) -> bool:
    """Whether some distribution over the network's atoms satisfies these bounds."""
    everything = [Fraction(1)] * len(network.cases())
    return greatest(list(rows_of(network, bounds)), everything, [Fraction(0)] * len(everything)) is not None


def greatest(rows: list[Row], scale: Row, worth: Row) -> Fraction | None:
    """The greatest ``worth @ p`` with ``rows @ p <= 0``, ``scale @ p = 1`` and p >= 0; ``None``: no such p.

    Worth is bounded where the scale is 1. Every row has a slack of its own to begin with, the last one an
    artificial variable that is first driven out.
    """
    slacks = len(rows)
    width = len(scale) + slacks + 1
    table = [
        [*row, *(Fraction(i == j) for j in range(slacks + 1)), Fraction(0)] for i, row in enumerate(rows)
    ]
    table.append([*scale, *[Fraction(0)] * slacks, Fraction(1), Fraction(1)])
    basis = list(range(len(scale), width))
    artificial = width - 1
    costs = [Fraction(0)] * width + [Fraction(0)]
    costs[artificial] = Fraction(1)
    _improve(table, _reduced(costs, table, basis), basis, range(width))
    if any(row[-1] for row, chosen in zip(table, basis, strict=True) if chosen == artificial):
        return None
    costs = [*(-w for w in worth), *[Fraction(0)] * (slacks + 2)]
    left = _reduced(costs, table, basis)
    _improve(table, left, basis, range(artificial))
    return left[-1]


def _reduced(costs: Row, table: list[Row], basis: list[int]) -> Row:
    left = costs[:]
    for row, chosen in zip(table, basis, strict=True):
        if costs[chosen]:
            left = [a - costs[chosen] * b for a, b in zip(left, row, strict=True)]
    return left


def _improve(table: list[Row], left: Row, basis: list[int], columns: range) -> None:
    """Exchange variables until no cost is negative, by the smallest numbers (Bland), so that it ends."""
    while (entering := next((j for j in columns if left[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        assert ratios, "the worth of a probability is bounded"
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [a / pivot for a in table[leaving]]
        for row in (*table, left):
            if row is not table[leaving] and row[entering]:
                factor = row[entering]
                row[:] = [a - factor * b for a, b in zip(row, table[leaving], strict=True)]
        basis[leaving] = entering
