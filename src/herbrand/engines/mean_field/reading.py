"""From marginals by table to the tables of an answer, without numbering atoms that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from herbrand.answers.marginals import AtomTable
from herbrand.engines.mean_field.problem import Problem
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.engines.reading import atom_tables
from herbrand.extras import Tensor
from herbrand.program.ground import Ground, LatentAtoms
from herbrand.program.question import AtomPattern, Question


def tables_asked_for(
    problem: Problem, marginals: Mapping[str, Tensor], question: Question, rounded: bool
) -> Iterator[AtomTable]:
    """A table for each predicate asked for; ``rounded``: the marginals are those of one world."""
    for predicate, patterns in _patterns(problem, question).items():
        table = problem.unknowns.tables.get(predicate)
        whole = any(pattern.latent for pattern in patterns)
        atoms = _AtomsOfTable(problem, table, whole)
        probabilities = np.zeros((0, 2)) if table is None else _by_value(table, marginals[predicate])
        if rounded and len(probabilities):
            probabilities = np.eye(probabilities.shape[1])[probabilities.argmax(axis=1)]
        ground = Ground(problem.program, problem.evidence, atoms, ())
        yield from atom_tables(ground, probabilities, replace(question, atoms=patterns, formulas=()))


def _patterns(problem: Problem, question: Question) -> dict[str, tuple[AtomPattern, ...]]:
    """What is asked of each predicate; of all latent atoms, where nothing is named."""
    if question.everything:
        types = problem.program.signature.predicates
        return {
            name: (AtomPattern(name, tuple(f"x{i}" for i in range(types[name].arity)), latent=True),)
            for name in problem.unknowns.tables
        }
    names = dict.fromkeys(pattern.predicate for pattern in question.atoms)
    return {name: tuple(p for p in question.atoms if p.predicate == name) for name in names}


class _AtomsOfTable(LatentAtoms):
    """The latent atoms of one predicate, numbered as in its table; listed only where all are asked for."""

    def __init__(self, problem: Problem, table: PredicateTable | None, whole: bool) -> None:
        super().__init__(problem.evidence, problem.budget, [table.predicate] if whole and table else ())
        self.table = table

    def numbers(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        assert self.table is not None
        return self.table.positions(codes)


def _by_value(table: PredicateTable, marginals: Tensor) -> np.ndarray:
    """Probabilities [atom of the table, value]."""
    if not table.true_or_false:
        return marginals.reshape(-1, table.shape[-1]).numpy()
    true = marginals.reshape(-1).numpy()
    return np.stack([1 - true, true], axis=1)


def by_number(problem: Problem, marginals: Mapping[str, Tensor], atoms: LatentAtoms) -> np.ndarray:
    """Probabilities [latent atom, value]."""
    widest = max((problem.program.value_count(name) for name in atoms.codes), default=2)
    found = np.zeros((atoms.count, widest))
    for name, codes in atoms.codes.items():
        table = problem.unknowns.tables[name]
        rows = found[atoms.places(name)]
        probabilities = _by_value(table, marginals[name])[table.positions(codes)]
        rows[:, : probabilities.shape[1]] = probabilities
    return found
