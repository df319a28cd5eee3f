"""Tuning of a clause's thresholds, such that they describe the examples in the fewest bits.

A search tries a few thresholds on each column of numbers. For a clause that enters a theory, all are tried:
an example is covered with ``n >= c`` if the largest ``n`` of its bindings is at least ``c``. Of the
thresholds that cover the same examples, the simplest number is taken.

>>> simplest(65, 62), simplest(31_217.18, 32_217.18), simplest(-0.2, 0.3), simplest(0.1234, 0.1301)
(63, 32000, 0, 0.13)
"""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import floor, log10

import numpy as np

from herbrand.induction.cover import Errors
from herbrand.induction.database import Database
from herbrand.induction.evaluation import ORIGIN, Clause, Condition, bindings, column_of
from herbrand.induction.examples import Examples
from herbrand.induction.order import LENGTH_OF_DATE, simplest_date
from herbrand.language.syntax import Value

ROUNDS = 2
"""Rounds in which each threshold of a clause is moved, where it has several."""


def moved(clause: Clause, examples: Examples, database: Database, beside: np.ndarray) -> Clause:
    """Move the thresholds of a clause such that it and the examples covered ``beside`` it give the fewest
    bits, among all thresholds that cover some example."""
    thresholds = [n for n, one in enumerate(clause.conditions) if _is_threshold(one)]
    for _ in range(ROUNDS if len(thresholds) > 1 else len(thresholds)):
        for place in thresholds:
            clause = _moved(clause, place, examples, database, beside)
    return clause


def _is_threshold(condition: Condition) -> bool:
    return condition.value is not None and condition.operator in (">=", "<=")


def _moved(clause: Clause, place: int, examples: Examples, database: Database, beside: np.ndarray) -> Clause:
    condition = clause.conditions[place]
    sign = 1.0 if condition.operator == ">=" else -1.0
    others = (*clause.conditions[:place], *clause.conditions[place + 1 :])
    bound = bindings(replace(clause, conditions=others), database, {condition.left}, examples.rows)
    best = np.full(len(examples.rows), -np.inf)
    np.maximum.at(best, bound[ORIGIN], sign * database.numbers[bound[column_of(condition.left)]])
    order = np.argsort(-best, kind="stable")
    order = order[np.isfinite(best[order]) & ~beside[order]]
    if not len(order):
        return clause
    # counts for each threshold: one more example is covered at a time, those with the largest numbers first
    right = np.cumsum(examples.positive[order])
    wrong = np.arange(1, len(order) + 1) - right
    ends = np.flatnonzero(np.append(np.diff(best[order]) != 0, True))
    saved = Errors.of(beside, examples.positive).saved(right[ends], wrong[ends])
    end = ends[int(np.argmax(saved))]
    inside = sign * float(best[order[end]])
    outside = sign * float(best[order[end + 1]]) if end + 1 < len(order) else None
    changed = replace(condition, value=_between(inside, outside, condition, database))
    return replace(clause, conditions=(*clause.conditions[:place], changed, *clause.conditions[place + 1 :]))


def _between(inside: float, outside: float | None, condition: Condition, database: Database) -> Value:
    """Simplest threshold, of the type of the condition's value; a time is one of the data."""
    if not isinstance(condition.value, str):
        return inside if outside is None else simplest(inside, outside)
    if outside is not None and len(condition.value) == LENGTH_OF_DATE:
        return simplest_date(inside, outside)
    return database.constants[int(np.flatnonzero(database.numbers == inside)[0])]


def simplest(inside: float, outside: float) -> int | float:
    """Number with the fewest digits from ``inside`` up to, but without, ``outside``; of several, the one
    nearest to the middle."""
    middle = (Decimal(inside) + Decimal(outside)) / 2
    power = floor(log10(abs(inside - outside))) + 1
    while True:
        step = Decimal(10) ** power
        near = [float((middle / step).quantize(0, way) * step) for way in (ROUND_FLOOR, ROUND_CEILING)]
        within = [n for n in near if n != outside and min(inside, outside) <= n <= max(inside, outside)]
        if within:
            nearest = min(within, key=lambda n: abs(Decimal(n) - middle))
            return int(nearest) if nearest == int(nearest) else nearest
        power -= 1
