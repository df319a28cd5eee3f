"""Fixed point of belief propagation on ground atoms, as a start of regions and as a rival to them.

Takes a program; gives beliefs about the profiles that regions count. Messages between ground atoms know
nothing of counts, so that they reach modes in other ways than regions do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.belief.engine import BeliefPropagation, BeliefState
from herbrand.engines.belief.messages import log_beliefs
from herbrand.engines.engine import Refusal
from herbrand.engines.lifted.element_groups import ElementGroup
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.regions.lower_bound import lower_bound
from herbrand.engines.regions.parts import RegionPart
from herbrand.engines.regions.tables import normalised, times
from herbrand.program.evidence import LATENT
from herbrand.program.program import Program
from herbrand.program.question import Question

ROUNDS = 300
AT_REST = 1e-8
LEAST = -300.0
"""Least log-probability that a leaning takes from beliefs."""


@dataclass(frozen=True, eq=False)
class Loopy:
    """Messages at rest, and their beliefs as probabilities [axis, value]."""

    state: BeliefState
    probabilities: np.ndarray

    @classmethod
    def of(
        cls, program: Program, question: Question, engine: BeliefPropagation, within: Budget
    ) -> Loopy | None:
        """Run belief propagation; None if it cannot run, or has not come to rest."""
        prepared = engine.prepare(program, question, within)
        if isinstance(prepared, Refusal):
            return None
        state = prepared.begin()
        for _ in range(ROUNDS):
            state = engine.step(state)
            if engine.residual(state) <= AT_REST:
                graph = state.compiled.graph
                return cls(state, log_beliefs(graph, state.messages).probabilities(graph))
        return None

    def leanings(self, part: RegionPart) -> list[np.ndarray]:
        """Log-weights of profiles for each variable that messages give its elements: beliefs divided by the
        elements' own weights, if these are known separately."""
        leanings = []
        for number, variable in enumerate(part.propagation.counts.variables):
            lean = self._of_variable(part, number)
            leanings.append(lean if variable.weights is None else lean - np.maximum(variable.weights, LEAST))
        return leanings

    def bound(self, part: RegionPart) -> float:
        """Lower bound on the log-partition from its beliefs, comparable to those of regions."""
        counts = part.propagation.counts
        if counts.layout is None:
            return -math.inf
        beliefs = [
            normalised(variable.all_ways + times(variable.all_counts, lean))
            for variable, lean in zip(counts.variables, self.leanings(part), strict=True)
        ]
        return lower_bound(counts, beliefs)

    def _of_variable(self, part: RegionPart, number: int) -> np.ndarray:
        """Log-probabilities of the profiles of its pools, one pool after another."""
        layout, element_groups = part.propagation.counts.layout, part.summation.element_groups.all
        pools = (element_groups[number].pool,) if layout is None else layout.axes[number].pools
        return np.concatenate([self.profiles(part.summation, pool) for pool in pools])

    def profiles(self, summation: Summation, pool: int) -> np.ndarray:
        """Mean log-probability of each profile for the elements of a pool."""
        element_groups = [
            element_group for element_group in summation.element_groups.all if element_group.pool == pool
        ]
        sizes = np.array([len(element_group) for element_group in element_groups], dtype=float)
        return np.average(
            [self._profiles(summation, element_group) for element_group in element_groups],
            axis=0,
            weights=sizes,
        )

    def _profiles(self, summation: Summation, element_group: ElementGroup) -> np.ndarray:
        """Log-probability of each profile for one element, its own atoms taken as independent, as
        ground messages do."""
        family = summation.model.families[summation.model.pools[element_group.pool].family]
        cells = np.zeros(family.cells)
        with np.errstate(divide="ignore"):
            for own in family.owns:
                element = int(element_group.elements[0])
                chances = self._chances(own.predicate, element, own.diagonal)
                cells += np.log(chances[family.values(own)])
        return np.maximum(summation.tabulated.cells[element_group.pool].by_profile(cells), LEAST)

    def _chances(self, predicate: str, element: int, diagonal: bool) -> np.ndarray:
        """Probability of each value of an element's own atom."""
        compiled = self.state.compiled
        sizes = compiled.evidence.sizes(predicate)
        code = element * sizes[0] + element if diagonal else element if sizes else 0
        codes = np.array([code], dtype=np.int64)
        count, settled = (
            compiled.program.value_count(predicate),
            compiled.evidence.known(predicate).lookup(codes),
        )
        if settled[0] != LATENT:
            return np.eye(count)[settled[0]]
        axis = compiled.axis_class[compiled.axes_of(predicate, codes)]
        return self.probabilities[axis[0], :count]
