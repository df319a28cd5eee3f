"""A predictor's probabilities of latent atoms: as an answer, and as soft evidence for a theory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import AtomTable, Marginals
from herbrand.errors import BudgetError
from herbrand.language.syntax import FactRows
from herbrand.learning.predictor import Predictor
from herbrand.program.evidence import Evidence, rows_of
from herbrand.program.program import Program

MOST_OPINIONS = 1_000_000
STRONGEST = 30.0
"""Largest logit of soft evidence, so that no probability is written as 0 or 1."""


def opinions(
    predictor: Predictor, program: Program, names: Sequence[str], status: Status, method: str
) -> Marginals:
    """Marginals of the latent atoms of these predicates by the predictor, trained by this method."""
    evidence = Evidence(program)
    tables = []
    for name in names:
        codes = evidence.known(name).latent_codes()
        shares = torch.softmax(all_logits(predictor, evidence, name).double(), dim=1).numpy()
        columns = tuple(map(tuple, evidence.atom_arguments(name, codes)))
        value_type = program.signature.predicates[name].value_type
        values = None if value_type is None else tuple(program.domain(value_type))
        tables.append(AtomTable(name, columns, shares, values))
    return Marginals(method, Guarantee.APPROXIMATION, status, tuple(tables))


@torch.no_grad()
def all_logits(predictor: Predictor, evidence: Evidence, name: str) -> Tensor:
    """Logits [atom, value] of all latent atoms of a predicate."""
    known = evidence.known(name)
    if known.latent_count() > MOST_OPINIONS:
        raise BudgetError(
            f"{name} has {known.latent_count():,} latent atoms, too many to give an opinion of each",
            hint="name the predicates to have opinions of: --target PRED",
        )
    rows = rows_of(known.latent_codes(), known.sizes)
    return torch.cat([predictor(name, part) for part in torch.from_numpy(rows).split(100_000)])


def soft_facts(table: AtomTable) -> list[FactRows]:
    """Soft evidence that adds exactly the logits of a table's probabilities."""
    logits = np.log(np.clip(table.probabilities, 1e-300, None))
    arguments, count = tuple(map(tuple, table.columns)), len(logits)
    if table.values is None:
        return [FactRows(table.predicate, arguments, count, "soft", _chances(logits[:, 1] - logits[:, 0]))]
    # Soft evidence on one of k values adds log(k - 1) when it is read (Evidence.opinions): taken off here.
    centred = logits - logits.mean(axis=1, keepdims=True) - math.log(max(1, len(table.values) - 1))
    return [
        FactRows(table.predicate, (*arguments, (value,) * count), count, "soft", _chances(odds), True)
        for value, odds in zip(table.values, centred.T, strict=True)
    ]


def _chances(odds: np.ndarray) -> tuple[float, ...]:
    return tuple((1 / (1 + np.exp(-np.clip(odds, -STRONGEST, STRONGEST)))).tolist())
