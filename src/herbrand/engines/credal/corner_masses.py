"""Masses of events in networks with few conditional probabilities, at the corners of boxes of these.

A row is one P(atom | case of its parents). In a network without cycles every mass is linear in each row, so
over a box of rows it is largest and smallest at a corner. Where every row is 0 or 1 the world is certain, so
a mass is one truth value for each such corner of the unit cube, and it is interpolated for any other box.
No number is negative and none is a difference, so each result is as precise as its largest rounding errors.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> from herbrand.engines.credal.network_query import NetworkQuestion
>>> from herbrand.engines.credal.question import BoundQuestion
>>> theory = hb.parse("P(a and b) = 0.1\\nP(a) <= 0.5")
>>> part = NetworkQuestion(credal_network(hb.Model(theory).program), BoundQuestion(), True).whole
>>> masses = corner_masses(part, (0,), np.array([False, True]))
>>> masses.event.tolist()
[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
>>> at_corners(masses.event, np.array([[0.25, 0.5]]), np.array([[0.5, 1.0]])).tolist()
[[[0.125, 0.25, 0.25, 0.5], [0.25, 0.25, 0.5, 0.5]]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.credal.network_part import NetworkPart, Sentence, single_case_intervals
from herbrand.engines.credal.rounding import UNIT

MOST_ROWS = 8
"""Most rows of a network whose boxes are searched by their corners."""
EQUATION = 1e-12
"""Width of an interval, as a share of its distances from 0 and 1, up to which a sentence is an equation."""
LEAST = 1e-30
"""Smallest positive end of a row: products of eight such rows do not underflow."""


@dataclass(frozen=True, eq=False)
class CornerMasses:
    """The masses of sentences and of a query, last, at the corners of the unit cube of rows.

    ``event[m, corner]`` is 1 where the event and the condition hold, ``other`` where only the condition does.
    Sentences require ``lower (event + other) <= event <= upper (event + other)``; the query's are 0 and 1.
    Where other rows decide the query's event than its condition, its masses leave the condition out.
    ``possible`` has the mass of that condition, which must be positive.
    """

    row_lower: np.ndarray  # [rows] ranges that sentences about single cases state
    row_upper: np.ndarray
    event: np.ndarray  # [sentences + 1, corners]
    other: np.ndarray
    lower: np.ndarray  # [sentences + 1]
    upper: np.ndarray
    possible: np.ndarray  # [corners]

    @property
    def rows(self) -> int:
        return len(self.row_lower)

    @property
    def error(self) -> float:
        """Largest relative error of an interpolated mass, and of a share of it."""
        return (4 * self.rows + 8) * UNIT

    @cached_property
    def tables(self) -> np.ndarray:
        """[2 * (sentences + 1), corners] Both masses of all, events first."""
        return np.concatenate([self.event, self.other])

    @cached_property
    def equations(self) -> np.ndarray:
        """[sentences + 1] bool Sentences that state one value."""
        return self.upper - self.lower <= EQUATION * np.minimum(self.upper, 1 - self.lower)


def corner_masses(
    part: NetworkPart, atoms: Sequence[int], event: np.ndarray, given: np.ndarray | None = None
) -> CornerMasses | None:
    """The masses of a part's sentences and of a query; ``None`` where there are no rows, many, or cycles."""
    parents = part.graph.into
    rows = sum(2 ** len(above) for above in parents)
    if not part.markov or part.graph.core or not 0 < rows <= MOST_ROWS:
        return None
    ends = [part.row_ranges(atom, parents[atom]) for atom in range(part.graph.count)]
    lower, upper = (np.concatenate([end[at] for end in ends]) for at in (0, 1))
    if ((lower > 0) & (lower < LEAST)).any() or ((upper > 0) & (upper < LEAST)).any():
        return None
    worlds = _worlds(parents, [len(part.graph.ancestors([atom])) for atom in range(part.graph.count)])
    always = np.ones_like(event)
    condition = always if given is None else given
    possible = _truths(atoms, condition, worlds)
    if not _rows_of(possible) & _rows_of(_truths(atoms, event, worlds)):
        condition = always
    query = Sentence(tuple(atoms), event & condition, condition, 0.0, 1.0)
    sentences = (*(s for s in part.sentences if not _is_range(part, s)), query)
    holds = np.array([_truths(s.atoms, s.event, worlds) for s in sentences])
    known = np.array([_truths(s.atoms, s.given, worlds) for s in sentences])
    return CornerMasses(
        lower,
        upper,
        holds.astype(float),
        (known & ~holds).astype(float),
        np.array([sentence.lower for sentence in sentences]),
        np.array([sentence.upper for sentence in sentences]),
        possible.astype(float),
    )


def _is_range(part: NetworkPart, sentence: Sentence) -> bool:
    """Whether the range of one row states all of a sentence."""
    for atom in sentence.atoms:
        parents = part.graph.parents(atom)
        bound = sentence.conditional_on(atom, parents)
        if bound is not None and bound[0].sum() == 1:
            named = [part.sentences[number] for number in part.mentions[atom]]
            lower, upper = single_case_intervals(atom, parents, named)
            return bool((lower <= upper)[bound[0]].all())
    return False


def _worlds(parents: Sequence[tuple[int, ...]], depth: Sequence[int]) -> np.ndarray:
    """[atoms, corners] The truth value of each atom in the certain world of each corner of the unit cube.

    ``depth``: a number of each atom that exceeds those of its parents.
    """
    start = np.cumsum([0, *(2 ** len(above) for above in parents)])
    rows = int(start[-1])
    corners = np.arange(2**rows)
    worlds = np.zeros((len(parents), len(corners)), np.int64)
    for atom in sorted(range(len(parents)), key=lambda atom: depth[atom]):
        row = np.full(len(corners), start[atom])
        for place, parent in enumerate(reversed(parents[atom])):
            row += worlds[parent] << place
        worlds[atom] = (corners >> (rows - 1 - row)) & 1
    return worlds


def _truths(atoms: Sequence[int], holds: np.ndarray, worlds: np.ndarray) -> np.ndarray:
    """[corners] Whether a formula over some atoms holds in the world of each corner."""
    return np.broadcast_to(holds[tuple(worlds[atom] for atom in atoms)], worlds.shape[1:])


def _rows_of(truths: np.ndarray) -> set[int]:
    """The rows on which a truth value at the corners depends."""
    rows = len(truths).bit_length() - 1
    sides = (truths.reshape(2**row, 2, -1) for row in range(rows))
    return {row for row, side in enumerate(sides) if (side[:, 0] != side[:, 1]).any()}


def at_corners(tables: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """[boxes, masses, corners] Masses at the corners of boxes from those at the corners of the unit cube.

    ``tables``: [masses, corners]; ``lower`` and ``upper``: [boxes, rows].
    """
    boxes, rows = lower.shape
    values = np.broadcast_to(tables, (boxes, *tables.shape)).reshape(boxes, len(tables), *(2,) * rows)
    for axis in range(rows):
        false, true = values.take(0, axis + 2), values.take(1, axis + 2)
        ends = (end[:, axis].reshape(-1, *(1,) * rows) for end in (lower, upper))
        values = np.stack([false * (1 - end) + true * end for end in ends], axis + 2)
    return values.reshape(boxes, len(tables), -1)
