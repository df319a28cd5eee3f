"""Ground sentences divided into parts that are solved separately, in any process.

A part is a set of factors whose sentences are adjacent when sorted by their atoms; the part of a factor
depends on the sentences alone, not on the number of workers. Parts are stored in shelves: a table ``piece_N``
of parts as bytes, and a table ``member_N`` of their atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from herbrand.budget import readable
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.message_part import MessagePart, independences_of
from herbrand.engines.credal.ariel.scopes import Pattern, Scope
from herbrand.engines.credal.markov import Graph
from herbrand.errors import BudgetError
from herbrand.relations.database import Database
from herbrand.scale.bounds.sentences import Report, Sentences

SENTENCES_A_PART = 10_000
PARTS_A_SHELF = 16
BYTES_A_LINK, BYTES_AN_ATOM = 64, 64
"""Memory while parts are made: for the graph, and for the marks of a walk through it."""


@dataclass(frozen=True)
class Shelves:
    """Numbers of shelves, and of parts on all of them."""

    count: int
    parts: int

    def piece(self, shelf: int) -> str:
        return f"piece_{shelf}"

    def member(self, shelf: int) -> str:
        return f"member_{shelf}"

    def clear(self, database: Database) -> None:
        for shelf in range(self.count):
            database.drop(self.piece(shelf))
            database.drop(self.member(shelf))


def shelved(sentences: Sentences, limit: int, report: Report) -> Shelves:
    """Divide the sentences into parts. ``limit``: bytes of memory that the graph may take."""
    database = sentences.database
    links = links_of(sentences, limit) if sentences.markov else None
    stated = sentences.all_of("stated", "atoms, arity, pattern, lower, upper, number")
    if not stated:
        return Shelves(0, 0)
    before = "SUM(COUNT(*)) OVER (ORDER BY atoms ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - COUNT(*)"
    placed = (
        f"SELECT atoms, FLOOR(({before}) / {SENTENCES_A_PART}) AS place "
        f"FROM ({stated}) s WHERE arity > 1 GROUP BY atoms"
    )
    numbered = f"SELECT atoms, CAST(DENSE_RANK() OVER (ORDER BY place) - 1 AS INT) AS part FROM ({placed}) p"
    database.make("scope_part", numbered)
    database.make("sorted", f"SELECT p.part, s.* FROM ({stated}) s JOIN scope_part p ON p.atoms = s.atoms")
    database.drop("scope_part")
    parts = int(database.number("SELECT COALESCE(MAX(part) + 1, 0) FROM sorted"))
    shelves = Shelves(-(-parts // PARTS_A_SHELF), parts)
    for shelf in range(shelves.count):
        report(
            f"parts of the network, {shelf * PARTS_A_SHELF:,} of {parts:,}", 0.3 + 0.1 * shelf / shelves.count
        )
        _put(database, shelves, shelf, list(_parts_of(sentences, shelf, links)))
    database.drop("sorted")
    return shelves


def links_of(sentences: Sentences, limit: int) -> Links:
    """The graph over atoms; raise BudgetError if it does not fit into memory."""
    database, count = sentences.database, len(sentences.lowering.atoms)
    union = sentences.all_of("link", "source, target")
    empty = "SELECT CAST(0 AS BIGINT) AS source, CAST(0 AS BIGINT) AS target LIMIT 0"
    distinct = f"SELECT DISTINCT source, target FROM ({union or empty}) l"
    number = database.number(f"SELECT COUNT(*) FROM ({distinct}) d")
    needed = number * BYTES_A_LINK + count * BYTES_AN_ATOM
    if needed > limit:
        raise BudgetError(
            f"{number:,} links between {count:,} atoms take about {readable(needed)} of memory while the "
            f"network is shared out, and {readable(limit)} are allowed",
            hint="allow more by --memory, or leave independences out by --independence none",
        )
    edges = database.arrow(distinct)
    pairs = np.stack([edges["source"].to_numpy(), edges["target"].to_numpy()], axis=1)
    return Links.over(Graph.of(count, pairs))


def _parts_of(sentences: Sentences, shelf: int, links: Links | None) -> Iterator[tuple[int, MessagePart]]:
    first = shelf * PARTS_A_SHELF
    rows = sentences.database.arrow(
        f"SELECT * FROM sorted WHERE part >= {first} AND part < {first + PARTS_A_SHELF} "
        "ORDER BY part, arity, atoms, number"
    )
    part = rows["part"].to_numpy()
    ends = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1], [True]]))
    bounds = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    several = [tuple(_scopes(rows.slice(a, b - a), sentences.patterns)) for a, b in bounds]
    known = [None] * len(several) if links is None else independences_of(several, links)
    for (begin, _), scopes, independences in zip(bounds, several, known, strict=True):
        yield int(part[begin]), MessagePart.of(scopes, independences)


def _scopes(rows: pa.Table, patterns: Sequence[Pattern]) -> Iterator[Scope]:
    """Yield the factors of sorted rows, grouped by their number of atoms."""
    arities = rows["arity"].to_numpy()
    for arity in np.unique(arities).tolist():
        first, last = np.searchsorted(arities, [arity, arity + 1]).tolist()
        own = rows.slice(first, last - first).combine_chunks()
        atoms = own["atoms"].combine_chunks().flatten().to_numpy().reshape(-1, arity)
        new = np.concatenate([[True], (atoms[1:] != atoms[:-1]).any(axis=1)])
        start = np.append(np.flatnonzero(new), len(atoms))
        numbers, which = np.unique(own["pattern"].to_numpy(), return_inverse=True)
        lower, upper, sentence = (own[name].to_numpy() for name in ("lower", "upper", "number"))
        used = tuple(patterns[number] for number in numbers.tolist())
        yield Scope(atoms[new], start, which.reshape(-1), lower, upper, sentence, used)


def _put(database: Database, shelves: Shelves, shelf: int, parts: Sequence[tuple[int, MessagePart]]) -> None:
    numbers = np.array([number for number, _ in parts], np.int32)
    data = pa.array([part.to_bytes() for _, part in parts], pa.large_binary())
    database.put(shelves.piece(shelf), pa.table({"part": numbers, "data": data}))
    sizes = [len(part.atoms) for _, part in parts]
    members = {
        "part": np.repeat(numbers, sizes),
        "place": np.concatenate([np.arange(size) for size in sizes]),
        "atom": np.concatenate([part.atoms for _, part in parts]),
    }
    database.put(shelves.member(shelf), pa.table(members))
