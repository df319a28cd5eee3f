"""Factor graphs as weighted constraints: formulas, hard ones too, soft evidence and quantifiers.

A factor is a table of log-potentials over atoms. Impossible entries become clauses; the most frequent value
becomes a constant, and each other entry a gate with the difference as its weight. Entries of one value that
form a box, as a formula's do, become one clause or one gate together. A quantifier's helper is the gate of
its members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.factors.graph import FactorGraph, Somes, log_potentials, somes_of

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
            self._add_table([literals(axis) for axis in scope], table)

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
        weights = np.zeros((len(self.net), 2))
        for literal, weight in self.weights.items():
            weights[literal >> 1, 1 - (literal & 1)] += weight
        return weights

    def _add_table(self, axes: Sequence[list[int]], table: np.ndarray) -> None:
        finite = table[table > -math.inf]
        if not len(finite):
            self.net.require([])
            return
        known, counts = np.unique(finite, return_counts=True)
        usual = float(known[np.argmax(counts)])
        self.constant += usual
        for value in (-math.inf, *known.tolist()):
            if value == usual:
                continue
            for box in _boxes(table == value):
                literals = [self.among(axis, places) for axis, places in zip(axes, box, strict=True)]
                if value == -math.inf:
                    self.net.require(map(negated, literals))
                else:
                    self.weigh(self.net.every(literals), value - usual)

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
    slices: dict[bytes, tuple[np.ndarray, list[int]]] = {}
    for place in sides[axis]:
        part = np.take(cells, place, axis=axis)
        slices.setdefault(part.tobytes(), (part, []))[1].append(place)
    return [[*box[:axis], places, *box[axis:]] for part, places in slices.values() for box in _boxes(part)]
