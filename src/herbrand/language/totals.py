"""Comparisons of a linear combination of counts and sums with a number or a bound variable.

>>> from herbrand.language.parse import parse_theory
>>> (rule,) = parse_theory("even(x) :- p(x), count(y: a(x, y)) >= 2 * count(y: b(x, y)) + 1").rules
>>> found = compared_totals(rule.body[1], {"x"})
>>> [times for times, _ in found.totals], found.operator, found.number.value
([1, -2], '>=', 1)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from herbrand.language.formulas import (
    Aggregate,
    Arithmetic,
    Computed,
    Constant,
    Expression,
    Operator,
    Variable,
)

MIRRORED: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
AMOUNT = "amount`"
"""Prefix of the names of variables for computed amounts; no theory can hold such a name."""
Number = int | float
Exact = int | Fraction


def as_written(number: Number) -> Fraction:
    """The exact decimal value of a number as written: 0.1 + 0.2 is 0.3, unlike the sum of the two floats.

    >>> as_written(0.1) + as_written(0.2) == as_written(0.3), 0.1 + 0.2 == 0.3
    (True, False)
    """
    return Fraction(str(number))


@dataclass(frozen=True)
class ComparedTotals:
    """A linear combination ``totals`` of counts and sums, each with its factor, compared with ``number``."""

    totals: tuple[tuple[Number, Aggregate], ...]
    operator: Operator
    number: Constant | Variable

    @property
    def expression(self) -> Expression:
        """The linear combination as one expression."""
        return reduce(
            lambda left, right: Arithmetic("+", (left, right)),
            (one if times == 1 else Arithmetic("*", (Constant(times), one)) for times, one in self.totals),
        )


@dataclass(frozen=True)
class _Linear:
    """A linear combination of totals and variables, each with its factor, plus a number."""

    totals: tuple[tuple[Exact, Aggregate], ...] = ()
    variables: tuple[tuple[Exact, Variable], ...] = ()
    number: Exact = 0

    def __add__(self, other: _Linear) -> _Linear:
        return _Linear(
            self.totals + other.totals, self.variables + other.variables, self.number + other.number
        )

    def times(self, factor: Exact) -> _Linear:
        return _Linear(
            tuple((factor * times, one) for times, one in self.totals),
            tuple((factor * times, one) for times, one in self.variables),
            factor * self.number,
        )


def compared_totals(test: object, bound: Collection[str]) -> ComparedTotals | None:
    """Normal form of a test that compares counts and sums with a number or a bound variable, else ``None``.

    A bound variable is accepted only if its factor is 1 or -1 and no number is left beside it.
    """
    if not isinstance(test, Computed) or not (_sums(test.left) or _sums(test.right)):
        return None
    left, right = _linear(test.left), _linear(test.right)
    if left is None or right is None:
        return None
    whole, operator = left + right.times(-1), test.operator
    if all(times < 0 for times, _ in whole.totals):
        whole, operator = whole.times(-1), MIRRORED[operator]
    totals = tuple((_plain(number), one) for number, one in whole.totals)
    match whole.variables:
        case ():
            return ComparedTotals(totals, operator, Constant(_plain(-whole.number)))
        case ((1 | -1 as times, variable),) if not whole.number and variable.name in bound:
            pass
        case _:
            return None
    if times == 1:
        totals, operator = tuple((-number, one) for number, one in totals), MIRRORED[operator]
    return ComparedTotals(totals, operator, variable)


def _sums(part: Expression) -> bool:
    """Whether a value contains an aggregate outside of aggregates."""
    return isinstance(part, Aggregate) or (isinstance(part, Arithmetic) and any(map(_sums, part.operands)))


def _plain(number: Exact) -> Number:
    return int(number) if number.denominator == 1 else float(number)


def _linear(part: Expression) -> _Linear | None:
    match part:
        case Constant(value=int() | float() as number):
            return _Linear(number=as_written(number))
        case Variable():
            return _Linear(variables=((1, part),))
        case Aggregate(function="count", terms=terms):
            plain = all(isinstance(term, Variable | Constant) for term in terms)
            return _Linear(((1, part),)) if plain else None
        case Aggregate(function="sum", terms=(_, *others)):
            plain = all(isinstance(term, Variable | Constant) for term in others)
            return _Linear(((1, part),)) if plain else None
        case Arithmetic(sign=sign, operands=operands):
            values = [_linear(operand) for operand in operands]
            return None if None in values else _combined(sign, [x for x in values if x is not None])
    return None


def _combined(sign: str, values: list[_Linear]) -> _Linear | None:
    match sign, values:
        case "negative", [one]:
            return one.times(-1)
        case "+", [left, right]:
            return left + right
        case "-", [left, right]:
            return left + right.times(-1)
        case "*", [left, right]:
            for one, factor in ((left, right), (right, left)):
                if not factor.totals and not factor.variables:
                    return one.times(factor.number)
    return None


def with_amount(one: Aggregate, number: int) -> tuple[Aggregate, tuple[Any, ...]]:
    """The aggregate with a variable or constant as the amount that it adds, and its body.

    If the amount of a sum is computed, the body gets an equation that gives the new variable this value.
    """
    first = one.terms[0] if one.terms else None
    if one.function != "sum" or first is None or isinstance(first, Variable | Constant):
        return one, one.body
    amount = Variable(f"{AMOUNT}{number}", one.span)
    body = (*one.body, Computed("=", amount, first, one.span))
    return Aggregate("sum", (amount, *one.terms[1:]), body, one.span), body
