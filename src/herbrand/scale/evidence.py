"""What is known of the atoms of a program whose facts are in a database: counts here, rows there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.language.signature import Signature
from herbrand.program.bindings import columns_of
from herbrand.program.evidence import LATENT, Evidence, Known, arguments_of, codes_of
from herbrand.program.program import Program
from herbrand.relations.database import Database
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from herbrand.row_keys import Keys, fit
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables
from herbrand.scale.sql_phrases import double, equal

NONE = np.empty(0, np.int64)
ASKED = "asked"


@dataclass(frozen=True, eq=False)
class StoredKnown(Known):
    """How many atoms are settled; which, only the database knows: ``query`` gives arguments and values."""

    settled: int = 0
    database: Database | None = None
    query: str = ""

    @property
    def all_latent(self) -> bool:
        return self.default == LATENT and not self.settled

    def latent_count(self) -> int:
        return self.atom_count - self.settled if self.default == LATENT else 0

    def lookup(self, codes: np.ndarray) -> np.ndarray:
        found = np.full(len(codes), self.default, dtype=np.int64)
        if len(codes) and self.settled:
            assert self.database is not None
            names = [f"a{place}" for place in range(len(self.sizes))]
            columns = dict(zip(names, arguments_of(codes, self.sizes), strict=True))
            self.database.put(ASKED, pa.table({"place": np.arange(len(codes)), **columns}))
            same = equal("k", "a", names)
            matched = f"SELECT a.place, k.value FROM {ASKED} a JOIN ({self.query}) k ON {same}"
            rows = self.database.arrow(matched)
            self.database.drop(ASKED)
            found[rows["place"].to_numpy()] = rows["value"].to_numpy()
        return found


class StoredEvidence(Evidence):
    """As :class:`Evidence`, as far as counts go; ``tables`` name the rows."""

    def __init__(self, program: Program, stored: StoredFacts) -> None:
        super().__init__(program)
        self.stored = stored
        self.database: Database = stored.database
        self.queries = Scratch(stored.database)

    def tables(self, predicate: str) -> PredicateTables:
        return self.stored.tables[predicate]

    def columns(self, predicate: str) -> list[str]:
        """The columns of a predicate's arguments."""
        return [f"a{place}" for place in range(len(self.sizes(predicate)))]

    def every_atom(self, predicate: str) -> str:
        """A query for the arguments of all atoms, ``a0`` and so on."""
        sizes, numbers = self.sizes(predicate), self.database.dialect.numbers
        if not sizes:
            return "SELECT 1 AS one"
        sources = [f"{numbers.format(count=size)} n{place}" for place, size in enumerate(sizes)]
        columns = ", ".join(f"CAST(n{place}.i AS INT) AS a{place}" for place in range(len(sizes)))
        return f"SELECT {columns} FROM {' CROSS JOIN '.join(sources)}"

    def relation(self, table: str, predicate: str) -> Relation:
        """One of a predicate's tables: its arguments, and the values of a many-valued one."""
        width = len(self.program.signature.predicates[predicate].column_types)
        return self.queries.query(f"SELECT * FROM {table}", dict.fromkeys(columns_of(width), "int"))

    def known_query(self, predicate: str) -> str:
        """The arguments, ``code`` and ``value`` of the atoms of a predicate that the facts list."""
        tables, columns = self.tables(predicate), self.columns(predicate)
        chosen = ", ".join([*columns, f"{mixed(columns, self.sizes(predicate))} AS code"])
        if self.is_valued(predicate):
            return f"SELECT {chosen}, a{len(columns)} AS value FROM {tables.true}"
        return (
            f"SELECT {chosen}, 1 AS value FROM {tables.true} UNION ALL "
            f"SELECT {chosen}, 0 AS value FROM {tables.false}"
        )

    def settled_opinions(self, predicate: str) -> float:
        tables, columns = self.tables(predicate), self.columns(predicate)
        if not tables.counts[2]:
            return 0.0
        value, others = "1", 0.0
        if self.is_valued(predicate):
            value, others = f"o.a{len(columns)}", math.log(max(1, self.program.value_count(predicate) - 1))
        joined = f"{tables.soft} o JOIN ({self.known_query(predicate)}) k ON {equal('k', 'o', columns)}"
        worth = f"SELECT SUM(o.odds + {double(others)}) FROM {joined} WHERE k.value = {value}"
        return self.database.number(worth) or 0.0

    def _known(self, predicate: str) -> Known:
        sizes, (true, false, _) = self.sizes(predicate), self.tables(predicate).counts
        world = self.program.table(predicate).world
        asked = self.database, self.known_query(predicate)
        if not self.is_valued(predicate):
            if world == "closed":
                return StoredKnown(sizes, NONE, NONE, 0, true, *asked)
            return StoredKnown(sizes, NONE, NONE, LATENT, true + false, *asked)
        known = StoredKnown(sizes, NONE, NONE, LATENT, true, *asked)
        if world == "closed" and known.latent_count():
            raise FactsError(
                f"{known.latent_count():,} atoms of {predicate} have no value, though it is observed",
                hint="list a value for every atom of an observed many-valued predicate, or declare it open",
            )
        return known


def evidence_of_facts(signature: Signature, stored: StoredFacts) -> StoredEvidence:
    """What facts tell of atoms, whatever a theory says of them."""
    return StoredEvidence(Program(signature, stored.facts, (), (), ()), stored)


def mixed(arguments: Sequence[str], sizes: Sequence[int]) -> str:
    """Numbers below these sizes as one key, in SQL: in mixed radix, or a text where 64 bits are too few.

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
    """What a database gave for :func:`mixed`, as row keys."""
    if fit(sizes):
        return np.array(mixtures, np.int64)
    rows = [[int(part) for part in str(mixture).split(",")] for mixture in mixtures]
    return codes_of(np.array(rows, np.int64).reshape(len(rows), len(sizes)), sizes)
