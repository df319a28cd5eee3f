"""Claims about one predicate that cannot stand together, each with the two places that make them.

>>> from herbrand.facts.predicate_claims import claimed_of
>>> from herbrand.language.signature import Predicate
>>> nothing = np.empty(0, np.int64)
>>> true_and_false(claimed_of(Predicate("alarm"), [], []), nothing, nothing)
[]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from herbrand.errors import Mistake
from herbrand.facts.column import Index
from herbrand.facts.facts import Numbers
from herbrand.facts.place import Place, rows_at_fault, shown
from herbrand.facts.predicate_claims import FALSE, SOFT, TRUE, Claimed
from herbrand.facts.table_claims import Truths
from herbrand.row_keys import Keys


def _conflict(atom: str, one: tuple[Place, str], other: tuple[Place, str]) -> Mistake:
    return other[0].mistake(f"{atom} {other[1]}, but {one[0]} says that it {one[1]}")


def true_and_false(claimed: Claimed, true: Keys, false: Keys) -> list[Mistake]:
    """Atoms that one row says are true and another says are false."""
    both = np.intersect1d(true, false, assume_unique=True) if len(false) else false
    many = claimed.predicate.value_type is not None

    def tell() -> Iterator[Mistake]:
        for position, row in enumerate(claimed.rows(both)):
            key = both[position : position + 1]
            value = claimed.value(row) if many else "true"
            denied = f"is not {value}" if many else "is false"
            one, other = claimed.place(key, TRUE), claimed.place(key, FALSE)
            yield _conflict(claimed.atom(row), (one, f"is {value}"), (other, denied))

    return rows_at_fault(claimed.predicate.name, len(both), tell())


def two_values(claimed: Claimed, true: Keys) -> list[Mistake]:
    """Many-valued atoms that are said to have two values."""
    if claimed.predicate.value_type is None or len(true) < 2:
        return []
    rows = claimed.rows(true)
    again = np.flatnonzero(_same_atom(rows))

    def tell() -> Iterator[Mistake]:
        for position in again:
            one, other = rows[position], rows[position + 1]
            first = claimed.place(true[position : position + 1], TRUE), f"is {claimed.value(one)}"
            second = claimed.place(true[position + 1 : position + 2], TRUE), f"is {claimed.value(other)}"
            yield _conflict(claimed.atom(one), first, second)

    return rows_at_fault(claimed.predicate.name, len(again), tell())


def _same_atom(rows: Index) -> Truths:
    """Whether each row is about the atom of the next one, their values aside."""
    same = np.ones(len(rows) - 1, bool)
    for column in rows.T[:-1]:
        same &= column[1:] == column[:-1]
    return same


def no_value(claimed: Claimed, false: Keys) -> list[Mistake]:
    """Many-valued atoms of which every value is said to be false."""
    if claimed.predicate.value_type is None or not len(false):
        return []
    rows, values = claimed.rows(false), len(claimed.domains[-1])
    starts = np.flatnonzero(np.append(True, ~_same_atom(rows)))
    excluded = starts[np.diff(np.append(starts, len(rows))) == values]

    def tell() -> Iterator[Mistake]:
        for start in excluded:
            place = claimed.place(false[start + values - 1 : start + values], FALSE)
            yield place.mistake(f"every value of {claimed.atom(rows[start])} is excluded; it must have one")

    return rows_at_fault(claimed.predicate.name, len(excluded), tell())


def two_weights(claimed: Claimed, keys: Keys, weights: Numbers) -> list[Mistake]:
    """Atoms with two weights."""
    again = np.flatnonzero(keys[1:] == keys[:-1])

    def tell() -> Iterator[Mistake]:
        for position in again:
            key, (one, other) = keys[position : position + 1], weights[position : position + 2]
            row = claimed.rows(key)[0]
            first = claimed.place(key, TRUE, one), f"has the weight {shown(float(one))}"
            second = claimed.place(key, TRUE, other), f"has the weight {shown(float(other))}"
            yield _conflict(_with_value(claimed, row), first, second)

    return rows_at_fault(claimed.predicate.name, len(again), tell())


def _with_value(claimed: Claimed, row: Index) -> str:
    atom = claimed.atom(row)
    return atom if claimed.predicate.value_type is None else f"{atom} = {claimed.value(row)}"


def soft_in_closed(claimed: Claimed, soft: Keys) -> Mistake:
    """Soft evidence where everything is known."""
    predicate = claimed.predicate
    hint = f"say open=['{predicate.name}'] (--open {predicate.name})"
    if predicate.role is not None:
        hint = f"declare `predicate {predicate}` without `: {predicate.role}`"
    return claimed.place(soft[:1], SOFT).mistake(
        f"'{predicate.name}' is closed (what is not listed is false), so it takes no soft evidence", hint
    )
