"""Factor graph of a program, with the axes of its atoms and the statements that its parts come from.

It is made from ground rows (:mod:`~herbrand.factors.ground_graph`), with an axis for each atom, or from
classes of constants (:mod:`~herbrand.factors.class_graph`), with an axis for each class of atoms. Readers
need not know which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from herbrand.factors.graph import Array, FactorGraph
from herbrand.factors.pieces import Piece, table_of
from herbrand.program.ground import Ground


@dataclass(frozen=True, eq=False)
class Origin:
    """Parts of a graph that come from a template: its row ``rows[i]`` is in factor ``places[i]``, or in the
    own weights of axis ``places[i]``. In a graph of classes rows are not distinguished, and are -1.

    ``sizes``: numbers of values of the factor's axes. ``piece`` is None where the row made a helper for one
    of its quantifiers, and in tables of classes.
    """

    template: int
    rows: Array
    places: Array
    piece: Piece | None = None
    sizes: tuple[int, ...] = ()

    @cached_property
    def holds(self) -> Array:
        """Whether the rows hold, for each combination of values of the axes."""
        assert self.piece is not None
        return table_of([replace(self.piece, log_weight=1.0)], self.sizes) > 0

    @property
    def table(self) -> Array:
        """Log-weight that each row adds to the factor, for each combination of values."""
        assert self.piece is not None
        return np.where(self.holds, self.piece.log_weight, 0.0)


def origins_of_classes(
    parts: Iterable[tuple[int, int, Piece | None, tuple[int, ...]]],
) -> tuple[Origin, ...]:
    """Merge the origins of parts (template, factor or axis, piece, sizes) that differ in the second only."""
    places: dict[tuple[int, Piece | None, tuple[int, ...]], list[int]] = defaultdict(list)
    for template, place, piece, sizes in parts:
        places[template, piece, sizes].append(place)
    return tuple(
        Origin(template, np.full(len(of), -1), np.array(of), piece, sizes)
        for (template, piece, sizes), of in places.items()
    )


class AtomAxes(Protocol):
    """Map from latent atoms to axes."""

    def numbers(self, predicate: str, codes: Array) -> Array: ...

    @property
    def axes(self) -> Array:
        """Axes of atoms; the others are helpers."""
        ...


@dataclass(frozen=True, eq=False)
class ProgramGraph:
    """A program's factor graph with its origins. ``in_tables``: rows that each table comes from; ``on_axes``:
    rows in an axis's own weights, or that made it as a helper; ``always``: templates with rows that hold in
    every world. ``apart``: templates that are several factors over the same atoms, too many for one table.
    ``ground``: the ground program, None for a graph of classes."""

    graph: FactorGraph
    atoms: AtomAxes
    in_tables: tuple[Origin, ...]
    on_axes: tuple[Origin, ...]
    always: tuple[tuple[int, Array], ...] = ()
    apart: frozenset[int] = frozenset()
    ground: Ground | None = None
