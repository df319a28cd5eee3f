"""Check of texts beside computed dates and times: a text must have the canonical form of its constant.

Texts are compared by code point, which is the order of time only in that form: ``d + 1 > "2024-2-3"`` would
be decided by the length of the month. The result of ``+`` and ``-`` beside a text is a date or a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from herbrand.errors import Mistake
from herbrand.language.comparisons import Test, aggregates, equated, inner_parts, outer_parts
from herbrand.language.computed import Definition
from herbrand.language.formulas import (
    Aggregate,
    Arithmetic,
    Comparison,
    Computed,
    Constant,
    Expression,
    Variable,
)
from herbrand.language.names import wrong_moment
from herbrand.language.scope import variable_types
from herbrand.language.signature import Signature, Type


def wrong_dates(definition: Definition, signature: Signature) -> Iterator[Mistake]:
    """Yield a mistake for each text in another form that a definition compares with, or adds to, dates."""
    tests = [*definition.tests, *_inside(definition)]
    types = variable_types([definition.head, *definition.typing.body], signature)
    given = {name: value for test in tests for name, value in equated(test)}
    dates = _Dates({name: signature.types[kind] for name, kind in types.items()}, given)
    for test in tests:
        for part in outer_parts(test):
            yield from dates.mistakes(part)


def _inside(definition: Definition) -> Iterator[Any]:
    """Yield the comparisons in the bodies of aggregates."""
    for test in definition.tests:
        for one in aggregates(test):
            yield from inner_parts(one, Computed | Comparison)


@dataclass(frozen=True)
class _Dates:
    """``types`` of variables, and the values ``given`` to variables by equations."""

    types: Mapping[str, Type]
    given: Mapping[str, Expression]

    def mistakes(self, part: Test | Expression) -> Iterator[Mistake]:
        """Yield a mistake for a text beside a date if it does not have the canonical form."""
        match part:
            case Computed(left=left, right=right) | Comparison(left=left, right=right):
                yield from self._beside(left, right)
            case Arithmetic(sign="+" | "-", operands=(left, right)):
                yield from self._beside(left, right)

    def _beside(self, left: Expression, right: Expression) -> Iterator[Mistake]:
        for text, other in ((left, right), (right, left)):
            if isinstance(text, Constant) and isinstance(text.value, str):
                calendar = self._calendar(other, frozenset())
                wrong = None if calendar is None else wrong_moment(calendar, text.value)
                if wrong is not None and (calendar == "time" or wrong_moment("time", text.value)):
                    yield Mistake(wrong[0], text.span, wrong[1])

    def _calendar(self, value: Expression, seen: frozenset[str]) -> str | None:
        """``"date"`` or ``"time"`` for a value that is surely one before facts are known, else ``None``."""
        match value:
            case Variable(name=name) if name in self.types:
                return self.types[name].calendar
            case Variable(name=name) if name in self.given and name not in seen:
                return self._calendar(self.given[name], seen | {name})
            case Arithmetic(sign="+" | "-" as sign, operands=(first, second)) if (
                sign == "+" or self._is_number(second)
            ):
                return None if self._is_number(first) else self._calendar(first, seen) or "date"
            case Aggregate(function="min" | "max", terms=(first, *_)):
                return self._calendar(first, seen)
        return None

    def _is_number(self, value: Expression) -> bool:
        """Whether a value is surely a number."""
        match value:
            case Constant(value=constant):
                return not isinstance(constant, str)
            case Variable(name=name):
                return name in self.types and self.types[name].kind == "number"
            case Arithmetic(sign="+" | "-", operands=(first, *_)):
                return self._is_number(first)
        return isinstance(value, Arithmetic)
