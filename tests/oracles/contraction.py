"""Sums of products by plain loops over all assignments of all axes: too slow to be wrong.

A table is a function from index tuples to numbers. Nothing is shared with the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

Table = Callable[[tuple[int, ...]], Any]


class Operations(NamedTuple):
    zero: Any
    one: Any
    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]


def _log_add(left: float, right: float) -> float:
    peak = max(left, right)
    return peak if peak == -math.inf else peak + math.log(math.exp(left - peak) + math.exp(right - peak))


OPERATIONS = {
    "real": Operations(0.0, 1.0, lambda left, right: left + right, lambda left, right: left * right),
    "counting": Operations(0, 1, lambda left, right: left + right, lambda left, right: left * right),
    "log": Operations(-math.inf, 0.0, _log_add, lambda left, right: left + right),
    "maximum": Operations(-math.inf, 0.0, max, lambda left, right: left + right),
    "max_product": Operations(0.0, 1.0, max, lambda left, right: left * right),
    "boolean": Operations(False, True, lambda left, right: left or right, lambda left, right: left and right),
}


def contraction(
    operands: Sequence[Sequence[str]],
    tables: Sequence[Table],
    output: Sequence[str],
    sizes: Mapping[str, int],
    distinct: Iterable[tuple[str, str]],
    algebra: str,
) -> dict[tuple[int, ...], Any]:
    """The result at every index of the output."""
    meaning = OPERATIONS[algebra]
    axes = list(sizes)
    result = dict.fromkeys(product(*(range(sizes[axis]) for axis in output)), meaning.zero)
    for values in product(*(range(sizes[axis]) for axis in axes)):
        at = dict(zip(axes, values, strict=True))
        if any(at[left] == at[right] for left, right in distinct):
            continue
        term = meaning.one
        for names, table in zip(operands, tables, strict=True):
            term = meaning.multiply(term, table(tuple(at[name] for name in names)))
        place = tuple(at[name] for name in output)
        result[place] = meaning.add(result[place], term)
    return result
