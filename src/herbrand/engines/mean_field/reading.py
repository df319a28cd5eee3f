"""Read the tables of an answer from marginals, without numbering atoms that are not queried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from herbrand.answers.marginals import AtomTable
from herbrand.engines.mean_field.problem import Problem
from herbrand.engines.reading import looked_up
from herbrand.extras import Tensor
from herbrand.program.ground import refuse_long_answer
from herbrand.program.question import Question


def queried_tables(
    problem: Problem, marginals: Mapping[str, Tensor], question: Question, rounded: bool
) -> Iterator[AtomTable]:
    """A table for each queried predicate; ``rounded``: the marginals are those of one world.

    Raises where all atoms of a predicate are queried and these are too many.
    """
    refuse_long_answer(problem.evidence, question, problem.budget)

    def look_up(predicate: str, codes: np.ndarray) -> np.ndarray:
        shares = probabilities(problem, marginals, predicate, codes)
        return np.eye(shares.shape[1])[shares.argmax(axis=1)] if rounded else shares

    return looked_up(problem.evidence, look_up, question)


def probabilities(
    problem: Problem, marginals: Mapping[str, Tensor], predicate: str, codes: np.ndarray
) -> np.ndarray:
    """Marginals of latent atoms [atom, value]."""
    table = problem.unknowns.tables[predicate]
    if not table.true_or_false:
        return marginals[predicate].reshape(-1, table.shape[-1]).numpy()[table.positions(codes)]
    true = marginals[predicate].reshape(-1).numpy()[table.positions(codes)]
    return np.stack([1 - true, true], axis=1)
