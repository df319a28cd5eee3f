"""Groundings of learned statements in a factor graph: the entries for which they hold, and their counts.

The log-weights of a graph's entries are linear in the learned weights: ``entries @ columns @ weights`` is
added to their values without these. Matrices over the weights are built once all worlds have been prepared,
so that all weights are known.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from herbrand.factors.ground_graph import row_log_weights
from herbrand.factors.program_graph import ProgramGraph
from herbrand.learning.parameters import Parameters
from herbrand.program.ground import Ground


class Groundings:
    """All groundings of learned statements. ``columns_of`` the learned templates: the weight of each row."""

    def __init__(self, grounded: Ground, parameters: Parameters) -> None:
        self.ground, self.parameters = grounded, parameters
        program = grounded.program
        self.columns_of = {
            number: parameters.columns(weight, one.weight_rows, program)
            for number, one in enumerate(grounded.templates)
            if (weight := one.template.weight) is not None and program.weights[weight].learned
            if one.multiplicity
        }
        self.places: list[np.ndarray] = []
        """Entries of the graph for which groundings hold, [grounding, place]."""
        self.numbers: list[np.ndarray] = []
        self.log_weights: list[np.ndarray] = []
        self.settled: dict[int, float] = {}

    def without_learned(self) -> list[float | None]:
        """Worth of a row of each template, 0 if its weight is learned; ``None`` if it never counts."""
        log_weights = enumerate(row_log_weights(self.ground))
        return [0.0 if number in self.columns_of else log_weight for number, log_weight in log_weights]

    def gather(self, built: ProgramGraph, tables: np.ndarray, axes: np.ndarray) -> None:
        """Record the entries for which groundings hold; ``tables`` [factor] and ``axes`` [axis]: where the
        entries of each begin."""
        for origins, begins in ((built.in_tables, tables), (built.on_axes, axes)):
            for origin in origins:
                if origin.piece is not None and origin.template in self.columns_of:
                    holds = np.flatnonzero(origin.holds.reshape(-1))
                    self.places.append(begins[origin.places][:, None] + holds)
                    self.numbers.append(self.columns_of[origin.template][origin.rows])
                    self.log_weights.append(np.full(len(origin.rows), self._log_weight(origin.template)))
        for template, rows in built.always:
            if template in self.columns_of:
                columns, counts = np.unique(self.columns_of[template][rows], return_counts=True)
                for column, count in zip(columns.tolist(), counts.tolist(), strict=True):
                    self.settled[column] = self.settled.get(column, 0.0) + self._log_weight(template) * count

    def _log_weight(self, number: int) -> float:
        """Coefficient of the weight for a grounding of a template."""
        template = self.ground.templates[number]
        return float(template.template.sign * template.multiplicity)

    def entries(self, size: int) -> csr_array:
        """Incidence matrix of entries and groundings: 1 if the grounding holds there [entry, grounding]."""
        parts, begun = [], 0
        for places in self.places:
            groundings = begun + np.repeat(np.arange(len(places)), places.shape[1])
            parts.append((places.reshape(-1), groundings))
            begun += len(places)
        if not parts:
            return csr_array((size, 0))
        places, groundings = map(np.concatenate, zip(*parts, strict=True))
        return coo_array((np.ones(len(places)), (places, groundings)), shape=(size, begun)).tocsr()

    @cached_property
    def columns(self) -> csr_array:
        """Coefficients of each grounding for each weight [grounding, weight]."""
        width = len(self.parameters)
        if not self.places:
            return csr_array((0, width))
        log_weights, numbers = np.concatenate(self.log_weights), np.concatenate(self.numbers)
        return csr_array(
            (log_weights, numbers, np.arange(len(log_weights) + 1)), shape=(len(log_weights), width)
        )

    @cached_property
    def certain(self) -> np.ndarray:
        """Sum of the coefficients of groundings that hold in all worlds [weight]."""
        counts = np.zeros(len(self.parameters))
        for column, count in self.settled.items():
            counts[column] = count
        return counts
