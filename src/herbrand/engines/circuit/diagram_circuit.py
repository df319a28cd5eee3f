"""Convert a decision diagram into a circuit: each node is a sum over the two values of its variable.

The levels that an edge skips are free: its product has the free nodes of all variables between, so that both
sides of a sum have the same variables (smoothness). Variables that are not fully written, since their weights
add up to 1 and they are not queried, have none. Edges that skip the same levels to the same node share these
products.

>>> from herbrand.engines.circuit.search import FULL
>>> nodes = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0]])  # a or b: where a fails, b decides
>>> circuit = circuit_of(nodes, 4, [0, 1], np.array([FULL, FULL]))
>>> round(float(np.exp(circuit.total(np.log([[0.5, 0.5], [0.8, 0.2]])))), 6)
0.6
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.diagram_loop import ALWAYS, NEVER
from herbrand.engines.circuit.search import FALSE_NODE, FULL, PRODUCT, SUM, TRUE_NODE


def circuit_of(nodes: np.ndarray, root: int, decided: Sequence[int], written: np.ndarray) -> Circuit:
    """The circuit of the edge ``root``; ``decided``: the variable of each level."""
    writing = _Writing(nodes, decided, written)
    for edge in writing.below(root):
        writing.decide(edge)
    return writing.circuit(root)


class _Writing:
    def __init__(self, nodes: np.ndarray, decided: Sequence[int], written: np.ndarray) -> None:
        self._nodes, self._decided, self._written = nodes, decided, written
        self._first = 2 + 3 * len(written)
        self._kinds: list[int] = []
        self._kids: list[tuple[int, ...]] = []
        self._made = {ALWAYS: TRUE_NODE, NEVER: FALSE_NODE}
        self._passing: dict[tuple[int, int], int] = {}
        full = [written[variable] == FULL for variable in decided]
        self._next_full = np.minimum.accumulate(
            np.where([*full, True], np.arange(len(full) + 1), len(full))[::-1]
        )[::-1].tolist()
        """For each level, the first level from there on whose variable needs a free node where it is
        skipped."""

    def below(self, root: int) -> list[int]:
        """All edges below the root, each after those below it."""
        met, left = set[int](), [root]
        while left:
            edge = left.pop()
            if edge > NEVER and edge not in met:
                met.add(edge)
                left += self._sides(edge)
        return sorted(met)

    def decide(self, edge: int) -> None:
        """Write the sum over both values of an edge's variable."""
        level = int(self._nodes[edge >> 1, 0])
        variable, sides = self._decided[level], list[int]()
        for literal, side in zip((2 * variable + 1, 2 * variable), self._sides(edge), strict=True):
            below = self._from(level + 1, side)
            if below == TRUE_NODE:
                sides.append(2 + literal)
            elif below != FALSE_NODE:
                sides.append(self._write(PRODUCT, 2 + literal, below))
        self._made[edge] = sides[0] if len(sides) == 1 else self._write(SUM, *sides)

    def circuit(self, root: int) -> Circuit:
        """The circuit of all nodes written, with ``root`` as its root."""
        top = self._from(0, root)
        counts = [0] * self._first + [len(kids) for kids in self._kids]
        return Circuit(
            len(self._written),
            np.array([PRODUCT] * self._first + self._kinds, np.int8),
            np.concatenate([[0], np.cumsum(counts)]),
            np.array([kid for kids in self._kids for kid in kids], np.int64),
            top,
            self._written,
            np.zeros(len(self._written), bool),
        )

    def _sides(self, edge: int) -> list[int]:
        """The edges where the decision is false and where it is true."""
        return (self._nodes[edge >> 1, 1:] ^ (edge & 1)).tolist()

    def _from(self, level: int, edge: int) -> int:
        """The node of an edge times the free nodes of the levels from ``level`` up to its own."""
        if edge == NEVER:
            return FALSE_NODE
        end = len(self._decided) if edge == ALWAYS else int(self._nodes[edge >> 1, 0])
        passed = list[int]()
        while (level := self._next_full[level]) < end and (level, edge) not in self._passing:
            passed.append(level)
            level += 1
        below = self._passing[level, edge] if level < end else self._made[edge]
        for level in reversed(passed):
            free = 2 + 2 * len(self._written) + self._decided[level]
            below = free if below == TRUE_NODE else self._write(PRODUCT, free, below)
            self._passing[level, edge] = below
        return below

    def _write(self, kind: int, *kids: int) -> int:
        self._kinds.append(kind)
        self._kids.append(kids)
        return self._first + len(self._kinds) - 1
