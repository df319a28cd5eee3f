"""Counted effects of other values of labelled atoms: a table for each target, and the weight of each column.

A run that keeps its weights keeps these tables too, so that a resumed one does not count again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from herbrand.language.show import show_statement
from herbrand.learning.parameters import Parameters
from herbrand.relations.database import Database
from herbrand.relations.stored import Scratch
from herbrand.scale.learning.conditionals import merged
from herbrand.scale.learning.flips import Report, StoredFlips, changes, stored_flips
from herbrand.scale.learning.lesson import StoredExample
from herbrand.scale.operands import query_of

COUNTED = "counted"


@dataclass(frozen=True, eq=False)
class Counted:
    """Counted changes. ``tables``: for each target that some statement depends on, its table of changes and
    the number of atoms in it."""

    database: Database
    parameters: Parameters
    tables: Mapping[str, tuple[str, int]]

    def keep(self, fingerprint: str) -> None:
        """Keep the counts for a resumed run; ``fingerprint`` identifies what was counted."""
        about = {"fingerprint": fingerprint, "keys": self.parameters.keys, "tables": self.tables}
        self.database.keep(COUNTED, json.dumps(about))

    def drop(self) -> None:
        """Drop all tables."""
        self.database.drop(COUNTED)
        for table, _ in self.tables.values():
            self.database.drop(table)


def counted(example: StoredExample, room: int | None, report: Report) -> Counted:
    """Count the changes of every target. ``room``: free bytes of disk."""
    database, parameters = example.stored.database, Parameters.of(example.program)
    database.drop(COUNTED)
    flips = list(stored_flips(example, room, report))
    tables = dict(_merged(example, flips, parameters))
    for flip in flips:
        database.drop(flip.table)
    return Counted(database, parameters, tables)


def _merged(
    example: StoredExample, flips: list[StoredFlips], parameters: Parameters
) -> Iterator[tuple[str, tuple[str, int]]]:
    database = example.stored.database
    with Scratch(database, "places") as scratch:
        for number, target in enumerate(example.targets):
            rows = changes(example, target, flips, parameters, scratch)
            if rows is not None:
                changed = f"change_{number}"
                database.make(changed, query_of(rows))
                yield target, merged(database, changed)


def kept_counts(example: StoredExample) -> Counted | None:
    """The counts that :meth:`Counted.keep` has kept, if they are of this theory and these facts."""
    database = example.stored.database
    about = database.noted(COUNTED) if database.has(COUNTED) else {}
    if about.get("fingerprint") != fingerprint(example):
        return None
    parameters = Parameters()
    for number, constants in about["keys"]:
        parameters.column(number, tuple(constants))
    return Counted(
        database, parameters, {name: (table, atoms) for name, (table, atoms) in about["tables"].items()}
    )


def fingerprint(example: StoredExample) -> str:
    """A hash that is equal for equal counts: of the same statements over the same facts."""
    statements = [text for statement in example.program.statements for text in show_statement(statement)]
    parts = statements, example.targets, example.latent, example.stored.stamps
    return hashlib.sha256(repr(parts).encode()).hexdigest()
