"""Formulas with infix connectives: one reader and one writer for every dialect's table of signs.

A :class:`Connective` has a precedence and a constructor of formulas; a dialect is a table from signs to
connectives. Reading and writing are each one short function over such a table.

>>> import re
>>> from herbrand.errors import Source
>>> from herbrand.language.syntax import And, Atom, Or
>>> cursor = Cursor(Source("t", "a v b ^ c"), re.compile(r"(?P<name>[a-z]+|\\^)|(?P<blank> )"))
>>> signs = {"v": Connective(1, Or), "^": Connective(2, And)}
>>> formula = read_formula(cursor, signs, lambda: Atom(cursor.take().text))
>>> write_formula(formula, {Or: Sign(1, " v "), And: Sign(2, " ^ ")}, lambda atom: atom.predicate)
'a v b ^ c'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from herbrand.errors import Span
from herbrand.language.dialects.scanner import NEWLINE, Cursor
from herbrand.language.formulas import Exists, Forall, Formula, Leaf, Not, Term, children, with_children


@dataclass(frozen=True)
class Connective:
    """An infix connective. ``strength``: precedence, larger binds tighter. ``make`` builds the formula of the
    operands of one chain."""

    strength: int
    make: Callable[[tuple[Formula, ...], Span | None], Formula]


def grouped_left(
    pair: Callable[[Formula, Formula, Span | None], Formula],
) -> Callable[[tuple[Formula, ...], Span | None], Formula]:
    """Constructor that groups a chain ``a o b o c`` as ``(a o b) o c``, for a connective of two operands."""
    return lambda operands, span: reduce(
        lambda left, right: pair(left, right, spanning(left, right) or span), operands
    )


def spanning(first: Formula | Term, last: Formula | Term) -> Span | None:
    if first.span is None or last.span is None:
        return None
    return Span(first.span.source, first.span.start, last.span.end)


def read_formula(
    cursor: Cursor,
    connectives: Mapping[str, Connective],
    read_operand: Callable[[], Formula],
    weakest: int = 0,
) -> Formula:
    """Read the formula at the cursor by precedence climbing; lines may end after connectives.

    ``weakest``: least strength of the connectives to read.
    """
    left = read_operand()
    while (connective := connectives.get(cursor.here.text)) and connective.strength >= weakest:
        operands = [left]
        while connectives.get(cursor.here.text) is connective:
            cursor.take()
            cursor.skip(NEWLINE)
            operands.append(read_formula(cursor, connectives, read_operand, connective.strength + 1))
        left = connective.make(tuple(operands), spanning(left, operands[-1]))
    return left


@dataclass(frozen=True)
class Sign:
    """Text of a connective or quantifier in a dialect, between its operands or before its only one."""

    strength: int
    text: str


def write_formula(
    formula: Formula, signs: Mapping[type, Sign], write_leaf: Callable[[Leaf], str], above: int = 0
) -> str:
    """Write a formula in a dialect's signs, with brackets such that it reads back to the same tree.

    Connectives without a sign must have been rewritten before. ``above``: strength of the connective around.
    """
    sign = signs.get(type(formula))
    if sign is None:
        return write_leaf(formula)  # type: ignore[arg-type]
    if isinstance(formula, Not):
        return sign.text + write_formula(formula.operand, signs, write_leaf, sign.strength)
    if isinstance(formula, Exists | Forall):
        names = ",".join(variable.name for variable in formula.variables)
        inside = f"{sign.text}{names} {write_formula(formula.body, signs, write_leaf)}"
    else:
        # One more than its own strength: without brackets ``a ^ (b ^ c)`` reads back as a chain of three.
        inside = sign.text.join(
            write_formula(child, signs, write_leaf, sign.strength + 1) for child in children(formula)
        )
    return f"({inside})" if sign.strength < above else inside


def rewritten(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with ``change`` applied to every part, innermost first."""
    parts = [rewritten(part, change) for part in children(formula)]
    return change(with_children(formula, parts) if parts else formula)
