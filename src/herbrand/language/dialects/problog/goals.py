"""Bodies of clauses: conversion of Prolog's goals to literals of rules.

A disjunction becomes several bodies. A negated compound goal becomes an auxiliary predicate over the
variables that it shares with the rest of its clause. Goals that no language of facts and rules can have
(functors, lists, control, changes of the program) are refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, count, product
from typing import cast

from herbrand.errors import LanguageError, Span
from herbrand.graphs import strong_components
from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.problog.names import PredicateNames
from herbrand.language.dialects.problog.terms import PrologTerm, calculated, constant_value, parts_of
from herbrand.language.formulas import (
    OPPOSITES,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Expression,
    Formula,
    Not,
    Operator,
    Sign,
    Term,
    Truth,
    Value,
    Variable,
    compares,
    leaf_terms,
    unnegated,
)
from herbrand.language.show import show_expression
from herbrand.language.syntax import BodyLiteral, Chance
from herbrand.quick_values import quickly_made

Body = tuple[BodyLiteral, ...]

BUILT_IN = frozenset(
    """append/3 arg/3 assert/1 asserta/1 assertz/1 atom_codes/2 atom_number/2 call/0 call/1 catch/3 clause/2
    compare/3 concat/3 consult/1 copy_term/2 findall/3 findall/4 format/1 format/2 functor/3 halt/0 length/2
    list_to_set/2 maplist/2 maplist/3 member/2 memberchk/2 nb_getval/2 nb_setval/2 nl/0 nth0/3 nth1/3 once/1
    print/1 retract/1 retractall/1 reverse/2 select/3 sort/2 msort/2 string/1 subquery/2 subquery/3 sum_list/2
    sumlist/2 tab/1 throw/1 try_call/1 use_module/1 write/1 writeln/1""".split()  # noqa: SIM905
)
"""Predicates of Prolog that a file may call without defining them, and that the language does not have."""
_INSTEAD = dict.fromkeys(
    ["format/1", "format/2", "nl/0", "print/1", "tab/1", "write/1", "writeln/1"], "leave it out"
)

_SIGNS: dict[str, Operator] = {"=": "=", "==": "=", "is": "=", "=:=": "=", "\\=": "!=", "\\==": "!="}
_SIGNS |= {"=\\=": "!=", "<": "<", "=<": "<=", ">": ">", ">=": ">="}
_SIGNS |= {"@<": "<", "@=<": "<=", "@>": ">", "@>=": ">="}
_ARITHMETIC: dict[tuple[str, int], Sign] = {
    ("+", 2): "+", ("-", 2): "-", ("*", 2): "*", ("/", 2): "/", ("//", 2): "//", ("mod", 2): "%",
    ("div", 2): "//", ("rem", 2): "%",
    ("-", 1): "negative", ("abs", 1): "abs", ("min", 2): "min", ("max", 2): "max",
    ("exp", 1): "exp", ("log", 1): "log", ("sqrt", 1): "sqrt", ("round", 1): "round",
    ("**", 2): "power", ("^", 2): "power",
}  # fmt: skip
_FUNCTIONS = {sign: function for function, sign in reversed(_ARITHMETIC.items())}
LARGEST_EXPONENT = 9
"""Powers up to this exponent are written as products."""
_NUMERIC = {"is", "=:=", "=\\=", "<", "=<", ">", ">="}
_TESTS = {"==", "\\==", "\\=", "@<", "@=<", "@>", "@>="}
_REFUSED = {
    "->": "if-then-else is not read: write a clause for each case",
    "|": "'|' is not read: write ';'",
    "!": "the cut is not read: rules are tried in no order",
    "=..": "terms are not taken apart: the language has no functors",
    ":": "modules are not read",
    "~": "distributions are not read: what is uncertain here are atoms",
    "-->": "grammars are not read",
    "::": "a probability stands before the head of a clause, not inside a body",
}
NO_ATOMS = {
    ",/2",
    ";/2",
    "\\+/1",
    "forall/2",
    "once/1",
    "between/3",
    "true/0",
    "fail/0",
    "false/0",
    "otherwise/0",
}
NO_ATOMS |= {f"{sign}/2" for sign in _SIGNS}
"""Goals that bodies do not read as atoms, so that a clause that defines one would have no effect."""
MOST_NUMBERS = 100_000
"""Most numbers in the range of one ``between``."""


@quickly_made
@dataclass(frozen=True, slots=True)
class PrologClause:
    """A clause. ``chances``: probability of each head; empty for a rule or fact, which has one head."""

    heads: tuple[Atom, ...]
    body: Body
    chances: tuple[Chance, ...] = ()
    span: Span | None = None

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (*self.heads, *self.body)

    @property
    def derived(self) -> set[str]:
        """Predicates of its heads."""
        return {head.predicate for head in self.heads}

    @property
    def called(self) -> set[str]:
        """Predicates that its goals call, negated ones included."""
        return {part.predicate for part in map(unnegated, self.body) if isinstance(part, Atom)}

    @property
    def fails(self) -> bool:
        """Whether a goal of its body is ``fail``, so that it has no answer."""
        return Truth(False) in self.body

    @property
    def is_fact(self) -> bool:
        return not self.body and not self.chances


def calls_by_predicate(clauses: Iterable[PrologClause]) -> dict[str, set[str]]:
    """For each predicate, the predicates that its clauses call; empty for one without clauses."""
    calls = defaultdict[str, set[str]](set)
    for clause in clauses:
        for name in clause.derived:
            calls[name] |= clause.called
    return calls


def mutual_calls(clauses: Iterable[PrologClause]) -> Iterator[list[str]]:
    """Groups of predicates that call each other; most are of one predicate."""
    below = calls_by_predicate(clauses)
    return strong_components({name: called & below.keys() for name, called in below.items()})


class Goals:
    """Reader of the bodies of one file. ``made``: clauses of the predicates that it made. ``tests``: names of
    comparisons that give no variable a value, by their spans."""

    def __init__(self, names: PredicateNames) -> None:
        self._names = names
        self._numbers = count(1)
        self.tests: dict[Span, str] = {}
        self.made: list[PrologClause] = []

    def bodies(self, goal: PrologTerm, whole: PrologTerm) -> list[Body]:
        """Bodies for the alternatives of a goal; ``whole``: the clause that contains it."""
        return [tuple(body) for body in self._alternatives(goal, whole)]

    def atom(self, term: PrologTerm, open_ended: bool = False) -> Atom:
        """Read an atom; ``open_ended``: give each ``_`` a distinct name, as heads need it."""
        if term.kind != "name":
            hint = "a capital begins a variable; names begin small" if term.kind == "variable" else ""
            raise LanguageError(f"{term} stands where an atom is expected", span=term.span, hint=hint)
        if term.name in _REFUSED:
            raise LanguageError(_REFUSED[term.name], span=term.span)
        if term.indicator in BUILT_IN and any(argument.arguments for argument in term.arguments):
            raise not_in_the_language(term.indicator, term.span)
        arguments = tuple(self.term(argument, open_ended) for argument in term.arguments)
        return Atom(self._names.of(term.name, len(arguments)), arguments, term.span)

    def head(self, term: PrologTerm) -> Atom:
        """Read the atom that a clause defines."""
        if term.indicator in NO_ATOMS or term.name == "call":
            hint = "in bodies it has a meaning of its own; evidence(\\+a). says that a is false"
            if term.indicator == ",/2":
                hint = "write a clause for each head"
            raise LanguageError(f"no clause can define {term.indicator}", span=term.span, hint=hint)
        return self.atom(term, open_ended=True)

    def term(self, term: PrologTerm, open_ended: bool = False) -> Term:
        if term.kind == "variable":
            variable = Variable(term.name, term.span)
            return _named(variable) if open_ended else variable
        number = constant_value(term) if term.kind == "number" else None
        if number is not None:
            return Constant(number, term.span)
        if term.arguments:
            what = "arithmetic" if term.name in ("+", "-", "*", "/", "//", "**", "^", "mod") else "a functor"
            hint = "arguments are constants and variables"
            raise LanguageError(f"{what} in an argument is not read: {term}", span=term.span, hint=hint)
        return Constant(term.name, term.span)

    def auxiliary(self, bodies: list[Body], shared: list[str], like: PrologTerm) -> Atom:
        """Make an atom over the ``shared`` variables that holds where one of the bodies does."""
        arguments = tuple(Variable(name) for name in shared)
        name = f"part {next(self._numbers)}"
        head = Atom(self._names.of(name, len(arguments), about=name), arguments, like.span)
        self.made += [PrologClause((head,), body, span=like.span) for body in bodies]
        return head

    def instances(self, bodies: list[Body], heads: Sequence[Atom], like: PrologTerm) -> list[Body]:
        """Merge alternatives of a choice's body that bind the same variables, by auxiliary atoms.

        Each instance of the choice, by the values of all its variables, is then an instance of one body.
        """
        if len(bodies) == 1:
            return bodies
        groups: dict[tuple[str, ...], list[Body]] = {}
        given = variables_of(heads).keys() & variables_of(bodies).keys()
        for body in map(without_anonymous, bodies):
            bound = given.union(variable.name for literal in body for variable in bound_by(literal))
            groups.setdefault(tuple(sorted(bound)), []).append(body)
        return [
            own[0] if len(own) == 1 else (self.auxiliary(own, list(bound), like),)
            for bound, own in groups.items()
        ]

    def _alternatives(self, goal: PrologTerm, whole: PrologTerm) -> list[Body]:
        if goal.is_operator(","):
            joined = [self._alternatives(part, whole) for part in parts_of(goal, ",")]
            return [tuple(chain.from_iterable(bodies)) for bodies in product(*joined)]
        if goal.is_operator(";"):
            return [body for part in parts_of(goal, ";") for body in self._alternatives(part, whole)]
        calls = goal.arguments if goal.name == "call" or goal.is_operator("once", 1) else ()
        if calls and calls[0].kind == "name":
            called, *rest = calls
            own = replace(called, arguments=(*called.arguments, *rest))
            return self._alternatives(own, whole)
        if goal.is_operator("\\+", 1):
            return self._negated(goal.arguments[0], whole)
        if goal.is_operator("forall", 2):
            case, holds = goal.arguments
            fails = PrologTerm("name", "\\+", (holds,), span=holds.span)
            return self._negated(PrologTerm("name", ",", (case, fails), span=goal.span), whole)
        return [(self._literal(goal),)]

    def _negated(self, goal: PrologTerm, whole: PrologTerm) -> list[Body]:
        bodies = self._alternatives(goal, whole)
        if len(bodies) == 1 and len(bodies[0]) == 1:
            match bodies[0][0]:
                case Truth(value=value):
                    return [(Truth(not value, goal.span),)]
                case Comparison() | Computed() as test:
                    return [(self._opposite(test, goal.span),)]
                case Atom() as atom:
                    return [(Not(atom, goal.span),)]
        shared = _shared(goal, whole)
        return [(Not(self.auxiliary(bodies, shared, goal), goal.span),)]

    def _opposite(self, test: Comparison | Computed, span: Span | None) -> Comparison | Computed:
        operator = test.operator if test.span is None else self.tests.get(test.span, test.operator)
        if span is not None and isinstance(test, Comparison):
            self.tests[span] = {"=": "\\=", "==": "\\==", "\\==": "=="}.get(operator, f"not {operator}")
        return replace(test, operator=OPPOSITES[test.operator], span=span)

    def _literal(self, goal: PrologTerm) -> BodyLiteral:
        if goal.kind == "name" and not goal.arguments and goal.name in ("true", "fail", "false", "otherwise"):
            return Truth(goal.name in ("true", "otherwise"), goal.span)
        if goal.kind == "name" and goal.name in _SIGNS and len(goal.arguments) == 2:
            return self._comparison(goal)
        if goal.name == "between" and len(goal.arguments) == 3:
            return self._between(goal)
        return self.atom(goal)

    def _between(self, goal: PrologTerm) -> BodyLiteral:
        """Read ``between`` as an atom of a predicate that lists the numbers.

        There is one predicate for each range with constant ends, and one for all other ranges.
        """
        first, last = (constant_value(each) for each in goal.arguments[:2])
        if first is None or last is None:
            return self._between_values(goal)
        if not isinstance(first, int) or not isinstance(last, int) or last - first >= MOST_NUMBERS:
            hint = f"between(1, 6, X) of at most {MOST_NUMBERS:,} whole numbers is read"
            raise LanguageError(f"{goal} has no numbers as its range", span=goal.span, hint=hint)
        atom = Atom(
            self._names.of(f"between {first} and {last}", 1), (self.term(goal.arguments[2]),), goal.span
        )
        if not self._is_made(atom):
            numbers = [Constant(number, goal.span) for number in range(first, last + 1)]
            self.made += [PrologClause((replace(atom, arguments=(number,)),), ()) for number in numbers]
            if not numbers:
                self.made.append(PrologClause((atom,), (Truth(False),)))
        return atom

    def _between_values(self, goal: PrologTerm) -> Atom:
        """Read ``between`` with variable ends as an atom of a recursive predicate.

        The first number is in the range, and so is each number in the range that begins at the next one.
        """
        arguments, span = tuple(map(self.term, goal.arguments)), goal.span
        atom = Atom(self._names.of("numbers between", 3), arguments, span)
        if not self._is_made(atom):
            first, last, own, following = map(Variable, ("First", "Last", "X", "Next"))
            here, inside = (replace(atom, arguments=(first, last, each)) for each in (first, own))
            after = replace(atom, arguments=(following, last, own))
            step = Computed("=", following, Arithmetic("+", (first, Constant(1)), span), span)
            self.made.append(PrologClause((here,), (Comparison("<=", first, last, span),)))
            self.made.append(PrologClause((inside,), (Comparison("<", first, last, span), step, after)))
        return atom

    def _is_made(self, atom: Atom) -> bool:
        return any(clause.heads[0].predicate == atom.predicate for clause in self.made)

    def _comparison(self, goal: PrologTerm) -> BodyLiteral:
        left, right = (self._compared(side, goal.name) for side in goal.arguments)
        sign = _SIGNS[goal.name]
        if not isinstance(left, Term) or not isinstance(right, Term):
            return Computed(sign, left, right, goal.span)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return Truth(compares(sign, left.value, right.value), goal.span)
        if goal.name in _TESTS and goal.span is not None:
            self.tests[goal.span] = goal.name
        return Comparison(sign, left, right, goal.span)

    def _compared(self, side: PrologTerm, sign: str) -> Expression:
        return self.number(side) if sign in _NUMERIC else self.term(side)

    def number(self, side: PrologTerm) -> Expression:
        """Read a number, a variable or arithmetic."""
        number = constant_value(side)
        if number is not None:
            return Constant(number, side.span)
        if side.kind == "variable":
            return self.term(side)
        if (exponent := _small_exponent(side)) is not None:
            base = self.number(side.arguments[0])
            return reduce(
                lambda power, _: Arithmetic("*", (power, base), side.span), range(1, exponent), base
            )
        if (rounded := _ROUNDED.get((side.name, len(side.arguments)))) is not None:
            return rounded(self.number(side.arguments[0]), side.span)
        sign = _ARITHMETIC.get((side.name, len(side.arguments)))
        if side.kind != "name" or sign is None:
            hint = (
                "the language computes with + - * / // ** mod rem, abs, min, max, exp, log, sqrt, round, "
                "floor, ceiling and truncate; more is read of constants alone"
            )
            raise LanguageError(f"{side.indicator} computes no number here", span=side.span, hint=hint)
        return Arithmetic(sign, tuple(self.number(operand) for operand in side.arguments), side.span)


def value_of(side: Expression, values: Mapping[str, Term]) -> Value:
    """Value of one side of a test, given the ``values`` of its variables."""
    match side:
        case Variable():
            value = walked(side, values)
            if isinstance(value, Variable):
                raise no_value_yet(side.name, side.span)
            return value.value
        case Constant(value=value):
            return value
    assert isinstance(side, Arithmetic)
    numbers = [value_of(operand, values) for operand in side.operands]
    if any(isinstance(number, str) for number in numbers):
        raise LanguageError(f"{show_expression(side)} computes with a text", span=side.span)
    return calculated(_FUNCTIONS[side.sign], cast(list[float], numbers), show_expression(side), side.span)


def walked(term: Term, values: Mapping[str, Term]) -> Term:
    """The constant that a variable is bound to, or the unbound variable at the end of its bindings."""
    while isinstance(term, Variable) and term.name in values:
        term = values[term.name]
    return term


def no_value_yet(name: str, span: Span | None, hint: str = "") -> LanguageError:
    hint = hint or "let a goal that is not negated bind it before"
    return LanguageError(f"{name} has no value yet where this goal is tried", span=span, hint=hint)


def _floor(number: Expression, span: Span | None) -> Expression:
    return Arithmetic("//", (number, Constant(1, span)), span)


def _ceiling(number: Expression, span: Span | None) -> Expression:
    return _negative(_floor(_negative(number, span), span), span)


def _truncated(number: Expression, span: Span | None) -> Expression:
    """Round towards zero: the floor of the positive part plus the ceiling of the negative part."""
    zero = Constant(0, span)
    above, below = Arithmetic("max", (number, zero), span), Arithmetic("min", (number, zero), span)
    return Arithmetic("+", (_floor(above, span), _ceiling(below, span)), span)


def _sign(number: Expression, span: Span | None) -> Expression:
    """The sign: the number rounded away from zero, then limited to -1 and 1."""
    zero, one = Constant(0, span), Constant(1, span)
    above, below = Arithmetic("max", (number, zero), span), Arithmetic("min", (number, zero), span)
    highest = Arithmetic("min", (_ceiling(above, span), one), span)
    return Arithmetic(
        "+", (highest, Arithmetic("max", (_floor(below, span), Constant(-1, span)), span)), span
    )


def _negative(number: Expression, span: Span | None) -> Expression:
    return Arithmetic("negative", (number,), span)


_ROUNDED = {("floor", 1): _floor, ("ceiling", 1): _ceiling, ("truncate", 1): _truncated, ("sign", 1): _sign}
_ROUNDED |= {("integer", 1): _truncated, **dict.fromkeys((("+", 1), ("float", 1)), lambda number, _: number)}


def _small_exponent(side: PrologTerm) -> int | None:
    """Exponent of a power if it is a small whole constant, so that the power is a product; else ``None``."""
    if side.name not in ("**", "^") or len(side.arguments) != 2:
        return None
    exponent = constant_value(side.arguments[1])
    return exponent if isinstance(exponent, int) and 1 <= exponent <= LARGEST_EXPONENT else None


def not_in_the_language(indicator: str, span: Span | None) -> LanguageError:
    message = f"{indicator} is a built-in predicate of Prolog that the language does not have"
    return LanguageError(message, span=span, hint=_INSTEAD.get(indicator, ""))


def bound_by(literal: BodyLiteral) -> list[Variable]:
    """Variables that have a value after a goal."""
    if isinstance(literal, Computed):
        sides = (literal.left, literal.right) if literal.operator == "=" else ()
        return [side for side in sides if isinstance(side, Variable)]
    binds = isinstance(literal, Atom) or (isinstance(literal, Comparison) and literal.operator == "=")
    return [term for term in leaf_terms(literal) if isinstance(term, Variable)] if binds else []


def without_anonymous(body: Body) -> Body:
    """The body with a name for each ``_`` outside negation, the same one in all alternatives."""
    return tuple(
        replace(part, arguments=tuple(map(_named, part.arguments))) if isinstance(part, Atom) else part
        for part in body
    )


def _named(term: Term) -> Term:
    """The term, with a name made of its offset in the file if it is ``_``."""
    if isinstance(term, Variable) and term.anonymous and term.span is not None:
        return Variable(f"_{term.span.start}_", term.span)
    return term


def _shared(goal: PrologTerm, whole: PrologTerm) -> list[str]:
    """Variables of a goal that also stand elsewhere in its clause."""
    own, every = Counter(_variables(goal)), Counter(_variables(whole))
    return [name for name in own if name != "_" and every[name] > own[name]]


def _variables(term: PrologTerm) -> Iterator[str]:
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if part.kind == "variable":
            yield part.name
        waiting.extend(reversed(part.arguments))
