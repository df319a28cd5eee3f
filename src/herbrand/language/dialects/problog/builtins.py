"""Built-in predicates that are read as comparisons, unless the file defines predicates of their names.

``succ(X, Y)`` and ``plus(X, Y, Z)`` become equations for the argument without a value. ``number(X)`` and
other type tests become comparisons of ``X`` with itself, marked with the name of the test: whether ``X`` has
a value is analysed as for ``==``, and if it has one, the constants that can stand there decide the test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from herbrand.errors import LanguageError, Span
from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.problog.calls import computed_in
from herbrand.language.dialects.problog.early import TYPE_TESTS, bound_after
from herbrand.language.dialects.problog.goals import Body, PrologClause, value_of
from herbrand.language.dialects.problog.names import LinkedPlaces, PredicateNames
from herbrand.language.formulas import (
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Expression,
    Not,
    Term,
    Truth,
    compares,
    leaf_terms,
    unnegated,
    walk,
)
from herbrand.language.syntax import BodyLiteral

READ = {"succ/2", "plus/3", *(f"{name}/1" for name in TYPE_TESTS)}


def with_tests(
    body: Body,
    heads: Sequence[Atom],
    own: Mapping[str, str],
    tests: dict[Span, str],
    known: Set[str] = frozenset(),
) -> Body:
    """Replace these predicates in a body by comparisons, and note type tests in ``tests``.

    ``own``: indicator in the file, such as ``succ/2``, of each predicate by its name here. ``known``:
    variables to which every call gives a value.
    """
    known, given, literals = {*known}, variables_of(list(heads)).keys(), list[BodyLiteral]()
    for literal in body:
        atom = unnegated(literal)
        if isinstance(atom, Atom) and atom.predicate in own:
            literal = _as_test(literal, atom, own[atom.predicate], known, given, tests)
        literals.append(literal)
        known = bound_after(literal, known, ())
    return tuple(literals)


def _as_test(
    literal: BodyLiteral,
    atom: Atom,
    indicator: str,
    known: Set[str],
    given: Set[str],
    tests: dict[Span, str],
) -> BodyLiteral:
    name, negated, span = indicator.split("/")[0], isinstance(literal, Not), literal.span
    if name in TYPE_TESTS:
        if span is not None:
            tests[span] = f"not {name}" if negated else name
        test = Comparison("=", atom.arguments[0], atom.arguments[0], span)
        return replace(test, operator="!=") if negated else test
    test = _equation(atom, known, given)
    test = replace(test, operator="!=", span=span) if negated else test
    if variables_of(test):
        return test
    return Truth(compares(test.operator, value_of(test.left, {}), value_of(test.right, {})), span)


def _equation(atom: Atom, known: Set[str], given: Set[str]) -> Computed:
    """The equation for an argument without a value, preferably one that no caller can give; else for the
    sum. ``given``: variables to which callers may give values."""
    first, *between, total = atom.arguments
    second = between[0] if between else Constant(1)
    ways: list[tuple[Term, Expression]] = [
        (total, Arithmetic("+", (first, second), atom.span)),
        (first, Arithmetic("-", (total, second), atom.span)),
        (second, Arithmetic("-", (total, first), atom.span)),
    ]
    free = [way for way in ways if variables_of(way[0]).keys() - known]
    inner = [way for way in free if variables_of(way[0]).keys() - given]
    left, right = (inner or free or ways)[0]
    return Computed("=", left, right, atom.span)


def decided(
    clauses: Sequence[PrologClause], queries: Sequence[Atom], tests: Mapping[Span, str], names: PredicateNames
) -> list[PrologClause]:
    """Replace type tests by their truth, given that their variables have values; if only some of the
    possible values pass, by an atom that lists these."""
    if TYPE_TESTS.keys().isdisjoint(name.removeprefix("not ") for name in tests.values()):
        return list(clauses)
    work = _Decisions(clauses, queries, tests, names)
    simplified = [
        replace(clause, body=tuple(work.decided(part, number) for part in clause.body))
        for number, clause in enumerate(clauses)
    ]
    return [*simplified, *work.made]


class _Decisions:
    """Decisions on type tests; ``made``: clauses that list the values which pass a test."""

    def __init__(
        self,
        clauses: Sequence[PrologClause],
        queries: Sequence[Atom],
        tests: Mapping[Span, str],
        names: PredicateNames,
    ) -> None:
        self._places = LinkedPlaces([each.formulas for each in clauses], queries)
        self._computed = {
            self._places.leader((number, name))
            for number, clause in enumerate(clauses)
            for name in computed_in(clause.body)
        }
        self._clauses, self._tests, self._names = clauses, tests, names
        self.made: dict[PrologClause, None] = {}

    @cached_property
    def _rounds(self) -> bool:
        """Whether some number is written like ``1.0``, which is ``1`` here."""
        leaves = (leaf for clause in self._clauses for part in clause.formulas for leaf in walk(part))
        terms = (term for leaf in leaves for term in leaf_terms(leaf) if isinstance(term, Constant))
        return any(isinstance(t.value, int) and t.span and {*".eE"} & {*t.span.text} for t in terms)

    def decided(self, literal: BodyLiteral, number: int) -> BodyLiteral:
        """The literal of clause ``number``, or the result of its type test."""
        test = self._tests.get(literal.span, "") if literal.span is not None else ""
        name = test.removeprefix("not ")
        if not isinstance(literal, Comparison) or name not in TYPE_TESTS:
            return literal
        values = self._values(literal, name, number)
        passing = [value for value in values if TYPE_TESTS[name](value.value)]
        if not 0 < len(passing) < len(values):
            return Truth((test == name) == bool(passing), literal.span)
        about = f"{name} of {number}"
        atom = Atom(self._names.of(about, 1, about), (literal.left,), literal.span)
        self.made |= dict.fromkeys(PrologClause((replace(atom, arguments=(each,)),), ()) for each in passing)
        return atom if test == name else Not(atom, literal.span)

    def _values(self, literal: Comparison, name: str, number: int) -> list[Constant]:
        """Constants that the variable of a test can be; a 0 represents all computed numbers."""
        if isinstance(literal.left, Constant):
            return [literal.left]
        place = (number, literal.left.name)
        values, computed = self._places.constants(place), self._places.leader(place) in self._computed
        if name in ("integer", "float") and (computed or self._rounds):
            hint = "give what is whole a predicate of its own"
            raise LanguageError(
                f"{name}/1 is read of constants alone, and 1.0 is 1 here", span=literal.span, hint=hint
            )
        return [*map(Constant, values), *[Constant(0)] * computed]
