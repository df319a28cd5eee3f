"""Sums of products over named axes, as values without arrays.

Owns :class:`Contraction`, the value from which every plan is made. It states

    result[output] = ⊕ over all other axes of ⊗ over i of operand_i[operands_i]

where ⊕ and ⊗ are those of an algebra, an axis repeated within one operand means its diagonal, an axis that
only ``sizes`` names is summed over (a factor), an output axis that no operand binds is broadcast, and the two
axes of a ``distinct`` pair never take the same value. Batches are a shared axis that the output keeps.

>>> Contraction.parse("person friend, friend -> person", {"person": 3, "friend": 3})
Contraction.parse('person friend, friend -> person', {'person': 3, 'friend': 3}, algebra='real')

``x ≠ y`` between axes is rewritten away: one constrained contraction becomes unconstrained terms.
:func:`expand` takes a :class:`Contraction` with distinct pairs; returns :class:`Term` values whose signed sum
is the same result and which name no pairs any more. A pair is settled in the cheapest way that is open to it:

1. both axes within one operand: the diagonal of that operand is set to zero;
2. both axes in the output: the diagonal of the result is set to zero;
3. otherwise, where the algebra has subtraction, all assignments minus those where the two axes agree
   (deletion and contraction on the graph of the pairs, which is Möbius inversion over the set partitions that
   the pairs can distinguish); without subtraction, by one more operand that is zero on its diagonal and one
   elsewhere.

>>> edges = Contraction.parse("a b, b c -> a", {"a": 5, "b": 5, "c": 5}, distinct=[("a", "c"), ("a", "b")])
>>> for term in expand(edges, has_subtraction=True):
...     print(f"{term.sign:+d}", term.contraction.operands, term.hollow)
+1 (('a', 'b'), ('b', 'c')) ((0, 0, 1),)
-1 (('a', 'b'), ('b', 'a')) ((0, 0, 1),)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from herbrand.contraction.algebras import ADDED, is_member

Axes = tuple[str, ...]
Pair = tuple[str, str]


class Sizes(Mapping[str, int]):
    """Immutable, hashable map from axes to sizes; equality ignores the order of the axes."""

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

    def only(self, axes: Collection[str]) -> Sizes:
        """The sizes of some axes."""
        return Sizes({axis: size for axis, size in self._sizes.items() if axis in axes})

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
        """Parse ``"h k, k j -> h j"``; nothing between two commas is a scalar."""
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
        """Sizes of ``axes``."""
        return tuple(self.sizes[axis] for axis in axes)

    @cached_property
    def summed(self) -> frozenset[str]:
        """Axes that the result does not have."""
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


Hollow = tuple[int, int, int]
"""Operand, and two of its dimensions: entries with the same index in both count as zero."""


@dataclass(frozen=True)
class Term:
    """An unconstrained contraction in a signed sum, with the diagonals that are zero in it."""

    sign: int
    contraction: Contraction
    hollow: tuple[Hollow, ...] = ()
    apart: tuple[Pair, ...] = ()
    """Pairs of output axes: the result is zero where they agree."""
    unequal: tuple[Axes, ...] = ()
    """Axes of further operands that are one off the diagonal and zero on it."""

    @cached_property
    def diagonals(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Pairs of dimensions whose diagonal is zero, for each operand that has any."""
        diagonals: dict[int, list[tuple[int, int]]] = {}
        for operand, left, right in self.hollow:
            diagonals.setdefault(operand, []).append((left, right))
        return diagonals


def expand(
    contraction: Contraction, has_subtraction: bool, unmaskable: frozenset[int] = frozenset()
) -> tuple[Term, ...]:
    """Terms whose signed sum is ``contraction``; equal terms are merged.

    Diagonals of ``unmaskable`` operands cannot be set to zero, as their background would have to change.
    """
    if not contraction.distinct:
        return (Term(1, contraction),)
    signs: Counter[Term] = Counter()
    for term in _terms(Term(1, contraction), has_subtraction, unmaskable):
        signs[replace(term, sign=1)] += term.sign
    return tuple(replace(term, sign=sign) for term, sign in signs.items() if sign)


def _terms(term: Term, has_subtraction: bool, unmaskable: frozenset[int]) -> Iterator[Term]:
    term = _settle_locally(term, unmaskable)
    pairs = sorted(term.contraction.distinct)
    if not pairs:
        yield term
    elif not has_subtraction:
        freed = replace(term.contraction, distinct=frozenset())
        yield replace(term, contraction=freed, unequal=tuple(pairs))
    else:
        pair = pairs[0]
        without = replace(term.contraction, distinct=term.contraction.distinct - {pair})
        yield from _terms(replace(term, contraction=without), True, unmaskable)
        merged = _merge(replace(term, contraction=without), pair)
        if merged is not None:
            yield from _terms(replace(merged, sign=-merged.sign), True, unmaskable)


def _settle_locally(term: Term, unmaskable: frozenset[int]) -> Term:
    """Turn pairs that lie within one operand, or within the output, into zero diagonals."""
    contraction, hollow, apart, left = term.contraction, list(term.hollow), list(term.apart), []
    holders_of = _holders(contraction.operands, unmaskable)
    for pair in sorted(contraction.distinct):
        holders = sorted(holders_of[pair[0]] & holders_of[pair[1]])
        if holders:
            smallest = min(holders, key=lambda one: math.prod(contraction.shape(contraction.operands[one])))
            axes = contraction.operands[smallest]
            hollow.append((smallest, axes.index(pair[0]), axes.index(pair[1])))
        elif set(pair) <= set(contraction.output):
            apart.append(pair)
        else:
            left.append(pair)
    contraction = replace(contraction, distinct=frozenset(left))
    return replace(
        term, contraction=contraction, hollow=tuple(sorted(set(hollow))), apart=tuple(sorted(set(apart)))
    )


def _holders(operands: Sequence[Axes], but: Collection[int]) -> Mapping[str, set[int]]:
    """Operands that have each axis, without those in ``but``."""
    holders = defaultdict[str, set[int]](set)
    for operand, axes in enumerate(operands):
        if operand not in but:
            for axis in axes:
                holders[axis].add(operand)
    return holders


def _merge(term: Term, pair: Pair) -> Term | None:
    """The term with both axes of a pair identified; None if another pair or a zero diagonal forbids that."""
    contraction = term.contraction
    kept, gone = sorted(pair, key=lambda axis: (axis not in contraction.output, axis))

    def swapped(axis: str) -> str:
        return kept if axis == gone else axis

    operands = tuple(tuple(map(swapped, axes)) for axes in contraction.operands)
    distinct = [(swapped(left), swapped(right)) for left, right in contraction.distinct]
    if any(left == right for left, right in distinct):
        return None
    if any(operands[operand][left] == operands[operand][right] for operand, left, right in term.hollow):
        return None
    sizes = {axis: size for axis, size in contraction.sizes.items() if axis != gone}
    merged = Contraction(operands, contraction.output, sizes, frozenset(distinct), contraction.algebra)
    return replace(term, contraction=merged)


def repeated_axes(axes: Sequence[str]) -> tuple[tuple[tuple[int, int], ...], Axes]:
    """Pairs of dimensions whose diagonals to take one after another, and the axes that remain.

    >>> repeated_axes(["x", "x", "y"])
    (((0, 1),), ('y', 'x'))
    """
    names, pairs = list(axes), []
    while len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        first = names.index(repeated)
        second = names.index(repeated, first + 1)
        pairs.append((first, second))
        names = [name for place, name in enumerate(names) if place not in (first, second)] + [repeated]
    return tuple(pairs), tuple(names)
