"""Joint shares of atoms that were summed out as leaves, from shares of the atoms that they hang from.

Given the neighbour to which a leaf sent its message, the leaf is independent of all that was left at that
time. So the leaves are a forest of conditional probabilities above the core. The atoms of a scope are moved
down this forest, message by message, until they meet or arrive at the core. What meets is one part, whose
atoms are independent given the one that it hangs from; a scope that is all one part moves no further. So
pairs of atoms need no table between them, however far apart they are, and all scopes move at once.

>>> from herbrand.engines.components import Core
>>> from herbrand.engines.elimination import without_leaves
>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2, 2])
>>> tables = np.log([[[3.0, 1], [1, 3]], [[2.0, 1], [1, 2]]])
>>> graph.add_tables(Tables(np.array([[0, 1], [1, 2]]), np.arange(2), tables))
>>> core, leaves = without_leaves(Core.whole(graph.build(), 3), "log")
>>> (scope,) = anchored_scopes(leaves, core.graph.sizes, [(0, 2)])
>>> scope.anchors
(1,)
>>> scope.shares(np.array([0.5, 0.5])).round(4).tolist()
[[0.2917, 0.2083], [0.2083, 0.2917]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from herbrand.engines.elimination import Leaves, Messages
from herbrand.factors.graph import Array

Scope = tuple[int, ...]
"""Numbers of atoms, ascending."""


class Part(NamedTuple):
    """Atoms of a scope, by their ``places`` in it, that hang from one atom, their ``anchor``.

    ``chances``: probability of each combination of their values given each value of the anchor, an axis for
    each place and then one for the anchor.
    """

    places: tuple[int, ...]
    anchor: int
    chances: Array

    def with_others(self, other: Part) -> Part:
        """The part of two that hang from the same atom."""
        own = (..., *[None] * len(other.places), slice(None))
        chances = self.chances[own] * other.chances[(None,) * len(self.places)]
        return Part((*self.places, *other.places), self.anchor, chances)


@dataclass(frozen=True, eq=False)
class AnchoredScope:
    """The parts of a scope, each with another anchor, in ascending order of anchors."""

    parts: tuple[Part, ...]

    @property
    def anchors(self) -> Scope:
        return tuple(part.anchor for part in self.parts)

    def shares(self, of_anchors: Array) -> Array:
        """Joint shares of the scope's atoms from those of its anchors, with an axis for each."""
        count = sum(len(part.places) for part in self.parts)
        joint = [of_anchors, list(range(count, count + len(self.parts)))]
        for number, part in enumerate(self.parts):
            joint += [part.chances, [*part.places, count + number]]
        return np.einsum(*joint, list(range(count)), optimize=len(self.parts) > 1)


def anchored_scopes(leaves: Leaves, sizes: Array, scopes: Sequence[Scope]) -> list[AnchoredScope]:
    """Each scope with its atoms moved towards the core until they are one part, or in the core.

    ``sizes``: number of values of each axis.
    """
    moving = _Moving(sizes, scopes)
    sender = np.full(len(sizes), -1)
    place = np.zeros(len(sizes), np.int64)
    for number, messages in enumerate(leaves.sent):
        sender[messages.atoms] = number
        place[messages.atoms] = np.arange(len(messages.atoms))
    for number, messages in enumerate(leaves.sent):
        moving.move(messages, sender == number, place)
    return moving.settled()


class _Moving:
    """The parts of all scopes on their way, and the rows of all their tables in one array.

    ``rows`` [row, value of the part's current atom]; a part's rows are the combinations of its atoms' values.
    """

    def __init__(self, sizes: Array, scopes: Sequence[Scope]) -> None:
        self.sizes, self.scopes = sizes, scopes
        atoms = np.array([atom for scope in scopes for atom in scope], np.int64)
        self.scope = np.repeat(np.arange(len(scopes)), [len(scope) for scope in scopes])
        self.current = atoms
        self.alive = np.ones(len(atoms), bool)
        self.parts = np.array([len(scope) for scope in scopes], np.int64)
        self.places: list[tuple[int, ...]] = [(place,) for scope in scopes for place in range(len(scope))]
        widest = int(sizes[atoms].max(initial=1))
        self.owner = np.repeat(np.arange(len(atoms)), sizes[atoms])
        self.rows = np.concatenate([np.zeros((0, widest)), *(np.eye(n, widest) for n in sizes[atoms])])

    def move(self, messages: Messages, sends: Array, place: Array) -> None:
        """Move parts that hang from atoms of these messages, one of several in their scope, and join them."""
        moves = self.alive & sends[self.current] & (self.parts[self.scope] > 1)
        if not moves.any():
            return
        at = np.flatnonzero(moves[self.owner])
        which = place[self.current[self.owner[at]]]
        size, around = messages.chances.shape[1:]
        if around > self.rows.shape[1]:
            self.rows = np.pad(self.rows, ((0, 0), (0, around - self.rows.shape[1])))
        moved = (self.rows[at, None, :size] @ messages.chances[which])[:, 0]
        self.rows[at] = 0.0
        self.rows[at, :around] = moved
        parts = np.flatnonzero(moves)
        self.current[parts] = messages.neighbours[place[self.current[parts]]]
        self._join()

    def _join(self) -> None:
        """Join parts of one scope that hang from the same atom."""
        waiting = np.flatnonzero(self.alive & (self.parts[self.scope] > 1))
        keys = self.scope[waiting] * len(self.sizes) + self.current[waiting]
        order = np.argsort(keys, kind="stable")
        again = np.diff(keys[order]) == 0
        begins = np.flatnonzero(again & ~np.append(False, again[:-1]))
        ends = np.flatnonzero(again & ~np.append(again[1:], False)) + 2
        for begin, end in zip(begins, ends, strict=True):
            self._add(waiting[order[begin:end]].tolist())

    def _add(self, group: list[int]) -> None:
        """Add the part of several that hang from the same atom, in their place."""
        first, *others = (self._part(number) for number in group)
        joined = first
        for other in others:
            joined = joined.with_others(other)
        scope, rows = self.scope[group[0]], joined.chances.reshape(-1, joined.chances.shape[-1])
        self.alive[group] = False
        self.parts[scope] -= len(others)
        self.owner = np.concatenate([self.owner, np.full(len(rows), len(self.alive))])
        self.rows = np.concatenate(
            [self.rows, np.pad(rows, ((0, 0), (0, self.rows.shape[1] - rows.shape[1])))]
        )
        self.scope, self.current = np.append(self.scope, scope), np.append(self.current, joined.anchor)
        self.alive = np.append(self.alive, True)
        self.places.append(joined.places)

    def _part(self, number: int) -> Part:
        anchor, places = int(self.current[number]), self.places[number]
        scope = self.scopes[self.scope[number]]
        rows = self.rows[self.owner == number, : self.sizes[anchor]]
        return Part(places, anchor, rows.reshape(*(int(self.sizes[scope[place]]) for place in places), -1))

    def settled(self) -> list[AnchoredScope]:
        """The parts of each scope."""
        parts: list[list[Part]] = [[] for _ in self.scopes]
        for number in np.flatnonzero(self.alive).tolist():
            parts[self.scope[number]].append(self._part(number))
        return [AnchoredScope(tuple(sorted(own, key=lambda part: part.anchor))) for own in parts]
