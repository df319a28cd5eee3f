"""Parser for Prolog's terms, for the syntax that probabilistic clauses need: operators, names, numbers.

Takes a source; returns the term of each clause, which :mod:`herbrand.language.dialects.problog.theory`
interprets.

>>> [str(term) for term in clauses(Source("t.pl", "0.3::a(X, 'B c') :- b(X), \\\\+c. % why"), Mistakes())]
[':-(::(0.3, a(X, B c)), ,(b(X), \\\\+(c)))']
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from herbrand.errors import LanguageError, Mistakes, Source, Span
from herbrand.language.dialects.scanner import Cursor, Token
from herbrand.language.formulas import DEEPEST_NESTING, nested_too_deep
from herbrand.language.names import fits, number_from
from herbrand.quick_values import quickly_made

_TOKENS = (
    re.compile(  # the most frequent kinds stand first; a variable before a name, a comment before a sign
        r"""(?P<blank>\s+)
    |(?P<variable>[A-Z_]\w*)
    |(?P<name>[^\W\d_]\w*)
    |(?P<number>0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|0'(?:\\.|''|[^'\\\n])
        |(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<comment>%[^\n]*|/\*.*?\*/)
    |(?P<quoted>'(?:[^'\\\n]|\\.|'')*')
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<unclosed>/\*|["'])
    |(?P<stop>\.(?=\s|%|$))
    |(?P<sign>:-|-->|<-|::|->|\\\+|\\==|=\\=|=:=|==|\\=|=<|=\.\.|>=|@=<|@>=|@<|@>|//|\*\*|<<|>>
        |[-+*/<>=^~&$\#?@:\\(),|;!\[\]{}.])
    |(?P<unknown>.)""",
        re.VERBOSE | re.DOTALL,
    )
)
_INFIX = {":-": 1200, "<-": 1200, "-->": 1200, ";": 1100, "|": 1100, "->": 1050, ",": 1000, "::": 950}
_INFIX |= dict.fromkeys(
    ["~", "=", "\\=", "==", "\\==", "=:=", "=\\=", "<", "=<", ">", ">=", "=..", "@<", "@=<", "@>", "@>="],
    700,
)
_WORDS = {"is": 700, "mod": 400, "rem": 400, "div": 400, "rdiv": 400, "xor": 500}
"""Operators that are names."""
_INFIX |= _WORDS | {":": 200, "+": 500, "-": 500, "*": 400, "/": 400, "//": 400, "**": 200, "^": 400}
_RIGHT = {";", "|", "->", ",", ":", "^"}
_JOINING = {";", "|", ","}
"""Operators that join long chains of goals or heads."""
_LEFT = {"::", "+", "-", "xor", "*", "/", "//", "mod", "rem", "div", "rdiv"}
"""Operators that group to the left. Those that are not in ``_RIGHT`` either do not chain: ``a = b = c``."""
_PREFIX = {":-": 1200, "\\+": 900, "not": 900, "-": 200, "+": 200}
_ARGUMENT = 999
"""Highest priority within an argument: below that of the comma, which is 1000 in Prolog."""
_PLAIN = {"number", "variable", "string", "name", "quoted"}
"""Kinds of tokens that are terms by themselves."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}

Kind = Literal["name", "variable", "number", "string"]


@quickly_made
@dataclass(frozen=True, slots=True)
class PrologTerm:
    """A name with arguments, a variable, a number or a text; operators are names."""

    kind: Kind
    name: str
    arguments: tuple[PrologTerm, ...] = ()
    number: int | float = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        inside = f"({', '.join(map(str, self.arguments))})" if self.arguments else ""
        return f"{self.name}{inside}"

    def is_operator(self, name: str, arity: int = 2) -> bool:
        return self.kind == "name" and self.name == name and len(self.arguments) == arity

    @property
    def indicator(self) -> str:
        """Name and number of arguments, such as ``p/2``, as in ProbLog's messages."""
        return f"{self.name}/{len(self.arguments)}"


def clauses(
    source: Source, mistakes: Mistakes, read_before: Callable[[int], int] | None = None
) -> Iterator[PrologTerm]:
    """Yield the terms that full stops end; note those that cannot be read, and go on after them.

    ``read_before``: reads clauses from an offset on in another way; returns the offset of the next term.
    Without it the tokens of all terms are found at once.
    """
    start, last = (0, "") if read_before is None else (read_before(0), "stop")
    while not (cursor := Cursor(source, _TOKENS, start, last=last)).at_end:
        while not cursor.at_end:
            with mistakes.collecting():
                cursor.surface()
                term = _term(cursor, 1200)
                if cursor.here.kind != "stop":
                    raise cursor.expected("a full stop or an operator", "every clause ends with '.'")
                cursor.take()
                yield term
                continue
            while not cursor.at_end and cursor.take().kind != "stop":
                pass
        start = cursor.here.start if read_before is None else read_before(cursor.here.start)


def _term(cursor: Cursor, highest: int) -> PrologTerm:
    if _is_whole(cursor, highest):
        return _plain(cursor)
    cursor.enter()
    start = cursor.tokens[cursor.position].start
    left, reached, levels = _primary(cursor, highest), 0, 0
    while (priority := _infix(cursor.tokens[cursor.position], reached)) <= highest:
        sign, reached, levels = cursor.take().text, priority, levels + 1
        if levels > DEEPEST_NESTING:  # a - b - c is (a - b) - c, and readers of terms recurse into them
            raise nested_too_deep(cursor.span_from(start))
        if sign in _JOINING:
            left = _joined(cursor, left, sign, priority)
            continue
        right = _term(cursor, priority if sign in _RIGHT else priority - 1)
        left = PrologTerm("name", sign, (left, right), span=cursor.span_from(start))
    cursor.leave()
    return left


def _is_whole(cursor: Cursor, highest: int) -> bool:
    """Whether the next token is a whole term, as most arguments are, since the one after it ends a term."""
    if cursor.tokens[cursor.position].kind not in _PLAIN:
        return False
    after = cursor.tokens[cursor.position + 1]
    return after.text == ")" or after.kind == "stop" or (after.text == "," and highest < _INFIX[","])


def _joined(cursor: Cursor, first: PrologTerm, sign: str, priority: int) -> PrologTerm:
    """Read ``a, b, c`` after the first term, grouped to the right; by a loop, as chains have hundreds of
    goals."""
    parts, signs = [first, _term(cursor, priority - 1)], [sign]
    while cursor.here.text in _JOINING and _infix(cursor.here, 0) == priority:
        signs.append(cursor.take().text)
        parts.append(_term(cursor, priority - 1))
    term = parts.pop()
    for part, sign in zip(reversed(parts), reversed(signs), strict=True):
        start = part.span.start if part.span else 0
        term = PrologTerm("name", sign, (part, term), span=cursor.span_from(start))
    return term


def parts_of(term: PrologTerm, sign: str) -> Iterator[PrologTerm]:
    """Yield the goals or heads that a sign joins, in order; a term without the sign is its only part."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if part.is_operator(sign):
            waiting.extend(reversed(part.arguments))
        else:
            yield part


def _infix(token: Token, reached: int) -> int:
    """Priority of an infix operator after a term of priority ``reached``; 9999 if the token cannot be one."""
    known = token.kind == "sign" or token.text in _WORDS
    priority = _INFIX.get(token.text, 9999) if known else 9999
    return priority if priority > reached or token.text in _LEFT else 9999


def _primary(cursor: Cursor, highest: int) -> PrologTerm:
    """Read a term up to the next infix operator."""
    token = cursor.tokens[cursor.position]
    if token.text in _PREFIX and token.kind in ("sign", "name") and not _stands_alone(cursor):
        priority = min(_PREFIX[token.text], highest)
        cursor.take()
        operand = _primary(cursor, 0) if _is_called(cursor, token) else _term(cursor, priority)
        if token.text == "-" and operand.kind == "number":
            number = -operand.number
            return PrologTerm("number", f"-{operand.name}", (), number, cursor.span_from(token.start))
        name = "\\+" if token.text == "not" else token.text
        return PrologTerm("name", name, (operand,), span=cursor.span_from(token.start))
    if token.kind in _PLAIN:
        return _plain(cursor)
    if token.text in _INFIX and token.text not in _JOINING and _stands_alone(cursor):
        return PrologTerm("name", cursor.take().text, span=cursor.span_of(token))
    if token.text == "(":
        cursor.take()
        inside = _term(cursor, 1200)
        cursor.expect(")")
        return inside
    if token.text in ("!", "?"):
        return PrologTerm("name", cursor.take().text, span=cursor.span_of(token))
    if token.text in ("[", "{"):
        raise cursor.refusal("lists are not read: the language has no lists", token)
    raise cursor.expected("a term")


def _plain(cursor: Cursor) -> PrologTerm:
    """Read a number, a variable, a text, or a name with its arguments if it has some."""
    token = cursor.take()
    kind, text, start, end = token
    match kind:
        case "number":
            return PrologTerm("number", text, (), _number(cursor, token), Span(cursor.source, start, end))
        case "variable":
            return PrologTerm("variable", text, (), 0, Span(cursor.source, start, end))
        case "string":
            return PrologTerm("string", _unquoted(text), (), 0, Span(cursor.source, start, end))
    name, tokens = _unquoted(text) if kind == "quoted" else text, cursor.tokens
    after = tokens[cursor.position]
    if after.text != "(" or after.start != end:
        return PrologTerm("name", name, (), 0, Span(cursor.source, start, end))
    arguments: list[PrologTerm] = []
    while not arguments or tokens[cursor.position].text == ",":
        cursor.take()
        arguments.append(_term(cursor, _ARGUMENT))
    cursor.expect(")")
    return PrologTerm("name", name, tuple(arguments), 0, cursor.span_from(start))


def _stands_alone(cursor: Cursor) -> bool:
    """Whether an operator's name is a plain name here, such as an argument; in ``not(a)`` it is not."""
    return cursor.after.kind in ("stop", "end") or cursor.after.text in (",", ")")


def _is_called(cursor: Cursor, sign: Token) -> bool:
    """Whether a sign of arithmetic is written as a function: ``-(2)**2`` is 4, and ``-2**2`` is -4."""
    return sign.text in ("-", "+") and cursor.at("(") and cursor.here.start == sign.end


def _number(cursor: Cursor, token: Token) -> int | float:
    if token.text.startswith("0'"):  # the code of a character
        return ord(_unquoted(f"'{token.text[2:]}'"))
    try:
        return number_of(token.text)
    except OverflowError:
        raise cursor.refusal("this number is too large for a constant", token) from None


def number_of(text: str) -> int | float:
    """Value of a number; raise OverflowError if it is too large for a constant."""
    number = int(text, 0) if text[1:2] in ("x", "o", "b") else number_from(text)
    if isinstance(number, int) and not fits(number):
        raise OverflowError
    return number


def _unquoted(text: str) -> str:
    inside = text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inside, flags=re.DOTALL)


def constant_value(term: PrologTerm) -> int | float | None:
    """Value of arithmetic over numbers; ``None`` if it has variables or names.

    >>> constant_value(next(clauses(Source("t", "1/4 + 2*3."), Mistakes())))
    6.25
    """
    if term.kind == "number":
        return term.number
    values = [constant_value(argument) for argument in term.arguments]
    numbers = [value for value in values if value is not None]
    if term.kind != "name" or len(numbers) < len(values):
        return None
    function = (term.name, len(numbers))
    return calculated(function, numbers, str(term), term.span) if function in FUNCTIONS else None


def calculated(
    function: tuple[str, int], numbers: Iterable[float], shown: str, span: Span | None
) -> int | float:
    """Apply a function of :data:`FUNCTIONS` to numbers; raise LanguageError if it has no value.

    >>> calculated(("max", 2), [3, 5], "max(3, 5)", None)
    5
    """
    try:
        number = FUNCTIONS[function](*numbers)
        if math.isinf(number):
            raise OverflowError
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise LanguageError(f"{shown} has no value", span=span) from None
    if isinstance(number, int) and not fits(number):
        raise LanguageError(f"{shown} is too large for a constant", span=span)
    return number


def _power(base: float, exponent: float) -> float:
    math.pow(base, exponent)  # raises an error where the power is no real number, or a very long one
    return base**exponent


FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("+", 2): operator.add, ("-", 2): operator.sub, ("*", 2): operator.mul, ("/", 2): operator.truediv,
    ("//", 2): operator.floordiv, ("div", 2): operator.floordiv, ("mod", 2): operator.mod,
    ("rem", 2): operator.mod, ("xor", 2): operator.xor, ("**", 2): _power, ("^", 2): _power,
    ("+", 1): operator.pos, ("-", 1): operator.neg, ("abs", 1): abs, ("min", 2): min, ("max", 2): max,
    ("sign", 1): lambda number: (number > 0) - (number < 0), ("float", 1): float,
    ("floor", 1): math.floor, ("ceiling", 1): math.ceil, ("truncate", 1): int, ("integer", 1): int,
    ("round", 1): round, ("pi", 0): lambda: math.pi, ("e", 0): lambda: math.e,
    **{(name, 1): getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos", "tan")},
}  # fmt: skip
"""ProbLog's functions of constants; its ``rem`` is ``mod``, unlike Prolog's for negative numbers."""
