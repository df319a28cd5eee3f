"""What a factor graph says of one world, by plain loops: helpers take the value that makes them possible."""

from __future__ import annotations

import math
from collections.abc import Mapping

from herbrand.factors.graph import SOME, FactorGraph
from herbrand.program.evidence import Evidence
from tests.oracles.worlds import GroundAtom, Universe


def latent_atoms(evidence: Evidence) -> list[tuple[str, int, GroundAtom]]:
    """Every latent atom: its predicate, its code, and what the worlds oracle calls it."""
    found = []
    for name in evidence.program.signature.predicates:
        codes = evidence.known(name).latent_codes()
        columns = evidence.atom_arguments(name, codes)
        for place, code in enumerate(codes.tolist()):
            found.append((name, code, (name, tuple(column[place] for column in columns))))
    return found


def value_number(universe: Universe, atom: GroundAtom, value: object) -> int:
    return list(universe.predicates[atom[0]][1] or (False, True)).index(value)


def edges_of(graph: FactorGraph, factor: int) -> range:
    return range(int(graph.factor_edges[factor]), int(graph.factor_edges[factor + 1]))


def with_helpers(graph: FactorGraph, values: Mapping[int, int]) -> dict[int, int]:
    """The values of all axes, when those of atoms are given."""
    found = dict(values)
    makers = {
        int(graph.edge_axes[graph.factor_edges[factor]]): factor
        for factor in range(graph.factor_count)
        if graph.table_starts[factor] == SOME
    }

    def value_of(axis: int) -> int:
        if axis not in found:
            found[axis] = int(any(map(allows, list(edges_of(graph, makers[axis]))[1:])))
        return found[axis]

    def allows(edge: int) -> bool:
        return bool(graph.allowed[graph.message_starts[edge] + value_of(int(graph.edge_axes[edge]))])

    for axis in range(graph.axis_count):
        value_of(axis)
    return found


def energy(graph: FactorGraph, values: Mapping[int, int]) -> float:
    """The log-weight of a world in which all ground parts of an axis have its value."""
    every = with_helpers(graph, values)
    terms = [graph.constant]
    for axis, value in every.items():
        terms.append(_times(float(graph.counts[axis]), float(graph.unary[graph.starts[axis] + value])))
    for factor in range(graph.factor_count):
        if graph.table_starts[factor] == SOME:
            continue
        entry = 0
        for edge in edges_of(graph, factor):
            axis = int(graph.edge_axes[edge])
            entry = entry * int(graph.sizes[axis]) + every[axis]
        said = float(graph.tables[graph.table_starts[factor] + entry])
        terms.append(_times(float(graph.factor_counts[factor]), said))
    return -math.inf if -math.inf in terms else math.fsum(terms)


def _times(count: float, term: float) -> float:
    return 0.0 if count == 0 else count * term
