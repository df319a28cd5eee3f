"""A program as a factor graph of classes: grounded and then collapsed, or made without grounding.

Takes a program and what may be spent; gives a :class:`Compiled`. The road is chosen by what each would cost:
patterns of classes where few constants differ in what is known of them, ground rows where many do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.budget import Budget, refuse_beyond
from herbrand.factors.class_graph import class_graph, patterns
from herbrand.factors.graph import Array, FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.interchangeable import Classes, interchangeable
from herbrand.factors.program_graph import ProgramGraph
from herbrand.factors.refinement import WORTH_LIFTING, lifted
from herbrand.program.evidence import Evidence
from herbrand.program.ground import expected_rows, ground
from herbrand.program.program import FALSE, Literal, Program

BYTES_A_ROW = 400
"""Of a ground row, from its bindings to its messages."""

COST_OF_A_PATTERN = 150
"""Looking at a pattern of classes takes as long as this many ground rows."""

MOST_PATTERNS = 100_000


@dataclass(frozen=True, eq=False)
class Compiled:
    """``graph`` is what messages run on; ``axis_class`` and
    ``edge_class``: where each axis and edge of ``built`` is in it."""

    program: Program
    evidence: Evidence
    built: ProgramGraph
    graph: FactorGraph
    axis_class: Array
    edge_class: Array

    @property
    def atom_count(self) -> int:
        """Ground atoms that are latent."""
        return sum(self.evidence.known(p).latent_count() for p in self.program.signature.predicates)

    @property
    def apart(self) -> tuple[int, ...]:
        """Statements that are several factors over the same atoms, which no table could hold."""
        return tuple(sorted({self.program.templates[number].statement for number in self.built.apart}))

    @cached_property
    def class_count(self) -> int:
        """Classes of latent atoms that messages cannot distinguish."""
        return len(np.unique(self.axis_class[self.built.atoms.axes]))

    def axes_of(self, predicate: str, codes: Array) -> Array:
        """The axis in the built graph of each latent atom."""
        return self.built.atoms.numbers(predicate, codes)


def compiled(program: Program, budget: Budget, lift: bool = True) -> Compiled:
    """The cheapest graph that messages can run on; with ``lift`` false the ground one, as it is."""
    memory = budget.bytes
    evidence = Evidence(program)
    if lift and not program.tables:
        classes = interchangeable(program)
        if _by_classes(program, evidence, classes):
            # A graph of classes is small: whatever refinement still finds is worth it.
            return _collapsed(program, evidence, class_graph(program, evidence, classes, budget), 1.0)
    most_rows = memory / BYTES_A_ROW
    grounded = ground(program, budget, most_rows)
    rows = sum(len(template.conjunction) for template in grounded.templates)
    refuse_beyond(rows * BYTES_A_ROW, memory, f"a factor graph of {rows:,} groundings needs")
    worth = WORTH_LIFTING if lift else 0.0
    return _collapsed(program, grounded.evidence, ground_graph(grounded, budget), worth)


def _collapsed(program: Program, evidence: Evidence, built: ProgramGraph, worth: float) -> Compiled:
    """With one part a class, where classes are at most that share of the axes."""
    graph = built.graph
    smaller = lifted(graph, worth) if worth else None
    if smaller is None:
        same = np.arange(graph.axis_count), np.arange(graph.edge_count)
        return Compiled(program, evidence, built, graph, *same)
    return Compiled(program, evidence, built, smaller.graph, smaller.axis_class, smaller.edge_class)


def _by_classes(program: Program, evidence: Evidence, classes: Mapping[str, Classes]) -> bool:
    """Whether patterns of classes are the cheaper road."""
    count = patterns(program, classes)
    return count <= MOST_PATTERNS and count * COST_OF_A_PATTERN <= _ground_rows(program, evidence)


def _ground_rows(program: Program, evidence: Evidence) -> float:
    """About how many ground rows there are, latent atoms included."""

    def listed(literal: Literal) -> int | None:
        latent = evidence.known(literal.predicate).latent_count()
        return (
            None
            if latent or literal.allowed == FALSE
            else len(evidence.rows(literal.predicate, literal.allowed))
        )

    def size(type_name: str) -> int:
        return len(program.domain(type_name))

    atoms = sum(evidence.known(p).latent_count() for p in program.signature.predicates)
    return atoms + sum(expected_rows(one.conjunction, size, listed) for one in program.templates)
