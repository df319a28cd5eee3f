"""Evidence on atoms whose facts are in a database: counts in memory, rows in the database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.errors import FactsError, counted
from herbrand.language.signature import Signature
from herbrand.program.bindings import Listed, columns_of
from herbrand.program.evidence import LATENT, Evidence, Known, arguments_of, codes_of
from herbrand.program.program import FALSE, Literal, Program
from herbrand.relations.database import Database
from herbrand.relations.expression import Expression, Kind, column, either, literal
from herbrand.relations.fold import total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.row_keys import Keys, fit
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables

NONE = np.empty(0, np.int64)
NOTHING_FIXED: Mapping[str, int] = {}


@dataclass(frozen=True, eq=False)
class StoredKnown(Known):
    """Number of settled atoms of a predicate; the database holds their arguments and values in ``rows``."""

    settled: int = 0
    rows: Stored | None = None

    @property
    def all_latent(self) -> bool:
        return self.default == LATENT and not self.settled

    def latent_count(self) -> int:
        return self.atom_count - self.settled if self.default == LATENT else 0

    def lookup(self, codes: np.ndarray) -> np.ndarray:
        values = np.full(len(codes), self.default, dtype=np.int64)
        if len(codes) and self.settled:
            assert self.rows is not None
            names = columns_of(len(self.sizes))
            columns: dict[str, np.ndarray] = dict(zip(names, arguments_of(codes, self.sizes), strict=True))
            with Scratch(self.rows.scratch.database, "asked") as scratch:
                queried = scratch.put(Memory.of(UNLIMITED, place=np.arange(len(codes)), **columns))
                known = queried.join(self.rows, names).arrays()
            values[known["place"]] = known["value"]
        return values


class StoredEvidence(Evidence):
    """Like :class:`Evidence`, but only for counts and lookups; ``tables`` names the tables of rows."""

    def __init__(self, program: Program, stored: StoredFacts) -> None:
        super().__init__(program)
        self.stored = stored
        self.database: Database = stored.database
        self.queries = Scratch(stored.database)

    def tables(self, predicate: str) -> PredicateTables:
        return self.stored.tables[predicate]

    def columns(self, predicate: str) -> list[str]:
        """Columns of a predicate's arguments."""
        return [f"a{place}" for place in range(len(self.sizes(predicate)))]

    def every_atom(self, predicate: str, fixed: Mapping[str, int] = NOTHING_FIXED) -> Relation:
        """Arguments of all atoms, ``a0`` and so on, some of which may be ``fixed``."""
        numbers = self.queries.numbers
        rows: Relation = numbers("one", 1).only()
        for name, size in zip(self.columns(predicate), self.sizes(predicate), strict=True):
            rows = rows.let(**{name: fixed[name]}) if name in fixed else rows.join(numbers(name, size))
        return rows

    def relation(self, table: str, predicate: str, **more: Kind) -> Stored:
        """One of a predicate's tables: arguments, the value of a many-valued atom, and the columns
        ``more``."""
        width = len(self.program.signature.predicates[predicate].column_types)
        kinds: dict[str, Kind] = dict.fromkeys(columns_of(width), "int")
        return self.queries.query(f"SELECT * FROM {table}", kinds | more)

    def settled(self, predicate: str) -> Stored:
        """Arguments and ``value`` of a predicate's atoms that the facts list."""
        tables, columns = self.tables(predicate), self.columns(predicate)
        true = self.relation(tables.true, predicate)
        if self.is_valued(predicate):
            return true.renamed(value=f"a{len(columns)}")
        return true.let(value=1).stack(self.relation(tables.false, predicate).let(value=0))

    def listed_atoms(self, atom: Literal) -> Listed | None:
        """The atoms for which a literal can hold, or those for which it cannot; ``None`` if it holds for all.
        It holds for no latent atom."""
        tables = self.tables(atom.predicate)
        true = Listed(self.relation(tables.true, atom.predicate), tables.counts[0], needed=True)
        if self.is_valued(atom.predicate):
            allowed = among(column(f"a{len(atom.arguments)}"), atom.allowed)
            return replace(true, rows=true.rows.where(allowed))
        if len(atom.allowed) > 1:
            return None
        if atom.allowed != FALSE:
            return true if atom.allowed else replace(true, rows=true.rows.where(literal(False)))
        if self.known(atom.predicate).default == LATENT:
            return Listed(self.relation(tables.false, atom.predicate), tables.counts[1], needed=True)
        return replace(true, needed=False)

    def opinion_rows(self, predicate: str) -> Stored:
        """Soft evidence: arguments, the value it is ``about``, and the ``log_weight`` that it adds to a
        log-weight."""
        columns = self.columns(predicate)
        rows = self.relation(self.tables(predicate).soft, predicate, odds="float")
        if not self.is_valued(predicate):
            return rows.let(about=1, log_weight=column("odds")).only(*columns, "about", "log_weight")
        others = math.log(max(1, self.program.value_count(predicate) - 1))
        named = rows.renamed(about=f"a{len(columns)}", log_weight="odds")
        return named.let(log_weight=column("log_weight") + others)

    def settled_opinions(self, predicate: str) -> float:
        if not self.tables(predicate).counts[2]:
            return 0.0
        joined = self.opinion_rows(predicate).join(self.settled(predicate), self.columns(predicate))
        return joined.where(column("value") == column("about")).scalar(total(column("log_weight")))

    def _known(self, predicate: str) -> Known:
        sizes, (true, false, _) = self.sizes(predicate), self.tables(predicate).counts
        world, rows = self.program.table(predicate).world, self.settled(predicate)
        if not self.is_valued(predicate):
            if world == "closed":
                return StoredKnown(sizes, NONE, NONE, 0, true, rows)
            return StoredKnown(sizes, NONE, NONE, LATENT, true + false, rows)
        known = StoredKnown(sizes, NONE, NONE, LATENT, true, rows)
        if world == "closed" and (missing := known.latent_count()):
            raise FactsError(
                f"{predicate} has no value for {counted(missing, 'atom')}, though it is observed",
                hint="list a value for every atom of an observed many-valued predicate, or declare it open",
            )
        return known


def evidence_of_facts(signature: Signature, stored: StoredFacts) -> StoredEvidence:
    """Evidence from facts alone, without a theory."""
    return StoredEvidence(Program(signature, stored.facts, (), (), ()), stored)


def among(value: Expression, allowed: Iterable[int]) -> Expression:
    """Condition that the value is one of these."""
    return either(*(value == one for one in allowed))


def mixed(arguments: Sequence[str], sizes: Sequence[int]) -> str:
    """SQL for one key of numbers below these sizes: mixed radix, or a text if 64 bits do not suffice.

    >>> mixed(["a0", "a1"], [3, 5])
    '(CAST(a0 AS BIGINT)) * 5 + CAST(a1 AS BIGINT)'
    >>> mixed(["a0", "a1"], [2**32, 2**32])
    "CONCAT_WS(',', a0, a1)"
    """
    if not fit(sizes):
        return f"CONCAT_WS(',', {', '.join(arguments)})"
    code = "CAST(0 AS BIGINT)"
    for place, (argument, size) in enumerate(zip(arguments, sizes, strict=True)):
        own = f"CAST({argument} AS BIGINT)"
        code = f"({code}) * {size} + {own}" if place else own
    return code


def keys_of_mixed(mixtures: Sequence[int | str], sizes: Sequence[int]) -> Keys:
    """Convert the database's results of :func:`mixed` to row keys."""
    if fit(sizes):
        return np.array(mixtures, np.int64)
    rows = [[int(part) for part in str(mixture).split(",")] for mixture in mixtures]
    return codes_of(np.array(rows, np.int64).reshape(len(rows), len(sizes)), sizes)
