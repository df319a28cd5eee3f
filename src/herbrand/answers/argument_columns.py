"""Arrow columns of the arguments of atoms: one for each argument, null where an atom has fewer.

A column of whole numbers, or of numbers, keeps its type; one that mixes them with text is text. The type
depends on all constants of the answer, so that a part of its rows has the same types as the whole.

>>> kinds = argument_kinds([[("anna", "bob"), (1, 2)], [("carl",)]])
>>> columns = argument_columns([("anna", 1), ("carl",)], kinds)
>>> {name: column.to_pylist() for name, column in columns.items()}
{'argument_1': ['anna', 'carl'], 'argument_2': [1, None]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from herbrand.facts.column import Constants, number_array
from herbrand.language.names import simplest
from herbrand.language.syntax import Value


def argument_kinds(tables: Sequence[Sequence[Sequence[Value]]]) -> list[pa.DataType]:
    """Type of each argument, from the columns of constants of all tables."""
    widest = max(map(len, tables), default=0)
    return [
        kind_of(chain.from_iterable(_distinct(columns[place]) for columns in tables if place < len(columns)))
        for place in range(widest)
    ]


def _distinct(column: Sequence[Value]) -> Sequence[Value]:
    return column.distinct() if isinstance(column, Constants) else column


def column_array(column: Sequence[Value], kind: pa.DataType) -> pa.Array:
    """Arrow array of a column of constants; repeated constants are converted once where that is faster."""
    if not isinstance(column, Constants) or column.indices is None:
        return constant_array(column, kind)
    distinct = column.distinct()
    number = np.zeros(len(column.values), np.int64)
    number[distinct.indices] = np.arange(len(distinct))
    return constant_array(distinct, kind).take(number_array(number[column.indices]))


def argument_columns(rows: Sequence[Sequence[Value]], kinds: Sequence[pa.DataType]) -> dict[str, pa.Array]:
    """A column for each argument."""
    return {
        f"argument_{place + 1}": constant_array(
            [row[place] if place < len(row) else None for row in rows], kind
        )
        for place, kind in enumerate(kinds)
    }


NAME = r"(?:[^\W\d]\w*|`[^`]*`)"
CONSTANT = r'(?:"(?:[^"\\]|\\.)*"|-?\d[^\s,()]*)'
GROUND_ATOM = re.compile(
    rf"({NAME})(?:\(({CONSTANT}(?:, {CONSTANT})*)\))?(?: = ({CONSTANT}))?(?: \| .*)?", re.DOTALL
)
NO_ATOMS = {"true", "false"}


def atom_columns(queries: Sequence[str]) -> dict[str, pa.Array]:
    """Columns predicate, argument_1 and so on, and value if one has it, of the queried atoms.

    A query is the printed text inside ``P( )``, with its atom left of the bar; all cells are null for a query
    of another formula.

    >>> columns = atom_columns(['ill("anna", 2) | old("anna")', "ill or old"])
    >>> {name: column.to_pylist() for name, column in columns.items()}
    {'predicate': ['ill', None], 'argument_1': ['anna', None], 'argument_2': [2, None]}
    """
    atoms = [_ground_atom(query) for query in queries]
    names = [name for name, _, _ in atoms]
    arguments = [row for _, row, _ in atoms]
    widest = max(map(len, arguments), default=0)
    kinds = [kind_of(row[place] for row in arguments if place < len(row)) for place in range(widest)]
    values = [value for _, _, value in atoms]
    has_values = any(value is not None for value in values)
    return {
        "predicate": pa.array(names, pa.string()),
        **argument_columns(arguments, kinds),
        **({"value": constant_array(values, kind_of(values))} if has_values else {}),
    }


def _ground_atom(query: str) -> tuple[str | None, list[Value], Value | None]:
    """Predicate, arguments and value of a query of one ground atom, whose constants are printed as JSON."""
    match = GROUND_ATOM.fullmatch(query)
    if match is None or match[1] in NO_ATOMS:
        return None, [], None
    name, arguments, value = match.groups()
    return name.strip("`"), json.loads(f"[{arguments or ''}]"), None if value is None else json.loads(value)


def kind_of(constants: Iterable[Value | None]) -> pa.DataType:
    kinds, large = set(), False
    for constant in constants:
        if constant is not None:
            kinds.add(type(constant))
            large |= isinstance(constant, int) and not -(2**63) <= constant < 2**63
    if kinds and kinds <= {int, float}:
        return pa.int64() if kinds == {int} and not large else pa.float64()
    return pa.string()


def constant_text(constant: Value) -> str:
    """Text of a constant in a column of text; numbers as Arrow writes them to CSV.

    >>> constant_text("1e-07"), constant_text(1e-07), constant_text(2.0)
    ('1e-07', '1e-7', '2')
    """
    number = constant if isinstance(constant, str) else simplest(constant)
    return pa.scalar(number).cast(pa.string()).as_py() if isinstance(number, float) else str(number)


def constant_array(constants: Sequence[Value | None], kind: pa.DataType) -> pa.Array:
    """Arrow array of constants, of the type ``kind``."""
    make = constant_text if kind == pa.string() else float if kind == pa.float64() else int
    return pa.array([None if c is None else make(c) for c in constants], kind)
