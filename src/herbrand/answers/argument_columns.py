"""The arguments of atoms as columns for programs: one column an argument, empty where an atom has fewer.

A column of whole numbers or of numbers alone keeps its type; one that mixes them with text is text. The type
is that of all constants that may stand there, so that some rows of an answer have the columns of all.

>>> kinds = argument_kinds([[("anna", "bob"), (1, 2)], [("carl",)]])
>>> columns = argument_columns([("anna", 1), ("carl",)], kinds)
>>> {name: column.to_pylist() for name, column in columns.items()}
{'argument_1': ['anna', 'carl'], 'argument_2': [1, None]}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import pyarrow as pa

from herbrand.language.syntax import Value


def argument_kinds(tables: Sequence[Sequence[Sequence[Value]]]) -> list[pa.DataType]:
    """The type of each place, from the columns of constants of all tables."""
    widest = max(map(len, tables), default=0)
    return [
        kind_of(chain.from_iterable(columns[place] for columns in tables if place < len(columns)))
        for place in range(widest)
    ]


def argument_columns(rows: Sequence[Sequence[Value]], kinds: Sequence[pa.DataType]) -> dict[str, pa.Array]:
    """A column for each place."""
    return {
        f"argument_{place + 1}": constant_array(
            [row[place] if place < len(row) else None for row in rows], kind
        )
        for place, kind in enumerate(kinds)
    }


def kind_of(constants: Iterable[Value | None]) -> pa.DataType:
    kinds, large = set(), False
    for constant in constants:
        if constant is not None:
            kinds.add(type(constant))
            large |= isinstance(constant, int) and not -(2**63) <= constant < 2**63
    if kinds and kinds <= {int, float}:
        return pa.int64() if kinds == {int} and not large else pa.float64()
    return pa.string()


def constant_array(constants: Sequence[Value | None], kind: pa.DataType) -> pa.Array:
    """Constants as one Arrow array of a type that holds them."""
    make = str if kind == pa.string() else float if kind == pa.float64() else int
    return pa.array([None if c is None else make(c) for c in constants], kind)
