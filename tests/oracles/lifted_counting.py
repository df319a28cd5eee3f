"""Log-partitions of two-variable theories over one type by counting in exact rationals, with plain loops.

Formulas have at most two variables and no quantifier, and nothing is known. A world is then a cell for each
element (the values of its unary and diagonal atoms) and values of the binary atoms of each pair; worlds with
the same numbers of elements in each cell weigh the same. Every weight is taken as the fraction that ``exp``
of it is in floating point, and no rounding follows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from herbrand.language import syntax as s
from tests.oracles.worlds import Universe, free_names

Cell = tuple[bool, ...]


def log_partition(universe: Universe, statements: Sequence[s.WeightedFormula], count: int) -> float:
    """For ``count`` elements; the universe's own domain is only used to name two of them."""
    total = partition(universe, statements, count)
    if not total:
        return -math.inf
    power = total.numerator.bit_length() - total.denominator.bit_length()
    return math.log(total / Fraction(2) ** power) + power * math.log(2)


def partition(universe: Universe, statements: Sequence[s.WeightedFormula], count: int) -> Fraction:
    unary = [name for name, (types, _) in universe.predicates.items() if len(types) == 1]
    binary = [name for name, (types, _) in universe.predicates.items() if len(types) == 2]
    cells: list[Cell] = list(itertools.product((False, True), repeat=len(unary) + len(binary)))
    alone = [_alone(universe, statements, unary, binary, cell) for cell in cells]
    pairs = {
        (i, j): _pair(universe, statements, unary, binary, cells[i], cells[j])
        for i in range(len(cells))
        for j in range(i, len(cells))
    }
    total = Fraction(0)
    for counts in _splits(count, len(cells)):
        term = Fraction(math.factorial(count))
        for number, weight in zip(counts, alone, strict=True):
            term *= weight**number / math.factorial(number)
        for (i, j), weight in pairs.items():
            term *= weight ** (counts[i] * (counts[i] - 1) // 2 if i == j else counts[i] * counts[j])
        total += term
    return total


def _splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _splits(total - first, parts - 1):
            yield (first, *rest)


def _own(unary: Sequence[str], binary: Sequence[str], cell: Cell, element: str) -> dict[object, object]:
    atoms = [(name, (element,)) for name in unary] + [(name, (element, element)) for name in binary]
    return dict(zip(atoms, cell, strict=True))


def _alone(universe, statements, unary, binary, cell) -> Fraction:  # type: ignore[no-untyped-def]
    world = _own(unary, binary, cell, "a")
    return _weight(universe, statements, world, lambda values: set(values) <= {"a"})


def _pair(universe, statements, unary, binary, left, right) -> Fraction:  # type: ignore[no-untyped-def]
    """Summed over the atoms that speak of both, groundings that name both."""
    total = Fraction(0)
    for values in itertools.product((False, True), repeat=2 * len(binary)):
        between = [(name, way) for name in binary for way in (("a", "b"), ("b", "a"))]
        world = _own(unary, binary, left, "a") | _own(unary, binary, right, "b")
        world |= dict(zip(between, values, strict=True))
        total += _weight(universe, statements, world, lambda names: set(names) == {"a", "b"})
    return total


def _weight(universe, statements, world, counted) -> Fraction:  # type: ignore[no-untyped-def]
    weight = Fraction(1)
    elements = sorted({e for _, arguments in world for e in arguments})
    for statement in statements:
        names = list(dict.fromkeys(free_names(statement.formula)))
        for values in itertools.product(elements, repeat=len(names)):
            binding = dict(zip(names, values, strict=True))
            if not counted(values) or not all(universe.holds(c, {}, binding) for c in statement.where):
                continue
            holds = universe.holds(statement.formula, world, binding)
            if isinstance(statement.weight, s.Hard):
                weight *= int(holds)
            elif holds:
                weight *= Fraction(math.exp(statement.weight))
    return weight
