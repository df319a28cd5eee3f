"""The whole program as one lesson: mean-field layers over all groundings and all latent atoms at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from herbrand.nn.logic_layer import LogicLayer
from herbrand.program.evidence import Evidence, rows_of
from herbrand.program.ground import assignments
from herbrand.program.program import Program

DAMPING = 0.5


@dataclass(frozen=True, eq=False)
class WholeLessons:
    """The same lesson at every step: nothing is sampled, and there is no state.

    ``places``: indices of each predicate's latent atoms in its table of logits.
    """

    layer: LogicLayer
    atoms: dict[str, Tensor]
    places: dict[str, Tensor]
    possible: Tensor
    groundings: int

    @classmethod
    def of(cls, program: Program, layers: int, memory: int | None, clip: float | None = None) -> WholeLessons:
        """The lesson of a program, whose weights are not trained. ``clip`` is that of the layer."""
        evidence = Evidence(program)
        layer = LogicLayer(
            program, iterations=layers, damping=DAMPING if layers > 1 else 0.0, clip=clip, memory=memory
        ).requires_grad_(False)
        latent = {name: evidence.known(name).latent_codes() for name in evidence.latent_predicates}
        widest = max((program.value_count(name) for name in latent), default=2)
        counts = np.repeat(
            [program.value_count(n) for n in latent], [len(codes) for codes in latent.values()]
        )
        groundings = sum(
            assignments(
                {name: len(program.domain(kind)) for name, kind in template.conjunction.variables}, ()
            )
            for template in program.templates
            if template.conjunction.literals
        )
        return cls(
            layer,
            {name: torch.from_numpy(rows_of(codes, evidence.sizes(name))) for name, codes in latent.items()},
            {name: torch.from_numpy(codes) for name, codes in latent.items()},
            torch.from_numpy(np.arange(widest)[None, :] < counts[:, None]) & _possible(layer, latent, widest),
            groundings,
        )

    def draw(self) -> WholeLessons:
        return self

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def __len__(self) -> int:
        return self.groundings

    def taught(self, unary: Tensor, layers: int) -> Tensor:
        """Logits [atom, value] after the layers, begun from ``unary`` logits."""
        parts = unary.split([len(places) for places in self.places.values()])
        tables = {name: self._table(name, part) for name, part in zip(self.places, parts, strict=True)}
        log_odds = self.layer.log_odds(tables)
        listed = torch.cat([self._listed(name, log_odds[name], unary.shape[1]) for name in self.places])
        return torch.where(self.possible & listed.isfinite(), listed, unary)

    def _listed(self, name: str, table: Tensor, width: int) -> Tensor:
        """Logits of a predicate's latent atoms [atom, value], selected from its table."""
        values = self._values(name)
        if values is None:
            odds = table.reshape(-1, 1)[self.places[name]]
            return torch.nn.functional.pad(odds, (1, width - 2))
        return torch.nn.functional.pad(table.reshape(-1, values)[self.places[name]], (0, width - values))

    def _values(self, name: str) -> int | None:
        """Number of values of a many-valued predicate, else ``None``."""
        program = self.layer.program
        known = program.signature.predicates[name].value_type
        return None if known is None else program.value_count(name)

    def _table(self, name: str, logits: Tensor) -> Tensor:
        """Table of logits for the layer from those of latent atoms [atom, value]; known atoms have 0."""
        shape, values = self.layer.shapes[name], self._values(name)
        size = int(np.prod(shape))
        if values is None:
            table = logits.new_zeros(size)
            table[self.places[name]] = logits[:, 1] - logits[:, 0]
        else:
            table = logits.new_zeros(size // values, values)
            table[self.places[name]] = logits[:, :values]
        return table.reshape(shape)


def _possible(layer: LogicLayer, latent: Mapping[str, np.ndarray], widest: int) -> Tensor:
    """Mask of the values [atom, value] of latent atoms that facts and hard statements allow."""
    allowed = layer.problem.unknowns.possible()
    parts = [torch.empty((0, widest), dtype=torch.bool)]
    for name, codes in latent.items():
        possible = allowed[name][torch.from_numpy(codes)]
        parts.append(torch.nn.functional.pad(possible, (0, widest - possible.shape[1]), value=True))
    return torch.cat(parts)
