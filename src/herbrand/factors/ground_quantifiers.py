"""Quantifiers of a ground program as helper axes with a factor each, built column by column.

A helper is true where some piece of its quantifier holds. Equal quantifiers of the same constants share one;
a piece of several literals has a helper too. A quantifier with a single literal left is that literal: a
helper would only add a cycle for messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.factors.graph import NO_SOMES, Array, Somes
from herbrand.factors.pieces import (
    ABSENT,
    Quantified,
    quantified,
    shapes,
    together,
    unique_rows,
)
from herbrand.factors.program_graph import Origin
from herbrand.program.evidence import codes_of
from herbrand.program.ground import Ground, GroundBlock, GroundConjunction, GroundTemplate
from herbrand.program.program import Allowed, Argument, Block, Conjunction, other_values


class Axes:
    """Numbers of the axes: latent atoms first, then helpers."""

    def __init__(self, ground: Ground) -> None:
        self.sizes: list[Array] = [ground.atoms.value_counts.astype(np.int64)]
        self.count = ground.atoms.count

    def new(self, count: int) -> Array:
        """Numbers of ``count`` new helper axes with two values."""
        start = self.count
        self.count += count
        self.sizes.append(np.full(count, 2, dtype=np.int64))
        return np.arange(start, start + count)

    def size_of(self, axis: int) -> int:
        return int(self.sizes[0][axis]) if axis < len(self.sizes[0]) else 2

    def sizes_of(self, axes: Array) -> Array:
        """Number of values of each axis; 2 for those that are absent."""
        sizes = np.full(len(axes), 2, dtype=np.int64)
        atoms = (axes >= 0) & (axes < len(self.sizes[0]))
        sizes[atoms] = self.sizes[0][axes[atoms]]
        return sizes


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows of a conjunction that may hold, with quantifiers as columns of helper axes."""

    atoms: Array
    allowed: tuple[Allowed, ...]
    rows: Array

    def literals(self) -> Iterator[list[tuple[int, Allowed]]]:
        """Axes of each row with the values that they must have."""
        for row in self.atoms.tolist():
            yield [(axis, allowed) for axis, allowed in zip(row, self.allowed, strict=True) if axis >= 0]


class GroundQuantifiers(NamedTuple):
    """Ground quantifiers: each holds where axis ``axes`` has a value of set number ``patterns``; if ``axes``
    is ``ABSENT``, ``settled`` is whether it holds."""

    axes: Array
    patterns: Array
    settled: Array

    @classmethod
    def none(cls, count: int) -> GroundQuantifiers:
        """``count`` quantifiers that are false."""
        return cls(np.full(count, ABSENT), np.zeros(count, np.int64), np.zeros(count, bool))

    def take(self, places: Array) -> GroundQuantifiers:
        return GroundQuantifiers(self.axes[places], self.patterns[places], self.settled[places])

    def beside(self, other: GroundQuantifiers) -> GroundQuantifiers:
        return GroundQuantifiers(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Quantifiers:
    """Helper axes that are true where some piece holds, and the members of their factors."""

    def __init__(self, ground: Ground, axes: Axes, budget: Budget = UNLIMITED) -> None:
        self.ground, self.axes, self.budget = ground, axes, budget
        self.origins: list[Origin] = []
        self.owners: list[Array] = []
        self.members: list[Array] = []
        self.patterns: list[Array] = []
        self.allowed: dict[Allowed, int] = {(1,): 0}
        self.shared: dict[object, tuple[Array, GroundQuantifiers]] = {}

    def with_helpers(
        self,
        conjunction: Conjunction,
        rows: GroundConjunction,
        source: tuple[int, GroundTemplate] | None,
    ) -> Columns:
        """Rows of a conjunction that may hold, with helpers; ``source`` is the number and grounding of its
        template, None inside a quantifier."""
        alive = np.ones(len(rows), bool)
        columns, allowed = [rows.atoms], list(rows.allowed)
        for block, ground in zip(conjunction.blocks, rows.blocks, strict=True):
            helpers = self._helpers(block, ground, len(rows), source)
            alive &= (helpers.axes != ABSENT) | (helpers.settled == block.some)
            for column, values in self._columns(helpers, block.some):
                columns.append(column[:, None])
                allowed.append(values)
        kept = np.flatnonzero(alive)
        return Columns(np.concatenate(columns, axis=1)[kept], tuple(allowed), kept)

    def _columns(self, helpers: GroundQuantifiers, some: bool) -> Iterator[tuple[Array, Allowed]]:
        """Columns for quantifiers, one for each set of allowed values; if not ``some``, they must fail."""
        patterns = list(self.allowed)
        kinds = self.axes.sizes_of(helpers.axes) * len(patterns) + helpers.patterns
        kinds[helpers.axes == ABSENT] = ABSENT
        for kind in np.unique(kinds[kinds != ABSENT]).tolist():
            size, pattern = divmod(kind, len(patterns))
            values = patterns[pattern]
            allowed = values if some else other_values(size, values)
            yield np.where(kinds == kind, helpers.axes, ABSENT), allowed

    def none_fails(self, scopes: Array, literals: dict[int, Allowed]) -> Array:
        """Add helpers that are false exactly where all literals over a scope hold."""
        helpers = self.axes.new(len(scopes))
        for slot, allowed in literals.items():
            excluded = self._number(other_values(self.axes.size_of(int(scopes[0, slot])), allowed))
            self._add(helpers, scopes[:, slot], np.full(len(helpers), excluded))
        return helpers

    def somes(self) -> Somes:
        """Factors of all helpers, each member once."""
        if not self.owners:
            return NO_SOMES
        self.budget.check()
        parts = (self.owners, self.members, self.patterns)
        rows = np.stack([np.concatenate(part) for part in parts], axis=1)
        owners, members, patterns = np.unique(rows, axis=0).T
        targets, begins = np.unique(owners, return_index=True)
        return Somes(targets, np.append(begins, len(owners)), members, patterns, list(self.allowed))

    def _number(self, allowed: Allowed) -> int:
        """Number of a set of values."""
        return self.allowed.setdefault(allowed, len(self.allowed))

    def _add(self, helpers: Array, members: Array, patterns: Array) -> None:
        if not len(helpers):
            return
        self.owners.append(helpers)
        self.members.append(members)
        self.patterns.append(patterns)

    def _helpers(
        self, block: Block, ground: GroundBlock, count: int, source: tuple[int, GroundTemplate] | None
    ) -> GroundQuantifiers:
        """Quantifier of each row; equal ones at the top level are made once."""
        if source is None:
            return self._made(block.pieces, ground.pieces, np.arange(count), np.arange(count))
        number, template = source
        shape = quantified(block)
        codes = self._outer_codes(shape, template)
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        known, shared = self.shared.get(shape.pieces, (np.empty(0, np.int64), GroundQuantifiers.none(0)))
        new = ~np.isin(codes[first], known)
        row_of = np.full(count, ABSENT)
        row_of[first[new]] = np.arange(new.sum())
        created = self._made(block.pieces, ground.pieces, row_of, np.flatnonzero(new))
        known = np.concatenate([known, codes[first[new]]])
        order = np.argsort(known)
        self.shared[shape.pieces] = known, shared = known[order], shared.beside(created).take(order)
        own = shared.take(np.searchsorted(known, codes[first])[group.reshape(-1)])
        helpers = np.flatnonzero(own.axes >= self.ground.atoms.count)
        self.origins.append(Origin(number, helpers, own.axes[helpers]))
        return own

    def _outer_codes(self, shape: Quantified, template: GroundTemplate) -> Array:
        program, types = self.ground.program, template.template.conjunction.types
        sizes = [len(program.domain(types[name])) for name in shape.outer]
        rows: Sequence[Argument] = shape.outer
        if not rows:
            return np.zeros(len(template.conjunction), np.int64)
        return codes_of(np.stack([template.bindings.column(name) for name in rows], axis=1), sizes)

    def _made(
        self, pieces: Sequence[Conjunction], ground: Sequence[GroundConjunction], row_of: Array, new: Array
    ) -> GroundQuantifiers:
        """Make new quantifiers; ``row_of`` [row around it] is the number of its quantifier, or ``ABSENT``."""
        count = len(new)
        settled = np.zeros(count, bool)
        singles: list[tuple[Array, Array, Allowed]] = []
        joint: list[tuple[Array, Array, tuple[Allowed, ...]]] = []
        for piece, rows in zip(pieces, ground, strict=True):
            self.budget.check()
            new_rows = np.flatnonzero(row_of[rows.origin] != ABSENT)
            columns = self.with_helpers(piece, _taken(rows, new_rows), None)
            owner = row_of[rows.origin[new_rows]][columns.rows]
            self.budget.check()
            for shape in shapes(columns.atoms, np.ones((len(columns.atoms), 1), bool)):
                literals = together(
                    (slot, allowed)
                    for slot, allowed in zip(shape.slots, columns.allowed, strict=True)
                    if slot != ABSENT
                )
                if literals is None:
                    continue
                if not literals:
                    settled[owner[shape.rows]] = True
                elif len(literals) == 1:
                    singles.append((owner[shape.rows], shape.scopes[:, 0], literals[0]))
                else:
                    allowed = tuple(literals[slot] for slot in range(len(literals)))
                    joint.append((owner[shape.rows], shape.scopes, allowed))
        none = np.zeros((0, 3), np.int64)
        alone = np.concatenate([none, *self._single_members(singles, ~settled)])
        joined = np.concatenate([none, *self._joint_members(joint, ~settled)])
        return self._resting(self._united(alone), joined, settled)

    def _united(self, members: Array) -> Array:
        """Members of quantifiers, each axis once with the union of its sets, as any of their
        values will do."""
        rows = members[unique_rows(members)[0]]
        rows = rows[np.lexsort(rows.T[::-1])]
        sets = list(self.allowed)
        same = (rows[1:, :2] == rows[:-1, :2]).all(axis=1)
        for at in np.flatnonzero(same):
            both = tuple(sorted({*sets[rows[at, 2]], *sets[rows[at + 1, 2]]}))
            rows[at + 1, 2] = self._number(both)
            sets += [both] * (len(self.allowed) - len(sets))
        return rows[np.append(~same, True)[: len(rows)]]

    def _single_members(
        self, singles: Iterable[tuple[Array, Array, Allowed]], new_rows: Array
    ) -> Iterator[Array]:
        """Rows [quantifier, axis, number of the set of values] for pieces of one literal."""
        for owner, members, allowed in singles:
            kept = new_rows[owner]
            pattern = np.full(kept.sum(), self._number(allowed))
            yield np.stack([owner[kept], members[kept], pattern], axis=1)

    def _joint_members(
        self, joint: Iterable[tuple[Array, Array, tuple[Allowed, ...]]], new_rows: Array
    ) -> Iterator[Array]:
        """The same rows for pieces of several literals, each by a helper; repeated pieces count once."""
        alike: dict[tuple[Allowed, ...], list[Array]] = defaultdict(list)
        for owner, scopes, allowed in joint:
            kept = new_rows[owner]
            alike[allowed].append(np.concatenate([owner[kept, None], scopes[kept]], axis=1))
        for allowed, parts in alike.items():
            self.budget.check()
            rows = np.concatenate(parts)
            rows = rows[unique_rows(rows)[0]]
            if len(rows):
                own = self.none_fails(rows[:, 1:], dict(enumerate(allowed)))
                yield from self._single_members([(rows[:, 0], own, (0,))], new_rows)

    def _resting(self, alone: Array, joined: Array, settled: Array) -> GroundQuantifiers:
        """Resolve quantifiers of one literal to that literal and give a helper to those of more."""
        helpers = GroundQuantifiers.none(len(settled))
        helpers.settled[:] = settled
        members = np.concatenate([alone, joined])
        counts = np.bincount(members[:, 0], minlength=len(settled))
        counts[joined[:, 0]] += 1  # a helper that fails with a conjunction is never the quantifier itself
        helpers.axes[counts > 1] = self.axes.new(int((counts > 1).sum()))
        is_single = counts[members[:, 0]] == 1
        owner, axes, patterns = members[is_single].T
        helpers.axes[owner], helpers.patterns[owner] = axes, patterns
        owner, axes, patterns = members[~is_single].T
        self._add(helpers.axes[owner], axes, patterns)
        return helpers


def _taken(rows: GroundConjunction, kept: Array) -> GroundConjunction:
    """Some rows of a piece, with those rows of nested quantifiers that belong to them."""
    place = np.full(len(rows), ABSENT)
    place[kept] = np.arange(len(kept))
    blocks = tuple(
        GroundBlock(tuple(_reattached(piece, place) for piece in block.pieces), block.some)
        for block in rows.blocks
    )
    return GroundConjunction(rows.atoms[kept], rows.allowed, rows.origin[kept], blocks)


def _reattached(piece: GroundConjunction, place: Array) -> GroundConjunction:
    kept = np.flatnonzero(place[piece.origin] != ABSENT)
    taken = _taken(piece, kept)
    return GroundConjunction(taken.atoms, taken.allowed, place[taken.origin], taken.blocks)
