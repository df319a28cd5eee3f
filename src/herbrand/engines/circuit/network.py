"""Factor graphs as weighted constraints: formulas, hard ones too, soft evidence and quantifiers.

A factor is a table of log-potentials over atoms. Impossible entries become clauses; the most frequent value
becomes a constant, and each other entry a gate with the difference as its weight. Entries of one value that
form a box, as a formula's do, become one clause or one gate together. Tables of many values are divided along
their first axes, with a gate for each case, until few values are left. A quantifier's helper is the gate of
its members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.factors.graph import FactorGraph, Somes, log_potentials, somes_of

MOST_BOXED = 4
"""Most different values of a table for which all boxes are looked for. In a table of more values nearly every
entry is a box of its own: there one axis is decided after the other, so that entries share gates."""
LiteralsOf = Callable[[int], list[int]]
"""Gives the literals of an axis's values."""


class WeightedConstraints:
    """Constraints, the log-weights of literals, and ``constant``, the log-weight of every world."""

    def __init__(self) -> None:
        self.net = Constraints()
        self.weights: dict[int, float] = {}
        self.constant = 0.0

    def add_axis(self, size: int) -> list[int]:
        """The literals of a new axis's values."""
        if size == 1:
            literals = [TRUE]
        elif size == 2:
            literal = 2 * self.net.variable()
            literals = [negated(literal), literal]
        else:
            literals = [2 * self.net.variable() for _ in range(size)]
            self.net.exactly_one(literals)
        return literals

    def weigh(self, literal: int, log_weight: float) -> None:
        """Add ``log_weight`` to all worlds in which the literal holds; -inf forbids them."""
        if log_weight == -math.inf:
            self.net.require([negated(literal)])
        elif literal == TRUE:
            self.constant += log_weight
        elif literal != FALSE:
            self.weights[literal] = self.weights.get(literal, 0.0) + log_weight

    def add(self, graph: FactorGraph, literals_of: LiteralsOf, budget: Budget = UNLIMITED) -> None:
        """Add all factors of a graph; ``literals_of`` gives the literals of axes that are not helpers."""
        self.constant += graph.constant
        if graph.constant == -math.inf:
            self.net.require([])
            self.constant = 0.0
        literals = self.with_helpers(somes_of(graph), literals_of)
        for scope, table in budget.each(log_potentials(graph)):
            self._add_table([literals(axis) for axis in scope], table, budget)

    def with_helpers(self, somes: Somes, literals_of: LiteralsOf) -> LiteralsOf:
        """Gives the literals of all axes: a helper is true where some member has an allowed value."""

        @cache
        def made(axis: int) -> list[int]:
            if axis not in somes.places:
                return literals_of(axis)
            literal = self.net.either(
                [self.among(made(member), allowed) for member, allowed in somes.members_of(axis)]
            )
            return [negated(literal), literal]

        return made

    def log_weights(self) -> np.ndarray:
        """The log-weights of all variables, [variable, (false, true)]."""
        weights = np.zeros(2 * len(self.net))
        literals = np.array([*self.weights], np.int64)
        weights[literals ^ 1] = [*self.weights.values()]  # a literal comes before its negation
        return weights.reshape(-1, 2)

    def _add_table(
        self, axes: Sequence[list[int]], table: np.ndarray, budget: Budget, case: int = TRUE
    ) -> None:
        """Add a table that counts in the worlds in which the literal ``case`` holds."""
        finite = table[table > -math.inf]
        if not len(finite):
            self.net.require([negated(case)])
            return
        known, counts = np.unique(finite, return_counts=True)
        if len(known) > MOST_BOXED and len(axes) > 1:
            self._add_slices(axes, table, budget, case)
            return
        usual = float(known[np.argmax(counts)])
        if usual:
            self.weigh(case, usual)
        for value in (-math.inf, *known.tolist()):
            if value == usual:
                continue
            for box in _boxes(table == value):
                literals = [self.among(axis, places) for axis, places in zip(axes, box, strict=True)]
                if value == -math.inf:
                    self.net.require(map(negated, [case, *literals]))
                else:
                    self.weigh(self.net.every([case, *literals]), value - usual)

    def _add_slices(self, axes: Sequence[list[int]], table: np.ndarray, budget: Budget, case: int) -> None:
        """Add a table as one for each different slice across its first axis."""
        budget.check()
        first, *others = axes
        for places, part in _slices(table, 0):
            self._add_table(others, part, budget, self.net.every([case, self.among(first, places)]))

    def among(self, literals: list[int], places: Sequence[int]) -> int:
        """The literal that is true where the axis has one of the values at ``places``."""
        if len(places) == len(literals):
            return TRUE
        if 2 * len(places) > len(literals):
            others = [literal for place, literal in enumerate(literals) if place not in places]
            return negated(self.net.either(others))
        return self.net.either([literals[place] for place in places])


def _boxes(cells: np.ndarray) -> list[list[list[int]]]:
    """Disjoint boxes that together cover exactly the true cells, each a list of places for every axis."""
    if not cells.any():
        return []
    sides = [
        np.flatnonzero(cells.any(axis=tuple(a for a in range(cells.ndim) if a != axis))).tolist()
        for axis in range(cells.ndim)
    ]
    if cells[np.ix_(*sides)].all():
        return [sides]
    axis = max(range(cells.ndim), key=lambda a: len(sides[a]))
    return [
        [*box[:axis], places, *box[axis:]] for places, part in _slices(cells, axis) for box in _boxes(part)
    ]


def _slices(table: np.ndarray, axis: int) -> Iterable[tuple[list[int], np.ndarray]]:
    """The different slices of a table across an axis, each with the places at which it lies."""
    slices: dict[bytes, tuple[list[int], np.ndarray]] = {}
    for place in range(table.shape[axis]):
        part = np.take(table, place, axis=axis)
        slices.setdefault(part.tobytes(), ([], part))[0].append(place)
    return slices.values()
