"""Weights of ``.mln`` files: numbers, ``inf``, and the arithmetic that pracmln and ProbCog allow.

An expression ends at the first blank outside brackets: ``log(0.7 / 0.3)``, ``-float('inf')``, ``logx(0)/2``,
``$w*2``. Text that is not arithmetic is the beginning of a formula without a weight.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> read_weight(Cursor(Source("t", "-1e-3 P(x)"), TOKENS)), read_weight(Cursor(Source("t", "P(x)"), TOKENS))
(-0.001, None)
>>> read_weight(Cursor(Source("t", "2*log(1) P(x)"), TOKENS))
0.0
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from herbrand.errors import LanguageError
from herbrand.language.dialects.alchemy.formulas import CONNECTIVES, EQUALITIES
from herbrand.language.dialects.alchemy.lexicon import INFINITE
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.visible import shortened

LOGX_OF_ZERO = -100.0
"""Value of pracmln's ``logx`` for 0, where the logarithm has none."""
LONGEST_EXPRESSION = 1000
_VARIABLE = re.compile(r"\$\w+")


def _logx(number: float) -> float:
    return math.log(number) if number else LOGX_OF_ZERO


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": math.log,
    "logx": _logx,
    "log10": math.log10,
    "log2": math.log2,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "pow": math.pow,
    "abs": abs,
    "float": float,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class _NoArithmeticError(Exception):
    """Raised if a text is not arithmetic, such as the beginning of a formula."""


def read_weight(cursor: Cursor, variables: Mapping[str, str] | None = None) -> float | None:
    """Read the weight at the beginning of a statement, which may be infinite; ``None`` if there is none.

    ``variables``: text of each ``$name`` that the file sets.
    """
    token = cursor.here
    end = _end_of_expression(cursor)
    if token.end == end and token.kind != "number" and token.text.lower() not in INFINITE:
        if not token.text.startswith("$"):
            return None
    elif token.end == end and _goes_on(cursor, end, EQUALITIES):
        return None
    value = _value_of(cursor, end, variables or {})
    if value is None and token.kind == "number" and cursor.after.text not in EQUALITIES:
        end = token.end
        value = _value_of(cursor, end, {})
        _refuse_colon(cursor)
    if value is None or (token.kind == "name" and _goes_on(cursor, end, CONNECTIVES)):
        return None
    while not cursor.at_end and cursor.here.start < end:
        cursor.take()
    return value


def _refuse_colon(cursor: Cursor) -> None:
    if cursor.after.text == ":":
        cursor.take()
        hint = "a weight is followed by its formula: 1.5 Smokes(x)"
        raise cursor.refusal("a colon behind a weight", hint=hint)


def _end_of_expression(cursor: Cursor) -> int:
    """Offset of the first blank outside brackets, or of the end of the line; at most a fixed length away."""
    text, start = cursor.source.text, cursor.here.start
    depth = 0
    for place in range(start, min(len(text), start + LONGEST_EXPRESSION)):
        character = text[place]
        if character == "\n" or (depth <= 0 and character.isspace()):
            return place
        depth += (character == "(") - (character == ")")
    return min(len(text), start + LONGEST_EXPRESSION)


def _goes_on(cursor: Cursor, end: int, signs: Mapping[str, object]) -> bool:
    """Whether one of ``signs``, or the end of the statement, follows the expression."""
    behind = next((token for token in cursor.tokens_from(cursor.position) if token.start >= end), None)
    return behind is None or behind.text in signs or (signs is CONNECTIVES and _ends(behind))


def _ends(token: Token) -> bool:
    return token.kind in (NEWLINE, END) or token.text == "."


def _value_of(cursor: Cursor, end: int, variables: Mapping[str, str]) -> float | None:
    start = cursor.here.start
    text = cursor.source.text[start:end]
    if cursor.here.kind == "number" and cursor.here.end == end:
        return _plain_number(cursor, text)
    try:
        return _finite_or_infinite(text, _evaluated(_substituted(text, variables)))
    except _NoArithmeticError:
        return None
    except LanguageError as error:
        raise cursor.refusal(error.mistakes[0].message, hint=error.mistakes[0].hint) from None


def _plain_number(cursor: Cursor, text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise cursor.refusal(f"the number {text[:40]} is too large")
    return number


def _substituted(text: str, variables: Mapping[str, str]) -> str:
    def meant(match: re.Match[str]) -> str:
        if match[0] not in variables:
            raise LanguageError(f"'{match[0]}' has no weight yet", hint=f"write {match[0]} = 1.5 above")
        return f"({variables[match[0]]})"

    for _ in range(len(variables) + 1):
        if "$" not in text or len(text) > LONGEST_EXPRESSION:
            break
        text = _VARIABLE.sub(meant, text)
    return text


def _evaluated(text: str) -> float:
    if len(text) > LONGEST_EXPRESSION:
        raise _NoArithmeticError
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about the syntax of formulas such as `5and x`
            tree = ast.parse(text.strip(), mode="eval")
        return _value(tree.body)
    except OverflowError:  # a whole number beyond all floats
        raise _too_large(text) from None
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        raise _NoArithmeticError from None


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name.lower() in INFINITE:
            return math.inf
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
            return _computed(_OPERATIONS[type(op)], "", _value(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _computed(_OPERATIONS[type(op)], "", _value(left), _value(right))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)], keywords=[]):
            return float(text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _computed(_FUNCTIONS[name], name, *map(_value, arguments))
    raise _NoArithmeticError


def _computed(function: Callable[..., Any], name: str, *numbers: float) -> float:
    try:
        return function(*numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        what = "logarithm" if name.startswith("log") else "weight"
        hint = "a probability of 0 is a hard formula: write !F and a full stop"
        raise LanguageError(f"this {what} is no finite number", hint=hint) from None


def _finite_or_infinite(text: str, value: float) -> float:
    if math.isnan(value):
        raise LanguageError(f"{shortened(text)} is no number")
    if math.isinf(value) and not any(word in text.lower() for word in ("inf", "$")):
        raise _too_large(text)
    return value


def _too_large(text: str) -> LanguageError:
    return LanguageError(f"the number {shortened(text)} is too large")
