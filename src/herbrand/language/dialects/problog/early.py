"""Analysis of goals that have another meaning in Prolog while one of their variables has no value.

``X \\== Y`` before a goal that binds ``Y`` always holds in Prolog, but is a comparison in rules. This module
finds such goals, except where every call that the queries lead to gives the value: if ``p(1, 2)`` is asked,
``p(X, Y) :- e(X, Z), Z \\== Y, p(Z, Y)`` is fine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from herbrand.errors import Span
from herbrand.language.comparisons import leaf_computes, variables_of
from herbrand.language.dialects.problog.goals import Body, PrologClause, bound_by
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Constant,
    Not,
    Term,
    Value,
    Variable,
    leaf_terms,
    unnegated,
)
from herbrand.language.syntax import BodyLiteral

Places = frozenset[int]
"""Positions of the arguments of a predicate that have a value in every call."""
OpenPlace = tuple[str, int]
"""A predicate, and the position of an argument that some answer may leave without a value."""


TYPE_TESTS: dict[str, Callable[[Value], bool]] = {
    "number": lambda value: not isinstance(value, str),
    "integer": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, float),
    **dict.fromkeys(["atom", "callable"], lambda value: isinstance(value, str)),
    **dict.fromkeys(["nonvar", "ground", "atomic", "simple"], lambda value: True),
    **dict.fromkeys(["var", "compound", "is_list"], lambda value: False),
}
"""Result of each type test on a value; on a variable without one, only ``var`` holds."""


EarlyGoal = tuple[str, Span | None]
"""A variable without a value, and the goal that is tried before it has one."""


def early_goals(
    clauses: Sequence[PrologClause], queries: Iterable[Atom], tests: Collection[Span]
) -> dict[str, EarlyGoal]:
    """The first such goal of each predicate that has one.

    ``queries``: atoms that queries and evidence call first; where none of them leads, no argument is assumed
    to have a value. ``tests``: comparisons that give no variable a value.
    """
    waiting = [clause for clause in clauses if any(_waits(literal, tests) for literal in clause.body)]
    if not waiting:
        return {}
    unsure = open_places(clauses)
    called, goals = _called(clauses, queries, unsure), dict[str, EarlyGoal]()
    for clause in waiting:
        for head in clause.heads:
            known = _given(head, called.get(head.predicate, frozenset()))
            variables = variables_of(clause.heads) if head.predicate in called else ()
            early = _first_early(clause.body, tests, known, unsure, variables)
            if early is not None:
                goals.setdefault(head.predicate, early)
    return goals


def _waits(literal: BodyLiteral, tests: Collection[Span]) -> bool:
    """Whether the meaning of a goal depends on which variables have values."""
    waits = isinstance(literal, Not) or (isinstance(literal, Comparison) and is_test(literal, tests))
    return waits and bool(_variables(literal))


def is_test(literal: Comparison, tests: Collection[Span]) -> bool:
    """Whether a comparison gives no variable a value, but needs the values of all; ``tests``: those that do
    so whatever their operator is."""
    return literal.operator == "!=" or literal.span in tests


def open_places(clauses: Sequence[PrologClause]) -> set[OpenPlace]:
    """Arguments that some answer may leave without a value; a clause that fails has no answer."""
    answering = [clause for clause in clauses if variables_of(clause.heads) and not clause.fails]
    places, waiting = set[OpenPlace](), answering
    while waiting:
        before = set(places)
        for clause in waiting:
            known = set[str]()
            for literal in clause.body:
                known = bound_after(literal, known, places)
            for head in clause.heads:
                for place, term in enumerate(head.arguments):
                    if isinstance(term, Variable) and term.name not in known:
                        places.add((head.predicate, place))
        new = {name for name, _ in places - before}
        waiting = [c for c in answering if any(isinstance(p, Atom) and p.predicate in new for p in c.body)]
    return places


def has_value(term: Term, known: Collection[str]) -> bool:
    """Whether a term has a value; ``known``: variables that have one."""
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)


def holds_without(test: str | None, left: Term, right: Term) -> bool | None:
    """Whether a test holds of which some variable has no value; ``None`` if that is not known.

    ``test``: name of the test.
    """
    same = left == right != Variable("_")
    holds = {"==": same, "\\==": not same, "\\=": False, "not \\=": True}.get(test or "")
    if test is None or (name := test.removeprefix("not ")) not in TYPE_TESTS:
        return holds
    return (test == name) == (name == "var")


def passes(test: str, value: Value) -> bool | None:
    """Whether a value passes a type test; ``None`` if ``test`` is not the name of one."""
    name = test.removeprefix("not ")
    return (test == name) == TYPE_TESTS[name](value) if name in TYPE_TESTS else None


def bound_after(literal: BodyLiteral, known: set[str], unsure: Collection[OpenPlace]) -> set[str]:
    """Variables that have a value after a goal; answers may leave ``unsure`` arguments without one.

    Variables in arithmetic and order comparisons have one, as Prolog raises an error otherwise.
    """
    if isinstance(literal, Atom):
        sure = (t for i, t in enumerate(literal.arguments) if (literal.predicate, i) not in unsure)
        return known.union(term.name for term in sure if isinstance(term, Variable))
    if leaf_computes(literal):
        return known.union(variables_of(literal))
    if isinstance(literal, Comparison) and not any(has_value(term, known) for term in leaf_terms(literal)):
        return known
    return known.union(variable.name for variable in bound_by(literal))


def _called(
    clauses: Sequence[PrologClause], queries: Iterable[Atom], unsure: Collection[OpenPlace]
) -> dict[str, Places]:
    """Arguments that have a value in every call of each predicate, from the queries down."""
    rules: dict[str, list[tuple[Atom, Body]]] = defaultdict(list)
    for clause in clauses:
        for head in clause.heads if clause.body else ():
            rules[head.predicate].append((head, clause.body))
    called: dict[str, Places] = {}
    waiting = [(atom, set[str]()) for atom in queries]
    while waiting:
        atom, known = waiting.pop()
        before, name = called.get(atom.predicate), atom.predicate
        brought = _brought(atom, known)
        called[name] = brought if before is None else before & brought
        if called[name] != before:
            for head, body in rules[name]:
                waiting += _calls(body, _given(head, called[name]), unsure)
    return called


def given_by_calls(clauses: Sequence[PrologClause], queries: Iterable[Atom]) -> list[set[str]]:
    """For each clause, the variables to which every call gives a value. ``queries``: atoms called first."""
    called = _called(clauses, queries, open_places(clauses))
    given = ([_given(head, called.get(head.predicate, Places())) for head in c.heads] for c in clauses)
    return [set.intersection(*each) for each in given]


def _brought(atom: Atom, known: set[str]) -> Places:
    return frozenset(place for place, term in enumerate(atom.arguments) if has_value(term, known))


def _given(head: Atom, places: Places) -> set[str]:
    """Variables of a clause to which its caller gives values."""
    terms = [head.arguments[place] for place in places]
    return {term.name for term in terms if isinstance(term, Variable)}


def _calls(body: Body, known: set[str], unsure: Collection[OpenPlace]) -> Iterator[tuple[Atom, set[str]]]:
    """Yield the atoms that a clause calls, each with the variables that have a value at that point."""
    for literal, bound in _walked(body, known, unsure):
        atom = unnegated(literal)
        if isinstance(atom, Atom):
            yield atom, bound


def _walked(
    body: Body, known: set[str], unsure: Collection[OpenPlace]
) -> Iterator[tuple[BodyLiteral, set[str]]]:
    for literal in body:
        yield literal, known
        known = bound_after(literal, known, unsure)


def _first_early(
    body: Body,
    tests: Collection[Span],
    known: set[str],
    unsure: Collection[OpenPlace],
    variables: Collection[str],
) -> EarlyGoal | None:
    """The first goal of a body that is tried before one of its variables has a value, if any.

    ``known``: variables that have a value before the first goal. ``variables``: variables of called heads,
    which matter in negated goals even if no other goal has them.
    """
    goals_with = Counter(name for literal in body for name in _variables(literal))
    for literal, bound in _walked(body, known, unsure):
        match literal:
            case Comparison() if is_test(literal, tests):
                late = [name for name in _variables(literal) if name not in bound]
            case Not():
                shared = (name for name in _variables(literal) if goals_with[name] > 1 or name in variables)
                late = [name for name in shared if name not in bound]
            case _:
                late = []
        if late:
            return late[0], literal.span
    return None


def _variables(literal: BodyLiteral) -> list[str]:
    return [name for name, term in variables_of(literal).items() if not term.anonymous]
