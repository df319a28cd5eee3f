"""A predictor of ground atoms: an embedding for each constant, a bilinear form for each predicate.

It has no access to rules; rules train it (:mod:`herbrand.learning.distillation`). The logits of an atom, one
for each value, are a bilinear form of its first argument's embedding and those of the others side by side,
plus a linear form of all of them.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse('predicate likes(t, t)'), {"likes": [("a", "b")]})
>>> predictor = Predictor.of(model.program, ["likes"], size=4, seed=0)
>>> predictor("likes", torch.tensor([[0, 1], [1, 0]])).shape
torch.Size([2, 2])
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from herbrand.program.program import Program


class _Form(nn.Module):
    """Logits [atom, value] from the embeddings of an atom's arguments [atom, argument, size]."""

    def __init__(self, arity: int, size: int, values: int, generator: torch.Generator) -> None:
        super().__init__()
        self.arity = arity
        self.bias = nn.Parameter(torch.zeros(values))
        self.linear = nn.Parameter(_drawn((values, arity * size), generator, size))
        pairs = size * (arity - 1) * size if arity > 1 else 0
        self.bilinear = nn.Parameter(_drawn((values, pairs), generator, size))

    def forward(self, embedded: Tensor) -> Tensor:
        atoms, _, size = embedded.shape
        flat = embedded.reshape(atoms, -1)
        logits = self.bias + flat @ self.linear.T
        if self.arity > 1:
            first, others = flat[:, :size], flat[:, size:]
            forms = self.bilinear.reshape(len(self.bias), size, -1)
            logits = logits + torch.einsum("as,vst,at->av", first, forms, others)
        return logits


class Predictor(nn.Module):
    """Embeddings and forms of predicates; ``forward`` computes logits [atom, value] for rows of argument
    indices."""

    def __init__(
        self,
        sizes: dict[str, int],
        predicates: dict[str, tuple[tuple[str, ...], int]],
        size: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.types = {name: types for name, (types, _) in predicates.items()}
        self._place = {name: str(i) for i, name in enumerate(sizes)}
        self._form = {name: str(i) for i, name in enumerate(predicates)}
        self.size = size
        self.embeddings = nn.ParameterDict(
            {
                self._place[name]: nn.Parameter(_drawn((count, size), generator, 1))
                for name, count in sizes.items()
            }
        )
        self.forms = nn.ModuleDict(
            {
                self._form[name]: _Form(len(types), size, values, generator)
                for name, (types, values) in predicates.items()
            }
        )

    @classmethod
    def of(cls, program: Program, predicates: Sequence[str], size: int, seed: int) -> Predictor:
        """A predictor for these predicates of a program, initialised with a seed."""
        known = {
            name: (program.signature.predicates[name].types, program.value_count(name)) for name in predicates
        }
        types = dict.fromkeys(name for kinds, _ in known.values() for name in kinds)
        sizes = {name: len(program.domain(name)) for name in types}
        return cls(sizes, known, size, torch.Generator().manual_seed(seed))

    def forward(self, predicate: str, rows: Tensor) -> Tensor:
        parts = [
            self.embeddings[self._place[name]][rows[:, i]] for i, name in enumerate(self.types[predicate])
        ]
        embedded = torch.stack(parts, dim=1) if parts else torch.zeros(len(rows), 0, self.size)
        return self.forms[self._form[predicate]](embedded)


def _drawn(shape: tuple[int, ...], generator: torch.Generator, fan: int) -> Tensor:
    """Random normal numbers, divided by the number of summands ``fan``."""
    return torch.randn(shape, generator=generator) / max(1, fan)
