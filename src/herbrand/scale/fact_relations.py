"""Facts in a database as relations for the evaluation of rules."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from herbrand.language.signature import Signature
from herbrand.program.bindings import WEIGHT, columns_of
from herbrand.program.clause_rows import ClauseRows
from herbrand.program.clauses import Clause
from herbrand.relations.expression import TYPES, Kind
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.facts import StoredFacts


@dataclass(frozen=True, eq=False)
class StoredFactRelations:
    """A :class:`~herbrand.program.clause_rows.Source`; if ``weighted``, facts have their weights, and soft
    ones their probabilities. ``evidence``: refuses a many-valued predicate with atoms whose value is
    unknown."""

    stored: StoredFacts
    signature: Signature
    scratch: Scratch
    weighted: bool = False
    evidence: StoredEvidence | None = None

    def facts(self, predicate: str) -> Stored:
        """True facts, and soft facts that other facts do not settle, weighted by their probability."""
        if self.evidence is not None and self.signature.predicates[predicate].value_type is not None:
            self.evidence.known(predicate)
        tables, names = self.stored.tables[predicate], self._columns(predicate)
        weights: dict[str, Kind] = {"w": "float"} if tables.weighted else {}
        true = self._rows(predicate, tables.true, **weights)
        rows = true.renamed(**{WEIGHT: "w"}) if tables.weighted else true.let(**{WEIGHT: 1.0})
        if tables.counts[2]:
            arguments = names[: self.signature.predicates[predicate].arity]  # a known value excludes others
            soft = self._rows(predicate, tables.soft, p="float").renamed(**{WEIGHT: "p"})
            rows = rows.stack(
                soft.without(true, arguments).without(self._rows(predicate, tables.false), names)
            )
        weighs = self.weighted and (tables.weighted or tables.counts[2])
        return rows if weighs else rows.only(*names)

    def rows(self, predicate: str) -> int:
        return sum(self.stored.tables[predicate].counts)

    def domain(self, type_name: str) -> Stored:
        return self.scratch.numbers("id", self.size(type_name))

    def numbers(self, type_name: str) -> Stored:
        """Constants by index: integers if all are, so that they keep all digits, else floats; or texts."""
        table, kind = self.stored.constants[type_name], self._kind(type_name)
        value = self.stored.database.dialect.phrase(f"CAST(value AS {TYPES[kind]})")
        query = f"SELECT CAST(id AS BIGINT) AS id, {value} AS value FROM {table}"
        return self.scratch.query(query, {"id": "int", "value": kind})

    def size(self, type_name: str) -> int:
        return len(self.stored.facts.domains[type_name])

    def unit(self) -> Stored:
        return self.scratch.numbers("one", 1).only()

    def false(self, predicate: str) -> Relation:
        """Rows that are stated to be false."""
        return self._rows(predicate, self.stored.tables[predicate].false)

    def _rows(self, predicate: str, table: str, **more: Kind) -> Stored:
        kinds: dict[str, Kind] = dict.fromkeys(self._columns(predicate), "int")
        return self.scratch.table(table, **kinds, **more)

    def query_of(self, clause: Clause) -> str:
        """A query for the heads of a clause over facts alone."""
        rows = ClauseRows(self, self.facts).of(clause, {})
        assert isinstance(rows, Stored)
        return rows.text

    def _columns(self, predicate: str) -> tuple[str, ...]:
        return columns_of(self.stored.facts.tables[predicate].columns)

    def _kind(self, type_name: str) -> Kind:
        table = self.stored.constants[type_name]
        types = self.stored.database.arrow(f"SELECT value FROM {table} LIMIT 0").schema.field("value").type
        if pa.types.is_string(types) or pa.types.is_large_string(types) or pa.types.is_string_view(types):
            return "text"
        return "int" if pa.types.is_integer(types) else "float"
