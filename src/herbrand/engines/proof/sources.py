"""Numbering of the weights that proofs and worlds use, so that each call can give them as one row.

First the facts of scored predicates, each predicate's in its relation's order, then the weighted rules, then
stated numbers in order of first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from herbrand.engines.circuit.grounding import Row
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.language.syntax import Rule
from herbrand.program.choice_instances import chosen_by
from herbrand.row_keys import zipped


class Used(NamedTuple):
    """A choice that a proof uses, of a fact or a rule instance, and the source of its probability."""

    choice: Hashable
    source: int


class OneOf(NamedTuple):
    """One outcome of an instance of a choice: the head at ``place`` among the ``rules`` of all heads."""

    instance: Hashable
    place: int
    rules: tuple[Rule, ...]

    @property
    def chances(self) -> list[float]:
        return [cast(float, rule.weight) for rule in self.rules]


@dataclass(frozen=True, eq=False)
class Sources:
    """The numbered weights of a program.

    ``stated``: the stated numbers used so far, each with its place after scored facts and rules.
    """

    program: HornProgram
    scored: tuple[str, ...]
    stated: dict[float, int] = field(default_factory=dict)

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """Number of each scored predicate's first fact."""
        counts = [self.program.relation(name).count for name in self.scored]
        return dict(zip(self.scored, np.cumsum([0, *counts]).tolist(), strict=False))

    @cached_property
    def _facts(self) -> int:
        return sum(self.program.relation(name).count for name in self.scored)

    @cached_property
    def _rows(self) -> Mapping[tuple[str, Row], int]:
        by_row: dict[tuple[str, Row], int] = {}
        for name in self.scored:
            relation = self.program.relation(name)
            rows = zipped([column.tolist() for column in relation.columns], relation.count)
            by_row |= {(name, row): self.starts[name] + place for place, row in enumerate(rows)}
        return by_row

    @cached_property
    def _rules(self) -> Mapping[int, int]:
        return {id(rule): self._facts + place for place, rule in enumerate(self.program.weighted)}

    @cached_property
    def exclusive(self) -> Mapping[int, Sequence[Used]]:
        """For each source of a value of a many-valued atom the sources of all values of the atom."""
        by_place: dict[int, list[Used]] = {}
        atoms: dict[tuple[str, Row], list[Used]] = {}
        for (name, row), place in self._rows.items():
            if self.program.signature.predicates[name].value_type is not None:
                own = by_place[place] = atoms.setdefault((name, row[:-1]), [])
                own.append(Used((name, row), place))
        return by_place

    @cached_property
    def heads(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules of each choice with several heads, by the predicate of its instances."""
        rules_of: dict[str, tuple[Rule, ...]] = {}
        for rule in self.program.weighted:
            if (name := chosen_by(rule)) is not None:
                rules_of[name] = (*rules_of.get(name, ()), rule)
        return rules_of

    def values(self, one: Used) -> Sequence[Used]:
        """All outcomes of the choice to which one belongs; only that one if it is a choice by itself."""
        if isinstance(one.choice, OneOf):
            rules = enumerate(one.choice.rules)
            return [Used(one.choice._replace(place=place), self.of_rule(rule)) for place, rule in rules]
        return self.exclusive.get(one.source, (one,))

    def of_fact(self, predicate: str, row: Row, weight: float) -> int:
        """The source of a fact; that of its stated weight if its predicate is not scored."""
        place = self._rows.get((predicate, row))
        return self.of_number(weight) if place is None else place

    def of_rule(self, rule: Rule) -> int:
        return self._rules[id(rule)]

    def of_number(self, number: float) -> int:
        return self.stated.setdefault(number, self._facts + len(self._rules) + len(self.stated))
