"""Columns of Python values as columns of constants, with the row of every value that is none.

>>> column, = python_columns([["bob", "anna", "bob"]], ["person"], lambda row: Place("friends", row + 1))
>>> column.codes.tolist()
[0, 1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.errors import FactsError, Mistake
from herbrand.facts.arrays import TEXT, text_array
from herbrand.facts.column import Column, constants, dictionary_column
from herbrand.facts.place import Place, mixed_mistake, rows_at_fault, shown

_CONSTANT = "a constant is text or a number"
_NUMBER_TYPES = frozenset({int, float})


def python_columns(
    columns: Sequence[list[Any]], types: Sequence[str], place: Callable[[int], Place]
) -> tuple[Column, ...]:
    arrays, mistakes = [], []
    for number, (column, type_name) in enumerate(zip(columns, types, strict=True), start=1):
        try:
            arrays.append(python_array(column))
        except (TypeError, ValueError, OverflowError):
            mistakes += wrong_constants(column, number, type_name, place)
    if mistakes:
        raise FactsError(mistakes)
    return tuple(map(dictionary_column, arrays))


def python_array(column: list[Any]) -> pa.Array:
    """One Arrow array of text or of numbers; raises where the column mixes them or holds anything else."""
    found = set(map(type, column))
    if found == {str}:
        return text_array(column)
    found.discard(type(None))
    if found <= {str}:
        return pa.array(column, TEXT)
    if found <= _NUMBER_TYPES:
        return pa.array(column)
    if found <= {Decimal} | _NUMBER_TYPES:
        return pa.array([None if value is None else float(value) for value in column])
    if found == {date} or found == {datetime}:
        return constants(pa.array(column))
    if not any(issubclass(kind, np.generic) for kind in found):
        raise TypeError("neither text nor numbers alone")
    return python_array([value.item() if isinstance(value, np.generic) else value for value in column])


def wrong_constants(
    column: list[Any], number: int, type_name: str, place: Callable[[int], Place]
) -> list[Mistake]:
    wrong = [(i, value) for i, value in enumerate(column) if not _is_constant(value)]
    if wrong:
        each = (
            place(i).mistake(f"column {number} holds {_described(value)}, which is no constant", _CONSTANT)
            for i, value in wrong
        )
        return rows_at_fault(place(wrong[0][0]).table, len(wrong), each)
    texts = [i for i, value in enumerate(column) if isinstance(value, str)]
    numbers = [i for i, value in enumerate(column) if value is not None and not isinstance(value, str)]
    if not texts:
        return _inexact(column, number, place)
    text, other = texts[0], numbers[0]
    return [mixed_mistake(type_name, (column[text], place(text)), (column[other], place(other)))]


def _inexact(column: Sequence[Any], number: int, place: Callable[[int], Place]) -> list[Mistake]:
    """Whole numbers that a float, which fractions beside them call for, would change."""
    wrong = [(i, value) for i, value in enumerate(column) if isinstance(value, int) and float(value) != value]
    each = (
        place(i).mistake(
            f"column {number} holds {shown(value)} beside fractions; "
            "whole numbers beyond 2^53 cannot be kept exactly with them"
        )
        for i, value in wrong
    )
    return rows_at_fault(place(wrong[0][0]).table, len(wrong), each)


def _is_constant(value: Any) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _described(value: Any) -> str:
    if isinstance(value, str):
        return "text that is not valid Unicode"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{shown(value)}, a whole number of more than 64 bits"
    return f"{shown(str(value))} ({type(value).__name__})"
