"""Known literals as relations that contractions take, each made once for a type of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.contraction import Contraction, Dense, Relation, Sparse, Statistics, Support, contract, plan
from herbrand.contraction.relation import converted
from herbrand.engines.mean_field.products import Observed, Together
from herbrand.extras import torch
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import TRUE
from herbrand.row_keys import row_keys

CPU = "cpu"


@dataclass(frozen=True, eq=False)
class Listed:
    """A relation that is ``value`` at the entries of its support, and 1 minus that elsewhere."""

    support: Support
    value: float


def _contraction(operand: Together) -> Contraction:
    return Contraction(tuple(x.axes for x in operand.literals), operand.axes, operand.sizes)


class KnownRelations:
    """Relations over the distinct variables of literals whose atoms are all known."""

    def __init__(self, evidence: Evidence, memory: int) -> None:
        self.evidence, self.memory = evidence, memory
        self._listed: dict[Observed, float | Listed] = {}
        self._made: dict[tuple[Observed | Together, str, str], Relation] = {}

    def statistics(self, operand: Observed | Together, itemsize: int = 8, device: str = CPU) -> Statistics:
        """What planning needs of a relation, without making a tensor. Raises ``BudgetError`` where known
        relations cannot be multiplied within the memory. Accelerators have whole tables only."""
        if isinstance(operand, Together):
            known = [self.statistics(x) for x in operand.literals]
            plan(_contraction(operand), known, self.memory)
            return Statistics(itemsize=itemsize)
        listed = self._listing(operand)
        if not isinstance(listed, Listed) or device != CPU:
            return Statistics(itemsize=itemsize)
        return Statistics(len(listed.support), listed.value == 0, itemsize)

    def relation(
        self, operand: Observed | Together, dtype: str = "float64", device: str | torch.device = CPU
    ) -> Relation:
        """The relation of known values, made once for each type and device."""
        key = (operand, dtype, str(device))
        if key not in self._made:
            self._made[key] = self._relation(*key)
        return self._made[key]

    def _relation(self, operand: Observed | Together, dtype: str, device: str) -> Relation:
        if device != CPU:
            return Dense(self.relation(operand, dtype).to_dense().to(device))
        if dtype != "float64":
            return converted(self.relation(operand), dtype)
        return self._together(operand) if isinstance(operand, Together) else self._observed(operand)

    def _together(self, operand: Together) -> Relation:
        relations = list(map(self.relation, operand.literals))
        return Dense(contract(_contraction(operand), relations, self.memory).to_dense())

    def _observed(self, observed: Observed) -> Relation:
        listed = self._listing(observed)
        if not isinstance(listed, Listed):
            return Dense(torch.tensor(listed, dtype=torch.float64))
        values = torch.full((len(listed.support),), listed.value, dtype=torch.float64)
        return Sparse(listed.support, values, 1 - listed.value)

    def _listing(self, observed: Observed) -> float | Listed:
        if observed not in self._listed:
            self._listed[observed] = self._looked_up(observed)
        return self._listed[observed]

    def _looked_up(self, observed: Observed) -> float | Listed:
        """The rows where the literal holds (value 1), or, if it holds by default, where it fails (value 0); a
        number if it has no variable. A literal fails for latent atoms."""
        name, allowed, evidence = observed.literal.predicate, observed.literal.allowed, self.evidence
        holds = evidence.is_valued(name) or allowed == TRUE or evidence.known(name).default == LATENT
        rows, value = evidence.rows(name, allowed if holds else TRUE), float(holds)
        kept, shape = self._selected(observed, rows)
        if not shape:
            return value if len(kept) else 1 - value
        return Listed(Support(np.ascontiguousarray(kept), shape), value)

    def _selected(self, observed: Observed, rows: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
        """The rows that match the literal's constants, repeated variables and pairs; a column for each
        axis."""
        keep = np.ones(len(rows), dtype=bool)
        first: dict[str, int] = {}
        for place, argument in enumerate(observed.literal.arguments):
            if isinstance(argument, int):
                keep &= rows[:, place] == argument
            elif argument in first:
                keep &= rows[:, place] == rows[:, first[argument]]
            else:
                first[argument] = place
        for pair in observed.apart:
            left, right = (rows[:, first[a]] if isinstance(a, str) else a for a in pair)
            keep &= np.not_equal(left, right)
        sizes = self.evidence.sizes(observed.literal.predicate)
        columns = list(first.values())
        shape = tuple(sizes[column] for column in columns)
        kept = np.ascontiguousarray((rows if keep.all() else rows[keep])[:, columns], dtype=np.int64)
        if columns != sorted(columns) or len(columns) < rows.shape[1]:
            kept = kept[np.argsort(row_keys(list(kept.T), shape), kind="stable")] if columns else kept
        return kept, shape
