"""Quantifiers of a ground program as helper axes with a factor each, built column by column.

A helper is true where some piece of its quantifier holds. Quantifiers that say the same of the same constants
share one; a piece of several literals has a helper of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import NO_SOMES, Array, Somes
from herbrand.factors.pieces import ABSENT, Allowed, Quantified, quantified, shapes, together, unique_rows
from herbrand.factors.program_graph import Origin
from herbrand.program.evidence import codes_of
from herbrand.program.ground import Ground, GroundBlock, GroundConjunction, GroundTemplate
from herbrand.program.program import Argument, Block, Conjunction


class Axes:
    """Numbers for axes: the latent atoms first, then helpers."""

    def __init__(self, ground: Ground) -> None:
        self.sizes: list[Array] = [ground.atoms.value_counts.astype(np.int64)]
        self.count = ground.atoms.count

    def new(self, count: int) -> Array:
        """Helper axes, true or false."""
        start = self.count
        self.count += count
        self.sizes.append(np.full(count, 2, dtype=np.int64))
        return np.arange(start, start + count)

    def size_of(self, axis: int) -> int:
        return int(self.sizes[0][axis]) if axis < len(self.sizes[0]) else 2


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a conjunction that may hold, quantifiers as columns of helper axes."""

    atoms: Array
    allowed: tuple[Allowed, ...]
    rows: Array

    def literals(self) -> Iterator[list[tuple[int, Allowed]]]:
        """Each row's axes and the values that they must have."""
        for row in self.atoms.tolist():
            yield [(axis, allowed) for axis, allowed in zip(row, self.allowed, strict=True) if axis >= 0]


class Quantifiers:
    """Helper axes that are true where some piece holds, and what each rests on."""

    def __init__(self, ground: Ground, axes: Axes) -> None:
        self.ground, self.axes = ground, axes
        self.origins: list[Origin] = []
        self.owners: list[Array] = []
        self.members: list[Array] = []
        self.patterns: list[Array] = []
        self.allowed: dict[Allowed, int] = {}
        self.shared: dict[object, tuple[Array, Array, Array]] = {}

    def with_helpers(
        self,
        conjunction: Conjunction,
        rows: GroundConjunction,
        source: tuple[int, GroundTemplate] | None,
    ) -> Columns:
        """A conjunction's rows; ``source`` is its template's number and bindings, none in a quantifier."""
        alive = np.ones(len(rows), bool)
        columns, allowed = [rows.atoms], list(rows.allowed)
        for block, ground in zip(conjunction.blocks, rows.blocks, strict=True):
            helpers, settled = self._helpers(block, ground, len(rows), source)
            alive &= (helpers != ABSENT) | (settled == block.some)
            columns.append(helpers[:, None])
            allowed.append((int(block.some),))
        kept = np.flatnonzero(alive)
        return Columns(np.concatenate(columns, axis=1)[kept], tuple(allowed), kept)

    def none_fails(self, scopes: Array, literals: dict[int, Allowed]) -> Array:
        """Helpers that are false exactly where all literals over a scope hold."""
        helpers = self.axes.new(len(scopes))
        for slot, allowed in literals.items():
            size = self.axes.size_of(int(scopes[0, slot]))
            self._rest(helpers, scopes[:, slot], tuple(v for v in range(size) if v not in allowed))
        return helpers

    def somes(self) -> Somes:
        """All helpers' factors; of one atom in several members any allowed value will do."""
        if not self.owners:
            return NO_SOMES
        owners, members = np.concatenate(self.owners), np.concatenate(self.members)
        patterns = np.concatenate(self.patterns)
        sets = list(self.allowed)
        rows = np.stack([owners, members, patterns], axis=1)
        owners, members, patterns = np.unique(rows, axis=0).T.copy()
        same = (owners[1:] == owners[:-1]) & (members[1:] == members[:-1])
        for at in np.flatnonzero(same):
            both = tuple(sorted({*sets[patterns[at]], *sets[patterns[at + 1]]}))
            if both not in self.allowed:
                self.allowed[both] = len(sets)
                sets.append(both)
            patterns[at + 1] = self.allowed[both]
        last = np.append(~same, True)
        owners, members, patterns = owners[last], members[last], patterns[last]
        targets, begins = np.unique(owners, return_index=True)
        return Somes(targets, np.append(begins, len(owners)), members, patterns, sets)

    def _rest(self, helpers: Array, members: Array, allowed: Allowed) -> None:
        if not len(helpers):
            return
        self.owners.append(helpers)
        self.members.append(members)
        pattern = self.allowed.setdefault(allowed, len(self.allowed))
        self.patterns.append(np.full(len(helpers), pattern))

    def _helpers(
        self, block: Block, ground: GroundBlock, count: int, source: tuple[int, GroundTemplate] | None
    ) -> tuple[Array, Array]:
        """For each row a helper axis, or ``ABSENT`` and whether some piece surely holds."""
        if source is None:
            return self._made(block.pieces, ground.pieces, np.arange(count), np.arange(count))
        number, template = source
        said = quantified(block)
        codes = self._outer_codes(said, template)
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        known, helpers, settled = self.shared.get(
            said.pieces, (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))
        )
        new = ~np.isin(codes[first], known)
        row_of = np.full(count, ABSENT)
        row_of[first[new]] = np.arange(new.sum())
        made, made_settled = self._made(block.pieces, ground.pieces, row_of, np.flatnonzero(new))
        known = np.concatenate([known, codes[first[new]]])
        helpers, settled = np.concatenate([helpers, made]), np.concatenate([settled, made_settled])
        order = np.argsort(known)
        self.shared[said.pieces] = known, helpers, settled = known[order], helpers[order], settled[order]
        at = np.searchsorted(known, codes[first])[group.reshape(-1)]
        there = helpers[at] != ABSENT
        self.origins.append(Origin(number, np.flatnonzero(there), helpers[at[there]]))
        return helpers[at], settled[at]

    def _outer_codes(self, said: Quantified, template: GroundTemplate) -> Array:
        program, types = self.ground.program, template.template.conjunction.types
        sizes = [len(program.domain(types[name])) for name in said.outer]
        rows: Sequence[Argument] = said.outer
        if not rows:
            return np.zeros(len(template.conjunction), np.int64)
        return codes_of(np.stack([template.bindings.column(name) for name in rows], axis=1), sizes)

    def _made(
        self, pieces: Sequence[Conjunction], ground: Sequence[GroundConjunction], row_of: Array, made: Array
    ) -> tuple[Array, Array]:
        """Helpers for new quantifiers; ``row_of`` [row around it]: the quantifier of each, or none."""
        count = len(made)
        settled = np.zeros(count, bool)
        singles: list[tuple[Array, Array, Allowed]] = []
        joint: list[tuple[Array, Array, tuple[Allowed, ...]]] = []
        for piece, rows in zip(pieces, ground, strict=True):
            wanted = np.flatnonzero(row_of[rows.origin] != ABSENT)
            columns = self.with_helpers(piece, _taken(rows, wanted), None)
            owner = row_of[rows.origin[wanted]][columns.rows]
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
        rests = np.zeros(count, bool)
        for owner, *_ in (*singles, *joint):
            rests[owner] = True
        rests &= ~settled
        helpers = np.full(count, ABSENT)
        helpers[rests] = self.axes.new(int(rests.sum()))
        for owner, members, allowed in singles:
            kept = rests[owner]
            self._rest(helpers[owner[kept]], members[kept], allowed)
        self._rest_on_conjunctions(helpers, rests, joint)
        return helpers, settled

    def _rest_on_conjunctions(
        self, helpers: Array, rests: Array, joint: Iterable[tuple[Array, Array, tuple[Allowed, ...]]]
    ) -> None:
        """Pieces of several literals, each by way of a helper of its own; one said twice counts once."""
        alike: dict[tuple[Allowed, ...], list[Array]] = defaultdict(list)
        for owner, scopes, allowed in joint:
            kept = rests[owner]
            alike[allowed].append(np.concatenate([owner[kept, None], scopes[kept]], axis=1))
        for allowed, parts in alike.items():
            rows = np.concatenate(parts)
            rows = rows[unique_rows(rows)[0]]
            if len(rows):
                own = self.none_fails(rows[:, 1:], dict(enumerate(allowed)))
                self._rest(helpers[rows[:, 0]], own, (0,))


def _taken(rows: GroundConjunction, kept: Array) -> GroundConjunction:
    """Some rows of a piece; the pieces of quantifiers in it keep only what belongs to them."""
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
