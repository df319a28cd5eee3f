"""Rules with arithmetic and aggregates, evaluated by loops over rows: the truth that every engine must meet.

A body is tried literal by literal, each atom against each row; a comparison waits until its variables have
values. An aggregate runs the same loop over its own body, once for each row of the outer one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from herbrand.language.formulas import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Formula,
    Not,
    Variable,
    leaf_terms,
)
from herbrand.language.syntax import Rule
from herbrand.language.theory import Theory

Rows = dict[str, set[tuple[Any, ...]]]
Values = Mapping[str, Any]
SIGNS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt}
SIGNS |= {"<=": operator.le, ">": operator.gt, ">=": operator.ge}
FOLDED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "power": math.pow,
}
OF_ONE = {
    "negative": operator.neg,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "round": round,
}


class NoValueError(Exception):
    """A variable that has none yet, or an aggregate of nothing."""


def least_model(theory: Theory, facts: Rows, groups: list[list[str]]) -> Rows:
    """All that holds; ``groups``: derived predicates, each group complete before the next."""
    rows = {name: set(known) for name, known in facts.items()}
    for group in groups:
        grown = True
        while grown:
            before = sum(len(rows.get(name, ())) for name in group)
            for rule in theory.rules:
                if rule.head.predicate in group:
                    rows.setdefault(rule.head.predicate, set()).update(heads(rule, dict(rows)))
            grown = sum(len(rows.get(name, ())) for name in group) > before
    return rows


def heads(rule: Rule, rows: Rows) -> set[tuple[Any, ...]]:
    outside = set(_names(rule.head))
    for literal in rule.body:
        outside |= set(_plain_names(literal))
    return {
        tuple(_value(term, known, rows, outside) for term in rule.head.arguments)
        for known in bindings(list(rule.body), {}, rows, outside)
    }


def bindings(body: list[Formula], known: Values, rows: Rows, outside: set[str]) -> Iterator[Values]:
    if not body:
        yield known
        return
    for place, literal in enumerate(body):
        rest = body[:place] + body[place + 1 :]
        if isinstance(literal, Atom):
            for row in rows.get(literal.predicate, ()):
                if (more := _matched(literal, row, known)) is not None:
                    yield from bindings(rest, more, rows, outside)
            return
    for place, literal in enumerate(body):
        rest = body[:place] + body[place + 1 :]
        if isinstance(literal, Comparison | Computed):
            for name, value in ((literal.left, literal.right), (literal.right, literal.left)):
                if literal.operator == "=" and isinstance(name, Variable) and name.name not in known:
                    try:
                        found = _value(value, known, rows, outside)
                    except NoValueError:
                        continue
                    yield from bindings(rest, {**known, name.name: found}, rows, outside)
                    return
    if all(_holds(literal, known, rows, outside) for literal in body):
        yield known


def _matched(atom: Atom, row: tuple[Any, ...], known: Values) -> Values | None:
    found = dict(known)
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Constant):
            if not _same(term.value, value):
                return None
        elif term.name != "_" and not _same(found.setdefault(term.name, value), value):
            return None
    return found


def _same(left: Any, right: Any) -> bool:
    return isinstance(left, str) == isinstance(right, str) and left == right


def _holds(literal: Formula, known: Values, rows: Rows, outside: set[str]) -> bool:
    match literal:
        case Not(operand=Atom() as atom):
            return not any(_matched(atom, row, known) is not None for row in rows.get(atom.predicate, ()))
        case Not(operand=operand):
            return not _holds(operand, known, rows, outside)
        case (
            Comparison(operator=sign, left=left, right=right)
            | Computed(operator=sign, left=left, right=right)
        ):
            try:
                return SIGNS[sign](_value(left, known, rows, outside), _value(right, known, rows, outside))
            except NoValueError:
                return False
    raise AssertionError(literal)


def _value(part: object, known: Values, rows: Rows, outside: set[str]) -> Any:
    match part:
        case Constant(value=value):
            return value
        case Variable(name=name):
            if name not in known:
                raise NoValueError
            return known[name]
        case Arithmetic(sign=sign, operands=operands):
            values = [_value(operand, known, rows, outside) for operand in operands]
            return OF_ONE[sign](values[0]) if sign in OF_ONE else reduce(FOLDED[sign], values)
        case Aggregate(function=function, terms=terms, body=body):
            if any(name not in known for name in set(_names_in(part)) & outside):
                raise NoValueError
            fixed = {name: value for name, value in known.items() if name in outside}
            inside = outside | {n for literal in body for n in _plain_names(literal)}
            found = {
                tuple(_value(term, each, rows, inside) for term in terms)
                for each in bindings(list(body), fixed, rows, inside)
            }
            return _folded(function, [row[0] for row in found])
    raise AssertionError(part)


def _folded(function: str, values: list[Any]) -> Any:
    if function == "count":
        return len(values)
    if function == "sum":
        return math.fsum(values) if any(isinstance(x, float) for x in values) else sum(values)
    if not values:
        raise NoValueError
    return {"min": min, "max": max, "avg": lambda x: math.fsum(x) / len(x)}[function](values)


def _names(part: Formula) -> Iterator[str]:
    return (term.name for term in leaf_terms(part) if isinstance(term, Variable))


def _plain_names(part: object) -> Iterator[str]:
    """The variables that stand outside aggregates."""
    match part:
        case Variable(name=name):
            yield name
        case Arithmetic(operands=operands):
            for operand in operands:
                yield from _plain_names(operand)
        case Not(operand=operand):
            yield from _plain_names(operand)
        case Comparison(left=left, right=right) | Computed(left=left, right=right):
            yield from _plain_names(left)
            yield from _plain_names(right)
        case Atom():
            yield from _names(part)


def _names_in(part: object) -> Iterator[str]:
    """All variables, those inside aggregates too."""
    match part:
        case Aggregate(terms=terms, body=body):
            for inner in (*terms, *body):
                yield from _names_in(inner)
        case Arithmetic(operands=operands):
            for operand in operands:
                yield from _names_in(operand)
        case Not(operand=operand):
            yield from _names_in(operand)
        case Comparison(left=left, right=right) | Computed(left=left, right=right):
            yield from _names_in(left)
            yield from _names_in(right)
        case Atom():
            yield from _names(part)
        case Variable(name=name):
            yield name
