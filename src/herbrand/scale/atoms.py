"""Numbers for the latent ground atoms of facts in a database, and which of them are settled, as SQL.

Predicate by predicate in the order of the signature, atoms by their arguments: the order of
:class:`~herbrand.program.ground.LatentAtoms`, with gaps where an atom is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from herbrand.errors import BudgetError
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.sql_phrases import equal


@dataclass(frozen=True, eq=False)
class StoredAtoms:
    """Of predicates that have latent atoms."""

    evidence: StoredEvidence

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of each predicate's first atom."""
        found, start = {}, 0
        for name in self.evidence.program.signature.predicates:
            if self.evidence.known(name).latent_count():
                found[name] = start
                start += math.prod(self.evidence.sizes(name))
        if start >= 2**62:
            raise BudgetError(f"there are {float(start):.1e} atoms, more than can be numbered")
        return found

    @property
    def count(self) -> int:
        """Latent atoms."""
        return sum(self.evidence.known(name).latent_count() for name in self.starts)

    def value_count(self, predicate: str) -> int:
        return self.evidence.program.value_count(predicate)

    def number(self, predicate: str, arguments: Sequence[str]) -> str:
        """An expression for the number of the atom with these arguments."""
        stride, parts = 1, []
        for argument, size in zip(reversed(arguments), reversed(self.evidence.sizes(predicate)), strict=True):
            parts.append(f"CAST({argument} AS BIGINT) * {stride}")
            stride *= size
        return " + ".join([f"CAST({self.starts[predicate]} AS BIGINT)", *reversed(parts)])

    def settled(self, predicate: str) -> str | None:
        """A query for the atoms that facts settle, and their values ``f``; None where none is."""
        evidence = self.evidence
        tables, columns = evidence.tables(predicate), evidence.columns(predicate)
        true, false, _ = tables.counts
        if evidence.is_valued(predicate):
            values = [*columns, f"a{len(columns)} AS f"]
            return f"SELECT {', '.join(values)} FROM {tables.true}" if true else None
        known = [(tables.true, 1)] * bool(true) + [(tables.false, 0)] * bool(false)
        parts = [f"SELECT {', '.join([*columns, f'{value} AS f'])} FROM {name}" for name, value in known]
        return " UNION ALL ".join(parts) or None

    def latent(self, predicate: str) -> str:
        """A query for the arguments of the latent atoms."""
        settled = self.settled(predicate)
        if settled is None:
            return self.evidence.every_atom(predicate)
        columns = self.evidence.columns(predicate)
        chosen = ", ".join(f"x.{column}" for column in columns) or "x.one"
        every, same = self.evidence.every_atom(predicate), equal("k", "x", columns)
        return f"SELECT {chosen} FROM ({every}) x LEFT JOIN ({settled}) k ON {same} WHERE k.f IS NULL"
