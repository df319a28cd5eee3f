"""Fact files in the formats of other systems, ``.db`` and ``.cfacts``, read by the language's own readers.

Every line names its predicate; a many-valued one has its value as the last argument.

>>> DialectFile(Path("facts/smokers.db")).name
'smokers.db'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from herbrand.errors import FactsError
from herbrand.facts.sources.base import FileSource, OpenTable, Reading
from herbrand.facts.sources.memory import theory_tables
from herbrand.facts.store import Store
from herbrand.language.dialects import read_facts_file
from herbrand.language.parse import read_source
from herbrand.language.syntax import FactRows, TypeDeclaration


@dataclass(frozen=True)
class DialectFile(FileSource):
    """The facts of a dialect file, or those of one predicate."""

    path: Path
    predicate: str | None = None

    def constants(self) -> Sequence[TypeDeclaration]:
        if self.predicate is not None or "{" not in read_source(self.path).text:
            return ()
        return [
            statement for statement in read_facts_file(self.path) if isinstance(statement, TypeDeclaration)
        ]

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        valued = [name for name, known in reading.predicates.items() if known.value_type is not None]
        widths = {name: len(known.column_types) for name, known in reading.predicates.items()}
        read = read_facts_file(self.path, many_valued=valued, widths=widths)
        tables = theory_tables(statement for statement in read if isinstance(statement, FactRows))
        for table in tables:
            table.textual = True  # constants of these formats are text, numbers too
        if self.predicate is None:
            return tables
        matching = [table for table in tables if table.predicate == self.predicate]
        if not matching:
            raise FactsError(f"{self.name} holds no fact of '{self.predicate}'")
        return matching
