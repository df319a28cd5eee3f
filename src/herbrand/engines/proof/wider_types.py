"""Inferred types made wider for one goal: two of them as one, or one of them with one more constant.

Where nothing is declared, facts that no rule links are of different types. A goal may link them
(``parent(x, y) and age(y, z)``), or ask one of them for a constant that only others have.

>>> facts = Facts({"e_1": Domain.of("e_1", ["a", "c"]), "g_1": Domain.of("g_1", ["b", "c"])}, {})
>>> list(widened(Signature({}, {}), facts, ("e_1", "g_1")).domains["g_1"])
['a', 'b', 'c']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from herbrand.errors import Mistake
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.signature import Signature
from herbrand.language.syntax import Value


class NarrowError(Exception):
    """A goal for which these types must be one, or the one must have one more constant. ``mistake``: what to
    raise where types stay what they are."""

    def __init__(self, types: tuple[str, ...], value: Value | None, mistake: Mistake) -> None:
        super().__init__(types, value)
        self.types, self.value, self.mistake = types, value, mistake


def widened(signature: Signature, facts: Facts, types: Sequence[str], value: Value | None = None) -> Facts:
    """The same facts over types of which all have the constants of all, and the value too if there is one."""
    if value is not None:  # behind the others, so that no index changes
        (name,) = types
        wider = Domain.of(name, [*facts.domains[name], value], declared=True)
        return Facts({**facts.domains, name: wider}, facts.tables)
    before = {name: facts.domains[name] for name in types}
    together = Domain.merged("", [domain.values for domain in before.values() if len(domain)])
    domains = {name: replace(together, name=name) for name in types}
    places = {name: together.indices_of(domain.values) for name, domain in before.items()}
    tables = {
        name: _moved(table, signature.predicates[name].column_types, places)
        for name, table in facts.tables.items()
    }
    return Facts({**facts.domains, **domains}, tables)


def _moved(table: FactTable, types: Sequence[str], places: Mapping[str, np.ndarray]) -> FactTable:
    """The table over the new indices: their order is the old one's, so rows stay sorted."""
    if not any(name in places for name in types):
        return table

    def moved(rows: np.ndarray) -> np.ndarray:
        found = np.array(rows, order="F")
        for column, name in enumerate(types):
            if name in places:
                found[:, column] = places[name][rows[:, column]]
        return found

    return replace(table, true=moved(table.true), false=moved(table.false), soft=moved(table.soft))
