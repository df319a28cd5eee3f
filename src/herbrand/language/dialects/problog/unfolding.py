"""Unfolding of clauses that compute with their callers' values into the rules that call them.

``next(X, Y) :- Y is X + 1`` has values only for an ``X`` that its caller gives, and a limit such as ``X < 5``
stands in the caller. So ``r(Y) :- r(X), X < 5, next(X, Y)`` is read as ``r(Y) :- r(X), X < 5, Y is X + 1``,
and as one rule for each clause if ``next`` has several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import cast

from herbrand.graphs import reached
from herbrand.language.comparisons import equated, variables_of
from herbrand.language.dialects.problog.goals import Body, PrologClause, calls_by_predicate
from herbrand.language.dialects.problog.names import valued
from herbrand.language.formulas import Atom, Comparison, Computed, Constant, Expression, Term, Truth, Variable
from herbrand.language.scope import conditions_with, with_terms
from herbrand.language.syntax import BodyLiteral, Chance, Learned

MOST_RULES = 100
"""Most rules from one clause; a clause that would become more keeps its calls."""


def unfolded(clauses: Sequence[PrologClause], kept: Collection[str]) -> list[PrologClause]:
    """Replace calls of computing predicates by their bodies; ``kept``: predicates of queries and evidence.

    Negated calls stay, and so do a choice's calls of predicates that do more than compute, as each value of
    their variables would be another choice. Clauses that nothing calls any more are dropped.
    """
    tested = any(isinstance(part, Comparison | Computed) for clause in clauses for part in clause.body)
    computing = {name: own for name, own in _computing(clauses).items() if name not in kept} if tested else {}
    if not computing:
        return list(clauses)
    work = _Unfolding(computing)
    written_out = [one for clause in clauses for one in work.written_out(clause)]
    others = (clause for clause in written_out if not computing.keys() & clause.derived)
    gone = work.called.difference(*(clause.called for clause in others))
    return [clause for clause in written_out if not gone & clause.derived]


def settled(clause: PrologClause) -> PrologClause:
    """Substitute each variable that no atom has and an equation gives a value, as it has no other range.

    A probability that is such a variable becomes its number.
    """
    tests = [part for part in clause.body if isinstance(part, Comparison)]
    if not tests:
        return clause
    others = [part for part in clause.body if not isinstance(part, Comparison)]
    atoms = variables_of([*clause.heads, *(x for x in others if not isinstance(x, Computed))])
    for test in tests:
        for name, value in equated(test):
            if name in atoms or value == Variable(name):
                continue
            if (chances := _with_value(clause.chances, name, value)) is None:
                continue
            values = {name: cast(Term, value)}
            left = conditions_with([one for one in tests if one is not test], values)
            if left is None:  # it never holds, whatever its probabilities are
                known = tuple(0.0 if isinstance(chance, Variable) else chance for chance in chances)
                return replace(clause, body=(Truth(False),), chances=known)
            body = (cast(BodyLiteral, with_terms(part, values)) for part in others)
            return settled(replace(clause, body=(*body, *left), chances=chances))
    return clause


def _with_value(chances: Sequence[Chance], name: str, value: Expression) -> tuple[Chance, ...] | None:
    """Probabilities with a variable replaced by its value; ``None`` if one would be a text, or is learned for
    each value of the variable."""
    assigned = list[Chance]()
    for chance in chances:
        if isinstance(chance, Learned) and name in variables_of(chance.by):
            return None
        if not isinstance(chance, Variable) or chance.name != name:
            assigned.append(chance)
        elif isinstance(value, Variable):
            assigned.append(value)
        elif isinstance(value, Constant) and not isinstance(value.value, str):
            assigned.append(float(value.value))
        else:
            return None
    return tuple(assigned)


def _computing(clauses: Sequence[PrologClause]) -> dict[str, list[PrologClause]]:
    """Clauses of each computing predicate: its clauses call nothing, or some compute an argument from values
    of the caller. Predicates with choices or recursion are left out."""
    by_predicate, below = defaultdict[str, list[PrologClause]](list), calls_by_predicate(clauses)
    for clause in clauses:
        for head in clause.heads:
            by_predicate[head.predicate].append(clause)
    return {
        name: own
        for name, own in by_predicate.items()
        if not any(clause.chances for clause in own)
        and (_call_nothing(own) or any(map(_makes, own)))
        and name not in reached(below[name], below.__getitem__)
    }


def _call_nothing(own: Sequence[PrologClause]) -> bool:
    """Whether every clause has a body, and it computes and compares alone."""
    return all(clause.body for clause in own) and all(
        isinstance(part, Comparison | Computed) for clause in own for part in clause.body
    )


def _makes(clause: PrologClause) -> bool:
    """Whether a clause computes an argument from values that only its caller gives."""
    computed = {part.left for part in clause.body if isinstance(part, Computed) and part.operator == "="}
    outputs = {t.name for t in clause.heads[0].arguments if isinstance(t, Variable) and t in computed}
    return bool(outputs) and not outputs <= valued(clause.body)


class _Unfolding:
    def __init__(self, computing: Mapping[str, Sequence[PrologClause]]) -> None:
        self._computing, self._numbers = computing, count(1)
        self.called: set[str] = set()

    def written_out(self, clause: PrologClause) -> list[PrologClause]:
        """The clause with bodies of computing predicates in place of calls, once for each combination."""
        bodies: list[Body] = [()]
        for literal in clause.body:
            ways = self._ways(literal, alone=bool(clause.chances))
            bodies = [(*body, *way) for body in bodies for way in ways]
            if len(bodies) > MOST_RULES:
                return [clause]
        return [clause] if bodies == [clause.body] else [replace(clause, body=body) for body in bodies]

    def _ways(self, literal: BodyLiteral, alone: bool) -> list[Body]:
        """Bodies that replace a literal; ``alone``: only calls of a single clause that calls nothing."""
        own = self._computing.get(literal.predicate, ()) if isinstance(literal, Atom) else ()
        if not isinstance(literal, Atom) or not own:
            return [(literal,)]
        if alone and not (len(own) == 1 and _call_nothing(own)):
            return [(literal,)]
        self.called.add(literal.predicate)
        return [
            body
            for clause in own
            for inner in self.written_out(clause)
            for body in self._of_call(literal, inner)
        ]

    def _of_call(self, call: Atom, clause: PrologClause) -> Iterator[Body]:
        """Yield the body of a clause with the terms of its call, if its head unifies with them.

        Other variables of the clause are renamed; constants and repeated variables of its head become
        equations.
        """
        number = next(self._numbers)
        names = [n for n, variable in variables_of(clause.formulas).items() if not variable.anonymous]
        values: dict[str, Term] = {name: Variable(f"{name} of {number}") for name in names}
        given, equal = set[str](), list[BodyLiteral]()
        for parameter, term in zip(clause.heads[0].arguments, call.arguments, strict=True):
            if isinstance(term, Variable) and term.anonymous:
                continue
            if isinstance(parameter, Variable) and parameter.name not in given:
                given.add(parameter.name)
                if isinstance(term, Variable):
                    values[parameter.name] = term
                    continue
            own = values[parameter.name] if isinstance(parameter, Variable) else parameter
            if isinstance(own, Constant) and isinstance(term, Constant):
                if own != term:
                    return
            else:
                equal.append(
                    Comparison("=", *((own, term) if isinstance(own, Variable) else (term, own)), call.span)
                )
        yield (*equal, *(cast(BodyLiteral, with_terms(part, values)) for part in clause.body))
