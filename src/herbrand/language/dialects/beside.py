"""Declarations for a file of facts: which predicates are many-valued, and which columns hold numbers.

A format of facts states neither, and writes numbers in the same way as text.

>>> sizes = (TypeDeclaration("size", numeric=True), PredicateDeclaration("weighs", ("thing", "size")))
>>> DeclaredColumns(sizes).typed(FactRows("weighs", (("a",), ("2.50",)), 1)).row(0)
('a', 2.5)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from herbrand.language.formulas import Constant, Value
from herbrand.language.names import number_from
from herbrand.language.syntax import FactRows, PredicateDeclaration, TypeDeclaration

_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class DeclaredColumns:
    """Column kinds of declared predicates; ``many_valued``: predicates whose last column is a value;
    ``widths``: the number of columns of each predicate."""

    def __init__(self, declared: Iterable[PredicateDeclaration | TypeDeclaration]) -> None:
        declared = tuple(declared)
        predicates = [statement for statement in declared if isinstance(statement, PredicateDeclaration)]
        numeric = {
            statement.name
            for statement in declared
            if isinstance(statement, TypeDeclaration) and _is_numeric(statement)
        }
        self.many_valued = frozenset(
            statement.name for statement in predicates if statement.values is not None
        )
        self._are_numbers = {
            statement.name: _columns_of_numbers(statement, numeric) for statement in predicates
        }
        self.widths = {name: len(columns) for name, columns in self._are_numbers.items()}

    def typed(self, statement: FactRows | TypeDeclaration) -> FactRows | TypeDeclaration:
        """The rows with numbers in columns of numbers; other texts stay, for the checker to refuse."""
        if not isinstance(statement, FactRows):
            return statement
        are_numbers = self._are_numbers.get(statement.predicate, ())
        if not any(are_numbers) or len(are_numbers) != len(statement.columns):
            return statement
        columns = zip(statement.columns, are_numbers, strict=True)
        return replace(
            statement,
            columns=tuple(tuple(map(_number, column)) if are else column for column, are in columns),
        )


def _is_numeric(declared: TypeDeclaration) -> bool:
    return declared.numeric or declared.bounds is not None or _hold_numbers(declared.values or ())


def _hold_numbers(constants: tuple[Constant, ...]) -> bool:
    return bool(constants) and not isinstance(constants[0].value, str)


def _columns_of_numbers(declared: PredicateDeclaration, numeric: set[str]) -> tuple[bool, ...]:
    arguments = tuple(name in numeric for name in declared.types)
    match declared.values:
        case None:
            return arguments
        case str(name):
            return (*arguments, name in numeric)
        case constants:
            return (*arguments, _hold_numbers(constants))


def _number(value: Value) -> Value:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        with suppress(OverflowError):
            return number_from(value)
    return value
