"""The constants of one type and their indices; the only module that maps constants to numbers.

A closed type keeps its declared order; an open one is sorted, text by code point and numbers ascending.
Made by :func:`herbrand.facts.load.load_facts`, or directly:

>>> person = Domain.of("person", ["bob", "anna"])
>>> len(person), person.index_of("bob"), person.value(0), person.index_of("carl")
(2, 1, 'anna', None)
>>> Domain.of("level", ["senior", "junior"], declared=True).indices_of(["junior", "boss"]).tolist()
[1, -1]
>>> print(absence("ana", person))
"ana" is no constant of type person
  did you mean 'anna'?
>>> indices_in(person, ["bob", "anna"]).tolist()
[1, 0]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.errors import LanguageError, Mistake, Span, nearest
from herbrand.extras import pc
from herbrand.facts.column import (
    ABSENT,
    SMALL,
    TEXT,
    Constants,
    Index,
    canonical,
    filled,
    number_array,
    simplest_numbers,
    text_array,
)
from herbrand.language.names import shown_constant
from herbrand.language.signature import Kind
from herbrand.language.syntax import Value
from herbrand.row_keys import places_among

FEW = 1000
"""Up to this many constants are looked up one by one; more are looked up together by hashing."""
MOST_HASHED = 100_000
"""Largest number of constants for which a lookup table is kept, after many single lookups."""


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """The constants of a type. ``values``: distinct constants, an Arrow array of large strings, int64 or
    float64.

    ``ordered``: whether they ascend, as those of an open type do, so that constants are found by bisection.
    """

    name: str
    values: pa.Array
    ordered: bool = True

    @classmethod
    def of(cls, name: str, constants: Iterable[Value], *, declared: bool = False) -> Domain:
        """Make a domain of Python constants, all text or all numbers; ``declared``: keep their order."""
        if isinstance(constants, range):
            assert constants.step == 1, "whole numbers in a row"
            return cls(name, number_array(np.arange(len(constants), dtype=np.int64) + constants.start))
        array = array_of(list(dict.fromkeys(constants)))
        return cls(name, array, False) if declared else cls.merged(name, [array])

    @classmethod
    def merged(cls, name: str, parts: Sequence[pa.Array]) -> Domain:
        """Domain of an open type: all constants of ``parts`` (of one kind), sorted."""
        if not parts:
            return cls(name, pa.nulls(0, TEXT))
        every = parts[0] if len(parts) == 1 else pa.concat_arrays(one_number_type(parts))
        if _ascending(every):
            return cls(name, every)
        if len(every) <= SMALL and not pa.types.is_floating(every.type):
            return cls(name, array_of(sorted(set(every.to_pylist()))))
        distinct = pc.unique(every)
        return cls(name, distinct.take(pc.array_sort_indices(distinct)))

    @cached_property
    def kind(self) -> Kind:
        return "text" if pa.types.is_large_string(self.values.type) else "number"

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return map(canonical, self.values.to_pylist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.name == other.name and self.values.equals(other.values)

    def __hash__(self) -> int:
        return hash((self.name, len(self)))

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {len(self):,} {self.kind}{'' if len(self) == 1 else 's'})"

    def value(self, index: int) -> Value:
        """Constant at an index; whole numbers as ``int``."""
        if not 0 <= index < len(self):
            raise IndexError(f"{self.name} has {len(self)} constants, none at {index}")
        return canonical(self.values[int(index)].as_py())

    def at(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> Constants:
        """Constants at these indices, as a column."""
        return Constants(self.values, np.asarray(indices, np.int64))

    def values_at(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> list[Value]:
        return list(self.at(indices))

    def index_of(self, value: Value) -> int | None:
        """Index of a constant; ``None`` if the type does not have it."""
        if isinstance(value, str) != (self.kind == "text"):
            return None
        if self._is_looked_up or self._is_worth_a_table():
            return self._positions.get(value)
        place = bisect_left(range(len(self)), value, key=lambda index: self.values[index].as_py())
        return place if place < len(self) and self.values[place].as_py() == value else None

    def index_by_table(self, value: Value) -> int | None:
        """The same by a table of all constants, for callers that look up most of them."""
        return self._positions.get(value)

    def indices_of(self, values: Sequence[Value] | pa.Array) -> Index:
        """Index of each constant; -1 for one that the type does not have."""
        if isinstance(values, pa.Array):
            return self._indices_of_array(values)
        if len(values) > FEW and len({isinstance(value, str) for value in values}) == 1:
            return self._indices_of_array(array_of(values))
        places = map(self.index_of, values)
        return np.array([ABSENT if index is None else index for index in places], np.int32)

    def _indices_of_array(self, values: pa.Array) -> Index:
        if pa.types.is_large_string(values.type) != (self.kind == "text"):
            return np.full(len(values), ABSENT, np.int32)
        if values is self.values:
            return np.arange(len(values), dtype=np.int32)
        if max(len(self), len(values)) <= SMALL and not values.null_count:
            return np.array([self._positions.get(value, ABSENT) for value in values.to_pylist()], np.int32)
        same = values if values.type == self.values.type else _as_other_number(values)
        if self.ordered and pa.types.is_int64(same.type) and not same.null_count:
            known, requested = (array.to_numpy() for array in (self.values, same))
            return places_among(known, requested).astype(np.int32)
        places = pc.index_in(same, value_set=self.values)
        return filled(places, ABSENT)

    @cached_property
    def _is_looked_up(self) -> bool:
        return not self.ordered or len(self) <= SMALL

    def _is_worth_a_table(self) -> bool:
        """Whether so many lookups were made by bisection that building a table would have cost no more."""
        self._bisections[0] += 1
        return self._bisections[0] > len(self) // 10 and len(self) <= MOST_HASHED

    @cached_property
    def _bisections(self) -> list[int]:
        """Number of bisections so far, in a list of one entry."""
        return [0]

    @cached_property
    def _positions(self) -> dict[Value, int]:
        return {value: index for index, value in enumerate(self.values.to_pylist())}


def _ascending(values: pa.Array) -> bool:
    """Whether the values ascend strictly, and so are distinct."""
    if len(values) <= SMALL:  # Python compares a few sooner than Arrow does, and texts in the same order
        return all(one < other for one, other in pairwise(values.to_pylist()))
    return bool(pc.all(pc.less(values[:-1], values[1:])).as_py())


def array_of(values: Sequence[Value]) -> pa.Array:
    """Arrow array of constants of one kind; raises ``OverflowError`` for a whole number beyond 64 bits."""
    if not values or isinstance(values[0], str):
        return text_array(cast(Sequence[str], values))
    if all(isinstance(value, int) for value in values):
        return number_array(np.array(values, np.int64))
    return simplest_numbers(pa.array(map(float, values), pa.float64()))


def arrays_of(values: Iterable[Value]) -> list[pa.Array]:
    """Arrays of the whole numbers, the floats and the texts among constants, so that no number is changed."""
    alike: dict[type, list[Value]] = {}
    for value in values:
        alike.setdefault(type(value), []).append(value)
    return list(map(array_of, alike.values()))


def one_number_type(parts: Sequence[pa.Array]) -> list[pa.Array]:
    """The arrays unchanged, or all as float64 if one of them is float64.

    Raises ``pyarrow.ArrowInvalid`` if that would change a whole number.
    """
    if len({part.type for part in parts}) <= 1:
        return list(parts)
    return [part if pa.types.is_floating(part.type) else _as_floats(part) for part in parts]


def _as_floats(whole: pa.Array) -> pa.Array:
    """Arrow itself refuses all whole numbers beyond 2^53, even those that a float represents exactly."""
    floats = _as_other_number(whole) if pa.types.is_int64(whole.type) else whole.cast(pa.float64())
    if floats.null_count:
        raise pa.ArrowInvalid("no float is this whole number")
    return floats


def _as_other_number(numbers: pa.Array) -> pa.Array:
    """Convert float64 to int64 or int64 to float64; null if the number is not representable."""
    plain = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        other = plain.astype(np.float64 if plain.dtype == np.int64 else np.int64)
        changed = (other.astype(plain.dtype) != plain) | (np.abs(plain) >= 2.0**63)
    return pa.array(other, mask=changed)


# Constants that their type does not have, reported with the nearest of those that it has


MOST_COMPARED = 100_000
"""Largest number of constants among which the most similar is searched; more would take seconds."""


def absence(value: Value, domain: Domain, span: Span | None = None) -> Mistake:
    """Mistake for a constant that the type does not have."""
    near = nearest(str(value), map(str, domain)) if len(domain) <= MOST_COMPARED else ""
    hint = near if len(domain) else f"type {domain.name} has no constants at all"
    return Mistake(f"{shown_constant(value)} is no constant of type {domain.name}", span, hint)


def indices_in(domain: Domain, values: Sequence[Value]) -> Index:
    """Index of each constant; raises ``LanguageError`` for the first one that the type does not have."""
    indices = domain.indices_of(values)
    absent = np.flatnonzero(indices == ABSENT)
    if len(absent):
        raise LanguageError([absence(values[int(absent[0])], domain)])
    return indices
