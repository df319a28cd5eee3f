"""Selected columns and rows of the table of another source, under a predicate's name.

>>> import pyarrow as pa
>>> from herbrand.facts.sources.arrow import ArrowData
>>> source = ArrowData("pays", pa.table({"amount": [3, 5], "sender": ["anna", "bob"]}))
>>> chosen = Selected("pays", source, Selection((("sender", "sender"), ("amount", "weight")), "amount > 3"))
>>> with Store() as store:
...     (table,) = chosen.open(store, Reading({}))
...     table.names, table.interned(["person", "number"], marked=False).columns[1].values.to_pylist()
(('sender', 'weight'), [5])
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from herbrand.errors import FactsError
from herbrand.facts.address import Selection
from herbrand.facts.sources.base import FactSource, OpenTable, Reading
from herbrand.facts.store import Store


@dataclass(frozen=True, eq=False)
class Selected(FactSource):
    """A selection of the only table of ``source``. ``predicate``: new name of the table; ``None`` keeps its
    name."""

    predicate: str | None
    source: FactSource
    selection: Selection

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.source.name

    @property
    def path(self) -> Path | None:
        return getattr(self.source, "path", None)

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        if self.selection.named and reading.header is None:  # names stand in a header
            reading = replace(reading, header=True)
        tables = [
            table.selected(self.selection) if self.selection.named else table
            for table in self.source.open(store, reading)
        ]
        for table in tables:
            table.nulls = self.selection.nulls
            table.predicate = self.predicate or table.predicate
        if self.predicate is not None and len(tables) > 1:
            raise FactsError(f"{self.name} holds {len(tables)} tables; name one: {self.predicate}=FILE:TABLE")
        return tables

    def cells(self, read: Collection[str] | None, columns: int | None = None) -> int:
        chosen = self.selection.columns
        return self.source.cells(read, None if chosen is None else len(chosen))

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable | None:
        return self.source.queried(store, predicate, query)
