"""Formulas as Alchemy writes them.

Takes a cursor and what is known of the names so far; gives formulas. ``<=>`` binds loosest, then ``=>``,
``v``, ``^``, ``!``; equal connectives group to the left, ``=>`` too; a quantifier reaches as far right as
it can. ``v`` is a disjunction only where a connective can stand; elsewhere it is a name like any other.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> cursor = Cursor(Source("t", "Smokes(x) ^ Friends(x, Bob) => Smokes(Bob)"), TOKENS)
>>> FormulaReader(cursor, Names()).read().conclusion
Atom(predicate='Smokes', arguments=(Constant(value='Bob'),))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

from herbrand.errors import Span
from herbrand.language.dialects.alchemy.lexicon import (
    EXISTS_WORDS,
    QUANTIFIERS,
    is_constant_name,
    text_of_string,
)
from herbrand.language.dialects.infix import Connective, grouped_left, read_formula
from herbrand.language.dialects.scanner import NEWLINE, Cursor, Token
from herbrand.language.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Operator,
    Or,
    Term,
    ValueIs,
    Variable,
)

CONNECTIVES = {
    "<=>": Connective(1, grouped_left(Iff)),
    "=>": Connective(2, grouped_left(Implies)),
    "v": Connective(3, Or),
    "^": Connective(4, And),
}
EQUALITIES: dict[str, Operator] = {"=": "=", "!=": "!=", "=/=": "!="}
_ORDERINGS = ("<", ">", "<=", ">=")
NO_FUNCTIONS = "functions are not supported: use a predicate with one more argument"
_NO_ORDER = "order comparisons are not supported: constants of these files are text"
_LIKELY_SIGNS = {
    "and": "'^'",
    "&": "'^'",
    "or": "' v '",
    "|": "' v '",
    "not": "'!'",
    "~": "'!'",
    "-": "'!' for not, '=>' for implies",
    "<": "'<=>' for if and only if",
}


@dataclass
class Names:
    """What the file has said of its names so far.

    ``many_valued`` predicates have their last argument taken as a value; ``constants`` are the lower-case
    names that a type declaration lists; ``seen`` tells where each predicate was first declared or used.
    """

    is_constant: Callable[[str], bool] = is_constant_name
    many_valued: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)
    seen: dict[str, Span] = field(default_factory=dict)
    declared: dict[str, tuple[str, ...]] = field(default_factory=dict)


class FormulaReader:
    """Reads one formula at a cursor.

    ``stars`` gives the sign of each ``*P(x)`` in turn, true where it runs out; ``starred`` counts them.
    ``marked`` are the variables with a ``+``, in order.
    """

    def __init__(self, cursor: Cursor, names: Names, stars: tuple[bool, ...] = ()) -> None:
        self.cursor = cursor
        self.names = names
        self.stars = stars
        self.starred = 0
        self.marked: list[Variable] = []
        self._bound: list[str] = []

    def read(self) -> Formula:
        return read_formula(self.cursor, CONNECTIVES, self._operand)

    def comparison(self) -> Comparison:
        """``x != y``, as it stands behind the colon of a formula."""
        left = self._term()
        sign = self.cursor.here
        if sign.text not in EQUALITIES:
            raise self.cursor.expected("'=' or '!='", hint=_NO_ORDER if sign.text in _ORDERINGS else "")
        self.cursor.take()
        right = self._term()
        return Comparison(EQUALITIES[sign.text], left, right, _across(left, right))

    def _operand(self) -> Formula:
        self.cursor.enter()
        formula = self._nested()
        self.cursor.leave()
        return formula

    def _nested(self) -> Formula:
        cursor, token = self.cursor, self.cursor.here
        if token.text in ("(", "["):
            return self._bracketed()
        if token.text == "!":
            cursor.take()
            operand = self._operand()
            return Not(operand, cursor.span_from(token.start))
        if token.text == "*":
            return self._starred()
        if token.kind == "name" and cursor.after.kind == "name" and token.text.lower() in QUANTIFIERS:
            return self._quantified()
        if token.kind == "name" and cursor.after.text == "(":
            return self._atom()
        if token.kind in ("name", "string", "number") or token.text == "+":
            return self._comparison_or_nullary()
        raise cursor.expected("a formula", hint=likely_sign(token))

    def _bracketed(self) -> Formula:
        opening = self.cursor.take()
        formula = self.read()
        self.cursor.expect(")" if opening.text == "(" else "]", hint=likely_sign(self.cursor.here))
        return formula

    def _quantified(self) -> Formula:
        word = self.cursor.take()
        variables = [self._quantified_variable()]
        while self.cursor.accept(","):
            variables.append(self._quantified_variable())
        self._bound += [variable.name for variable in variables]
        body = self.read()
        del self._bound[-len(variables) :]
        kind = Exists if word.text.lower() in EXISTS_WORDS else Forall
        return kind(tuple(variables), body, self.cursor.span_from(word.start))

    def _quantified_variable(self) -> Variable:
        token = self.cursor.expect_kind("name", "a variable")
        if self.names.is_constant(token.text):
            raise self.cursor.refusal(
                f"'{token.text}' cannot be quantified", token, "variables begin with a lower-case letter"
            )
        return self._variable(token)

    def _starred(self) -> Formula:
        star = self.cursor.take()
        if self.cursor.here.kind != "name":
            raise self.cursor.expected("a predicate behind '*'")
        atom = self._atom() if self.cursor.after.text == "(" else self._nullary()
        sign = self.stars[self.starred] if self.starred < len(self.stars) else True
        self.starred += 1
        return atom if sign else Not(atom, self.cursor.span_from(star.start))

    def _comparison_or_nullary(self) -> Formula:
        following = self.cursor.after.text
        if self.cursor.here.kind == "name" and following not in EQUALITIES and following not in _ORDERINGS:
            return self._nullary()
        return self.comparison()

    def _nullary(self) -> Formula:
        token = self.cursor.take()
        return self._said(token, (), self.cursor.span_of(token))

    def _atom(self) -> Formula:
        predicate = self.cursor.take()
        arguments = self._arguments()
        span = self.cursor.span_from(predicate.start)
        if self.cursor.here.text in EQUALITIES or self.cursor.here.text in _ORDERINGS:
            raise self.cursor.refusal(f"'{predicate.text}' is used as a function", predicate, NO_FUNCTIONS)
        return self._said(predicate, arguments, span)

    def _arguments(self) -> tuple[Term, ...]:
        self.cursor.expect("(")
        if self.cursor.accept(")"):
            return ()
        arguments = [self._term()]
        while not self.cursor.accept(")"):
            if not self.cursor.accept(","):
                raise self.cursor.expected("',' or ')'")
            self.cursor.skip(NEWLINE)
            arguments.append(self._term())
        return tuple(arguments)

    def _said(self, predicate: Token, arguments: tuple[Term, ...], span: Span) -> Formula:
        """The atom; of a many-valued predicate, that it has its last argument as value."""
        self.names.seen.setdefault(predicate.text, span)
        if predicate.text not in self.names.many_valued:
            return Atom(predicate.text, arguments, span)
        if not arguments:
            raise self.cursor.refusal(f"'{predicate.text}' is many-valued and has no value here", predicate)
        return ValueIs(Atom(predicate.text, arguments[:-1], span), arguments[-1], span)

    def _term(self) -> Term:
        cursor, token = self.cursor, self.cursor.here
        if token.text == "+":
            return self._marked_variable()
        if token.kind == "name" and cursor.after.text == "(":
            raise cursor.refusal(f"'{token.text}' is used as a function", token, NO_FUNCTIONS)
        if token.kind not in ("name", "string", "number"):
            raise cursor.expected("a variable or a constant", hint=_likely_term(token))
        cursor.take()
        if token.kind == "string":
            return Constant(text_of_string(token.text), cursor.span_of(token))
        if token.kind == "number" or self._is_constant(token.text):
            return Constant(token.text, cursor.span_of(token))
        return self._variable(token)

    def _variable(self, token: Token) -> Variable:
        """``_`` is a name like any other here, and must not become our anonymous variable."""
        name = _name_for_blank(self.cursor.source.text) if token.text == "_" else token.text
        return Variable(name, self.cursor.span_of(token))

    def _is_constant(self, name: str) -> bool:
        return name not in self._bound and (self.names.is_constant(name) or name in self.names.constants)

    def _marked_variable(self) -> Variable:
        plus = self.cursor.take()
        variable = self._term()
        if not isinstance(variable, Variable) or variable.name in self._bound:
            raise self.cursor.refusal("'+' goes before a free variable", plus)
        if variable not in self.marked:
            self.marked.append(variable)
        return variable


@lru_cache(maxsize=1)
def _name_for_blank(text: str) -> str:
    """A name that occurs nowhere in the text."""
    return next(name for number in count() if (name := f"_{number}") not in text)


def likely_sign(token: Token) -> str:
    """What may have been meant by a token that is no sign of the language."""
    meant = _LIKELY_SIGNS.get(token.text.lower())
    return f"write {meant}" if meant else ""


def _likely_term(token: Token) -> str:
    return "variables have no '?' here: write x, not ?x" if token.text == "?" else ""


def _across(left: Term, right: Term) -> Span | None:
    if left.span is None or right.span is None:
        return None
    return Span(left.span.source, left.span.start, right.span.end)
