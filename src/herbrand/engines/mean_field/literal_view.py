"""The part of a predicate's table that a literal reads: its arguments fix, repeat or range over dimensions.

>>> Reading("friends", ("x", 2, "x", "y")).axes
('y', 'x')
>>> Reading("area", ("x",), (0, 1, 3)).runs
(slice(0, 2, None), slice(3, 4, None))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from herbrand.arrays import Tensor, torch
from herbrand.contraction.expression import repeated_axes
from herbrand.program.program import TRUE, Argument, Pair


@dataclass(frozen=True)
class Reading:
    """What a literal reads of a table: the atoms given by its arguments, and the values that count.

    ``axes``: the distinct variables among ``arguments``, in the order in which the reading has them.
    ``apart``: pairs of arguments that differ; where they agree, nothing is read.
    """

    source: str
    arguments: tuple[Argument, ...]
    allowed: tuple[int, ...] = TRUE
    apart: frozenset[Pair] = frozenset()

    @property
    def axes(self) -> tuple[str, ...]:
        """Distinct variables, those that repeat last, as taking diagonals leaves them."""
        return self._diagonals[1]

    @cached_property
    def _diagonals(self) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
        return repeated_axes([a for a in self.arguments if isinstance(a, str)])

    @cached_property
    def runs(self) -> tuple[slice, ...]:
        """Slices of consecutive allowed values: all but one of many are two of them."""
        allowed = frozenset(self.allowed)
        starts = sorted(value for value in allowed if value - 1 not in allowed)
        ends = sorted(value + 1 for value in allowed if value + 1 not in allowed)
        return tuple(map(slice, starts, ends))

    def region(self, table: Tensor, batched: bool, values: bool = False) -> Tensor:
        """The part of a table that is read, as a view without a copy; ``values``: the table's last axis is
        values."""
        lead = int(batched)
        for place, argument in reversed(list(enumerate(self.arguments))):
            if isinstance(argument, int):
                table = table.select(lead + place, argument)
        for first, second in self._diagonals[0]:
            table = table.diagonal(dim1=lead + first, dim2=lead + second)
            if values:
                table = table.movedim(-2, -1)
        return table

    def embedded(self, region: Tensor, sizes: Sequence[int], values: bool = False) -> Tensor:
        """Embed the region in a table that is 0 elsewhere; the region has one axis before those that are
        read.

        It is a function of the region that writes to no memory, so that derivatives and ``vmap`` go through.
        """
        for first, second in reversed(self._diagonals[0]):
            if values:
                region = region.movedim(-1, -2)
            region = torch().diag_embed(region, dim1=1 + first, dim2=1 + second)
        for place, argument in enumerate(self.arguments):
            if isinstance(argument, int):
                region = region.unsqueeze(1 + place)
                after = region.dim() - place - 2
                around = (argument, sizes[place] - argument - 1)
                region = torch().nn.functional.pad(region, (0, 0) * after + around)
        return region
