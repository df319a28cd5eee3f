"""Test whether a ground factor graph in a database is a forest, by removing leaves round by round."""

from __future__ import annotations

from collections.abc import Sequence

from herbrand.relations.database import Database
from herbrand.scale.belief.factor_families import StoredFamily

MOST_ROUNDS = 200
"""Most rounds; a deeper forest is treated as a graph with cycles: same answer, weaker guarantee."""


def is_forest(families: Sequence[StoredFamily], database: Database) -> bool:
    """Whether the factor graph is a forest, on which messages converge to the exact marginals."""
    if not families:
        return True
    links = sum(family.rows * family.width for family in families)
    factors = sum(family.rows for family in families)
    every = " UNION ALL ".join(f"SELECT {slot} AS atom FROM {f.table}" for f in families for slot in f.slots)
    atoms = database.number(f"SELECT COUNT(DISTINCT atom) FROM ({every}) e")
    # A forest over n nodes has at most n - 1 edges: most graphs with cycles need no peeling.
    if links > atoms + factors - 1:
        return False
    try:
        return _peels(_links(families), links, database)
    finally:
        for number in range(2):
            database.drop(f"links_{number}")


def _links(families: Sequence[StoredFamily]) -> str:
    """Query for a row for each atom of each factor."""
    parts = []
    for family in families:
        slots = ", ".join(family.slots)
        numbered = f"SELECT *, ROW_NUMBER() OVER (ORDER BY {slots}) AS number FROM {family.table}"
        parts += [
            f"SELECT {family.number} AS family, number, {slot} AS atom FROM ({numbered}) n"
            for slot in family.slots
        ]
    return " UNION ALL ".join(parts)


def _peels(query: str, links: int, database: Database) -> bool:
    for number in range(MOST_ROUNDS):
        table = f"links_{number % 2}"
        around = (
            "COUNT(*) OVER (PARTITION BY family, number) AS width, "
            "COUNT(*) OVER (PARTITION BY atom) AS around"
        )
        inner = f"SELECT family, number, atom FROM (SELECT *, {around} FROM ({query}) l) w"
        database.make(table, f"{inner} WHERE width > 1 AND around > 1")
        left = database.number(f"SELECT COUNT(*) FROM {table}")
        if left in (0, links):
            return left == 0
        query, links = f"SELECT * FROM {table}", left
    return False
