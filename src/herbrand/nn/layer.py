"""What both layers are: torch modules that show how they were made, and each weight beside its statement."""

from __future__ import annotations

from torch import nn


class Layer(nn.Module):
    """Shows itself by ``extra_repr`` alone: torch would list its parts, which say nothing of the theory."""

    def __repr__(self) -> str:
        inside = "\n".join(f"  {line}" for line in self.extra_repr().split("\n"))
        return f"{type(self).__name__}(\n{inside}\n)"
