"""What a database is asked for intervals of probabilities, and the rows of the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget, readable
from herbrand.engines.credal.network import Atoms
from herbrand.engines.credal.question import BoundQuery, BoundQuestion
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.relations.database import Database
from herbrand.scale.reading import BYTES_A_ROW

ASKED_AT_ONCE = 1000


def refuse_other_questions(question: BoundQuestion, atoms: Atoms, budget: Budget) -> None:
    """Raise for what a database is not asked: more than single atoms, or more of them than memory holds."""
    for query in question.queries:
        if query.given is not None or query.event.shape != 0:
            raise UnsupportedError(
                f"a database is asked for single atoms, and P({query.text}) is of more than one",
                hint="ask for atoms, or leave out --on",
            )
    count = len(question.queries) or len(atoms)
    if count * BYTES_A_ROW > budget.bytes:
        raise BudgetError(
            f"the answer would have {count:,} rows, about {readable(count * BYTES_A_ROW)} in memory",
            hint="ask for some atoms by --query",
        )


def intervals_in(
    database: Database, table: str, question: BoundQuestion, atoms: Atoms
) -> tuple[Sequence[str], np.ndarray, np.ndarray]:
    """What is asked, and the ends of its intervals; of atoms that no sentence speaks of nothing is known."""
    if question.everything:
        texts: Sequence[str] = atoms.texts()
        numbers = np.arange(len(texts))
        found = database.arrow(f"SELECT atom, lower, upper FROM {table}")
    else:
        texts = [query.text for query in question.queries]
        numbers = np.array([_atom(query) for query in question.queries], np.int64)
        found = _some(database, table, np.unique(numbers))
    atom = found["atom"].to_numpy()
    order = np.argsort(atom)
    lower, upper = np.zeros(len(numbers)), np.ones(len(numbers))
    if len(atom):
        at = np.minimum(np.searchsorted(atom[order], numbers), len(atom) - 1)
        known = atom[order][at] == numbers
        lower[known] = found["lower"].to_numpy()[order][at[known]]
        upper[known] = found["upper"].to_numpy()[order][at[known]]
    return texts, lower, upper


def _atom(query: BoundQuery) -> int:
    return query.event.atoms[0]


def _some(database: Database, table: str, numbers: np.ndarray) -> pa.Table:
    """The intervals of these atoms."""
    tables = []
    for first in range(0, len(numbers), ASKED_AT_ONCE):
        listed = ", ".join(map(str, numbers[first : first + ASKED_AT_ONCE].tolist()))
        query = f"SELECT atom, lower, upper FROM {table} WHERE atom IN ({listed})"
        tables.append(database.arrow(query))
    return pa.concat_tables(tables)
