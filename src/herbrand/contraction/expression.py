"""What is to be computed: a sum of products over named axes, with no arrays in it.

Owns :class:`Contraction`, the value every plan is made from. It says

    result[output] = ⊕ over all other axes of ⊗ over i of operand_i[operands_i]

where ⊕ and ⊗ are those of an algebra, an axis repeated within one operand means its diagonal, an axis that
only ``sizes`` names is summed over (a factor), an output axis that no operand binds is broadcast, and the two
axes of a ``distinct`` pair never take the same value. Batches are a shared axis that the output keeps.

>>> Contraction.parse("person friend, friend -> person", {"person": 3, "friend": 3})
Contraction.parse('person friend, friend -> person', {'person': 3, 'friend': 3}, algebra='real')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from herbrand.contraction.algebras import ADDED, is_member

Axes = tuple[str, ...]
Pair = tuple[str, str]


class Sizes(Mapping[str, int]):
    """An immutable, hashable ``axis -> size``; the order of the axes does not matter to equality."""

    __slots__ = ("_hash", "_sizes")

    def __init__(self, sizes: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._sizes = dict(sizes)
        self._hash: int | None = None

    def __getitem__(self, axis: str) -> int:
        return self._sizes[axis]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._sizes.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._sizes == other._sizes if isinstance(other, Sizes) else NotImplemented

    def __repr__(self) -> str:
        return repr(self._sizes)


@dataclass(frozen=True, repr=False)
class Contraction:
    """A sum of products over named axes; checked when built, hashable so that plans are cached.

    ``operands`` names the axes of each operand, ``output`` those of the result, ``sizes`` the extent of every
    axis. Raises ``ValueError`` when the names do not fit together.
    """

    operands: tuple[Axes, ...]
    output: Axes
    sizes: Mapping[str, int]
    distinct: frozenset[Pair] = frozenset()
    algebra: str = "real"

    def __post_init__(self) -> None:
        def settle(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        settle("operands", tuple(tuple(axes) for axes in self.operands))
        settle("output", tuple(self.output))
        settle("sizes", self.sizes if isinstance(self.sizes, Sizes) else Sizes(self.sizes))
        settle("distinct", frozenset((min(pair), max(pair)) for pair in self.distinct))
        self._check_algebra()
        self._check_sizes()
        self._check_distinct()

    @classmethod
    def parse(
        cls, text: str, sizes: Mapping[str, int], *, distinct: Iterable[Pair] = (), algebra: str = "real"
    ) -> Contraction:
        """From ``"h k, k j -> h j"``; nothing between two commas is a scalar."""
        left, arrow, right = text.partition("->")
        if not arrow:
            raise ValueError(f"{text!r} has no '->' between the operands and the output")
        operands = tuple(tuple(part.split()) for part in left.split(",")) if left.strip() else ()
        return cls(operands, tuple(right.split()), Sizes(sizes), frozenset(distinct), algebra)

    def __repr__(self) -> str:
        text = f"{', '.join(map(' '.join, self.operands))} -> {' '.join(self.output)}"
        apart = f", distinct={sorted(self.distinct)}" if self.distinct else ""
        return f"Contraction.parse({text!r}, {self.sizes!r}{apart}, algebra={self.algebra!r})"

    def __hash__(self) -> int:
        return self._hash

    def shape(self, axes: Iterable[str]) -> tuple[int, ...]:
        """The extents of ``axes``."""
        return tuple(self.sizes[axis] for axis in axes)

    @cached_property
    def summed(self) -> frozenset[str]:
        """The axes that the result does not have."""
        return frozenset(self.sizes) - frozenset(self.output)

    @cached_property
    def _hash(self) -> int:
        return hash((self.operands, self.output, self.sizes, self.distinct, self.algebra))

    def _check_algebra(self) -> None:
        if self.algebra not in ADDED and not is_member(self.algebra):
            raise ValueError(f"there is no algebra {self.algebra!r}; see herbrand.contraction.algebras")

    def _check_sizes(self) -> None:
        if len(set(self.output)) != len(self.output):
            raise ValueError(f"the output {' '.join(self.output)!r} names an axis twice")
        for axis in chain(self.output, *self.operands):
            if axis not in self.sizes:
                raise ValueError(f"axis {axis!r} has no size; sizes are given for {sorted(self.sizes)}")
        for axis, size in self.sizes.items():
            if size < 0:
                raise ValueError(f"axis {axis!r} has the negative size {size}")

    def _check_distinct(self) -> None:
        for left, right in self.distinct:
            if left == right:
                raise ValueError(f"axis {left!r} cannot be distinct from itself")
            for axis in (left, right):
                if axis not in self.sizes:
                    raise ValueError(f"axis {axis!r} of a distinct pair has no size")
            if self.sizes[left] != self.sizes[right]:
                raise ValueError(
                    f"distinct axes {left!r} and {right!r} differ in size: "
                    f"{self.sizes[left]} and {self.sizes[right]}"
                )
