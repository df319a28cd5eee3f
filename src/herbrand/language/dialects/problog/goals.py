"""Bodies of clauses: goals of Prolog as the literals of a rule, an alternative each.

A disjunction gives several bodies. What is negated as a whole becomes a predicate of its own, with the
variables that it shares with the rest of its clause. Names that no language of facts and rules can have
(functors, lists, control, what changes the program) are refused.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from herbrand.errors import LanguageError, Span
from herbrand.language.dialects.problog.names import PredicateNames
from herbrand.language.dialects.problog.terms import PrologTerm, constant_value
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Not,
    Operator,
    Rule,
    Term,
    Truth,
    Variable,
    leaf_terms,
)

Body = tuple[BodyLiteral, ...]

BUILT_IN = frozenset(
    """append arg assert asserta assertz atom atom_codes atom_number atomic between call catch clause compare
    compound concat consult copy_term findall forall format functor ground halt integer is_list length
    list_to_set maplist member memberchk nb_getval nb_setval nl nonvar nth0 nth1 number once plus print
    retract retractall reverse select sort msort string subquery succ sum_list sumlist tab throw try_call
    use_module var write writeln""".split()  # noqa: SIM905
)
"""Predicates of Prolog that a file may call without defining them, and that the language does not have."""

_SIGNS: dict[str, Operator] = {"=": "=", "==": "=", "is": "=", "=:=": "=", "\\=": "!=", "\\==": "!="}
_SIGNS |= {"=\\=": "!=", "<": "<", "=<": "<=", ">": ">", ">=": ">="}
_NUMERIC = {"is", "=:=", "=\\=", "<", "=<", ">", ">="}
_OPPOSITE: dict[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_REFUSED = {
    "->": "if-then-else is not read: write a clause for each case",
    "|": "'|' is not read: write ';'",
    "!": "the cut is not read: rules are tried in no order",
    "=..": "terms are not taken apart: the language has no functors",
    "@<": "terms have no order in the language",
    "@>": "terms have no order in the language",
    ":": "modules are not read",
    "-->": "grammars are not read",
    "::": "a probability stands before the head of a clause, not inside a body",
}


class Goals:
    """Reads the bodies of one file. ``made`` are the rules of the predicates that it had to make."""

    def __init__(self, names: PredicateNames) -> None:
        self._names = names
        self._numbers = count(1)
        self._anonymous = count(1)
        self._tests: set[Span] = set()
        self.made: list[Rule] = []

    def bodies(self, goal: PrologTerm, whole: PrologTerm) -> list[Body]:
        """The alternatives of a goal that is part of a whole clause."""
        found = [tuple(body) for body in self._alternatives(goal, Counter(_variables(whole)))]
        for body in found:
            self._refuse_early(body)
        return found

    def atom(self, term: PrologTerm, open_ended: bool = False) -> Atom:
        """An atom; ``open_ended``: each ``_`` gets a name of its own, as a head needs it."""
        if term.kind != "name":
            raise LanguageError(f"{term} stands where an atom is expected", span=term.span)
        if term.name in _REFUSED:
            raise LanguageError(_REFUSED[term.name], span=term.span)
        if term.name in BUILT_IN and any(argument.arguments for argument in term.arguments):
            raise not_in_the_language(term.indicator, term.span)
        arguments = tuple(self.term(argument, open_ended) for argument in term.arguments)
        return Atom(self._names.of(term.name, len(arguments)), arguments, term.span)

    def term(self, term: PrologTerm, open_ended: bool = False) -> Term:
        if term.kind == "variable":
            name = f"_{next(self._anonymous)}" if open_ended and term.name == "_" else term.name
            return Variable(name, term.span)
        number = constant_value(term) if term.kind == "number" else None
        if number is not None:
            return Constant(number, term.span)
        if term.arguments:
            what = "arithmetic" if term.name in ("+", "-", "*", "/", "//", "**", "mod") else "a functor"
            hint = "arguments are constants and variables"
            raise LanguageError(f"{what} in an argument is not read: {term}", span=term.span, hint=hint)
        return Constant(term.name, term.span)

    def auxiliary(self, bodies: list[Body], shared: list[str], like: PrologTerm) -> Atom:
        """An atom that holds where one of the bodies does."""
        arguments = tuple(Variable(name) for name in shared)
        head = Atom(self._names.of(f"part {next(self._numbers)}", len(arguments)), arguments, like.span)
        self.made += [Rule(head, body, span=like.span) for body in bodies]
        return head

    def _alternatives(self, goal: PrologTerm, whole: Counter[str]) -> list[Body]:
        if goal.is_operator(","):
            left, right = (self._alternatives(part, whole) for part in goal.arguments)
            return [(*one, *other) for one in left for other in right]
        if goal.is_operator(";"):
            return [body for part in goal.arguments for body in self._alternatives(part, whole)]
        if goal.is_operator("\\+", 1):
            return self._negated(goal.arguments[0], whole)
        return [(self._literal(goal),)]

    def _negated(self, goal: PrologTerm, whole: Counter[str]) -> list[Body]:
        bodies = self._alternatives(goal, whole)
        if len(bodies) == 1 and len(bodies[0]) == 1:
            match bodies[0][0]:
                case Truth(value=value):
                    return [(Truth(not value, goal.span),)]
                case Comparison(operator=sign, left=left, right=right):
                    return [(Comparison(_OPPOSITE[sign], left, right, goal.span),)]
                case Atom() as atom:
                    return [(Not(atom, goal.span),)]
        own = Counter(_variables(goal))
        shared = [name for name in own if name != "_" and whole[name] > own[name]]
        return [(Not(self.auxiliary(bodies, shared, goal), goal.span),)]

    def _literal(self, goal: PrologTerm) -> BodyLiteral:
        if goal.kind == "name" and not goal.arguments and goal.name in ("true", "fail", "false", "otherwise"):
            return Truth(goal.name in ("true", "otherwise"), goal.span)
        if goal.kind == "name" and goal.name in _SIGNS and len(goal.arguments) == 2:
            return self._comparison(goal)
        return self.atom(goal)

    def _comparison(self, goal: PrologTerm) -> BodyLiteral:
        left, right = (self._compared(side, goal.name) for side in goal.arguments)
        sign = _SIGNS[goal.name]
        if isinstance(left, Constant) and isinstance(right, Constant):
            if isinstance(left.value, str) != isinstance(right.value, str):
                return Truth(sign == "!=", goal.span)
            return Truth(_COMPARE[sign](left.value, right.value), goal.span)
        if goal.name == "==" and goal.span is not None:
            self._tests.add(goal.span)
        return Comparison(sign, left, right, goal.span)

    def _refuse_early(self, body: Body) -> None:
        """Goals that mean something else in Prolog while a variable of theirs has no value yet."""
        bound: set[str] = set()
        for place, literal in enumerate(body):
            variables = [t for t in _terms(literal) if isinstance(t, Variable) and not t.anonymous]
            match literal:
                case Comparison(operator=sign, span=span) if sign == "!=" or span in self._tests:
                    late = [variable.name for variable in variables if variable.name not in bound]
                case Not():
                    later = {t.name for part in body[place:] for t in _bound_by(part)}
                    late = [v.name for v in variables if v.name in later - bound]
                case _:
                    late = []
            if late:
                raise LanguageError(
                    f"{late[0]} has no value yet where this goal is tried",
                    span=literal.span,
                    hint="let a goal that is not negated bind it before",
                )
            bound.update(variable.name for variable in _bound_by(literal))

    def _compared(self, side: PrologTerm, sign: str) -> Term:
        number = constant_value(side) if sign in _NUMERIC else None
        if number is not None:
            return Constant(number, side.span)
        if sign in _NUMERIC and side.kind != "variable":
            hint = "the language compares and computes with numbers that are constants here"
            raise LanguageError(f"arithmetic over variables is not read: {side}", span=side.span, hint=hint)
        return self.term(side)


def not_in_the_language(indicator: str, span: Span | None) -> LanguageError:
    message = f"{indicator} is a built-in predicate of Prolog that the language does not have"
    return LanguageError(message, span=span)


def _terms(literal: BodyLiteral) -> tuple[Term, ...]:
    return leaf_terms(literal.operand if isinstance(literal, Not) else literal)


def _bound_by(literal: BodyLiteral) -> list[Variable]:
    """The variables that have a value behind this goal."""
    binds = isinstance(literal, Atom) or (isinstance(literal, Comparison) and literal.operator == "=")
    return [term for term in leaf_terms(literal) if isinstance(term, Variable)] if binds else []


def _variables(term: PrologTerm) -> Iterator[str]:
    if term.kind == "variable":
        yield term.name
    for argument in term.arguments:
        yield from _variables(argument)
