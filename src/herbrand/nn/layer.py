"""Base class of both layers: a torch module whose text shows its options, and each weight by its
statement."""

from __future__ import annotations

from torch import nn


class Layer(nn.Module):
    """A torch module whose text is ``extra_repr`` only, as its submodules say nothing about the theory."""

    def __repr__(self) -> str:
        inside = "\n".join(f"  {line}" for line in self.extra_repr().split("\n"))
        return f"{type(self).__name__}(\n{inside}\n)"
