"""Answers by the text of an atom, a formula or a probability, however it is written.

>>> text_among("p( 5,3 )", ["p(5, 3)", "p(5, 4)"])
'p(5, 3)'
>>> raise missing('p("5", 3)', ["p(5, 3)", "q"])
Traceback (most recent call last):
KeyError: 'p("5", 3) is not among the answers; did you mean \\'p(5, 3)\\'?'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import islice

from herbrand.errors import HerbrandError, nearest
from herbrand.language.parse import parse_formula, parse_probability
from herbrand.language.show import show_formula, show_probability

MOST_COMPARED = 1_000
"""Texts that are compared with one that is missing, as each takes 20 microseconds."""


def text_among(text: object, texts: Collection[str], valued: Collection[str] = ()) -> str | None:
    """The one of the printed ``texts`` that this text states; None if there is none. ``valued``: many-valued
    predicates without arguments."""
    return _among(text, texts, lambda own: show_formula(parse_formula(own, valued=valued)))


def probability_among(text: object, texts: Collection[str]) -> str | None:
    """The same for texts inside ``P( )``, which may be written too."""
    if isinstance(text, str) and text.startswith("P(") and text.endswith(")"):
        text = text[2:-1]
    return _among(text, texts, lambda own: show_probability(*parse_probability(own)))


def _among(text: object, texts: Collection[str], printed: Callable[[str], str]) -> str | None:
    if not isinstance(text, str):
        return None
    if text in texts:
        return text
    with suppress(HerbrandError):
        shown = printed(text)
        return shown if shown in texts else None
    return None


def missing(text: object, texts: Iterable[str], what: str = "the answers") -> KeyError:
    """Error for a text that is none of these, with the one most like it."""
    hint = nearest(text, islice(texts, MOST_COMPARED))
    return KeyError(f"{text} is not among {what}" + (f"; {hint}" if hint else ""))
