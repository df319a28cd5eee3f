"""Goals that mean something else in Prolog while a variable of theirs has no value yet.

``X \\== Y`` before a goal that binds ``Y`` always holds there, and is a comparison in rules. Such goals are
found here, but where every call that the queries lead to brings the value: where ``p(1, 2)`` is asked,
``p(X, Y) :- e(X, Z), Z \\== Y, p(Z, Y)`` is fine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from herbrand.errors import Span
from herbrand.language.comparisons import leaf_computes, variables_of
from herbrand.language.dialects.problog.goals import Body, PrologClause, bound_by
from herbrand.language.formulas import unnegated
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Not,
    Term,
    Value,
    Variable,
    leaf_terms,
)

Places = frozenset[int]
"""The arguments of a predicate that have a value in every call."""
OpenPlace = tuple[str, int]
"""A predicate, and an argument that some answer of it may leave without a value."""


TYPE_TESTS: dict[str, Callable[[Value], bool]] = {
    "number": lambda value: not isinstance(value, str),
    "integer": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, float),
    **dict.fromkeys(["atom", "callable"], lambda value: isinstance(value, str)),
    **dict.fromkeys(["nonvar", "ground", "atomic", "simple"], lambda value: True),
    **dict.fromkeys(["var", "compound", "is_list"], lambda value: False),
}
"""What each says of a value; of a variable without one ``var`` alone holds."""


EarlyGoal = tuple[str, Span | None]
"""A variable without a value, and the goal that is tried before it has one."""


def early_goals(
    clauses: Sequence[PrologClause], asked: Iterable[Atom], tests: Collection[Span]
) -> dict[str, EarlyGoal]:
    """Of each predicate that has such a goal the first one.

    ``asked``: what queries and evidence call first; nothing is known of a predicate that no query leads to.
    ``tests`` are comparisons that give no variable a value.
    """
    waiting = [clause for clause in clauses if any(map(_waits, clause.body))]
    if not waiting:
        return {}
    unsure = open_places(clauses)
    called, goals = _called(clauses, asked, unsure), dict[str, EarlyGoal]()
    for clause in waiting:
        for head in clause.heads:
            known = _given(head, called.get(head.predicate, frozenset()))
            wanted = variables_of(clause.heads) if head.predicate in called else ()
            early = _first_early(clause.body, tests, known, unsure, wanted)
            if early is not None:
                goals.setdefault(head.predicate, early)
    return goals


def _waits(literal: BodyLiteral) -> bool:
    """Whether it matters to a goal which variables have values by then."""
    return isinstance(literal, Not | Comparison) and bool(_variables(literal))


def open_places(clauses: Sequence[PrologClause]) -> set[OpenPlace]:
    """The arguments that some answer may leave without a value. A clause that fails has none."""
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
    """``known``: the variables that have one."""
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)


def holds_without(test: str | None, left: Term, right: Term) -> bool | None:
    """Whether a test holds of which some variable has no value; ``said``: the test's name."""
    same = left == right != Variable("_")
    holds = {"==": same, "\\==": not same, "\\=": False, "not \\=": True}.get(test or "")
    if test is None or (name := test.removeprefix("not ")) not in TYPE_TESTS:
        return holds
    return (test == name) == (name == "var")


def passes(test: str, value: Value) -> bool | None:
    """Whether a value passes a test of types; ``None`` if a test of this name is none."""
    name = test.removeprefix("not ")
    return (test == name) == TYPE_TESTS[name](value) if name in TYPE_TESTS else None


def bound_after(literal: BodyLiteral, known: set[str], unsure: Collection[OpenPlace]) -> set[str]:
    """The variables that have a value behind a goal; answers may leave ``unsure`` arguments without one. What
    is computed with, or compared as numbers, has one: in Prolog it is an error otherwise."""
    if isinstance(literal, Atom):
        sure = (t for i, t in enumerate(literal.arguments) if (literal.predicate, i) not in unsure)
        return known.union(term.name for term in sure if isinstance(term, Variable))
    if leaf_computes(literal):
        return known.union(variables_of(literal))
    if isinstance(literal, Comparison) and not any(has_value(term, known) for term in leaf_terms(literal)):
        return known
    return known.union(variable.name for variable in bound_by(literal))


def _called(
    clauses: Sequence[PrologClause], asked: Iterable[Atom], unsure: Collection[OpenPlace]
) -> dict[str, Places]:
    """What every call of a predicate brings, from the queries down."""
    rules: dict[str, list[tuple[Atom, Body]]] = defaultdict(list)
    for clause in clauses:
        for head in clause.heads if clause.body else ():
            rules[head.predicate].append((head, clause.body))
    called: dict[str, Places] = {}
    waiting = [(atom, set[str]()) for atom in asked]
    while waiting:
        atom, known = waiting.pop()
        before, name = called.get(atom.predicate), atom.predicate
        brought = _brought(atom, known)
        called[name] = brought if before is None else before & brought
        if called[name] != before:
            for head, body in rules[name]:
                waiting += _calls(body, _given(head, called[name]), unsure)
    return called


def given_by_calls(clauses: Sequence[PrologClause], asked: Iterable[Atom]) -> list[set[str]]:
    """Of each clause the variables that every call gives a value. ``asked``: what is called first."""
    called = _called(clauses, asked, open_places(clauses))
    given = ([_given(head, called.get(head.predicate, Places())) for head in c.heads] for c in clauses)
    return [set.intersection(*each) for each in given]


def _brought(atom: Atom, known: set[str]) -> Places:
    return frozenset(place for place, term in enumerate(atom.arguments) if has_value(term, known))


def _given(head: Atom, places: Places) -> set[str]:
    """The variables of a clause whose values its caller brings."""
    terms = [head.arguments[place] for place in places]
    return {term.name for term in terms if isinstance(term, Variable)}


def _calls(body: Body, known: set[str], unsure: Collection[OpenPlace]) -> Iterator[tuple[Atom, set[str]]]:
    """The atoms that a clause calls, each with the variables that have a value there."""
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
    wanted: Collection[str],
) -> EarlyGoal | None:
    """``known``: the variables that have a value before the first goal; ``wanted``: those that have one in an
    answer, where a goal binds them or not."""
    goals_with = Counter(name for literal in body for name in _variables(literal))
    for literal, bound in _walked(body, known, unsure):
        match literal:
            case Comparison(operator=sign, span=span) if sign == "!=" or span in tests:
                late = [name for name in _variables(literal) if name not in bound]
            case Not():
                shared = (name for name in _variables(literal) if goals_with[name] > 1 or name in wanted)
                late = [name for name in shared if name not in bound]
            case _:
                late = []
        if late:
            return late[0], literal.span
    return None


def _variables(literal: BodyLiteral) -> list[str]:
    return [name for name, term in variables_of(literal).items() if not term.anonymous]
