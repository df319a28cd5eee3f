"""Recursion that counts to a number and ends there by ``N =\\= 0``, read as ``N > 0``, which has an end.

With ``p(0). p(N) :- N =\\= 0, M is N - 1, p(M)``, no ``p(N)`` holds below 0, where Prolog counts for ever:
the first clause has no such number, and the second depends on a lower one. The same is true wherever each
clause of a predicate keeps to the limit or depends on an atom further beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from herbrand.language.comparisons import steps_in
from herbrand.language.dialects.problog.goals import PrologClause
from herbrand.language.dialects.problog.names import Place
from herbrand.language.formulas import Atom, Comparison, Computed, Constant, Term, Variable, compares

_KEPT = {True: ("=", "<", "<="), False: ("=", ">", ">=")}
"""Comparisons by which a term keeps to a limit from below (``True``) or above if the other side does."""


def with_limits(clauses: Sequence[PrologClause]) -> list[PrologClause]:
    """Replace inequalities that end a count by order comparisons, if no atom holds beyond the limit."""
    if not any(_ends(clause) for clause in clauses if clause.body):
        return list(clauses)
    work = _Limits(clauses)
    return [work.limited(clause) for clause in clauses]


def _ends(clause: PrologClause) -> list[tuple[Comparison, str, Term, bool]]:
    """Inequalities of a variable from which the clause counts on, each with the name of the variable, the
    limit, and whether the clause counts up."""
    unequal = [part for part in clause.body if isinstance(part, Comparison) and part.operator == "!="]
    return [
        (part, old.name, limit, step > 0)
        for part in unequal
        for old, limit in ((part.left, part.right), (part.right, part.left))
        for _, counted, step in (_steps(clause) if isinstance(old, Variable) else ())
        if isinstance(old, Variable) and counted == old.name and step
    ]


def _steps(clause: PrologClause) -> Iterator[tuple[str, str, int]]:
    for part in clause.body:
        if isinstance(part, Computed):
            yield from steps_in(part)


class _Limits:
    def __init__(self, clauses: Sequence[PrologClause]) -> None:
        self._heads = [(head, clause) for clause in clauses for head in clause.heads]

    def limited(self, clause: PrologClause) -> PrologClause:
        for end, name, limit, up in _ends(clause):
            if all(self._is_limit(head, name, limit, up) for head in clause.heads):
                order = Comparison("<" if up else ">", Variable(name), limit, end.span)
                body = tuple(order if part is end else part for part in clause.body)
                return self.limited(replace(clause, body=body))
        return clause

    def _is_limit(self, head: Atom, name: str, limit: Term, up: bool) -> bool:
        """Whether no instance of the head holds with the variable beyond the limit."""
        own = [place for place, term in enumerate(head.arguments) if term == Variable(name)]
        if isinstance(limit, Constant):
            kept = self._kept(limit, up) if not isinstance(limit.value, str) else ()
            return any((head.predicate, place) in kept for place in own)
        handed = [place for place, term in enumerate(head.arguments) if term == limit]
        return any(self._keeps_argument(head.predicate, one, other, up) for one in own for other in handed)

    def _kept(self, limit: Constant, up: bool) -> Set[Place]:
        """Places at which no number beyond the limit holds, as the greatest fixpoint over all clauses."""
        places: set[Place] = {
            (h.predicate, place) for h, _ in self._heads for place in range(len(h.arguments))
        }
        while True:
            before = len(places)
            for head, clause in self._heads:
                for place, term in enumerate(head.arguments):
                    if not _is_within(term, limit, up, clause) and not any(
                        (atom.predicate, i) in places for atom, i in _counted(term, clause, up)
                    ):
                        places.discard((head.predicate, place))
            if len(places) == before:
                return places

    def _keeps_argument(self, predicate: str, place: int, limit: int, up: bool) -> bool:
        """Whether one argument keeps to another one, which recursive calls pass on unchanged."""
        return all(
            _is_within(head.arguments[place], head.arguments[limit], up, clause)
            or any(
                atom.predicate == predicate and i == place and atom.arguments[limit] == head.arguments[limit]
                for atom, i in _counted(head.arguments[place], clause, up)
            )
            for head, clause in self._heads
            if head.predicate == predicate
        )


def _counted(term: Term, clause: PrologClause, up: bool) -> Iterator[tuple[Atom, int]]:
    """Yield atoms of a body, and the position of an argument that is ``term`` counted a step on."""
    if isinstance(term, Variable):
        counters = {
            one for one, old, step in _steps(clause) if old == term.name and step and (step > 0) == up
        }
        for atom in [part for part in clause.body if isinstance(part, Atom)] if counters else ():
            for place, each in enumerate(atom.arguments):
                if isinstance(each, Variable) and each.name in counters:
                    yield atom, place


def _is_within(term: Term, limit: Term, up: bool, clause: PrologClause) -> bool:
    """Whether an argument of a head keeps to a limit, by itself or by a comparison in the body."""
    if isinstance(term, Constant) and isinstance(limit, Constant):
        return isinstance(term.value, str) or compares("<=" if up else ">=", term.value, limit.value)
    return (term == limit and term != Variable("_")) or any(
        isinstance(part, Comparison)
        and part.left == term
        and part.operator in _KEPT[up]
        and part.right != term
        and isinstance(part.right, Constant)
        and _is_within(part.right, limit, up, clause)
        for part in clause.body
    )
