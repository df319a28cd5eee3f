"""The weights that proofs and worlds use, numbered: what stands in one row where they come with each call.

First the facts of scored predicates, each predicate's in its relation's order, then the weighted rules, then
numbers that are stated, as they are met.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from herbrand.engines.circuit.grounding import Row
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.language.syntax import Rule


class Used(NamedTuple):
    """A choice that a proof rests on, a fact's or a rule instance's, and the source of its number."""

    choice: Hashable
    source: int


@dataclass(frozen=True, eq=False)
class Sources:
    """``stated``: the numbers met so far, each with its place behind those of scored facts and rules."""

    program: HornProgram
    scored: tuple[str, ...]
    stated: dict[float, int] = field(default_factory=dict)

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """Where each scored predicate's facts begin."""
        counts = [self.program.relation(name).count for name in self.scored]
        return dict(zip(self.scored, np.cumsum([0, *counts]).tolist(), strict=False))

    @cached_property
    def _facts(self) -> int:
        return sum(self.program.relation(name).count for name in self.scored)

    @cached_property
    def _rows(self) -> Mapping[tuple[str, Row], int]:
        found: dict[tuple[str, Row], int] = {}
        for name in self.scored:
            relation = self.program.relation(name)
            rows = np.stack(relation.columns, 1).tolist() if relation.columns else [()] * relation.count
            found |= {(name, tuple(row)): self.starts[name] + place for place, row in enumerate(rows)}
        return found

    @cached_property
    def _rules(self) -> Mapping[int, int]:
        return {id(rule): self._facts + place for place, rule in enumerate(self.program.weighted)}

    @cached_property
    def exclusive(self) -> Mapping[int, Sequence[Used]]:
        """For each score of a many-valued atom's value those of all its values."""
        found: dict[int, list[Used]] = {}
        atoms: dict[tuple[str, Row], list[Used]] = {}
        for (name, row), place in self._rows.items():
            if self.program.signature.predicates[name].value_type is not None:
                own = found[place] = atoms.setdefault((name, row[:-1]), [])
                own.append(Used((name, row), place))
        return found

    def of_fact(self, predicate: str, row: Row, weight: float) -> int:
        """Of a fact; one that takes no score weighs what it states."""
        place = self._rows.get((predicate, row))
        return self.of_number(weight) if place is None else place

    def of_rule(self, rule: Rule) -> int:
        return self._rules[id(rule)]

    def of_number(self, number: float) -> int:
        return self.stated.setdefault(number, self._facts + len(self._rules) + len(self.stated))
