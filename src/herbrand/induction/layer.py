"""One layer of a Neural Logic Machine: groups of predicates in, groups of predicates out.

For each arity a unit reads the group of one argument less (expanded), its own group and the group of one
argument more (reduced by exists and forall), in every order of the arguments, through one small network
that all objects share. Channel by channel it equals the original layer: ``[expanded | own | exists and
forall of each channel in turn]`` for each permutation in turn.

A :class:`Group` keeps the predicates that residual links pass on as blocks side by side: nothing is copied
from layer to layer, and the quantifiers of a block are computed once, however many layers read them.

>>> layer = LogicLayer((0, 0, 3, 0), width=8)
>>> relations = Group((torch.rand(2, 5, 5, 3),))
>>> [group.shape for group in layer([Group(), Group(), relations, Group()], objects=5)]
[None, (2, 5, 8), (2, 5, 5, 8), (2, 5, 5, 5, 8)]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import factorial
from typing import cast

import torch
from torch import nn

from herbrand.induction.max_plus import reduced_sum
from herbrand.induction.products import expanded_addends, permuted_product
from herbrand.induction.reductions import reduced


@dataclass(eq=False)
class Dense:
    """A stored block of predicates: ``[worlds, m * arity, channels]``."""

    tensor: torch.Tensor
    _reduced: torch.Tensor | None = field(default=None, repr=False)

    def reduced(self, present: torch.Tensor | None) -> torch.Tensor:
        if self._reduced is None:
            self._reduced = reduced(self.tensor, present)
        return self._reduced


@dataclass(eq=False)
class Unstored:
    """A block that only quantifiers read: the sigmoid of the sum of ``addends`` and ``bias``, not stored."""

    addends: tuple[torch.Tensor, ...]
    bias: torch.Tensor
    _reduced: torch.Tensor | None = field(default=None, repr=False)

    def reduced(self, present: torch.Tensor | None) -> torch.Tensor:
        if self._reduced is None:
            self._reduced = reduced_sum(self.addends, self.bias, present)
        return self._reduced


@dataclass(frozen=True, eq=False)
class Group:
    """All predicates of one arity, as blocks of channels side by side."""

    blocks: tuple[Dense | Unstored | torch.Tensor, ...] = ()

    def __post_init__(self) -> None:
        held = tuple(Dense(b) if isinstance(b, torch.Tensor) else b for b in self.blocks)
        object.__setattr__(self, "blocks", held)

    def stored(self) -> list[torch.Tensor]:
        return [block.tensor for block in self.blocks if isinstance(block, Dense)]

    def reduced(self, present: torch.Tensor | None) -> list[torch.Tensor]:
        return [block.reduced(present) for block in self.blocks if not isinstance(block, torch.Tensor)]

    def tensor(self) -> torch.Tensor | None:
        """The stored blocks as one tensor ``[worlds, m * arity, channels]``; ``None`` if there is no
        predicate."""
        blocks = self.stored()
        if not blocks:
            return None
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, -1)

    @property
    def shape(self) -> tuple[int, ...] | None:
        blocks = self.stored()
        return (*blocks[0].shape[:-1], sum(b.shape[-1] for b in blocks)) if blocks else None

    def __add__(self, other: Group) -> Group:
        return Group(self.blocks + other.blocks)


class LogicUnit(nn.Module):
    """The network that computes the new predicates of one arity.

    ``expanded``, ``own``, ``reduced``: number of channels read from each side; ``width``: number computed;
    ``hidden``: the widths of hidden layers (none in the paper's experiments).
    """

    def __init__(
        self, arity: int, expanded: int, own: int, reduced: int, width: int, hidden: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.arity, self.parts, self.width = arity, (expanded, own, reduced), width
        inputs = factorial(arity) * sum(self.parts)
        self.layers = nn.ModuleList(
            nn.Linear(*sizes) for sizes in zip((inputs, *hidden), (*hidden, width), strict=True)
        )

    @property
    def first(self) -> nn.Linear:
        """The first linear layer, which reads all inputs."""
        return cast("nn.Linear", self.layers[0])

    def forward(
        self,
        below: Group,
        own: Group,
        above: Group,
        objects: int,
        present: torch.Tensor | None = None,
        unstored: bool = False,
    ) -> Dense | Unstored:
        first, *others = (cast("nn.Linear", layer) for layer in self.layers)
        expanded = self.parts[0]
        by_order = first.weight.view(first.weight.shape[0], factorial(self.arity), -1)
        addends: tuple[torch.Tensor, ...] = ()
        if expanded:
            addends = expanded_addends(below.stored(), by_order[:, :, :expanded], self.arity, objects)
        if unstored:
            return Unstored(addends, first.bias)
        blocks = [
            *(own.stored() if self.parts[1] else ()),
            *(above.reduced(present) if self.parts[2] else ()),
        ]
        weight = by_order[:, :, expanded:].flatten(1) if blocks else None
        value = permuted_product(
            blocks, weight, addends, first.bias, "relu" if others else "sigmoid", objects
        )
        for number, layer in enumerate(others, 1):
            value = layer(value)
            value = torch.sigmoid(value) if number == len(others) else torch.relu(value)
        return Dense(value)


class LogicLayer(nn.Module):
    """A layer: a unit for each arity in ``needed`` (all by default) that has something to read.

    ``channels``: number of input predicates of each arity, from nullary to the breadth. ``outputs``: number
    of output predicates of each arity.
    """

    def __init__(
        self,
        channels: Sequence[int],
        width: int | Sequence[int] = 8,
        *,
        residual: bool = False,
        hidden: Sequence[int] = (),
        needed: Collection[int] | None = None,
        rebuild_widest: bool = False,
    ) -> None:
        super().__init__()
        breadth = len(channels) - 1
        widths = [width] * len(channels) if isinstance(width, int) else list(width)
        self.residual = residual
        self.units = nn.ModuleDict()
        outputs = list(channels) if residual else [0] * len(channels)
        for arity in range(breadth + 1):
            if needed is not None and arity not in needed:
                continue
            expanded = channels[arity - 1] if arity else 0
            own = 0 if rebuild_widest and arity == breadth else channels[arity]
            above = 2 * channels[arity + 1] if arity < breadth else 0
            if expanded + own + above and widths[arity]:
                unit = LogicUnit(arity, expanded, own, above, widths[arity], hidden)
                self.units[str(arity)] = unit
                outputs[arity] += widths[arity]
        self.outputs = tuple(outputs)

    def unit(self, arity: int) -> LogicUnit | None:
        """The unit of an arity, ``None`` if there is none."""
        return cast("LogicUnit", self.units[str(arity)]) if str(arity) in self.units else None

    def forward(
        self,
        groups: Sequence[Group],
        objects: int,
        present: torch.Tensor | None = None,
        unstored: Collection[int] = (),
    ) -> list[Group]:
        """Compute the groups of the next layer. ``unstored``: arities whose new predicates only quantifiers
        will read; see :mod:`max_plus`."""
        results = []
        for arity, own in enumerate(groups):
            result = own if self.residual else Group()
            unit = self.unit(arity)
            if unit is not None:
                below = groups[arity - 1] if arity else Group()
                above = groups[arity + 1] if arity + 1 < len(groups) else Group()
                result += Group((unit(below, own, above, objects, present, arity in unstored),))
            results.append(result)
        return results
