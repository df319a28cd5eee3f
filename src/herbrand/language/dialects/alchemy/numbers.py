"""Relations of numbers in formulas of ``.mln`` files: steps such as ``t + 1``, and order.

Constants of these files are text, so a relation of numbers becomes an observed predicate that lists the
related numbers of a type, if the file lists its numbers; otherwise see :mod:`.numeric_types`.

>>> from herbrand.language.syntax import Constant
>>> Shift("time", 1).predicate, Order("time", ">", "2").predicate, Order("time", ">").predicate
('time_plus_1', 'time_above_2', 'time_above')
>>> _, facts = statements_of(Order("time", ">"), [Constant(text) for text in ("1", "2", "10")], None)
>>> list(zip(*facts.columns))
[('2', '1'), ('10', '1'), ('10', '2')]
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from herbrand.errors import LanguageError, Span
from herbrand.language.dialects.alchemy.lexicon import NUMBER
from herbrand.language.formulas import Constant
from herbrand.language.syntax import FactRows, PredicateDeclaration, Statement

MOST_PAIRS = 1_000_000
_NUMBER = re.compile(NUMBER)

Row = tuple[str, ...]


@dataclass(frozen=True)
class Shift:
    """``t++`` (``by`` 1), ``t - 2`` (``by`` -2): the whole number at this distance, of the same type."""

    type: str
    by: int

    @property
    def predicate(self) -> str:
        """Name of the predicate of all pairs of a number and the number at this distance from it."""
        return f"{self.type}{_step(self.by)}"

    @property
    def arity(self) -> int:
        return 2

    def rows(self, numbers: Mapping[str, float]) -> list[Row]:
        """The pairs of numbers of the type; a number without one at this distance is in none."""
        texts = {int(text): text for text in numbers if is_whole(text)}
        return [(text, texts[n + self.by]) for n, text in texts.items() if n + self.by in texts]


@dataclass(frozen=True)
class Order:
    """``s > t + 1`` (``by`` 1), or against a ``bound``: ``t > 2``, ``t < 2``."""

    type: str
    sign: Literal["<", ">"]
    bound: str | None = None
    by: int = 0

    @property
    def predicate(self) -> str:
        """Name of the predicate of the numbers above or below the bound; without one, of ordered pairs."""
        name = f"{self.type}_{'above' if self.sign == '>' else 'below'}{_step(self.by) if self.by else ''}"
        return name if self.bound is None else f"{name}_{self.bound}"

    @property
    def arity(self) -> int:
        return 2 if self.bound is None else 1

    def rows(self, numbers: Mapping[str, float]) -> list[Row]:
        holds = operator.gt if self.sign == ">" else operator.lt
        if self.bound is not None:
            limit = number_of(self.bound)
            return [(text,) for text, number in numbers.items() if holds(number, limit)]
        if len(numbers) ** 2 > MOST_PAIRS:
            raise LanguageError(f"type '{self.type}' has too many numbers to list the pairs that are ordered")
        pairs = product(numbers.items(), repeat=2)
        return [(a, b) for (a, one), (b, other) in pairs if holds(one, other + self.by)]


def _step(by: int) -> str:
    return f"_{'plus' if by >= 0 else 'minus'}_{abs(by)}"


def statements_of(
    relation: Shift | Order, constants: Iterable[Constant], span: Span | None
) -> Iterator[Statement]:
    """Yield the declaration and the facts of a relation over the numbers of its type."""
    texts = [str(constant.value) for constant in constants]
    numbers = {text: number_of(text) for text in texts if is_number(text)}
    words = [text for text in texts if text not in numbers]
    if isinstance(relation, Order) and numbers and words:
        raise LanguageError(
            f"type '{relation.type}' has constants that are no numbers, such as {words[0]}", span=span
        )
    if not any(map(is_whole, numbers)) if isinstance(relation, Shift) else not numbers:
        what = "arithmetic" if isinstance(relation, Shift) else "an order comparison"
        raise LanguageError(
            f"{what} needs the numbers of type '{relation.type}'",
            span=span,
            hint=f"list them in this file, {relation.type} = {{1, ..., 100}}, or list none",
        )
    rows = relation.rows(numbers)
    types = (relation.type,) * relation.arity
    yield PredicateDeclaration(relation.predicate, types, role="observed", span=span)
    if rows:
        yield FactRows(relation.predicate, tuple(zip(*rows, strict=True)), len(rows), span=span)


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def number_of(text: str) -> int | float:
    """Parse a number; whole numbers stay ``int``, as floats would confuse those of more than 15 digits."""
    return int(text) if is_whole(text) else float(text)


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of at most 18 digits."""
    return text.removeprefix("-").isdecimal() and len(text) < 19
