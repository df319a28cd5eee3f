"""Clauses by the predicate they derive: what they rest on, and how deep proofs can be.

>>> from herbrand.program.clauses import Clause, Lookup
>>> found = ClauseSet()
>>> found.clauses = {
...     "p": (Clause("p", ("x",), (Lookup("q", ("x",)),), {}),),
...     "q": (Clause("q", ("x",), (Lookup("stated", ("x",)),), {}),),
... }
>>> found.height("p"), sorted(found.reached(found.clauses["p"])), found.called(found.clauses["p"])
(1, ['q', 'stated'], ['q'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from herbrand.graphs import reached
from herbrand.language.signature import Signature
from herbrand.program.clauses import Absence, Clause, Lookup


class ClauseSet:
    """``chances``: by the places that clauses name, how likely each of a clause's instances is, or which of
    its variables stands for that number. ``of_choices``: choices are drawn by these clauses: proofs have no
    weights of their own, and variables that no body binds range over their types."""

    signature: Signature
    clauses: Mapping[str, tuple[Clause, ...]]
    chances: tuple[float | str, ...] = ()
    of_choices: bool = False

    def is_derived(self, predicate: str) -> bool:
        return predicate in self.clauses

    def called(self, clauses: Iterable[Clause]) -> list[str]:
        """The derived predicates that clauses ask, absences left out."""
        lookups = (part for clause in clauses for part in clause.body if isinstance(part, Lookup))
        names = (part.predicate for part in lookups if not part.stated)
        return [name for name in dict.fromkeys(names) if self.is_derived(name)]

    @cached_property
    def _heights(self) -> dict[str, int | None]:
        return {}

    def height(self, predicate: str) -> int | None:
        """How many calls deep its proofs can be; ``None`` where it rests on itself."""
        if predicate not in self._heights:
            self._heights[predicate] = None  # what is met again on the way rests on itself
            below = [self.height(name) for name in self.called(self.clauses.get(predicate, ()))]
            known = [height for height in below if height is not None]
            if len(known) == len(below):
                self._heights[predicate] = 1 + max(known, default=-1)
        return self._heights[predicate]

    def reached(self, clauses: Iterable[Clause]) -> set[str]:
        """The predicates that clauses rest on, through ``not`` too."""

        def called(clauses: Iterable[Clause]) -> set[str]:
            return {name for clause in clauses for name in clause.predicates()}

        return set(reached(called(clauses), lambda name: called(self.clauses.get(name, ()))))

    def absences(self, clauses: Sequence[Clause]) -> Iterator[tuple[Clause, str]]:
        """What stands behind ``not`` in clauses and all they rest on, each with its clause."""
        below = [clause for name in self.reached(clauses) for clause in self.clauses.get(name, ())]
        for clause in (*clauses, *below):
            for part in clause.body:
                if isinstance(part, Absence):
                    yield clause, part.predicate
