"""Conversion of network tables to statements of the language.

A row of conditional probabilities becomes one choice among values, each cell of a potential one weighted
formula.

>>> table = NetworkTable(("rain", "wet"), (("y", "n"),) * 2, np.array([[0.9, 0.1], [0.0, 1.0]]), True)
>>> [[alternative.probability for alternative in choice.alternatives] for choice in statements_of(table)]
[[0.9, 0.1], [0.0, 1.0]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from herbrand.language.formulas import And, Atom, Constant, Formula, Not, Truth, Value, ValueIs
from herbrand.language.network_tables import NetworkTable
from herbrand.language.syntax import Alternative, Choice, Hard, WeightedFormula


def statements_of(table: NetworkTable) -> Iterator[Choice | WeightedFormula]:
    """Statements with the meaning of a table: choices if it is conditional, else weighted formulas."""
    return _choices(table) if table.conditional else _formulas(table)


def _choices(table: NetworkTable) -> Iterator[Choice]:
    *parents, child = table.scope
    *_, labels = table.labels
    heads = [_is(child, label) for label in labels]
    for place in np.ndindex(table.values.shape[:-1]):
        body = tuple(
            _is(name, known[i]) for name, known, i in zip(parents, table.labels[:-1], place, strict=True)
        )
        row = table.values[place].tolist()
        yield Choice(tuple(map(Alternative, row, heads)), body, span=table.span)


def _formulas(table: NetworkTable) -> Iterator[WeightedFormula]:
    """Yield a formula for each cell, with the logarithm of the entry as weight; hard for entries of 0.

    An entry of 1 has weight 0 and needs no formula.
    """
    for place, entry in np.ndenumerate(table.values):
        cell: list[Formula] = [
            _is(name, labels[i]) for name, labels, i in zip(table.scope, table.labels, place, strict=True)
        ]
        formula = And(tuple(cell)) if len(cell) > 1 else cell[0] if cell else Truth(True)
        if entry == 0:
            yield WeightedFormula(Hard(), Not(formula), span=table.span)
        elif entry != 1:
            yield WeightedFormula(math.log(entry), formula, span=table.span)


def _is(name: str, label: Value) -> ValueIs:
    return ValueIs(Atom(name), Constant(label))
