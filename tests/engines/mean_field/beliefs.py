"""Between the tables of a problem and the beliefs of the oracle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from herbrand.engines.mean_field.problem import Problem
from tests.oracles.mean_field import Beliefs, MeanField
from tests.oracles.worlds import GroundAtom


def random_logits(problem: Problem, seed: int, spread: float = 1.5) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: spread * torch.randn(table.shape, generator=generator, dtype=torch.float64)
        for name, table in problem.unknowns.tables.items()
    }


def place(problem: Problem, atom: GroundAtom) -> int:
    """Where an atom stands among the flattened ones of its table."""
    program = problem.program
    domains = program.domains_of(program.signature.predicates[atom[0]])
    code = 0
    for domain, constant in zip(domains, atom[1], strict=True):
        index = domain.index_of(constant)
        assert index is not None
        code = code * len(domain) + index
    return int(problem.unknowns.tables[atom[0]].positions(np.array([code]))[0])


def values_of(problem: Problem, atom: GroundAtom) -> list[object]:
    value_type = problem.program.signature.predicates[atom[0]].value_type
    return [False, True] if value_type is None else list(problem.program.domain(value_type))


def entry(problem: Problem, table: Tensor, atom: GroundAtom) -> list[float]:
    """The entries of one atom in a table: one number, or one a value."""
    if problem.unknowns.tables[atom[0]].true_or_false:
        return [float(table.detach().reshape(-1)[place(problem, atom)])]
    return table.reshape(-1, table.shape[-1])[place(problem, atom)].tolist()


def beliefs(problem: Problem, marginals: Mapping[str, Tensor], oracle: MeanField) -> Beliefs:
    found = {}
    for atom, values in oracle.atoms.items():
        probabilities = entry(problem, marginals[atom[0]], atom)
        if len(probabilities) == 1 and problem.unknowns.tables[atom[0]].true_or_false:
            probabilities = [1 - probabilities[0], probabilities[0]]
        by_value = dict(zip(values_of(problem, atom), probabilities, strict=True))
        found[atom] = {value: by_value[value] for value in values}
    return found
