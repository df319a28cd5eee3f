"""Conversion of choices to whole network tables, and of the tables of a theory back to choices.

>>> table = NetworkTable(("rain", "wet"), (("y", "n"),) * 2, np.array([[0.9, 0.1], [0.0, 1.0]]), True)
>>> choices = tuple(statements_of(table))
>>> len(choices), network_tables(choices, {"rain": ("y", "n"), "wet": ("y", "n")}) == (table,)
(2, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, product
from typing import TypeGuard

import numpy as np

from herbrand.errors import LanguageError, UnsupportedError
from herbrand.graphs import strong_components
from herbrand.language.formulas import Constant, Value, ValueIs
from herbrand.language.network_statements import statements_of
from herbrand.language.network_tables import NetworkTable, refuse_wide
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice
from herbrand.language.theory import Theory

Labels = Mapping[str, tuple[Value, ...]]
"""The values of each many-valued predicate without arguments."""


def network_tables(choices: Iterable[Choice], labels: Labels) -> tuple[NetworkTable, ...]:
    """Conditional tables with the meaning of these choices.

    Every choice must be among the values of one variable, and each variable must have one choice for each
    combination of values of its parents. Raises UnsupportedError for any other choice, and LanguageError if a
    variable depends on itself.
    """
    grouped: dict[str, list[Choice]] = {}
    for choice in choices:
        grouped.setdefault(_child(choice, labels), []).append(choice)
    tables = tuple(_table(child, rows, labels) for child, rows in grouped.items())
    refuse_cycle(tables)
    return tables


def with_network_tables(theory: Theory, signature: Signature) -> Theory:
    """The theory with its choices as whole tables, if they are the rows of a Bayesian network.

    With rules, tables become choices instead: rules derive atoms from choices in each world.
    """
    if theory.rules:
        return with_rows_as_choices(theory)
    labels = argumentless(signature)
    if not theory.choices or not labels:
        return theory
    try:
        tables = network_tables(theory.choices, labels)
    except (LanguageError, UnsupportedError):
        return theory
    if {table.scope[-1] for table in tables} & {t.scope[-1] for t in theory.tables if t.conditional}:
        return theory
    return replace(theory, statements=(*(s for s in theory.statements if not isinstance(s, Choice)), *tables))


def with_rows_as_choices(theory: Theory) -> Theory:
    """The theory with a choice for each row of its conditional tables."""
    parts = (statements_of(s) if _is_conditional(s) else (s,) for s in theory.statements)
    return replace(theory, statements=tuple(chain.from_iterable(parts))) if theory.tables else theory


def _is_conditional(statement: object) -> TypeGuard[NetworkTable]:
    return isinstance(statement, NetworkTable) and statement.conditional


def argumentless(signature: Signature) -> Labels:
    """The declared values of each many-valued predicate without arguments; none if its type is open."""
    return {
        name: tuple(signature.types[known.value_type].values or ())
        for name, known in signature.predicates.items()
        if known.value_type is not None and not known.types
    }


def _child(choice: Choice, labels: Labels) -> str:
    names = dict.fromkeys(alternative.predicate for alternative in choice.alternatives)
    for alternative in choice.alternatives:
        head, number = alternative.head, alternative.probability
        if not isinstance(head, ValueIs) or head.atom.arguments or head.atom.predicate not in labels:
            raise _no_row(choice, "its heads are not values of a predicate without arguments")
        if not isinstance(number, int | float):
            raise _no_row(choice, "its probabilities are not all numbers")
    if len(names) > 1:
        raise _no_row(choice, "its heads are not values of one predicate")
    return next(iter(names))


def _table(child: str, rows: list[Choice], labels: Labels) -> NetworkTable:
    parents = [_condition(literal, rows[0]).atom.predicate for literal in rows[0].body]
    scope = (*parents, child)
    if len(set(scope)) < len(scope):
        raise _no_row(rows[0], "it names a variable twice")
    for name in parents:
        if name not in labels:
            raise _no_row(rows[0], f"'{name}' is not many-valued without arguments")
    refuse_wide(len(scope), rows[0].span)
    known = tuple(labels[name] for name in scope)
    for name, values in zip(scope, known, strict=True):
        if not values:
            raise _no_row(rows[0], f"the values of '{name}' are not declared, {name} in {{...}}")
    rows_by_place: dict[tuple[int, ...], np.ndarray] = {}
    for choice in rows:
        place = _place(choice, scope, known)
        if place in rows_by_place:  # a table cannot state two choices: both hold only where they agree
            raise _no_row(choice, f"'{child}' has another choice for the same case")
        rows_by_place[place] = _row(choice, known[-1])
    # Search lazily: there may be a few rows of a table with more cases than memory holds.
    every = product(*(range(len(values)) for values in known[:-1]))
    missing = next((place for place in every if place not in rows_by_place), None)
    if missing is not None:
        case = ", ".join(f"{n} = {k[i]}" for n, k, i in zip(parents, known, missing, strict=False))
        raise _no_row(rows[0], f"'{child}' has no choice for {case}")
    values = np.array([rows_by_place[place] for place in sorted(rows_by_place)]).reshape(*map(len, known))
    return NetworkTable(scope, tuple(tuple(map(str, k)) for k in known), values, True, rows[0].span)


def _place(choice: Choice, scope: tuple[str, ...], labels: tuple[tuple[Value, ...], ...]) -> tuple[int, ...]:
    body = {}
    for literal in choice.body:
        condition = _condition(literal, choice)
        body[condition.atom.predicate] = _constant(condition, choice)
    if len(body) < len(choice.body) or set(body) != set(scope[:-1]):
        raise _no_row(choice, "choices of one variable must have conditions on the same variables")
    return tuple(known.index(body[name]) for name, known in zip(scope[:-1], labels, strict=False))


def _row(choice: Choice, labels: tuple[Value, ...]) -> np.ndarray:
    row = np.zeros(len(labels))
    for alternative in choice.alternatives:
        assert isinstance(alternative.head, ValueIs) and isinstance(alternative.probability, int | float)
        row[labels.index(_constant(alternative.head, choice))] += alternative.probability
    if abs(row.sum() - 1) > 1e-9:  # allows for rounding errors of floats, not for decimals left out
        raise _no_row(choice, f"its probabilities add up to {row.sum():.12g}, not to 1")
    return row


def _condition(literal: object, choice: Choice) -> ValueIs:
    if not isinstance(literal, ValueIs) or literal.atom.arguments:
        raise _no_row(choice, "its conditions are not values of predicates without arguments")
    return literal


def _constant(literal: ValueIs, choice: Choice) -> Value:
    if not isinstance(literal.value, Constant):
        raise _no_row(choice, "it has a variable for a value")
    return literal.value.value


def _no_row(choice: Choice, why: str) -> UnsupportedError:
    hint = "a network has one choice of a value for each combination of its parents' values"
    return UnsupportedError(
        f"this choice is no row of a Bayesian network: {why}", span=choice.span, hint=hint
    )


def refuse_cycle(tables: Iterable[NetworkTable]) -> None:
    """Raise LanguageError if a variable depends on itself through conditional tables."""
    own = {table.scope[-1]: table for table in tables if table.conditional}
    parents = {name: [one for one in table.scope[:-1] if one in own] for name, table in own.items()}
    for circle in strong_components(parents):
        if len(circle) > 1 or circle[0] in parents[circle[0]]:
            members = set(circle)
            name = next(one for one in own if one in members)
            message = f"'{name}' depends on itself by way of its parents"
            raise LanguageError(message, span=own[name].span, hint="a Bayesian network has no cycle")
