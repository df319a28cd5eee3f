"""Classes of atoms of which no two share a grounding, so that a class may move at once and the bound never
falls.

A predicate that no template names twice is one class. For others the ground atoms are coloured greedily: two
that occur in one grounding get different colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from herbrand.budget import Budget
from herbrand.engines.mean_field.problem import Problem
from herbrand.extras import Tensor, torch
from herbrand.program.ground import SATISFIED, GroundConjunction, LatentAtoms, ground_template
from herbrand.program.program import literals_of


@dataclass(frozen=True, eq=False)
class AtomClass:
    """Atoms of one predicate that may move at once; ``positions``: their flat positions, all atoms if
    ``None``."""

    predicate: str
    positions: Tensor | None


def colouring(problem: Problem, budget: Budget) -> tuple[AtomClass, ...]:
    """Classes that cover all atoms. Raises ``BudgetError`` where the grounding for them does not fit."""
    coupled = _coupled_predicates(problem)
    classes = [AtomClass(name, None) for name in problem.unknowns.tables if name not in coupled]
    if not coupled:
        return tuple(classes)
    atoms = LatentAtoms(problem.evidence, budget)
    own = [name for name in atoms.codes if name in coupled]
    numbers = np.concatenate([atoms.axes[atoms.places(name)] for name in own])
    colours = _coloured(problem, atoms, numbers, budget)
    for name in own:
        colour = colours[atoms.places(name)]
        positions = problem.unknowns.tables[name].positions(atoms.codes[name])
        classes += [AtomClass(name, torch.from_numpy(positions[colour == c])) for c in np.unique(colour)]
    return tuple(classes)


def _coupled_predicates(problem: Problem) -> frozenset[str]:
    """Predicates of which two atoms may share a grounding, or be tied."""
    coupled = {tie.predicate for tie in problem.unknowns.ties} | {tie.leader for tie in problem.unknowns.ties}
    for template in problem.program.templates:
        named = [x.predicate for x in literals_of(template.conjunction)]
        inside = {x.predicate for b in template.conjunction.blocks for p in b.pieces for x in literals_of(p)}
        coupled |= {name for name in named if named.count(name) > 1} | inside
    return frozenset(coupled & set(problem.unknowns.tables))


def _coloured(problem: Problem, atoms: LatentAtoms, numbers: np.ndarray, budget: Budget) -> np.ndarray:
    """A colour for each atom number; atoms of coupled predicates that share a grounding differ."""
    is_waiting = np.zeros(atoms.count, dtype=bool)
    is_waiting[numbers] = True
    groups, members, count = [], [], 0
    for template in problem.program.templates:
        if template.weight is None:
            continue
        ground = ground_template(template, problem.evidence, atoms, budget)
        for rows, atom in _occurrences(ground.conjunction, np.arange(len(ground.conjunction))):
            kept = is_waiting[atom]
            groups.append(rows[kept] + count)
            members.append(atom[kept])
        count += len(ground.conjunction)
    group, member = (np.concatenate(x) if x else np.empty(0, np.int64) for x in (groups, members))
    member = problem.leaders(atoms).leader[member]
    incidence = csr_array((np.ones(len(group)), (member, group)), shape=(atoms.count, max(count, 1)))
    neighbours = csr_array(incidence @ incidence.T)
    colours = np.full(atoms.count, -1, dtype=np.int64)
    for atom in numbers.tolist():
        near = colours[neighbours.indices[neighbours.indptr[atom] : neighbours.indptr[atom + 1]]]
        taken = set(near.tolist())
        colours[atom] = next(c for c in range(len(taken) + 1) if c not in taken)
    return colours


def _occurrences(
    conjunction: GroundConjunction, origin: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of an outermost row and an atom in it, including atoms inside quantifiers."""
    for column in conjunction.atoms.T:
        latent = column != SATISFIED
        yield origin[latent], column[latent]
    for block in conjunction.blocks:
        for piece in block.pieces:
            yield from _occurrences(piece, origin[piece.origin])
