"""Numbers for the ground atoms of a credal network, and their names again.

All ground atoms of the predicates that are open, predicate by predicate in the order of the theory, each in
the order of its domains; also those that no sentence mentions and those that facts settle.

>>> from herbrand.facts.domain import Domain
>>> atoms = Atoms.of({"rain": (), "smokes": (Domain.of("person", ["anna", "bob"]),)})
>>> len(atoms), atoms.text(0), atoms.text(2)
(3, 'rain', 'smokes("bob")')
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.facts.domain import Domain
from herbrand.language.names import shown_constant, shown_name
from herbrand.language.show import show_formula
from herbrand.language.syntax import Atom, Constant, Value
from herbrand.program.evidence import arguments_of


@dataclass(frozen=True, eq=False)
class Atoms:
    """``starts[i]`` is the number of the first atom of ``predicates[i]``; one more entry counts all."""

    predicates: tuple[str, ...]
    domains: tuple[tuple[Domain, ...], ...]
    starts: tuple[int, ...]

    @staticmethod
    def of(domains: Mapping[str, Sequence[Domain]]) -> Atoms:
        starts = [0]
        for typed in domains.values():
            starts.append(starts[-1] + math.prod(map(len, typed)))
        return Atoms(tuple(domains), tuple(map(tuple, domains.values())), tuple(starts))

    def __len__(self) -> int:
        return self.starts[-1]

    @cached_property
    def start(self) -> Mapping[str, int]:
        """The number of each predicate's first atom."""
        return dict(zip(self.predicates, self.starts, strict=False))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each predicate stands in ``predicates``."""
        return {name: place for place, name in enumerate(self.predicates)}

    def number(self, atom: Atom) -> int | None:
        """The number of a ground atom; ``None`` where it has variables, or is none of these."""
        place = self.place.get(atom.predicate)
        if place is None or len(atom.arguments) != len(self.domains[place]):
            return None
        code = 0
        for domain, term in zip(self.domains[place], atom.arguments, strict=True):
            index = self._index(domain, term.value) if isinstance(term, Constant) else None
            if index is None:
                return None
            code = code * len(domain) + index
        return self.starts[place] + code

    def _index(self, domain: Domain, value: Value) -> int | None:
        """By a table of all constants of the domain: bounds may name each of them."""
        found = self._tables.get(domain.name)
        if found is None:
            found = self._tables[domain.name] = {value: index for index, value in enumerate(domain)}
        return found.get(value)

    @cached_property
    def _tables(self) -> dict[str, dict[Value, int]]:
        return {}

    def syntax(self, atom: int) -> Atom:
        """The atom as a formula."""
        place = bisect_right(self.starts, atom) - 1
        domains, code = self.domains[place], atom - self.starts[place]
        indices = arguments_of(np.array([code]), [len(domain) for domain in domains])
        constants = (Constant(d.value(int(i[0]))) for d, i in zip(domains, indices, strict=True))
        return Atom(self.predicates[place], tuple(constants))

    def text(self, atom: int) -> str:
        return show_formula(self.syntax(atom))

    def texts(self) -> list[str]:
        """The name of every atom, in order."""
        found: list[str] = []
        for name, domains in zip(self.predicates, self.domains, strict=True):
            shown = shown_name(name)
            constants = itertools.product(*(list(map(shown_constant, domain)) for domain in domains))
            found += (f"{shown}({', '.join(row)})" for row in constants) if domains else [shown]
        return found
