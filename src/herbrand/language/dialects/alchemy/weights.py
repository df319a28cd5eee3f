"""The weights of ``.mln`` files: a number, or the logarithm that pracmln writes for one.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> read_weight(Cursor(Source("t", "-1e-3 P(x)"), TOKENS)), read_weight(Cursor(Source("t", "P(x)"), TOKENS))
(-0.001, None)
"""

from __future__ import annotations

import math

from herbrand.errors import LanguageError
from herbrand.language.dialects.alchemy.formulas import EQUALITIES
from herbrand.language.dialects.scanner import Cursor, Token

_LOGARITHMS = ("log", "logx")


def read_weight(cursor: Cursor) -> float | None:
    """The weight at the beginning of a statement, or ``None`` where none is given."""
    if (
        cursor.here.text in _LOGARITHMS
        and cursor.after.text == "("
        and cursor.token_ahead(2).kind == "number"
    ):
        return _logarithm(cursor)
    if cursor.here.kind != "number" or cursor.after.text in EQUALITIES:
        return None
    token = cursor.take()
    if cursor.at(".", ":"):
        said = "a full stop" if cursor.at(".") else "a colon"
        raise cursor.refusal(
            f"{said} behind a weight", hint="a weight is followed by its formula: 1.5 Smokes(x)"
        )
    return _finite(cursor, token)


def _logarithm(cursor: Cursor) -> float:
    """``log(0.7/0.3)`` or ``logx(0.7)``, as pracmln writes weights."""
    start = cursor.take().start
    cursor.take()
    token = cursor.expect_kind("number", "a number")
    quotient = _finite(cursor, token)
    if cursor.accept("/"):
        token = cursor.expect_kind("number", "a number")
        divisor = _finite(cursor, token)
        quotient = quotient / divisor if divisor else math.inf
    cursor.expect(")")
    if not 0 < quotient < math.inf:
        raise LanguageError("this logarithm is no finite number", span=cursor.span_from(start))
    return math.log(quotient)


def _finite(cursor: Cursor, token: Token) -> float:
    number = float(token.text)
    if math.isinf(number):
        raise cursor.refusal(f"the number {token.text[:40]} is too large", token)
    return number
