"""Conversion of a theory's question marks into learned weights, and of its weights into question marks.

``?[w]`` becomes one statement for each value of ``w`` with a weight; weights of 0 have no effect and get no
statement.

>>> import herbrand as hb
>>> theory = hb.parse('?: p(x) => q(x)\\n?[w]: has(d, w) => q(d)')
>>> print(hb.show(with_weights(theory, {(0, ()): 0.5, (1, ("cat",)): -1.0, (1, ("dog",)): 0.0})), end="")
0.5: p(x) => q(x)
-1.0: has(d, "cat") => q(d)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from herbrand.language.formulas import Constant, Value
from herbrand.language.names import shown_constant
from herbrand.language.scope import conditions_with, with_terms
from herbrand.language.syntax import Hard, Learned, Statement, WeightedFormula
from herbrand.language.theory import Theory

Key = tuple[int, tuple[Value, ...]]
"""Number of a weight in a program, and the constants for which it was learned."""


def with_weights(theory: Theory, weights: Mapping[Key, float]) -> Theory:
    """The theory with a number in place of every ``?``; weights that are not given are 0."""
    return Theory(tuple(_written(theory, weights)))


def relearned(theory: Theory) -> tuple[Theory, dict[Key, float]]:
    """The theory with a ``?`` in place of every number, and the numbers as weights to start from."""
    starts: dict[Key, float] = {}
    statements: list[Statement] = []
    number = -1
    for statement in theory.statements:
        if isinstance(statement, WeightedFormula) and not isinstance(statement.weight, Hard):
            number += 1
            if isinstance(statement.weight, float | int):
                starts[number, ()] = float(statement.weight)
                statement = replace(statement, weight=Learned())
        statements.append(statement)
    return replace(theory, statements=tuple(statements)), starts


def weight_statements(theory: Theory) -> list[WeightedFormula]:
    """The statements in the order in which a program numbers their weights."""
    return [statement for statement in theory.formulas if not isinstance(statement.weight, Hard)]


def _written(theory: Theory, weights: Mapping[Key, float]) -> Iterator[Statement]:
    by_weight: dict[int, dict[tuple[Value, ...], float]] = {}
    for (number, constants), weight in weights.items():
        by_weight.setdefault(number, {})[constants] = weight
    number = -1
    for statement in theory.statements:
        if not isinstance(statement, WeightedFormula) or isinstance(statement.weight, Hard):
            yield statement
            continue
        number += 1
        if not isinstance(statement.weight, Learned):
            yield statement
        elif not statement.weight.by:
            yield replace(statement, weight=float(by_weight.get(number, {}).get((), 0.0)))
        else:
            for constants, weight in by_weight.get(number, {}).items():
                if weight:
                    yield from _instance(statement, statement.weight, constants, float(weight))


def _instance(
    statement: WeightedFormula, learned: Learned, constants: tuple[Value, ...], weight: float
) -> Iterator[WeightedFormula]:
    """Yield the statement for these constants, unless its conditions exclude them."""
    values = {v.name: Constant(c) for v, c in zip(learned.by, constants, strict=True)}
    where = conditions_with(statement.where, values)
    if where is not None:
        label = statement.label and f"{statement.label} {', '.join(map(shown_constant, constants))}"
        formula, times = with_terms(statement.formula, values), statement.times
        if times is not None and times.name in values:
            weight, times = weight * cast(float, values[times.name].value), None
        yield replace(statement, weight=weight, formula=formula, where=where, label=label, times=times)
