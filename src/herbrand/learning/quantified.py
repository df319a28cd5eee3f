"""Flips of templates with quantifiers: grounded, and propagated through conjunctions and blocks bottom-up.

A :class:`Truths` has for every row whether it holds under the labels, and how that would change with one
atom's value. A conjunction counts the parts that are false, an existential block those that hold; a flip
changes the count by the changes below. Ground atoms need not be distinct: one may occur in several places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.mean_field.grounded import Leaders
from herbrand.errors import UnsupportedError
from herbrand.learning.contradiction import broken
from herbrand.learning.example import Example
from herbrand.program.evidence import LATENT, codes_of
from herbrand.program.ground import (
    SATISFIED,
    GroundBlock,
    GroundConjunction,
    GroundTemplate,
    LatentAtoms,
    ground_template,
)
from herbrand.program.program import Template

Found = tuple[str, int, np.ndarray, np.ndarray, np.ndarray]
"""A predicate, a value, and for each atom whose change matters: code, weight row, count."""


def flips(
    template: Template, example: Example, budget: Budget, leaders: Leaders | None = None
) -> Iterator[Found]:
    """Count the rows of the template that hold if an atom has a value, for every atom and value that matter.

    Atoms with a leader change with it.
    """
    atoms, ground, truths = _evaluated(template, example, budget, leaders)
    held = truths.flipped
    weight_rows = ground.weight_rows[truths.rows[held]]
    changed = np.stack([truths.atoms[held], truths.values[held], weight_rows], axis=1)
    unique, counts = np.unique(changed, axis=0, return_counts=True)
    counts = counts.astype(np.float64) * ground.multiplicity
    for predicate, codes in atoms.codes.items():
        start = atoms.start[predicate]
        own = (unique[:, 0] >= start) & (unique[:, 0] < start + len(codes))
        for value in np.unique(unique[own, 1]).tolist():
            chosen = own & (unique[:, 1] == value)
            yield predicate, value, codes[unique[chosen, 0] - start], unique[chosen, 2], counts[chosen]


def refuse_broken(template: Template, example: Example, budget: Budget) -> None:
    """Raise ContradictionError if the facts violate a hard statement all of whose atoms are known."""
    if not any(example.evidence.known(name).latent_count() for name in template.predicates):
        _evaluated(template, example, budget)


def _evaluated(
    template: Template, example: Example, budget: Budget, leaders: Leaders | None = None
) -> tuple[LatentAtoms, GroundTemplate, Truths]:
    """The template's rows, and which of them hold; raise ContradictionError if one of a hard statement
    does."""
    atoms = LatentAtoms(example.hidden, budget)
    ground = ground_template(template, example.hidden, atoms, budget)
    labels = _labels(template, example, atoms)
    ground = _labelled(ground, labels)
    leaders = Leaders.nobody(atoms.count) if leaders is None else leaders
    truths = _Evaluation(labels, atoms.value_counts, leaders).conjunction(ground.conjunction)
    if template.weight is None and ground.multiplicity and truths.holds.any():
        raise broken(example, template)
    return atoms, ground, truths


def _labels(template: Template, example: Example, atoms: LatentAtoms) -> np.ndarray:
    """Label of each atom, by its number."""
    labels = np.full(atoms.count, LATENT)
    for predicate in template.predicates & set(atoms.codes):
        labels[atoms.places(predicate)] = own = example.labels(predicate, atoms.codes[predicate])
        if template.conjunction.blocks and (own == LATENT).any():
            raise UnsupportedError(
                f"a quantifier ranges over atoms of {predicate}, and not all of them are known",
                hint="learn through latent predicates by --method layers, or list their facts",
            )
    return labels


def _labelled(ground: GroundTemplate, labels: np.ndarray) -> GroundTemplate:
    """Drop the rows with an unlabelled atom. Blocks have none, and rows of their pieces refer to all rows."""
    if ground.conjunction.blocks:
        return ground
    atoms = ground.conjunction.atoms
    is_known = np.append(labels != LATENT, True)  # the last one is for SATISFIED, which is -1
    known = is_known[atoms].all(axis=1)
    kept = replace(ground.conjunction, atoms=atoms[known], origin=ground.conjunction.origin[known])
    return replace(ground, conjunction=kept, weight_rows=ground.weight_rows[known])


@dataclass(frozen=True, eq=False)
class Truths:
    """Truth values of rows: ``holds[row]`` under the labels; ``flipped[i]``: whether row ``rows[i]`` holds if
    atom ``atoms[i]`` has ``values[i]``."""

    holds: np.ndarray
    rows: np.ndarray
    atoms: np.ndarray
    values: np.ndarray
    flipped: np.ndarray


@dataclass(frozen=True, eq=False)
class _Change:
    """Change of a row's count if an atom has a value."""

    rows: np.ndarray
    atoms: np.ndarray
    values: np.ndarray
    by: np.ndarray


@dataclass(frozen=True, eq=False)
class _Evaluation:
    labels: np.ndarray
    value_counts: np.ndarray
    leaders: Leaders

    def conjunction(self, ground: GroundConjunction) -> Truths:
        """Truth of a conjunction: no literal and no block is false."""
        false = np.zeros(len(ground), dtype=np.int64)
        changes: list[_Change] = []
        for column, allowed in zip(ground.atoms.T, ground.allowed, strict=True):
            rows = np.flatnonzero(column != SATISFIED)
            holds = np.isin(self.labels[column[rows]], allowed)
            np.add.at(false, rows, ~holds)
            changes += self._literal_changes(rows, column[rows], holds, allowed)
        for block in ground.blocks:
            truths = self._block(block, len(ground))
            false += ~truths.holds
            by = truths.holds[truths.rows].astype(np.int64) - truths.flipped
            changes.append(_Change(truths.rows, truths.atoms, truths.values, by))
        change = self._summed(changes)
        return Truths(
            false == 0, change.rows, change.atoms, change.values, false[change.rows] + change.by == 0
        )

    def _literal_changes(
        self, rows: np.ndarray, atoms: np.ndarray, holds: np.ndarray, allowed: tuple[int, ...]
    ) -> Iterator[_Change]:
        for value in range(int(self.value_counts[atoms].max(initial=0))):
            own = self.value_counts[atoms] > value
            values = np.where(self.leaders.opposite[atoms[own]], 1 - value, value)
            by = holds[own].astype(np.int64) - np.isin(values, allowed)
            yield _Change(rows[own], self.leaders.leader[atoms[own]], np.full(int(own.sum()), value), by)

    def _block(self, block: GroundBlock, count: int) -> Truths:
        """Truth of a block: some piece holds, or none does."""
        held = np.zeros(count, dtype=np.int64)
        changes: list[_Change] = []
        for piece in block.pieces:
            truths = self.conjunction(piece)
            np.add.at(held, piece.origin, truths.holds)
            by = truths.flipped.astype(np.int64) - truths.holds[truths.rows]
            changes.append(_Change(piece.origin[truths.rows], truths.atoms, truths.values, by))
        change = self._summed(changes)
        flipped = (held[change.rows] + change.by > 0) == block.some
        return Truths((held > 0) == block.some, change.rows, change.atoms, change.values, flipped)

    def _summed(self, changes: list[_Change]) -> _Change:
        """Add up changes of one row by one atom's value."""
        if not changes:
            nothing = np.empty(0, np.int64)
            return _Change(nothing, nothing, nothing, nothing)
        rows, atoms, values, by = (
            np.concatenate([getattr(change, name) for change in changes])
            for name in ("rows", "atoms", "values", "by")
        )
        sizes = (int(rows.max(initial=0)) + 1, len(self.value_counts), int(self.value_counts.max(initial=1)))
        keys = codes_of(np.stack([rows, atoms, values], axis=1), sizes)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        summed = np.zeros(len(first), dtype=np.int64)
        np.add.at(summed, place.reshape(-1), by)
        return _Change(rows[first], atoms[first], values[first], summed)
