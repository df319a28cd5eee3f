"""Families of factors: those of one shape in one table, with their atoms ordered so that equivalent
potentials become equal.

Layers, the summands of the factors over the same atoms, are added up here, and factors that are equal up to
the order of their atoms get the same kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.engines.belief.parallel_rounds import Family
from herbrand.factors.graph import Array
from herbrand.factors.refinement import canonical_table
from herbrand.relations.expression import choose, column
from herbrand.relations.fold import total
from herbrand.relations.memory import Memory
from herbrand.relations.stored import Scratch, Stored

FamilyKey = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


@dataclass(frozen=True, eq=False)
class StoredFamily(Family):
    """A family whose factors are a table. Each of the ``symmetries`` is a permutation of axes that leaves all
    potentials unchanged; ``rows``: number of factors."""

    symmetries: tuple[tuple[int, ...], ...]
    rows: int

    @property
    def table(self) -> str:
        return f"factors_{self.number}"


@dataclass(frozen=True, eq=False)
class Layer:
    """Factors of one shape with one table, a summand of the factors over their atoms. ``scopes`` are the
    atoms ``s0`` ..."""

    scopes: Stored
    table: Array


def families_of(
    layers: Mapping[tuple[int, ...], Sequence[Layer]], scratch: Scratch
) -> Iterator[StoredFamily]:
    """Add up layers, given by the shape of their tables: those over the same scope become one factor, and
    those equal up to the order of axes one family."""
    kinds: dict[FamilyKey, dict[object, Array]] = defaultdict(dict)
    sources: dict[FamilyKey, list[Stored]] = defaultdict(list)
    for of_shape in layers.values():
        for key, factors in _ordered(of_shape, kinds, scratch):
            sources[key].append(factors)
    for number, (key, (first, *others)) in enumerate(sources.items()):
        rows = first.stack(*others).kept_as(f"factors_{number}").count()
        sizes, symmetries = key
        yield StoredFamily(number, sizes, tuple(kinds[key].values()), symmetries, rows)


def _ordered(
    layers: Sequence[Layer], kinds: dict[FamilyKey, dict[object, Array]], scratch: Scratch
) -> Iterator[tuple[FamilyKey, Stored]]:
    """Yield the factors that layers of one shape add up to, with their families; their potentials are added
    to ``kinds``."""
    scope, counts = names("s", layers[0].table.ndim), names("n", len(layers))
    first, *others = (layer.scopes.let(layer=number) for number, layer in enumerate(layers))
    often = {name: total(choose(column("layer") == number, 1, 0)) for number, name in enumerate(counts)}
    scopes = first.stack(*others).group(scope, **often).kept()
    rows, positions = [], {}
    for combination in scopes.only(*counts).distinct().rows():
        potential = np.zeros(layers[0].table.shape)
        for times, layer in zip(combination, layers, strict=True):
            potential = potential + times * layer.table if times else potential
        kind, order, symmetries = canonical_table(potential)
        ordered = np.transpose(potential, order)
        key = ordered.shape, symmetries
        kinds[key].setdefault(kind, ordered)
        branch = positions.setdefault((key, order), len(positions))
        rows.append((*combination, list(kinds[key]).index(kind), branch))
    columns = (*counts, "kind", "branch")
    known = scratch.put(Memory.of_indices(np.array(rows).reshape(-1, len(columns)), columns))
    joined = scopes.join(known, counts)
    for (key, order), branch in positions.items():
        slots = {f"s{slot}": column(f"s{place}") for slot, place in enumerate(order)}
        yield key, joined.where(column("branch") == branch).select(**slots, kind=column("kind"))


def names(letter: str, count: int) -> list[str]:
    """Names of numbered columns.

    >>> names("s", 2)
    ['s0', 's1']
    """
    return [f"{letter}{number}" for number in range(count)]
