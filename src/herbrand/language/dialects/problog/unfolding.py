"""Clauses that only compute, written out where they are called.

``next(X, Y) :- Y is X + 1`` has a value only for what its caller gives, and a limit such as ``X < 5`` stands
with the caller. So ``r(Y) :- r(X), X < 5, next(X, Y)`` is read as ``r(Y) :- r(X), X < 5, Y is X + 1``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import cast

from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.problog.goals import Body, PrologClause
from herbrand.language.scope import with_terms
from herbrand.language.syntax import Atom, BodyLiteral, Comparison, Computed, Not, Term, Variable


def unfolded(clauses: Sequence[PrologClause], kept: Collection[str]) -> list[PrologClause]:
    """The clauses without calls of predicates whose only clause computes; ``kept``: those that are asked for.

    What is negated is called still; a clause that nobody calls any more is left out."""
    computing = {name: clause for name, clause in _computing(clauses).items() if name not in kept}
    if not computing:
        return list(clauses)
    work = _Unfolding(computing)
    found = [replace(clause, body=tuple(work.written_out(clause.body))) for clause in clauses]
    negated = {
        part.operand.predicate
        for clause in found
        for part in clause.body
        if isinstance(part, Not) and isinstance(part.operand, Atom)
    }
    gone = work.called - negated
    return [clause for clause in found if clause.heads[0].predicate not in gone]


def _computing(clauses: Sequence[PrologClause]) -> dict[str, PrologClause]:
    """The only clause of each predicate that computes and compares, and asks for nothing else."""
    found: dict[str, PrologClause] = {}
    several: set[str] = set()
    for clause in clauses:
        for head in clause.heads:
            if head.predicate in found:
                several.add(head.predicate)
            found[head.predicate] = clause
    return {name: one for name, one in found.items() if name not in several and _only_computes(one)}


def _only_computes(clause: PrologClause) -> bool:
    terms = clause.heads[0].arguments
    names = {term.name for term in terms if isinstance(term, Variable) and not term.anonymous}
    tests = all(isinstance(part, Comparison | Computed) for part in clause.body)
    return bool(clause.body) and tests and not clause.chances and len(names) == len(terms)


class _Unfolding:
    def __init__(self, computing: dict[str, PrologClause]) -> None:
        self._computing, self._numbers = computing, count(1)
        self.called: set[str] = set()

    def written_out(self, body: Body) -> Iterator[BodyLiteral]:
        """The literals of a body, calls of what computes as the tests of its clause."""
        for literal in body:
            if isinstance(literal, Atom) and literal.predicate in self._computing:
                yield from self._tests(literal, self._computing[literal.predicate])
            else:
                yield literal

    def _tests(self, call: Atom, clause: PrologClause) -> Iterator[BodyLiteral]:
        """The clause's own variables are new ones, and so are those for constants of the call."""
        self.called.add(call.predicate)
        number = next(self._numbers)
        values: dict[str, Term] = {
            name: Variable(f"{name} of {number}") for name in variables_of(clause.formulas)
        }
        for parameter, term in zip(clause.heads[0].arguments, call.arguments, strict=True):
            assert isinstance(parameter, Variable)
            if isinstance(term, Variable) and not term.anonymous:
                values[parameter.name] = term
            elif not isinstance(term, Variable):
                yield Comparison("=", values[parameter.name], term, call.span)
        for test in clause.body:
            yield cast(BodyLiteral, with_terms(test, values))
