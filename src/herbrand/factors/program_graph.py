"""The factor graph of a program: where its atoms are in it, and which statements its parts are made of.

It is made of ground rows (:mod:`~herbrand.factors.ground_graph`), an axis an atom, or of classes of constants
(:mod:`~herbrand.factors.class_graph`), an axis a class of atoms. Who reads it need not know which.
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
    """Row ``rows[i]`` of a template is in factor, or in the own weights of axis, ``places[i]``; in a graph of
    classes rows are not told apart.

    ``sizes``: how many values the axes of these have. There is no ``piece`` where the row made a helper for
    one of its quantifiers, nor in tables of classes.
    """

    template: int
    rows: Array
    places: Array
    piece: Piece | None = None
    sizes: tuple[int, ...] = ()

    @cached_property
    def holds(self) -> Array:
        """For which values of the axes the rows hold."""
        assert self.piece is not None
        return table_of([replace(self.piece, worth=1.0)], self.sizes) > 0

    @property
    def table(self) -> Array:
        """What each row adds to the factor's log-potential."""
        assert self.piece is not None
        return np.where(self.holds, self.piece.worth, 0.0)


def origins_of_classes(
    parts: Iterable[tuple[int, int, Piece | None, tuple[int, ...]]],
) -> tuple[Origin, ...]:
    """Templates, the factor or axis that each is in, and what it says there: equal ones together."""
    places: dict[tuple[int, Piece | None, tuple[int, ...]], list[int]] = defaultdict(list)
    for template, place, piece, sizes in parts:
        places[template, piece, sizes].append(place)
    return tuple(
        Origin(template, np.full(len(of), -1), np.array(of), piece, sizes)
        for (template, piece, sizes), of in places.items()
    )


class AtomAxes(Protocol):
    """Which axis each latent atom has."""

    def numbers(self, predicate: str, codes: Array) -> Array: ...

    @property
    def axes(self) -> Array:
        """The axes that are atoms, not helpers."""
        ...


@dataclass(frozen=True, eq=False)
class ProgramGraph:
    """``in_tables``: which rows each table came from, ``on_axes`` which went into an axis's own weights or
    made it as a helper, ``always`` which hold in every world (templates and their rows). ``apart``: templates
    that are several factors over the same atoms, which no table could hold. ``ground``: that of the rows,
    where it is not made of classes."""

    graph: FactorGraph
    atoms: AtomAxes
    in_tables: tuple[Origin, ...]
    on_axes: tuple[Origin, ...]
    always: tuple[tuple[int, Array], ...] = ()
    apart: frozenset[int] = frozenset()
    ground: Ground | None = None
