"""Factor graph of a program with interchangeable parts merged: grounded and then refined, or made without
grounding.

Takes a program and a budget; gives a :class:`Compiled`. The cheaper way by estimate is taken: patterns of
classes where evidence distinguishes few constants, ground rows where it distinguishes many.
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
from herbrand.program.ground import ground
from herbrand.program.program import FALSE, Literal, Program, expected_rows

BYTES_A_ROW = 400
"""Memory of a ground row, from its bindings to its messages."""

COST_OF_A_PATTERN = 150
"""Time to examine a pattern of classes, in ground rows."""

MOST_PATTERNS = 100_000


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled program. ``graph``: the graph on which messages run; ``axis_class`` and ``edge_class``: axis
    and edge of ``graph`` for each axis and edge of ``built``."""

    program: Program
    evidence: Evidence
    built: ProgramGraph
    graph: FactorGraph
    axis_class: Array
    edge_class: Array

    @property
    def atom_count(self) -> int:
        """Number of latent ground atoms."""
        return sum(self.evidence.known(p).latent_count() for p in self.program.signature.predicates)

    @property
    def apart(self) -> tuple[int, ...]:
        """Numbers of the statements that are several factors over the same atoms, too many for one table."""
        return tuple(sorted({self.program.templates[number].statement for number in self.built.apart}))

    @cached_property
    def class_count(self) -> int:
        """Number of classes of latent atoms that messages cannot distinguish."""
        return len(np.unique(self.axis_class[self.built.atoms.axes]))

    def axes_of(self, predicate: str, codes: Array) -> Array:
        """Axis in the built graph of each latent atom."""
        return self.built.atoms.numbers(predicate, codes)


def compiled(program: Program, budget: Budget, lift: bool = True) -> Compiled:
    """Build the cheapest graph on which messages run; without ``lift``, the ground graph."""
    memory = budget.bytes
    evidence = Evidence(program)
    if lift and not program.tables:
        classes = interchangeable(program)
        if _by_classes(program, evidence, classes):
            # A graph of classes is small: any further merging pays.
            return _collapsed(program, evidence, class_graph(program, evidence, classes, budget), 1.0)
    most_rows = memory / BYTES_A_ROW
    grounded = ground(program, budget, most_rows)
    rows = sum(len(template.conjunction) for template in grounded.templates)
    refuse_beyond(rows * BYTES_A_ROW, memory, f"a factor graph of {rows:,} groundings needs")
    largest_share = WORTH_LIFTING if lift else 0.0
    return _collapsed(program, grounded.evidence, ground_graph(grounded, budget), largest_share)


def _collapsed(program: Program, evidence: Evidence, built: ProgramGraph, largest_share: float) -> Compiled:
    """Merge equal parts of a graph if its classes are at most the share ``largest_share`` of its axes."""
    graph = built.graph
    smaller = lifted(graph, largest_share) if largest_share else None
    if smaller is None:
        same = np.arange(graph.axis_count), np.arange(graph.edge_count)
        return Compiled(program, evidence, built, graph, *same)
    return Compiled(program, evidence, built, smaller.graph, smaller.axis_class, smaller.edge_class)


def _by_classes(program: Program, evidence: Evidence, classes: Mapping[str, Classes]) -> bool:
    """Whether a graph from patterns of classes is cheaper than one from ground rows."""
    count = patterns(program, classes)
    return count <= MOST_PATTERNS and count * COST_OF_A_PATTERN <= _ground_rows(program, evidence)


def _ground_rows(program: Program, evidence: Evidence) -> float:
    """Estimated number of ground rows and latent atoms."""

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
