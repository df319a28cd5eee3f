"""All facts of a model: a domain for every type and a table of sorted rows of indices for every predicate.

Made by :func:`herbrand.facts.load.load_facts`; immutable. Atoms that are not listed are false in a closed
world and unknown in an open one.

>>> facts = Facts({"person": Domain.of("person", ["anna"])}, {"smokes": FactTable.empty(1, "open")})
>>> facts
Facts(1 constant of 1 type, 0 facts of 1 predicate)
>>> facts.domain("person").value(0), facts.table("smokes").world
('anna', 'open')
>>> table = FactTable.empty(2, "closed")
>>> table.true.shape, table.weights, table.world
((0, 2), None, 'closed')
>>> smokes = Predicate("smokes", ("person",), declared=True)
>>> Worlds().world(smokes, has_facts=True), Worlds(closed=("smokes",)).world(smokes, has_facts=True)
('open', 'closed')
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from herbrand.errors import FactsError, Mistake, counted, nearest
from herbrand.facts.column import Index
from herbrand.facts.domain import Domain
from herbrand.language.show import show_row
from herbrand.language.signature import Predicate
from herbrand.language.syntax import Value
from herbrand.quick_values import quickly_made
from herbrand.row_keys import zipped

T = TypeVar("T")
World = Literal["open", "closed"]
Numbers = npt.NDArray[np.float64]


@quickly_made
@dataclass(frozen=True, slots=True, eq=False)
class FactTable:
    """Rows of domain indices, sorted and unique; a many-valued predicate's last column is its value.

    The arrays are read-only and stored column by column, so that ``true[:, 0]`` is contiguous. ``log_odds``:
    sum of the opinions about each soft row; ``probabilities``: the single opinion of the same strength, which
    rounds to 1 where many confident opinions add up. ``weights``: ``None`` if no fact has one; 1 for a fact
    without a weight among others that have one.
    """

    true: Index  # [n, columns]
    false: Index  # [m, columns]
    soft: Index  # [s, columns]
    probabilities: Numbers  # [s]
    log_odds: Numbers  # [s]
    weights: Numbers | None  # [n]
    world: World

    def __post_init__(self) -> None:
        for array in (self.true, self.false, self.soft, self.probabilities, self.log_odds, self.weights):
            if array is not None:
                array.flags.writeable = False

    @staticmethod
    @cache
    def empty(columns: int, world: World) -> FactTable:
        """The table without facts; shared by all such predicates, of which there may be a million."""
        none = np.empty((0, columns), np.int32)
        return FactTable(none, none, none, np.empty(0), np.empty(0), None, world)

    @classmethod
    def listing(cls, true: Index, world: World) -> FactTable:
        """A table of true rows only."""
        none = cls.empty(true.shape[1], world)
        return cls(true, none.false, none.soft, none.probabilities, none.log_odds, None, world)

    @property
    def columns(self) -> int:
        return self.true.shape[1]

    @property
    def true_weights(self) -> Numbers:
        """Weight of each true row."""
        return np.ones(len(self.true)) if self.weights is None else self.weights

    @property
    def fact_count(self) -> int:
        """Number of true, false and soft rows."""
        return len(self.true) + len(self.false) + len(self.soft)

    def moved(self, types: Sequence[str], moved: Mapping[str, np.ndarray]) -> FactTable:
        """The table with the new indices of types whose constants were ``moved``."""
        places = [place for place, name in enumerate(types) if name in moved]
        if not places:
            return self

        def rows(before: np.ndarray) -> tuple[np.ndarray, np.ndarray | slice]:
            if not len(before):
                return before, slice(None)
            used = {place: moved[types[place]][: int(before[:, place].max()) + 1] for place in places}
            if all((indices == np.arange(len(indices))).all() for indices in used.values()):
                return before, slice(None)
            changed = before.copy(order="F")
            for place in places:
                changed[:, place] = used[place][before[:, place]]
            if all((np.diff(indices) > 0).all() for indices in used.values()):
                return changed, slice(None)
            order = np.lexsort(changed.T[::-1])
            return np.asfortranarray(changed[order]), order

        true, order = rows(self.true)
        false, _ = rows(self.false)
        soft, opinions = rows(self.soft)
        weights = None if self.weights is None else self.weights[order]
        return FactTable(
            true, false, soft, self.probabilities[opinions], self.log_odds[opinions], weights, self.world
        )

    def __repr__(self) -> str:
        return (
            f"FactTable({len(self.true):,} true, {len(self.false):,} false, "
            f"{len(self.soft):,} soft, {self.world})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """All facts of a model. ``notes``: assumptions made when the tables were read."""

    domains: Mapping[str, Domain]
    tables: Mapping[str, FactTable]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", MappingProxyType(dict(self.domains)))
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))

    def __reduce__(self) -> tuple[type[Facts], tuple[dict[str, Domain], dict[str, FactTable]]]:
        """Arguments for pickle, as read-only views of dictionaries cannot be pickled."""
        return Facts, (dict(self.domains), dict(self.tables))

    @property
    def digest(self) -> bytes:
        """Hash of the constants and the facts."""
        digest = hashlib.sha256(repr({n: list(d) for n, d in self.domains.items()}).encode())
        for name, table in self.tables.items():
            digest.update(
                repr((name, table.world, table.columns, len(table.true), len(table.false))).encode()
            )
            for rows in (table.true, table.false, table.soft, table.log_odds, table.weights):
                digest.update(b"" if rows is None else np.ascontiguousarray(rows).tobytes())
        return digest.digest()

    def domain(self, type_name: str) -> Domain:
        return _named(self.domains, type_name, "type")

    def table(self, predicate: str) -> FactTable:
        return _named(self.tables, predicate, "predicate")

    def opened(self, predicates: Iterable[str]) -> Facts:
        """The facts with an open world for these predicates: atoms that are not listed are unknown."""
        closed = [name for name in predicates if self.tables[name].world == "closed"]
        if not closed:
            return self
        opened = {name: replace(self.tables[name], world="open") for name in closed}
        return replace(self, tables={**self.tables, **opened})

    def constants(self, types: Iterable[str], row: Iterable[int]) -> tuple[Value, ...]:
        """Constants of a row of indices of these types."""
        return tuple(self.domains[name].value(int(index)) for name, index in zip(types, row, strict=True))

    def indices(self, types: Iterable[str], row: Iterable[Value]) -> tuple[int | None, ...]:
        """Indices of a row of constants of these types; ``None`` for one that its domain does not have."""
        return tuple(self.domains[name].index_of(value) for name, value in zip(types, row, strict=True))

    def atom_text(self, predicate: Predicate, row: Iterable[int]) -> str:
        """Printed text of the atom of a row, with its value if it is many-valued."""
        return show_row(predicate, self.constants(predicate.column_types, row))

    def rows(self, predicate: Predicate, indices: np.ndarray) -> Iterator[tuple[Value, ...]]:
        """Constants of the rows of a table."""
        names = predicate.column_types
        columns = [self.domain(name).values_at(indices[:, i]) for i, name in enumerate(names)]
        return iter(zipped(columns, len(indices)))

    def __repr__(self) -> str:
        constants = sum(map(len, self.domains.values()))
        facts = sum(table.fact_count for table in self.tables.values())
        return (
            f"Facts({counted(constants, 'constant')} of {counted(len(self.domains), 'type')}, "
            f"{counted(facts, 'fact')} of {counted(len(self.tables), 'predicate')})"
        )


def _named(known: Mapping[str, T], name: str, what: str) -> T:
    if name not in known:
        raise FactsError(f"there is no {what} '{name}'", hint=nearest(name, known))
    return known[name]


# What is not listed: false in a closed world, unknown in an open one


@dataclass(frozen=True)
class Worlds:
    """World assumptions of the predicates, from the theory and the call. ``open`` and ``closed`` override all
    others."""

    rule_heads: Collection[str] = ()
    queried: Collection[str] = ()
    open: Collection[str] = ()
    closed: Collection[str] = ()

    def world(self, predicate: Predicate, *, has_facts: bool) -> World:
        name = predicate.name
        if name in self.open:
            return "open"
        if name in self.closed or predicate.role is not None:
            return "closed"
        if predicate.declared and predicate.tells_world:
            return "open"
        listed = has_facts and name not in self.rule_heads and name not in self.queried
        return "closed" if listed else "open"

    def check(self, known: Iterable[str]) -> None:
        """Raise an error for an unknown predicate, or for one that is given as both open and closed."""
        known = set(known)
        mistakes = [
            Mistake(f"{option}: there is no predicate '{name}'", hint=nearest(name, known))
            for option, names in (("--open", self.open), ("--closed", self.closed))
            for name in names
            if name not in known
        ]
        mistakes += [
            Mistake(f"'{name}' is given as both open and closed") for name in self.open if name in self.closed
        ]
        if mistakes:
            raise FactsError(mistakes)


WORLDS = Worlds()
"""The world assumptions of the declarations alone."""
