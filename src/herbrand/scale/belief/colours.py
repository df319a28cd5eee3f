"""Colour refinement by joins: atoms that no message can distinguish become one class.

As :mod:`herbrand.factors.refinement`: the initial colour of an atom is that of its own weights; a factor's
colour combines its potential and its atoms' colours, an atom's next colour its previous one and those of its
factors. Once no new colour appears, messages are passed between classes, however many atoms and factors these
have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from herbrand.factors.refinement import MOST_ROUNDS, WORTH_LIFTING
from herbrand.relations.database import Database
from herbrand.relations.dialects import Dialect
from herbrand.scale.belief.factor_families import StoredFamily
from herbrand.scale.belief.factor_tables import FactorTables

COLOURS = "colours"
"""Name of the table of each atom's class."""

ROUNDED = 2.0**40
"""Weights are rounded to one part in this, so that sums in different order have one colour."""


def lifted(graph: FactorTables, database: Database) -> FactorTables | None:
    """The graph of classes, in tables of the same names with counts; ``None`` if that saves little.

    An axis has ``n``, its number of atoms; a factor has ``n``, and for each slot ``x0`` ..., how many such
    messages an atom there receives: among slots that send the same message, the first carries the count of
    all.
    """
    if not graph.sizes:  # nothing is latent
        return None
    refinement = _Refinement(graph, database)
    turn = refinement.settled()
    if turn is None:
        return None
    database.make(COLOURS, f"SELECT atom, c FROM {turn}")
    refinement.drop()
    for size in graph.sizes:
        least = ", ".join(f"MIN(u{value}) AS u{value}" for value in range(size))
        database.make(
            f"axes_{size}",
            f"SELECT c AS atom, CAST(COUNT(*) AS DOUBLE) AS n, {least} FROM axes_{size} a "
            f"JOIN {COLOURS} c ON c.atom = a.atom GROUP BY c",
        )
    return replace(graph, families=tuple(_collapsed(family, database) for family in graph.families))


@dataclass(eq=False)
class _Refinement:
    graph: FactorTables
    database: Database

    def settled(self) -> str | None:
        """Name of the table of stable colours; ``None`` if there are too many colours, or too many rounds."""
        dialect, now = self.database.dialect, "colours_0"
        self.database.make(now, " UNION ALL ".join(self._own(size) for size in self.graph.sizes))
        atoms, count = self.database.rows(f"SELECT COUNT(*), COUNT(DISTINCT c) FROM {now}")[0]
        for number in range(1, MOST_ROUNDS + 1):
            if count > WORTH_LIFTING * atoms:
                break
            sent = " UNION ALL ".join(
                f"SELECT s{slot} AS atom, {dialect.hashed(['best', f'label{slot}'])} AS t FROM ({rows}) f"
                for family in self.graph.families
                for rows in [viewed(family, _coloured(family, now), dialect)]
                for slot in range(family.width)
            )
            received = f"SELECT atom, {WIDE_SUM} AS t FROM ({sent}) t GROUP BY atom" if sent else ""
            source = f"{now} a LEFT JOIN ({received}) h ON h.atom = a.atom" if sent else f"{now} a"
            mark = dialect.hashed(["a.c", f"COALESCE(h.t, {WIDE_ZERO})" if sent else "0"])
            after = f"colours_{number % 2}"
            self.database.make(after, f"SELECT a.atom, {mark} AS c FROM {source}")
            before, now = count, after
            count = self.database.number(f"SELECT COUNT(DISTINCT c) FROM {now}")
            if count == before:
                return now
        self.drop()
        return None

    def drop(self) -> None:
        for number in range(2):
            self.database.drop(f"colours_{number}")

    def _own(self, size: int) -> str:
        """Query for initial colours by the number of values and the weights of each."""
        # Adding 0.0 turns -0.0 into 0.0, which would have another hash.
        weights = [f"ROUND(u{value} * {ROUNDED}) + 0.0" for value in range(size)]
        return f"SELECT atom, {self.database.dialect.hashed([str(size), *weights])} AS c FROM axes_{size}"


# Hashes have 64 bits: 38 decimal digits hold the exact sum of as many as a table has, in any order.
WIDE_SUM = "SUM(CAST(t AS DECIMAL(38, 0)))"
WIDE_ZERO = "CAST(0 AS DECIMAL(38, 0))"


def _coloured(family: StoredFamily, colours: str) -> str:
    """Query for the factors with their atoms' colours ``k0`` ..."""
    joins = [f" JOIN {colours} c{slot} ON c{slot}.atom = f.s{slot}" for slot in range(family.width)]
    chosen = [f"c{slot}.c AS k{slot}" for slot in range(family.width)]
    return f"SELECT f.*, {', '.join(chosen)} FROM {family.table} f{''.join(joins)}"


def viewed(family: StoredFamily, source: str, dialect: Dialect) -> str:
    """Add ``best``, the factor's colour: the least hash under any symmetry; ``label0`` ..., equal for slots
    that a symmetry exchanges without changing the colours; and ``turn``, the symmetry with the least hash."""
    hashes = [
        f"{dialect.hashed([str(family.number), 'kind', *(f'k{slot}' for slot in order)])} AS h{number}"
        for number, order in enumerate(family.symmetries)
    ]
    names = [f"h{number}" for number in range(len(hashes))]
    best = f"LEAST({', '.join(names)})" if len(names) > 1 else names[0]
    inner = f"SELECT *, {best} AS best FROM (SELECT *, {', '.join(hashes)} FROM ({source}) e) h"
    labels = [f"{_label(slot, family.symmetries)} AS label{slot}" for slot in range(family.width)]
    view = " ".join(f"WHEN {name} = best THEN {number}" for number, name in enumerate(names))
    return f"SELECT *, {', '.join(labels)}, CASE {view} END AS turn FROM ({inner}) b"


def _label(slot: int, symmetries: Sequence[tuple[int, ...]]) -> str:
    """First position of the slot in any of the orders with the least hash."""
    places = sorted((order.index(slot), number) for number, order in enumerate(symmetries))
    return f"CASE {' '.join(f'WHEN h{number} = best THEN {place}' for place, number in places)} END"


def _collapsed(family: StoredFamily, database: Database) -> StoredFamily:
    """Merge the factors of one colour, with the classes of their slots in the order of the least hash."""
    dialect, width = database.dialect, family.width
    coloured = viewed(family, _coloured(family, COLOURS), dialect)
    classes = []
    for slot in range(width):
        cases = " ".join(f"WHEN {n} THEN k{order[slot]}" for n, order in enumerate(family.symmetries))
        classes.append(f"CASE turn {cases} END AS s{slot}")
    slots = ", ".join(family.slots)
    grouped = (
        f"SELECT {slots}, kind, CAST(COUNT(*) AS DOUBLE) AS n FROM "
        f"(SELECT {', '.join(classes)}, kind FROM ({coloured}) v) w GROUP BY {slots}, kind"
    )
    again = viewed(
        family, f"SELECT *, {', '.join(f's{i} AS k{i}' for i in range(width))} FROM ({grouped}) g", dialect
    )
    joins = "".join(
        f" JOIN axes_{size} a{slot} ON a{slot}.atom = v.s{slot}" for slot, size in enumerate(family.sizes)
    )
    chosen = [f"v.s{slot}" for slot in range(width)]
    chosen += ["v.kind", "v.n", *(f"{_often(slot, width)} AS x{slot}" for slot in range(width))]
    database.make(family.table, f"SELECT {', '.join(chosen)} FROM ({again}) v{joins}")
    return replace(family, rows=database.number(f"SELECT COUNT(*) FROM {family.table}"))


def _often(slot: int, width: int) -> str:
    same = " + ".join(f"CASE WHEN v.label{other} = v.label{slot} THEN 1 ELSE 0 END" for other in range(width))
    heard = f"v.n * ({same}) / a{slot}.n"
    before = " OR ".join(f"v.label{other} = v.label{slot}" for other in range(slot))
    return f"CASE WHEN {before} THEN 0 ELSE {heard} END" if before else heard
