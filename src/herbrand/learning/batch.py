"""Mean field over a batch of sampled groundings: the teacher's logits for the atoms in them.

A batch is a table: each row a sampled grounding, each entry one of its literals. Known literals are left out
(or the row is, if one is false); each literal is an atom with its allowed values. One layer gathers the
literals' probabilities, multiplies all but one along each row, and adds the products up at the atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from herbrand.program.bindings import Bindings
from herbrand.program.evidence import LATENT, Evidence, rows_of
from herbrand.program.program import Template

Drawn = Sequence[tuple[Template, Bindings]]


@dataclass(frozen=True, eq=False)
class Batch:
    """A table of sampled groundings. ``atoms``: rows of argument indices by predicate; atoms are numbered one
    predicate after the other.

    ``literals`` [grounding, place] are numbers of literals, or one more than the last for none;
    ``literal_atoms`` and ``allowed`` [literal, value] describe each of them; ``signed_weights`` [grounding]:
    sign times weight. ``possible`` [atom, value]: mask of the values that an atom has."""

    atoms: dict[str, Tensor]
    possible: Tensor
    literals: Tensor
    literal_atoms: Tensor
    allowed: Tensor
    signed_weights: Tensor
    groundings: int

    def __len__(self) -> int:
        return self.groundings

    def taught(self, unary: Tensor, layers: int) -> Tensor:
        """Logits [atom, value] after mean-field layers from ``unary`` logits; -inf for impossible values."""
        logits = unary
        for _ in range(layers):
            shares = torch.softmax(logits, dim=1)
            chances = (shares[self.literal_atoms] * self.allowed).sum(dim=1)
            along = torch.cat([chances, chances.new_ones(1)])[self.literals]
            messages = _all_but_one(along) * self.signed_weights[:, None]
            at_literals = chances.new_zeros(len(chances) + 1)
            at_literals.index_add_(0, self.literals.reshape(-1), messages.reshape(-1))
            logits = unary.index_add(0, self.literal_atoms, self.allowed * at_literals[:-1, None])
        return logits


class Batches:
    """Builds batches of sampled groundings over one program."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        program = evidence.program
        latent = evidence.latent_predicates
        starts = np.cumsum([0, *(evidence.known(name).atom_count for name in latent)])
        self.start = dict(zip(latent, starts[:-1].tolist(), strict=True))
        self.end = int(starts[-1])
        self.widest = max((program.value_count(name) for name in latent), default=2)
        self.sets = list(dict.fromkeys(
            literal.allowed for t in program.templates for literal in t.conjunction.literals
        ))  # fmt: skip

    def of(self, drawn: Drawn) -> Batch:
        """The batch of these groundings; those without a latent atom, or false whatever it is, get no row."""
        width = max((len(t.conjunction.literals) for t, _ in drawn), default=0)
        keys, parts = [], []
        for template, rows in drawn:
            row_keys, possible = self._keys(template, rows)
            keys.append(
                np.pad(row_keys[possible], ((0, 0), (0, width - row_keys.shape[1])), constant_values=-1)
            )
            assert template.weight is not None
            weight = self.evidence.program.weights[template.weight].value
            parts.append(np.full(int(possible.sum()), template.sign * weight))
        table = np.concatenate(keys) if keys else np.empty((0, 0), np.int64)
        latent = (table >= 0).any(axis=1)
        table = table[latent]
        signed_weights = np.concatenate(parts)[latent] if parts else np.empty(0)
        literals, places = np.unique(table[table >= 0], return_inverse=True)
        numbers = np.full(table.shape, len(literals))
        numbers[table >= 0] = places.reshape(-1)
        codes, sets = np.divmod(literals, len(self.sets) or 1)
        atoms, literal_atoms = np.unique(codes, return_inverse=True)
        return Batch(
            self._rows(atoms),
            torch.from_numpy(self._possible(atoms)),
            torch.from_numpy(numbers),
            torch.from_numpy(literal_atoms.reshape(-1)),
            torch.from_numpy(self._allowed()[sets]),
            torch.from_numpy(signed_weights).float(),
            sum(len(rows) for _, rows in drawn),
        )

    def _keys(self, template: Template, rows: Bindings) -> tuple[np.ndarray, np.ndarray]:
        """A number for each literal of each row, -1 if it is known to hold; and a mask of rows that can
        hold."""
        literals = template.conjunction.literals
        keys = np.full((len(rows), len(literals)), -1, dtype=np.int64)
        possible = np.ones(len(rows), dtype=bool)
        for place, literal in enumerate(literals):
            known = self.evidence.known(literal.predicate)
            codes = rows.codes(literal.arguments, known.sizes)
            values = known.lookup(codes)
            latent = values == LATENT
            possible &= latent | np.isin(values, literal.allowed)
            if latent.any():
                numbers = self.start[literal.predicate] + codes[latent]
                keys[latent, place] = numbers * len(self.sets) + self.sets.index(literal.allowed)
        return keys, possible

    def _rows(self, atoms: np.ndarray) -> dict[str, Tensor]:
        """Argument indices of the atoms, by predicate."""
        rows = {}
        for name, start in self.start.items():
            known = self.evidence.known(name)
            own = atoms[(atoms >= start) & (atoms < start + known.atom_count)] - start
            if len(own):
                rows[name] = torch.from_numpy(rows_of(own, known.sizes))
        return rows

    def _possible(self, atoms: np.ndarray) -> np.ndarray:
        counts = np.empty(len(atoms), dtype=np.int64)
        for name, start in self.start.items():
            counts[atoms >= start] = self.evidence.program.value_count(name)
        return np.arange(self.widest)[None, :] < counts[:, None]

    def _allowed(self) -> np.ndarray:
        table = np.zeros((len(self.sets), self.widest), dtype=np.float32)
        for number, values in enumerate(self.sets):
            table[number, [v for v in values if v < self.widest]] = 1.0
        return table


def _all_but_one(factors: Tensor) -> Tensor:
    """For each entry of a row the product of the others, computed without division, as entries may be 0."""
    ones = factors.new_ones(len(factors), 1)
    before = torch.cat([ones, factors[:, :-1]], dim=1).cumprod(dim=1)
    after = torch.cat([factors[:, 1:], ones], dim=1).flip(1).cumprod(dim=1).flip(1)
    return before * after
