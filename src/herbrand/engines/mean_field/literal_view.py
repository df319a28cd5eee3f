"""Which part of a predicate's table a literal reads: its arguments fix, repeat or range over dimensions.

>>> Reading("friends", ("x", 2, "x", "y")).axes
('y', 'x')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from herbrand.arrays import Tensor
from herbrand.program.template import TRUE, Argument


@dataclass(frozen=True)
class Reading:
    """What a literal reads of a table: which atoms, by its arguments, and which of their values count.

    ``axes``: the distinct variables among ``arguments``, in the order in which the reading has them.
    """

    source: str
    arguments: tuple[Argument, ...]
    allowed: tuple[int, ...] = TRUE

    @property
    def axes(self) -> tuple[str, ...]:
        """Distinct variables, those that repeat last, as taking diagonals leaves them."""
        return self._diagonals[1]

    @cached_property
    def _diagonals(self) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
        """Pairs of dimensions to take diagonals of, one after another, and what the dimensions are then."""
        names = [a for a in self.arguments if isinstance(a, str)]
        pairs = []
        while len(set(names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            first = names.index(repeated)
            second = names.index(repeated, first + 1)
            pairs.append((first, second))
            names = [name for place, name in enumerate(names) if place not in (first, second)] + [repeated]
        return tuple(pairs), tuple(names)

    def region(self, table: Tensor, batched: bool, values: bool = False) -> Tensor:
        """The part of a table that is read: a view without a copy; ``values``: its last axis is values."""
        lead = int(batched)
        for place, argument in reversed(list(enumerate(self.arguments))):
            if isinstance(argument, int):
                table = table.select(lead + place, argument)
        for first, second in self._diagonals[0]:
            table = table.diagonal(dim1=lead + first, dim2=lead + second)
            if values:
                table = table.movedim(-2, -1)
        return table
