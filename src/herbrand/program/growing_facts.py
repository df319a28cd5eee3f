"""Facts whose types get new constants while values are computed, appended to those that they have.

:class:`GrowingFacts` wraps any source of facts, in memory or in a database, and gives computed values their
indices. :func:`with_new_constants` moves facts in memory to types that are sorted again.

>>> import herbrand as hb
>>> from herbrand.budget import UNLIMITED
>>> from herbrand.program.derive import FactRelations
>>> model = hb.Model(hb.parse("type amount = number\\npredicate p(amount)\\np(3)\\np(5)"))
>>> signature = model.program.signature
>>> known = FactRelations(signature, model.program.facts, UNLIMITED)
>>> growing = GrowingFacts(known, signature, lambda rows: rows, UNLIMITED)
>>> values = Memory.of(v=[4, 5])
>>> growing.indexed(values, "v", "i", "amount", new=True).rows(), growing.size("amount")
([(4, 2), (5, 1)], 3)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.errors import UnsupportedError
from herbrand.facts.column import simplest_numbers, text_array
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.signature import Signature
from herbrand.program.clause_rows import Source
from herbrand.relations.exact_order import is_float
from herbrand.relations.expression import Expression, cast, column, either, every, magnitude
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation

EXACT = 2.0**53
"""Integers up to here are exact as floats."""
TOO_LARGE = 2.0**63
"""Floats below it in magnitude are within 64 bits if they are whole."""


@dataclass(frozen=True, eq=False)
class GrowingFacts:
    """A :class:`~herbrand.program.clause_rows.Source` over another; ``put`` moves rows in memory to where
    those of the source are. ``known``: constants of the types looked up so far, new ones included."""

    source: Source
    signature: Signature
    put: Callable[[Memory], Relation]
    budget: Budget
    known: dict[str, Relation] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def facts(self, predicate: str) -> Relation:
        return self.source.facts(predicate)

    def rows(self, predicate: str) -> int:
        return self.source.rows(predicate)

    def unit(self) -> Relation:
        return self.source.unit()

    def domain(self, type_name: str) -> Relation:
        return self.known[type_name].only("id") if self.grows(type_name) else self.source.domain(type_name)

    def numbers(self, type_name: str) -> Relation:
        if type_name not in self.known:
            self.known[type_name] = self.source.numbers(type_name)
        return self.known[type_name]

    def size(self, type_name: str) -> int:
        return self._sizes.get(type_name) or self.source.size(type_name)

    def grows(self, type_name: str) -> bool:
        """Whether a type has got new constants."""
        return type_name in self._sizes

    def made(self) -> int:
        """Total number of constants of the types that have got new ones."""
        return sum(self._sizes.values())

    def grown(self) -> dict[str, pa.Array]:
        """Constants, by index, of the types that have got new ones."""
        return {name: _as_array(self.numbers(name).arrays()["value"]) for name in self._sizes}

    def indexed(self, rows: Relation, values: str, index: str, type_name: str, new: bool) -> Relation:
        """Add the index of each value as a constant of this type; if ``new`` and the type is open, unknown
        values become constants, otherwise their rows are dropped."""
        known = self.numbers(type_name)
        new = new and self.signature.types[type_name].values is None
        rows, known = self._of_one_kind(rows, values, known, type_name, new)
        if new:
            values_alone = rows.select(value=column(values)).distinct()
            more = values_alone.without(known, ["value"]).arrays()["value"]
            if len(more):
                size = self.size(type_name)
                numbered = Memory.of(self.budget, id=np.arange(size, size + len(more)), value=more)
                known = known.stack(self.put(numbered)).kept()
                self._sizes[type_name] = size + len(more)
        self.known[type_name] = known
        return rows.join(known.renamed(**{values: "value", index: "id"}), [values])

    def _of_one_kind(
        self, rows: Relation, values: str, known: Relation, type_name: str, new: bool
    ) -> tuple[Relation, Relation]:
        """The values and a type's constants as integers if all of them are, else both as floats. Unless they
        become constants, the values that the type's numbers cannot be are left out."""
        own, theirs = rows.kinds[values], known.kinds["value"]
        # x - x is nan, not 0, for infinities and nan, in memory and in SQL alike.
        if own == "float" and rows.where(column(values) - column(values) != 0.0).count():
            raise UnsupportedError(f"a computed {type_name} is no finite number, as constants are")
        if own == theirs == "float":
            return rows, known
        if own == "float" and (theirs == "int" or not self.size(type_name)):
            numbers = column(values)
            if not rows.where(
                either(numbers != Expression("floor", (numbers,)), magnitude(numbers) > EXACT)
            ).count():
                own, rows = "int", rows.let(**{values: cast(numbers, "int")})
        if not self.size(type_name):
            return rows, rows.select(id=0, value=column(values)).where(column("id") > 0)
        if own == theirs:
            return rows, known
        if "text" in (own, theirs):
            raise UnsupportedError(f"type {type_name} would hold text and numbers")
        number = column(values)
        if theirs == "int" and not new:
            whole = rows.where(every(number == Expression("floor", (number,)), magnitude(number) < TOO_LARGE))
            return whole.let(**{values: cast(number, "int")}), known
        if theirs == "int":
            self._refuse_rounded(known.where(~is_float(column("value"))), type_name)
            return rows, known.let(value=cast(column("value"), "float"))
        if new:
            self._refuse_rounded(rows.where(~is_float(number)), type_name)
        return rows.where(is_float(number)).let(**{values: cast(number, "float")}), known

    def _refuse_rounded(self, rounded: Relation, type_name: str) -> None:
        if rounded.count():
            raise UnsupportedError(f"type {type_name} would hold fractions and whole numbers beyond 2^53")


def _as_array(values: np.ndarray) -> pa.Array:
    if values.dtype.kind == "T":
        return text_array(values.tolist())
    array = pa.array(values)
    return simplest_numbers(array) if values.dtype.kind == "f" else array


def with_new_constants(
    facts: Facts, signature: Signature, grown: Mapping[str, pa.Array], numbers: Mapping[str, np.ndarray]
) -> Facts:
    """Facts in memory over the extended types, each in sorted order. ``grown``: all constants of the types
    that have got new ones; ``numbers``: rows of the definitions."""
    domains, moved = dict(facts.domains), dict[str, np.ndarray]()
    for name, array in grown.items():
        domains[name] = Domain.merged(name, [array])
        moved[name] = domains[name].indices_of(array).astype(np.int64)
    tables = {
        name: table.moved(signature.predicates[name].column_types, moved)
        for name, table in facts.tables.items()
        if not signature.predicates[name].computed
    }
    for name, rows in numbers.items():
        tables[name] = FactTable.listing(rows, "closed").moved(signature.predicates[name].types, moved)
    return replace(facts, domains=domains, tables={**facts.tables, **tables})
