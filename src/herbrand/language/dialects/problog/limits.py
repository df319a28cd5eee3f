"""Recursion that counts to a number and ends there by ``N =\\= 0``, read as ``N > 0``: that has an end.

Below 0 nothing holds of ``p(0). p(N) :- N =\\= 0, M is N - 1, p(M)``, where Prolog counts for ever: the first
clause has no such number, and the second one rests on a lower one. So it is wherever each clause of a
predicate keeps to the limit or rests on what is further beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from herbrand.language.comparisons import steps_in
from herbrand.language.dialects.problog.goals import PrologClause
from herbrand.language.dialects.problog.names import Place
from herbrand.language.formulas import compares
from herbrand.language.syntax import Atom, Comparison, Computed, Constant, Term, Variable

_KEPT = {True: ("=", "<", "<="), False: ("=", ">", ">=")}
"""How what keeps to a limit from below, or from above, compares with what does so itself."""


def with_limits(clauses: Sequence[PrologClause]) -> list[PrologClause]:
    """The clauses with an order in place of each inequality that ends a count."""
    if not any(_ends(clause) for clause in clauses if clause.body):
        return list(clauses)
    work = _Limits(clauses)
    return [work.limited(clause) for clause in clauses]


def _ends(clause: PrologClause) -> list[tuple[Comparison, str, Term, bool]]:
    """The inequalities of a variable from which the clause counts on: with its name, what it has not reached,
    and whether the clause counts up."""
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
        """Whether nothing holds of the head where the variable is beyond the limit."""
        own = [place for place, term in enumerate(head.arguments) if term == Variable(name)]
        if isinstance(limit, Constant):
            kept = self._kept(limit, up) if not isinstance(limit.value, str) else ()
            return any((head.predicate, place) in kept for place in own)
        handed = [place for place, term in enumerate(head.arguments) if term == limit]
        return any(self._keeps_argument(head.predicate, one, other, up) for one in own for other in handed)

    def _kept(self, limit: Constant, up: bool) -> Set[Place]:
        """The places where no number beyond the limit holds: all but those of which some clause may hold."""
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
        """Whether one argument keeps to another one, which each call hands on."""
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
    """The atoms of a body, and where they have what the clause counts on from a variable."""
    if isinstance(term, Variable):
        made = {one for one, old, step in _steps(clause) if old == term.name and step and (step > 0) == up}
        for atom in [part for part in clause.body if isinstance(part, Atom)] if made else ():
            for place, each in enumerate(atom.arguments):
                if isinstance(each, Variable) and each.name in made:
                    yield atom, place


def _is_within(term: Term, limit: Term, up: bool, clause: PrologClause) -> bool:
    """Whether what a head has keeps to a limit, or the body says so."""
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
