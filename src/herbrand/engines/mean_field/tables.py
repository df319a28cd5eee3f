"""The marginals of one open predicate as a table: every atom in it, or the atoms that differ and a default.

A table holds no numbers but defines how they are read: ``logits`` hold log-odds of boolean atoms, or a score
for each value of many-valued ones along a last axis; ``probabilities`` are their sigmoid or softmax with
evidence put in. Leading axes are batches.

>>> table = DenseTable("smokes", (3,), None, known=np.array([0]), known_values=np.array([1]))
>>> table.probabilities(torch.zeros(3))
tensor([1.0000, 0.5000, 0.5000])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from herbrand.contraction import Dense, Relation, Sparse, Support
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.extras import Tensor, torch
from herbrand.program.evidence import arguments_of
from herbrand.program.program import FALSE
from herbrand.row_keys import Keys, places_among

NONE = np.empty(0, dtype=np.int64)

CERTAIN = 1e4
"""Log-odds that represent certainty in a single world."""
SHORT = 16
"""Most entries of a short row (:func:`softmax`)."""


@dataclass(frozen=True, eq=False)
class DenseTable:
    """A table of every atom. ``values``: number of values of a many-valued atom; ``None``: boolean.

    ``known`` codes have ``known_values``; ``excluded``: the flat (code, value) places that are impossible.
    """

    predicate: str
    sizes: tuple[int, ...]
    values: int | None = None
    known: np.ndarray = field(default_factory=lambda: NONE)
    known_values: np.ndarray = field(default_factory=lambda: NONE)
    excluded: np.ndarray = field(default_factory=lambda: NONE)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the logits without batch axes."""
        return self.sizes if self.values is None else (*self.sizes, self.values)

    @property
    def true_or_false(self) -> bool:
        return self.values is None

    @property
    def listed(self) -> int | None:
        """Number of listed atoms, where all others share one entry; ``None`` for a table of every atom."""
        return None

    @property
    def count(self) -> int:
        return math.prod(self.sizes)

    @property
    def fixed(self) -> np.ndarray:
        """Positions, in the flattened atoms, that no message moves."""
        return self.known

    @property
    def unrestricted(self) -> bool:
        """Whether every value of every atom is possible."""
        return not len(self.known) and not len(self.excluded)

    def positions(self, codes: np.ndarray) -> np.ndarray:
        """Positions of these atoms among the flattened ones."""
        return codes

    def counts(self) -> np.ndarray | None:
        """Number of atoms that each flattened entry represents; ``None``: one each."""
        return None

    def probabilities(self, logits: Tensor) -> Tensor:
        if self.values is not None:
            return softmax(self.settled(logits))
        shares = torch.sigmoid(logits)
        if not len(self.known):
            return shares
        codes = torch.from_numpy(self.known).to(logits.device)
        settled = torch.from_numpy(self.known_values).to(logits)
        lead = logits.shape[: logits.dim() - len(self.sizes)]
        flat = shares.reshape(*lead, self.count)
        settled = settled.expand(*lead, len(codes))
        if torch.is_grad_enabled() and shares.requires_grad:
            return flat.index_copy(-1, codes, settled).reshape(logits.shape)
        return flat.index_copy_(-1, codes, settled).reshape(logits.shape)

    def settled(self, logits: Tensor) -> Tensor:
        """The logits with evidence put in: infinite where an atom, or a value, is certain or impossible."""
        if self.values is not None:
            if not len(self.known) and not len(self.excluded):
                return logits
            return logits.masked_fill(self._impossible.to(logits.device), -math.inf)
        if not len(self.known):
            return logits
        lead = logits.shape[: logits.dim() - len(self.sizes)]
        return _infinite(logits.reshape(*lead, self.count), self.known, self.known_values).view(logits.shape)

    def certain(self, target: Tensor) -> Tensor:
        """Logits under which every atom has the value of its largest message."""
        if self.values is None:
            return _certain(target)
        best = target.masked_fill(self._impossible, -math.inf).argmax(-1)
        return CERTAIN * torch.nn.functional.one_hot(best, self.values).to(target)

    def limited(self, message: Tensor, limit: float) -> Tensor:
        """The message m as m / (1 + d / ``limit``), where d is the largest difference between an atom's
        values; afterwards it is less than ``limit``."""
        if self.values is None:
            return message / (1 + message.abs() / limit)
        impossible = self._impossible.to(message.device)
        most = message.masked_fill(impossible, -math.inf).amax(-1, keepdim=True)
        least = message.masked_fill(impossible, math.inf).amin(-1, keepdim=True)
        return message / (1 + (most - least) / limit)

    @cached_property
    def _impossible(self) -> Tensor:
        assert self.values is not None
        excluded = torch.zeros(self.count, self.values, dtype=torch.bool)
        if len(self.known):
            excluded[self.known] = True
            excluded[self.known, self.known_values] = False
        excluded.view(-1)[self.excluded] = True
        return excluded.view(self.shape)

    def entropies(self, logits: Tensor, probabilities: Tensor) -> Tensor:
        """Entropy of every atom, flattened; 0 where evidence fixes it."""
        if self.values is not None:
            return -torch.special.xlogy(probabilities, probabilities).sum(-1).reshape(-1)
        entropies = torch.nn.functional.softplus(logits).addcmul_(logits, probabilities, value=-1).reshape(-1)
        entropies[torch.from_numpy(self.known)] = 0
        return entropies

    def leaf(self, probabilities: Tensor, reading: Reading, batched: bool) -> list[Tensor]:
        """The tensors from which :meth:`relation` makes a reading, and by which it is differentiated."""
        region = reading.region(probabilities, batched, self.values is not None)
        if self.values is not None:
            return [region[..., list(reading.allowed)].sum(-1)]
        return [region]

    def relation(self, leaf: Sequence[Tensor], reading: Reading) -> Relation:
        """The probability that each atom read has an allowed value."""
        return Dense(1 - leaf[0] if self.values is None and reading.allowed == FALSE else leaf[0])

    def add(self, message: Tensor, gradients: Sequence[Tensor], reading: Reading) -> None:
        """Add derivatives by a leaf to the messages to the atoms, in place."""
        region = reading.region(message, False, self.values is not None)
        if self.values is None:
            region.add_(gradients[0])
            return
        for values in reading.runs:
            region[..., values].add_(gradients[0].unsqueeze(-1))

    def whole(self, gradients: Sequence[Tensor], reading: Reading) -> Tensor | None:
        """The derivatives as a new table of messages, where they already have its shape; they may be
        overwritten."""
        full = self.values is None and reading.axes == reading.arguments
        return gradients[0] if full and gradients[0].is_contiguous() else None


@dataclass(frozen=True, eq=False)
class ListedTable:
    """Boolean atoms of which only ``codes`` (sorted) may differ; one more entry stands for all others.

    That is exact where every other atom gets the same messages, which
    :mod:`herbrand.engines.mean_field.listing` ensures. Its methods are those of :class:`DenseTable`.
    """

    predicate: str
    sizes: tuple[int, ...]
    codes: Keys
    known: Keys = field(default_factory=lambda: NONE)
    known_values: np.ndarray = field(default_factory=lambda: NONE)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.codes) + 1,)

    @property
    def true_or_false(self) -> bool:
        return True

    @property
    def listed(self) -> int | None:
        return len(self.codes)

    @cached_property
    def others(self) -> float:
        """Number of atoms that the last entry represents, as a float: torch takes no integer of more than 64
        bits."""
        return float(math.prod(self.sizes) - len(self.codes))

    @property
    def fixed(self) -> np.ndarray:
        return self.positions(self.known)

    @property
    def unrestricted(self) -> bool:
        return not len(self.known)

    @cached_property
    def support(self) -> Support:
        columns = arguments_of(self.codes, self.sizes)
        return Support(np.stack(columns, axis=1), self.sizes)

    def positions(self, codes: Keys) -> np.ndarray:
        at = places_among(self.codes, codes)
        return np.where(at < 0, len(self.codes), at)

    def counts(self) -> np.ndarray | None:
        counts = np.ones(len(self.codes) + 1)
        counts[-1] = self.others
        return counts

    def probabilities(self, logits: Tensor) -> Tensor:
        shares = torch.sigmoid(logits)
        if not len(self.known):
            return shares
        settled = torch.from_numpy(self.known_values).to(logits)
        return shares.index_copy(-1, torch.from_numpy(self.fixed), settled)

    def settled(self, logits: Tensor) -> Tensor:
        return _infinite(logits, self.fixed, self.known_values)

    def certain(self, target: Tensor) -> Tensor:
        return _certain(target)

    def limited(self, message: Tensor, limit: float) -> Tensor:
        return message / (1 + message.abs() / limit)

    def entropies(self, logits: Tensor, probabilities: Tensor) -> Tensor:
        entropies = torch.nn.functional.softplus(logits) - logits * probabilities
        entropies[torch.from_numpy(self.fixed)] = 0
        entropies[-1] *= self.others
        return entropies

    def leaf(self, probabilities: Tensor, reading: Reading, batched: bool) -> list[Tensor]:
        assert not batched
        return [probabilities[:-1], probabilities[-1]]

    def relation(self, leaf: Sequence[Tensor], reading: Reading) -> Relation:
        values, default = leaf
        if reading.allowed == FALSE:
            values, default = 1 - values, 1 - default
        return Sparse(self.support, values, default)

    def add(self, message: Tensor, gradients: Sequence[Tensor], reading: Reading) -> None:
        message[:-1] += gradients[0]
        if self.others:
            message[-1] += gradients[1] / self.others

    def whole(self, gradients: Sequence[Tensor], reading: Reading) -> Tensor | None:
        return None


PredicateTable = DenseTable | ListedTable
"""The atoms of one open predicate."""


def _infinite(logits: Tensor, places: np.ndarray, values: np.ndarray) -> Tensor:
    """The logits [..., atom] with +inf for atoms of value 1 and -inf for atoms of value 0 at these places."""
    known = torch.from_numpy(np.where(values, math.inf, -math.inf)).to(logits)
    codes = torch.from_numpy(places).to(logits.device)
    return logits.index_copy(-1, codes, known.expand(*logits.shape[:-1], len(codes)))


def softmax(scores: Tensor) -> Tensor:
    """Softmax over the last axis. On processors torch handles short rows one entry after the other; along
    rows of many columns it handles several entries at once, some ten times as fast."""
    if scores.device.type != "cpu" or scores.dim() < 2 or scores.shape[-1] > SHORT:
        return torch.softmax(scores, -1)
    return torch.softmax(scores.transpose(-1, -2).contiguous(), -2).transpose(-1, -2)


def _certain(target: Tensor) -> Tensor:
    return torch.where(target > 0, CERTAIN, -CERTAIN).to(target)
