"""Classes of single elements: elements with the same evidence are one class.

Takes a family of own atoms; gives :class:`Elements`: a class for each element, the cells possible in each
class, and their log-weights from soft evidence. An element that a term names is a class by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from herbrand.engines.lifted.families import Family
from herbrand.engines.lifted.terms import PROPOSITIONS, Own
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import Program


@dataclass(frozen=True, eq=False)
class Elements:
    """Classes of elements. ``class_of`` [element]; ``possible`` and ``opinions`` [class, cell]; ``first``
    element of each class."""

    class_of: np.ndarray
    possible: np.ndarray
    opinions: np.ndarray
    first: np.ndarray

    @property
    def count(self) -> int:
        return len(self.class_of)


def element_count(type_name: str, program: Program) -> int:
    return 1 if type_name == PROPOSITIONS else len(program.domain(type_name))


def elements_of(family: Family, named: Collection[int], evidence: Evidence) -> Elements:
    """The classes of a family's elements; each element in ``named`` is a class by itself."""
    count = element_count(family.type, evidence.program)
    alone = np.zeros(count, dtype=np.int64)
    alone[sorted(named)] = 1 + np.arange(len(named))
    known = [known_values(own, count, evidence) for own in family.owns]
    opinions = [evidence.weight_rows(own.predicate, own_codes(own, count)) for own in family.owns]
    columns = np.column_stack([alone, *known, *(column for o in opinions for column in o.T)])
    rows, class_of = np.unique(columns, axis=0, return_inverse=True)
    first = np.zeros(len(rows), dtype=np.int64)
    first[class_of[::-1]] = np.arange(count)[::-1]
    weights = np.zeros((len(rows), family.cells))
    possible = np.ones((len(rows), family.cells), dtype=bool)
    for own, values, opinion in zip(family.owns, known, opinions, strict=True):
        of_cell, settled = family.values(own), values[first][:, None]
        possible &= (settled == LATENT) | (settled == of_cell)
        weights += opinion[first][:, of_cell]
    possible &= weights > -np.inf
    return Elements(class_of.reshape(-1), possible, np.where(possible, weights, 0.0), first)


def known_values(own: Own, count: int, evidence: Evidence) -> np.ndarray:
    """Value of each element's own atom, or ``LATENT``."""
    return evidence.known(own.predicate).lookup(own_codes(own, count))


def own_codes(own: Own, count: int) -> np.ndarray:
    """Code of each element's own atom."""
    return np.arange(count) * (count + 1 if own.diagonal else 1)
