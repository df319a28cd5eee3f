"""The links between a sentence's atoms as it is written, and groundings grouped by their fixed leaves.

A sentence makes its links as it is written, whatever observed facts simplify it to. Observed facts choose
the groundings of a statement: those whose condition they refute do not count. Every other grounding links
*all* its open atoms, also those that an observed truth value absorbs: facts may simplify
``P(a and b | friends)`` to ``P(a and b)``, which would link nothing and so make a and b independent, though
the statement lets them depend on each other. Observed facts also choose the instances of a quantifier:
those that they make neutral (false under ``exists``, true under ``forall``) do not count.

>>> from herbrand.language.parse import parse_probability
>>> from herbrand.language.show import show_formula
>>> event, given = parse_probability("a and b | c or true")
>>> shapes = {"a": 0, "b": 1, "c": 2, "true": TRUE}
>>> bound = Bound(event, given, 0.1, 0.3)
>>> written_links(bound, lambda leaf: shapes[show_formula(leaf)], lambda quantified: (), lambda part: part)
[(2, 0), (2, 1), (0, 1), (1, 0)]

Groundings are grouped by which of a statement's leaves are fixed, and which are the same atom.

>>> [(pattern.tolist(), rows.tolist()) for pattern, rows in patterns_of(np.array([[5, 7], [6, -1], [3, 3]]))]
[([0, -1], [1]), ([0, 0], [2]), ([0, 1], [0])]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from herbrand.engines.credal.shape import FALSE, TRUE, Shape, columns_of, constant, shape_of
from herbrand.language.syntax import Bound, Exists, Forall, Formula, Leaf, children
from herbrand.row_keys import equal_rows

Column = Callable[[Leaf], Shape]
Instances = Callable[[Exists | Forall], Iterable[Formula]]
Expanded = Callable[[Formula], Formula]
Pair = tuple[int, int]


def written_links(bound: Bound, column: Column, instances: Instances, expanded: Expanded) -> list[Pair]:
    """Pairs of columns, from and to, that a bound links as it is written, none twice.

    ``column`` gives an open atom's column or another leaf's truth value; ``instances`` the body of a
    quantifier for each choice of constants; ``expanded`` a formula with its quantifiers written out.
    """
    if bound.given is None:
        return []
    event, given = (
        dict.fromkeys(_columns(part, column, instances, expanded)) for part in (bound.event, bound.given)
    )
    return _pairs(event, given, bound.independent)


def kept_links(event: Shape, given: Shape | None, independent: bool) -> list[Pair]:
    """Pairs of columns, from and to, that a sentence of these shapes links."""
    if given is None:
        return []
    return _pairs(dict.fromkeys(columns_of(event)), dict.fromkeys(columns_of(given)), independent)


def _pairs(event: Iterable[int], given: Iterable[int], independent: bool) -> list[Pair]:
    sources = dict.fromkeys((*given, *(() if independent else event)))
    return [(source, target) for source in sources for target in event if source != target]


def _columns(formula: Formula, column: Column, instances: Instances, expanded: Expanded) -> Iterator[int]:
    if isinstance(formula, Exists | Forall):
        neutral = FALSE if isinstance(formula, Exists) else TRUE
        parts = [part for part in instances(formula) if shape_of(expanded(part), column) != neutral]
    elif isinstance(formula, Leaf):
        shape = column(formula)
        if not isinstance(shape, tuple):
            yield shape
        return
    else:
        parts = list(children(formula))
    for part in parts:
        yield from _columns(part, column, instances, expanded)


KNOWN_FALSE, KNOWN_TRUE = -2, -1


def leaf_shape(value: np.integer) -> Shape:
    """The shape of a leaf from its atom's number, or from its known truth value."""
    return int(value) if value >= 0 else constant(value == KNOWN_TRUE)


def patterns_of(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Group rows in which the same leaves are fixed and the same leaves are one atom: pattern and rows.

    A pattern has, for each leaf, its truth value where that is fixed, else the first leaf of the same atom.
    """
    if len(values) == 1:  # a ground statement: one of many, whose single row needs no sorting
        first_of = {value: column for column, value in reversed([*enumerate(values[0].tolist())])}
        pattern = [value if value < 0 else first_of[value] for value in values[0].tolist()]
        yield np.array(pattern, np.int64), np.zeros(1, np.int64)
        return
    columns = np.arange(values.shape[1])
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    first = np.where(np.diff(ordered, axis=1, prepend=-3) != 0, columns, 0)  # start of each run of one atom
    patterns = np.empty_like(values)
    runs = np.maximum.accumulate(first, axis=1)
    np.put_along_axis(patterns, order, np.take_along_axis(order, runs, axis=1), axis=1)
    yield from equal_rows(np.where(values >= 0, patterns, values))
