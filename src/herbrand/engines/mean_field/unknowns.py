"""All latent atoms of a mean-field run: a table per predicate, the evidence in them, and tied atoms.

They give marginals from logits, the entropy of the product distribution, and the summed messages to atoms
that are tied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.extras import Tensor, torch

Logits = Mapping[str, Tensor]
SMALL = 1 << 10
"""Most entries of a table that is moved together with others: stacking copies them."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Atoms of one predicate that always have the value of an atom of another, or the opposite one.

    Flat positions: ``tied`` in ``predicate`` follow ``leading`` in ``leader``; ``opposite``: which of them
    are negated.
    """

    predicate: str
    leader: str
    tied: Tensor
    leading: Tensor
    opposite: Tensor


@dataclass(frozen=True, eq=False)
class Unknowns:
    """The latent atoms of a program. ``tables`` by predicate; ``unary``: log-weights of soft evidence
    (log-odds, or one for each value); ``constant``: those of predicates without a table, all of whose atoms
    are fixed by facts."""

    tables: Mapping[str, PredicateTable]
    unary: Mapping[str, Tensor]
    ties: tuple[Ties, ...] = field(default=())
    constant: float = 0.0

    def marginals(self, logits: Logits) -> dict[str, Tensor]:
        """Probabilities of all atoms, with evidence and ties put in."""
        return self.followed({name: table.probabilities(logits[name]) for name, table in self.tables.items()})

    def followed(self, marginals: dict[str, Tensor]) -> dict[str, Tensor]:
        """The marginals, with those of tied atoms copied from their leaders."""
        return self._copied(marginals, lambda leading: 1 - leading)

    def agreed(self, logits: dict[str, Tensor]) -> dict[str, Tensor]:
        """The log-odds, with those of tied atoms copied from their leaders."""
        return self._copied(logits, torch.neg)

    def _copied(self, tables: dict[str, Tensor], negated: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
        fields = dict(tables)
        for tie in self.ties:
            leading = self.flat(tie.leader, fields[tie.leader])[..., tie.leading]
            values = torch.where(tie.opposite, negated(leading), leading)
            copied = self.flat(tie.predicate, fields[tie.predicate]).index_copy(-1, tie.tied, values)
            fields[tie.predicate] = copied.view(fields[tie.predicate].shape)
        return fields

    def settled(self, logits: Logits) -> dict[str, Tensor]:
        """Log-odds of all atoms, with evidence and ties put in: those of :meth:`marginals`."""
        return self.agreed({name: table.settled(logits[name]) for name, table in self.tables.items()})

    def possible(self) -> dict[str, Tensor]:
        """Whether evidence and hard statements leave each value to each atom [atom, value]."""
        settled = self.settled({name: torch.zeros(table.shape) for name, table in self.tables.items()})
        return {
            name: torch.stack([-logits, logits], -1).reshape(-1, 2) > -math.inf
            if self.tables[name].true_or_false
            else logits.reshape(-1, logits.shape[-1]) > -math.inf
            for name, logits in settled.items()
        }

    def gathered(self, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        """The messages (log-odds), with those to tied atoms added to their leaders'."""
        gathered = dict(fields)
        for tie in self.ties:
            received = self.flat(tie.predicate, gathered[tie.predicate])[..., tie.tied]
            received = torch.where(tie.opposite, -received, received)
            added = self.flat(tie.leader, gathered[tie.leader]).index_add(-1, tie.leading, received)
            gathered[tie.leader] = added.view(gathered[tie.leader].shape)
        return gathered

    def gathered_at_leaders(self, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        """The messages as :meth:`gathered`, with 0 at the tied atoms themselves."""
        gathered = self.gathered(fields)
        for tie in self.ties:
            cleared = self.flat(tie.predicate, gathered[tie.predicate]).index_fill(-1, tie.tied, 0.0)
            gathered[tie.predicate] = cleared.view(gathered[tie.predicate].shape)
        return gathered

    def entropy(self, logits: Logits, marginals: Mapping[str, Tensor]) -> float:
        """Entropy of the product distribution."""
        total = 0.0
        for name, table in self.tables.items():
            entropies = table.entropies(logits[name], marginals[name])
            for tied in self._tied.get(name, ()):
                entropies[tied] = 0
            total += float(entropies.sum())
        return total

    def opinions(self, marginals: Mapping[str, Tensor]) -> float:
        """The expected log-weight of the soft evidence."""
        about = (float((unary * marginals[name]).sum()) for name, unary in self.unary.items())
        return sum(about, self.constant)

    def free(self, predicate: str) -> Tensor | None:
        """Which atoms of a predicate messages move, flattened; ``None`` for all of them."""
        return self._free[predicate]

    @cached_property
    def alike(self) -> list[list[str]]:
        """The predicates, those together that have small tables of one form, all of whose atoms move."""
        groups: dict[object, list[str]] = {}
        for name, table in self.tables.items():
            whole = self.free(name) is None and table.counts() is None and table.unrestricted
            small = whole and math.prod(table.shape) <= SMALL
            groups.setdefault((table.shape, table.true_or_false) if small else name, []).append(name)
        return list(groups.values())

    @cached_property
    def _free(self) -> dict[str, Tensor | None]:
        return {name: self._free_atoms(name, table) for name, table in self.tables.items()}

    @cached_property
    def _tied(self) -> dict[str, list[Tensor]]:
        """The tied atoms of each predicate."""
        by_predicate: dict[str, list[Tensor]] = {}
        for tie in self.ties:
            by_predicate.setdefault(tie.predicate, []).append(tie.tied)
        return by_predicate

    def _free_atoms(self, name: str, table: PredicateTable) -> Tensor | None:
        tied = self._tied.get(name, [])
        if not len(table.fixed) and not tied:
            return None
        atoms = table.shape if table.true_or_false else table.shape[:-1]
        free = torch.ones(math.prod(atoms), dtype=torch.bool)
        for fixed in (torch.from_numpy(table.fixed), *tied):
            free[fixed] = False
        return free

    def flat(self, predicate: str, tensor: Tensor) -> Tensor:
        """The atoms of a boolean table along one last axis."""
        rank = len(self.tables[predicate].shape)
        return tensor.flatten(-rank) if rank else tensor.unsqueeze(-1)
