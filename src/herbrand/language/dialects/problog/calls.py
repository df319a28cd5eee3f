"""The values that clauses are called with, where a clause computes with what only its caller knows.

``p(X) :- X > 0, Y is X - 1, p(Y)`` has no value for ``X`` but the caller's. Prolog runs from the query down;
here rules run upwards, so the calls become a predicate of their own: the query ``p(3)`` is one call, and each
call of the clause makes another one. This is the transformation by magic sets (Bancilhon and others, 1986),
for those arguments alone that have no value otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from herbrand.errors import LanguageError
from herbrand.language.computed import variables_of
from herbrand.language.dialects.problog.goals import Body, PrologClause
from herbrand.language.dialects.problog.names import PredicateNames, valued
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Computed,
    Not,
    Term,
    Truth,
    Variable,
)


def with_calls(
    clauses: Sequence[PrologClause], asked: Iterable[Atom], names: PredicateNames
) -> list[PrologClause]:
    """The clauses with an atom more for what their callers give them, and the clauses that list the calls.

    ``asked``: the atoms of queries and evidence, which call first.
    """
    places = _called_places(clauses)
    if not places:
        return list(clauses)
    work = _Calls(places, names)
    found = [work.guarded(clause) for clause in clauses]
    calls = [call for clause in found for call in work.made_by(clause)]
    calls += [PrologClause((call,), ()) for atom in asked if (call := work.call(atom)) is not None]
    for clause in calls:
        if not clause.body:
            _refuse_unknown(clause.heads[0], set())
    return [*found, *work.made, *dict.fromkeys(calls)]


def _called_places(clauses: Sequence[PrologClause]) -> dict[str, tuple[int, ...]]:
    """The arguments of each predicate that only a caller can give values."""
    found: dict[str, tuple[int, ...]] = {}
    while True:
        before = dict(found)
        for clause in clauses:
            needed = _needed(clause.body, found)
            missing = needed - valued(clause.body, found) if needed else needed
            for head in clause.heads:
                own = {
                    place
                    for place, term in enumerate(head.arguments)
                    if isinstance(term, Variable) and term.name in missing
                }
                if own:
                    found[head.predicate] = tuple(sorted(own.union(found.get(head.predicate, ()))))
        if found == before:
            return found


def _needed(body: Body, places: dict[str, tuple[int, ...]]) -> set[str]:
    """The variables that goals compute with, compare, or hand on."""
    found: set[str] = set()
    for literal in body:
        match literal:
            case Computed(operator="="):
                sides = [side for side in (literal.left, literal.right) if not isinstance(side, Variable)]
                found |= variables_of(sides).keys()
            case Computed() | Comparison():
                if literal.operator not in ("=", "!=") or isinstance(literal, Computed):
                    found |= variables_of(literal).keys()
            case Atom() | Not(operand=Atom()):
                atom = literal.operand if isinstance(literal, Not) else literal
                assert isinstance(atom, Atom)
                found |= variables_of(_at(atom, places)).keys()
    return found


def _at(atom: Atom, places: dict[str, tuple[int, ...]]) -> list[Term]:
    return [atom.arguments[place] for place in places.get(atom.predicate, ())]


def _refuse_unknown(call: Atom, known: set[str]) -> None:
    for term in call.arguments:
        if isinstance(term, Variable) and term.name not in known:
            raise LanguageError(
                f"{term.name} has no value yet where this goal is tried",
                span=call.span,
                hint="a clause computes with it: let a goal before this one bind it, or name a number",
            )


class _Calls:
    """Clauses and their calls, by the arguments that callers give."""

    def __init__(self, places: dict[str, tuple[int, ...]], names: PredicateNames) -> None:
        self._places, self._names = places, names
        self.made: list[PrologClause] = []

    def call(self, atom: Atom) -> Atom | None:
        """The atom that says that another one is called; ``None`` where nobody needs to know."""
        if atom.predicate not in self._places:
            return None
        terms = tuple(_at(atom, self._places))
        return Atom(self._names.of(f"calls of {atom.predicate}", len(terms)), terms, atom.span)

    def guarded(self, clause: PrologClause) -> PrologClause:
        """The clause for those values alone that it is called with, if it has no others."""
        known = valued(clause.body, self._places)
        calls = {
            call: None
            for head in clause.heads
            if (call := self.call(head)) is not None and not variables_of(call).keys() <= known
        }
        if not calls:
            return clause
        guard = next(iter(calls))
        if len(calls) > 1:
            shared = tuple(Variable(name) for name in variables_of(list(calls)))
            guard = Atom(self._names.of(f"calls {len(self.made)}", len(shared)), shared, clause.span)
            for call in calls:
                _refuse_unknown(replace(guard, span=clause.span), set(variables_of(call)))
                self.made.append(PrologClause((guard,), (call,), span=clause.span))
        return replace(clause, body=(guard, *clause.body))

    def made_by(self, clause: PrologClause) -> Iterator[PrologClause]:
        """What a clause calls, under what must hold for it to come so far."""
        for place, literal in enumerate(clause.body):
            atom = literal.operand if isinstance(literal, Not) else literal
            call = self.call(atom) if isinstance(atom, Atom) else None
            if call is None:
                continue
            tests = [part for part in clause.body if isinstance(part, Comparison | Computed)]
            before: list[BodyLiteral] = []
            wanted = variables_of(call).keys()
            for part in clause.body[:place]:
                known = valued([*before, *tests], self._places)
                if isinstance(part, Atom) and not wanted <= known:
                    before.append(part)
            known = valued([*before, *tests], self._places)
            _refuse_unknown(call, known)
            before += [test for test in tests if variables_of(test).keys() <= known]
            if before != [call]:
                yield PrologClause((call,), tuple(before) or (Truth(True),), span=literal.span)
