"""What is known, as relations that contractions take: each made once for a type of numbers."""

from __future__ import annotations

import numpy as np
import torch

from herbrand.arrays import type_name
from herbrand.contraction import Contraction, Dense, Relation, Sparse, Support, contract
from herbrand.contraction.relation import converted
from herbrand.engines.mean_field.products import Observed, Together, is_relation
from herbrand.program.evidence import Evidence
from herbrand.row_keys import row_keys

CPU = torch.device("cpu")


class KnownRelations:
    """Relations over the distinct variables of literals whose atoms are all known."""

    def __init__(self, evidence: Evidence, memory: int) -> None:
        self.evidence, self.memory = evidence, memory
        self._made: dict[tuple[Observed | Together, torch.dtype, torch.device], Relation] = {}

    def relation(
        self,
        operand: Observed | Together,
        dtype: torch.dtype = torch.float64,
        device: torch.device = CPU,
    ) -> Relation:
        """Cached lookup of known values."""
        key = (operand, dtype, device)
        if key not in self._made:
            self._made[key] = self._relation(operand, dtype, device)
        return self._made[key]

    def _relation(self, operand: Observed | Together, dtype: torch.dtype, device: torch.device) -> Relation:
        if dtype != torch.float64 or device.type != "cpu":
            made = self.relation(operand)
            return (
                Dense(made.to_dense().to(device, dtype))
                if device.type != "cpu"
                else converted(made, type_name(dtype))
            )
        return self._together(operand) if isinstance(operand, Together) else self._observed(operand)

    def _together(self, operand: Together) -> Relation:
        contraction = Contraction(tuple(x.axes for x in operand.literals), operand.axes, operand.sizes)
        return Dense(
            contract(contraction, list(map(self.relation, operand.literals)), self.memory).to_dense()
        )

    def _observed(self, observed: Observed) -> Relation:
        literal = observed.literal
        if is_relation(literal, self.evidence):
            rows, listed = self.evidence.rows(literal.predicate, literal.allowed), 1.0
        else:
            rows, listed = self.evidence.rows(literal.predicate, (1,)), 0.0
        kept, shape = self._selected(observed, rows)
        if not shape:
            return Dense(torch.tensor(listed if len(kept) else 1 - listed, dtype=torch.float64))
        support = Support(np.ascontiguousarray(kept), shape)
        return Sparse(support, torch.full((len(kept),), listed, dtype=torch.float64), 1 - listed)

    def _selected(self, observed: Observed, rows: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
        """The rows that fit the literal's constants, repeated variables and pairs, a column an axis."""
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
