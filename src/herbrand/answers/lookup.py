"""Answers by the text of an atom, a formula or a probability, however it is written, or by constants.

>>> text_among("p( 5,3 )", ["p(5, 3)", "p(5, 4)"])
'p(5, 3)'
>>> raise missing('p("5", 3)', ["p(5, 3)", "q"])
Traceback (most recent call last):
KeyError: 'p("5", 3) is not among the answers; did you mean \\'p(5, 3)\\'?'
>>> key_among(date(2026, 11, 22), {("2026-11-22",): 0.5})
('2026-11-22',)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import date
from itertools import islice
from numbers import Real
from typing import Any

from herbrand.errors import HerbrandError, nearest
from herbrand.language.arguments import in_formula
from herbrand.language.formulas import Formula, with_valued_names
from herbrand.language.names import moment
from herbrand.language.parse import parse_formula, parse_probability
from herbrand.language.scope import free_variables
from herbrand.language.show import show_atom, show_formula, show_probability
from herbrand.language.syntax import Value

Key = Value | date | tuple[Value | date, ...]
"""Constants of an atom or an answer, as a user gives them; one may stand alone."""
MOST_COMPARED = 1_000
"""Texts that are compared with one that is missing, as each takes 20 microseconds."""


def text_among(text: object, texts: Collection[str]) -> str | None:
    """The one of the printed ``texts`` that this text states; None if there is none."""
    return _among(text, texts, lambda own: map(show_formula, _readings(parse_formula(own, computes=True))))


def probability_among(text: object, texts: Collection[str]) -> str | None:
    """The same for texts inside ``P( )``, which may be written too."""
    if isinstance(text, str) and text.startswith("P(") and text.endswith(")"):
        text = text[2:-1]

    def printed(own: str) -> Iterator[str]:
        event, given = parse_probability(own, computes=True)
        for each in _readings(event):
            yield show_probability(each, None if given is None else in_formula(given))

    return _among(text, texts, printed)


def _readings(formula: Formula) -> tuple[Formula, Formula]:
    """A formula whose names beside ``=`` and ``!=`` are variables, or, as answers have no free variables,
    many-valued predicates; these make another formula of ``!=``."""
    plain = in_formula(formula)
    return plain, with_valued_names(plain, free_variables(plain))


def _among(text: object, texts: Collection[str], printed: Callable[[str], Iterable[str]]) -> str | None:
    if not isinstance(text, str):
        return None
    if text in texts:
        return text
    with suppress(HerbrandError):
        return next((shown for shown in printed(text) if shown in texts), None)
    return None


def key_among(values: Key, keys: Collection[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The one of the ``keys`` that has these constants; None if there is none. A value alone is a tuple of
    one, and dates and times of Python stand for their constants, as in facts."""
    row = values if isinstance(values, tuple) else (values,)
    return next((key for key in _spellings(row) if key in keys), None)


def _spellings(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield row
    if any(isinstance(value, date) for value in row):
        for calendar in ("date", "time"):
            with suppress(ValueError):
                yield tuple(_in_text(value, calendar) for value in row)


def _in_text(value: Any, calendar: str) -> Any:
    return moment(calendar, value.isoformat()) if isinstance(value, date) else value


def missing_atom(predicate: str, values: Key) -> KeyError:
    """Error for constants that no atom of the answers has."""
    row = values if isinstance(values, tuple) else (values,)
    row = tuple(value.isoformat() if isinstance(value, date) else value for value in row)
    shown = all(isinstance(value, str | Real) for value in row)
    text = show_atom(predicate, row) if shown else f"{predicate}({', '.join(map(repr, row))})"
    return KeyError(f"{text} is not among the answers")


def missing(text: object, texts: Iterable[str], what: str = "the answers") -> KeyError:
    """Error for a text that is none of these, with the one most like it."""
    hint = nearest(text, islice(texts, MOST_COMPARED))
    return KeyError(f"{text} is not among {what}" + (f"; {hint}" if hint else ""))
