"""A program as a factor graph of classes: grounded and then collapsed, or made without grounding.

Takes a program and what may be spent; gives a :class:`Compiled`. The road is chosen by what each would cost:
patterns of classes where few constants differ in what is known of them, ground rows where many do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.budget import Budget
from herbrand.errors import BudgetError
from herbrand.factors.class_graph import ClassGraph, class_graph, patterns
from herbrand.factors.graph import Array, FactorGraph
from herbrand.factors.ground_graph import GroundGraph, ground_graph
from herbrand.factors.interchangeable import Classes, interchangeable
from herbrand.factors.points import canonical
from herbrand.factors.refinement import WORTH_LIFTING, lifted
from herbrand.memory import readable
from herbrand.program.evidence import Evidence, arguments_of
from herbrand.program.ground import Ground, ground
from herbrand.program.program import Program
from herbrand.program.template import FALSE, Conjunction

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
    built: GroundGraph | ClassGraph
    ground: Ground | None
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
        return len(np.unique(self.axis_class[self.atom_axes]))

    @property
    def atom_axes(self) -> Array:
        """Axes of the built graph that are atoms, not helpers."""
        if isinstance(self.built, ClassGraph):
            return np.array(sorted(self.built.axes.values()), dtype=np.int64)
        assert self.ground is not None
        return np.arange(self.ground.atoms.count)

    def axes_of(self, predicate: str, codes: Array) -> Array:
        """The axis in the built graph of each latent atom."""
        if isinstance(self.built, ClassGraph):
            return class_axes(self.built, self.program, predicate, codes)
        assert self.ground is not None
        return self.ground.atoms.numbers(predicate, codes)


def compiled(program: Program, budget: Budget, lift: bool = True) -> Compiled:
    """The cheapest graph that messages can run on; with ``lift`` false the ground one, as it is."""
    memory = budget.bytes
    evidence = Evidence(program)
    if lift:
        classes = interchangeable(program)
        if _by_classes(program, classes):
            made = class_graph(program, evidence, classes, budget)
            return _collapsed(program, evidence, made, None, True)
    most_rows = memory / BYTES_A_ROW
    grounded = ground(program, budget, most_rows)
    rows = sum(len(template.conjunction) for template in grounded.templates)
    if rows > most_rows:
        raise BudgetError(
            f"a factor graph of {rows:,} groundings needs about {readable(rows * BYTES_A_ROW)}, and "
            f"{readable(memory)} are allowed",
            hint="allow more by --memory",
        )
    return _collapsed(program, grounded.evidence, ground_graph(grounded, budget), grounded, lift)


def _collapsed(
    program: Program,
    evidence: Evidence,
    built: GroundGraph | ClassGraph,
    grounded: Ground | None,
    lift: bool,
) -> Compiled:
    graph = built.graph
    # A graph of classes is small: whatever refinement still finds is worth it.
    worth = WORTH_LIFTING if grounded is not None else 1.0
    found = lifted(graph, worth) if lift else None
    if found is None:
        same = np.arange(graph.axis_count), np.arange(graph.edge_count)
        return Compiled(program, evidence, built, grounded, graph, *same)
    return Compiled(program, evidence, built, grounded, found.graph, found.axis_class, found.edge_class)


def _by_classes(program: Program, classes: Mapping[str, Classes]) -> bool:
    """Whether patterns of classes are the cheaper road."""
    count = patterns(program, classes)
    alone = {name: Classes(np.arange(len(domain))) for name, domain in program.facts.domains.items()}
    return count <= MOST_PATTERNS and count * COST_OF_A_PATTERN <= _most_rows(program, alone)


def _most_rows(program: Program, alone: Mapping[str, Classes]) -> float:
    """About how many ground rows there are: a known relation bounds its variables together."""
    evidence = Evidence(program)

    def of(conjunction: Conjunction) -> float:
        free = {name: float(len(alone[type_name])) for name, type_name in conjunction.variables}
        rows = 1.0
        for literal in conjunction.literals:
            known = evidence.known(literal.predicate)
            names = {a for a in literal.arguments if isinstance(a, str)} & set(free)
            listed = len(evidence.rows(literal.predicate, literal.allowed))
            relation = names and not known.latent_count() and literal.allowed != FALSE
            if relation and listed < np.prod([free[name] for name in names]):
                rows *= max(1, listed)
                for name in names:
                    del free[name]
        rows *= float(np.prod(list(free.values()))) if free else 1.0
        return rows * (1 + sum(of(piece) for block in conjunction.blocks for piece in block.pieces))

    atoms = sum(evidence.known(p).latent_count() for p in program.signature.predicates)
    return atoms + sum(of(template.conjunction) for template in program.templates)


def class_axes(built: ClassGraph, program: Program, predicate: str, codes: Array) -> Array:
    """The axis of the class of each atom."""
    types = program.signature.predicates[predicate].types
    columns = arguments_of(codes, tuple(len(program.domain(name)) for name in types))
    if not columns:
        return np.full(len(codes), built.axes[predicate, ()])
    kinds = np.stack([built.classes[t].of[c] for t, c in zip(types, columns, strict=True)], axis=1)
    first = np.stack([_first_place(columns, types, place) for place in range(len(types))], axis=1)
    keys, group = np.unique(np.concatenate([kinds, first], axis=1), axis=0, return_inverse=True)
    width = len(types)
    axes = [
        built.axes[
            canonical((predicate, tuple((t, int(key[i]), int(key[width + i])) for i, t in enumerate(types))))
        ]
        for key in keys
    ]
    return np.array(axes, dtype=np.int64)[group.reshape(-1)]


def _first_place(columns: list[Array], types: tuple[str, ...], place: int) -> Array:
    """For each atom the first argument that is the same constant as the one at this place."""
    found = np.full(len(columns[place]), place)
    for before in range(place - 1, -1, -1):
        if types[before] == types[place]:
            found[columns[before] == columns[place]] = before
    return found
