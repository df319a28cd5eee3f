"""A theory's statements numbered so that each row of a run of bounds has a number of its own.

>>> import herbrand as hb
>>> stated = Stated(hb.parse("P(a) <= 0.5\\nP(b) <= 0.2").statements)
>>> len(stated), stated[1].upper
(2, 0.2)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from herbrand.language.syntax import BoundRows, Single, Statement


@dataclass(frozen=True, eq=False)
class Stated:
    """``parts`` as they stand in the theory; ``starts[i]`` is the number of the first statement of part i."""

    parts: tuple[Statement, ...] = ()
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        counts = (len(part) if isinstance(part, BoundRows) else 1 for part in self.parts)
        object.__setattr__(self, "starts", tuple(accumulate(counts, initial=0)))

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, number: int) -> Single:
        place = bisect_right(self.starts, number) - 1
        part = self.parts[place]
        return part.bound(number - self.starts[place]) if isinstance(part, BoundRows) else part

    def numbered(self) -> Iterator[tuple[int, Statement]]:
        """Every part with the number of its first statement."""
        return zip(self.starts, self.parts, strict=False)
