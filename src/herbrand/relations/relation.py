"""The interface of relations, wherever their rows are: the operations over which algorithms are written.

:class:`Relation` checks names and kinds and defines the operations; :class:`~.memory.Memory` and
:class:`~.stored.Stored` carry them out. Rows have no order, and equal rows may occur more than once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from herbrand.errors import HerbrandError
from herbrand.relations.expression import Array, Expression, Given, Kinds, column, kind_of, literal
from herbrand.relations.fold import Fold, count


class Relation(ABC):
    """A bag of rows with named columns. ``kinds``: kind of each column, in the order of the columns."""

    kinds: Kinds

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def join(self, other: Self, on: Sequence[str] = ()) -> Self:
        """A row for each pair of rows with equal columns ``on``; for every pair if ``on`` is empty.

        Other columns need different names in the two.
        """
        self._check_join(other, on)
        return self._joined(other, tuple(on), None)

    def left_join(self, other: Self, on: Sequence[str], **otherwise: Any) -> Self:
        """:meth:`join`, and each row without a match once, with ``otherwise`` in the other's columns."""
        self._check_join(other, on)
        added = {name: kind for name, kind in other.kinds.items() if name not in on}
        if set(otherwise) != set(added):
            raise HerbrandError(
                f"a left join that adds {', '.join(added)} needs a value for each, not for "
                f"{', '.join(otherwise) or 'none'}"
            )
        values = {name: _of_kind(name, otherwise[name], kind) for name, kind in added.items()}
        return self._joined(other, tuple(on), values)

    def matching(self, other: Self, on: Sequence[str]) -> Self:
        """The rows that equal some row of the other in the columns ``on``."""
        return self._filtered(other, self._check_keys(other, on), True)

    def without(self, other: Self, on: Sequence[str]) -> Self:
        """The rows that equal no row of the other in the columns ``on``."""
        return self._filtered(other, self._check_keys(other, on), False)

    def group(self, by: Sequence[str] = (), **folds: Fold) -> Self:
        """A row for each distinct value of the columns ``by``, with its folds; no rows have no group."""
        self._check_columns(by)
        _refuse_both(by, folds)
        return self._grouped(tuple(by), folds)

    def let(self, **columns: Given) -> Self:
        """Add these columns, replacing those of the same name; all expressions read the old columns."""
        return self._computed({**{name: column(name) for name in self.columns}, **_lifted(columns)})

    def select(self, **columns: Given) -> Self:
        """Only these columns, computed from the old ones."""
        return self._computed(_lifted(columns))

    def only(self, *columns: str) -> Self:
        """Only these of its columns."""
        self._check_columns(columns)
        return self._computed({name: column(name) for name in columns})

    def renamed(self, **names: str) -> Self:
        """Rename columns: ``new="old"``."""
        self._check_columns(list(names.values()))
        new = {old: name for name, old in names.items()}
        kept = [new.get(name, name) for name in self.columns]
        if len(set(kept)) < len(kept):
            raise HerbrandError(f"two columns would both be called {_twice(kept)}")
        return self._computed({new.get(name, name): column(name) for name in self.columns})

    def where(self, condition: Given) -> Self:
        """The rows in which the condition is true."""
        test = literal(condition)
        if kind_of(test, self.kinds) != "bool":
            raise HerbrandError("a condition is true or false, and this is another kind of value")
        return self._selected(test)

    def stack(self, *others: Self) -> Self:
        """The rows of all relations; their columns have the same names and kinds, in any order."""
        for other in others:
            if dict(other.kinds) != dict(self.kinds):
                raise HerbrandError(
                    f"rows of {_shown(other.kinds)} do not go below rows of {_shown(self.kinds)}"
                )
        return self._stacked(others) if others else self

    def distinct(self) -> Self:
        """Each distinct row once."""
        return self._grouped(self.columns, {})

    def count(self) -> int:
        """Number of rows."""
        return int(self.scalar(count()))

    def scalar(self, fold: Fold) -> Any:
        """Fold of all rows. Of no rows it is the fold's identity, None for whole numbers and
        texts without one."""
        folded = self._grouped((), {"folded": fold}).rows()
        return folded[0][0] if folded else fold.identity(self.kinds)

    def rows(self) -> list[tuple[Any, ...]]:
        """Rows as Python's own values, sorted."""
        arrays = self.arrays()
        if not arrays:
            return [()] * self.count()
        return sorted(zip(*(values.tolist() for values in arrays.values()), strict=True))

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Columns as arrays in memory, with rows in the same order in all."""

    @abstractmethod
    def kept(self) -> Self:
        """The same rows, computed once and held, for relations that are read more than once."""

    @abstractmethod
    def _joined(self, other: Any, on: tuple[str, ...], otherwise: Mapping[str, Any] | None) -> Self: ...

    @abstractmethod
    def _filtered(self, other: Any, on: tuple[str, ...], present: bool) -> Self: ...

    @abstractmethod
    def _grouped(self, by: tuple[str, ...], folds: Mapping[str, Fold]) -> Self: ...

    @abstractmethod
    def _computed(self, columns: Mapping[str, Expression]) -> Self: ...

    @abstractmethod
    def _selected(self, condition: Expression) -> Self: ...

    @abstractmethod
    def _stacked(self, others: Sequence[Any]) -> Self: ...

    def _check_columns(self, names: Sequence[str]) -> None:
        known = self.columns
        for name in names:
            if name not in known:
                raise HerbrandError(f"there is no column '{name}', only {', '.join(known) or 'none'}")
        if len(set(names)) < len(names):
            raise HerbrandError(f"a column is named twice: {_twice(names)}")

    def _check_keys(self, other: Relation, on: Sequence[str]) -> tuple[str, ...]:
        self._check_columns(on)
        other._check_columns(on)
        for name in on:
            if self.kinds[name] != other.kinds[name]:
                raise HerbrandError(
                    f"'{name}' of kind {self.kinds[name]} never equals one of kind {other.kinds[name]}"
                )
        return tuple(on)

    def _check_join(self, other: Relation, on: Sequence[str]) -> None:
        self._check_keys(other, on)
        mine = self.columns
        both = [name for name in other.columns if name in mine and name not in on]
        if both:
            raise HerbrandError(
                f"both relations have a column '{both[0]}', which is not joined on", hint="rename one of them"
            )


@lru_cache(maxsize=1024)
def checked_name(name: str) -> str:
    """The name of a column; raises for upper case, which databases do not distinguish, and other signs."""
    if not name.isidentifier() or name != name.lower() or not name.isascii():
        raise HerbrandError(f"'{name}' is no name of a column", hint="use lower case letters, digits and _")
    return name


def _lifted(columns: Mapping[str, Given]) -> dict[str, Expression]:
    return {checked_name(name): literal(value) for name, value in columns.items()}


def _of_kind(name: str, value: Any, kind: str) -> Any:
    """The value as one of ``kind``, whole numbers among floats as floats; raises for another kind."""
    own_kind = kind_of(literal(value), {})
    if own_kind == "int" and kind == "float":
        return float(value)
    if own_kind != kind:
        raise HerbrandError(f"{value!r} is no value of the column '{name}', which is of kind {kind}")
    return value.item() if isinstance(value, np.generic) else value


def _refuse_both(by: Sequence[str], folds: Mapping[str, Fold]) -> None:
    for name in folds:
        checked_name(name)
    both = set(by) & set(folds)
    if both:
        raise HerbrandError(f"'{min(both)}' is both a column of groups and a fold")


def _twice(names: Sequence[str]) -> str:
    return next(name for name in names if list(names).count(name) > 1)


def _shown(kinds: Kinds) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) or "no columns"
