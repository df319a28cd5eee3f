"""Clauses by the predicate they derive, with their dependencies and the depth of proofs.

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
    """Clauses by predicate. ``chances``: their probabilities, by the index that each clause has as its
    ``weight``: a number, or the variable of the clause that holds it. ``of_choices``: choices are sampled by
    these clauses, so proofs have no weights."""

    signature: Signature
    clauses: Mapping[str, tuple[Clause, ...]]
    chances: tuple[float | str, ...] = ()
    of_choices: bool = False

    def is_derived(self, predicate: str) -> bool:
        return predicate in self.clauses

    def called(self, clauses: Iterable[Clause]) -> list[str]:
        """Derived predicates that clauses call, negated atoms left out."""
        lookups = (part for clause in clauses for part in clause.body if isinstance(part, Lookup))
        names = (part.predicate for part in lookups if not part.stated)
        return [name for name in dict.fromkeys(names) if self.is_derived(name)]

    @cached_property
    def _heights(self) -> dict[str, int | None]:
        return {}

    def height(self, predicate: str) -> int | None:
        """Depth of the deepest proof, in calls below its own; ``None`` if it depends on itself."""
        if predicate not in self._heights:
            self._heights[predicate] = None  # met again below: the predicate depends on itself
            below = [self.height(name) for name in self.called(self.clauses.get(predicate, ()))]
            known = [height for height in below if height is not None]
            if len(known) == len(below):
                self._heights[predicate] = 1 + max(known, default=-1)
        return self._heights[predicate]

    def reached(self, clauses: Iterable[Clause]) -> set[str]:
        """Predicates that clauses depend on, through negation too."""

        def called(clauses: Iterable[Clause]) -> set[str]:
            return {name for clause in clauses for name in clause.predicates()}

        return set(reached(called(clauses), lambda name: called(self.clauses.get(name, ()))))

    def absences(self, clauses: Sequence[Clause]) -> Iterator[tuple[Clause, str]]:
        """Yield the negated predicates of clauses and of all they depend on, each with its clause."""
        below = [clause for name in self.reached(clauses) for clause in self.clauses.get(name, ())]
        for clause in (*clauses, *below):
            for part in clause.body:
                if isinstance(part, Absence):
                    yield clause, part.predicate
