"""Numbers for the ground atoms of a credal network, and their names again.

All ground atoms of the predicates that are open, predicate by predicate in the order of the theory, each in
the order of its domains; also those that no sentence mentions and those that facts settle.

>>> from herbrand.facts.domain import Domain
>>> atoms = Atoms.of({"rain": (), "smokes": (Domain.of("person", ["anna", "bob"]),)})
>>> len(atoms), atoms.text(0), atoms.text(2)
(3, 'rain', 'smokes("bob")')
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from herbrand.facts.domain import Domain
from herbrand.language.names import shown_name
from herbrand.language.show import show_formula
from herbrand.language.syntax import Atom, Constant
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

    def syntax(self, atom: int) -> Atom:
        """The atom as a formula."""
        place = bisect_right(self.starts, atom) - 1
        domains, code = self.domains[place], atom - self.starts[place]
        indices = arguments_of(code, [len(domain) for domain in domains])  # type: ignore[arg-type]
        constants = (Constant(d.value(int(i))) for d, i in zip(domains, indices, strict=True))
        return Atom(self.predicates[place], tuple(constants))

    def text(self, atom: int) -> str:
        return show_formula(self.syntax(atom))

    def texts(self) -> list[str]:
        """The name of every atom, in order."""
        found: list[str] = []
        for name, domains, start, end in zip(
            self.predicates, self.domains, self.starts, self.starts[1:], strict=False
        ):
            found += map(self.text, range(start, end)) if domains else [shown_name(name)]
        return found
