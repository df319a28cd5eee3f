"""Expressions over the columns of a relation, as values: evaluated by NumPy, or written as SQL.

Each operation is one row of :data:`OPERATIONS`, which holds both meanings side by side. Numbers are those of
IEEE 754 on both: 1 / 0 is infinite and log(0) minus infinity. Whole numbers have 64 bits, and one that does
not fit is an error, never another number. Comparisons with nan are undefined.

>>> worth = choose(column("x") > 0, log(column("x")), literal(0.0))
>>> evaluated(worth, {"x": np.array([1.0, -1.0])}, 2).tolist()
[0.0, 0.0]
>>> from herbrand.relations.dialects import DUCKDB
>>> written(column("x") + 1, {"x": "int"}, DUCKDB)
'("x" + CAST(\\'1\\' AS BIGINT))'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from typing import cast as typed

import numpy as np
from numpy.typing import NDArray

from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.visible import visible

if TYPE_CHECKING:
    from herbrand.relations.dialects import Dialect

Array = NDArray[Any]
Kind = Literal["int", "float", "bool", "text"]
IN_WORDS: dict[Kind, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "a truth value",
    "text": "a text",
}
Kinds = Mapping[str, Kind]

DTYPES: Mapping[Kind, Any] = {
    "int": np.dtype(np.int64),
    "float": np.dtype(np.float64),
    "bool": np.dtype(np.bool_),
    "text": np.dtypes.StringDType(),
}
TYPES: Mapping[Kind, str] = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "text": "{text}"}
"""SQL name of each kind's type; that of texts is filled in by the dialect."""

LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Expression:
    """An operation and its arguments: expressions, or for a column its name and for a literal its value."""

    operation: str
    arguments: tuple[Any, ...]

    def __add__(self, other: Given) -> Expression:
        return _made("+", self, other)

    def __radd__(self, other: Given) -> Expression:
        return _made("+", other, self)

    def __sub__(self, other: Given) -> Expression:
        return _made("-", self, other)

    def __rsub__(self, other: Given) -> Expression:
        return _made("-", other, self)

    def __mul__(self, other: Given) -> Expression:
        return _made("*", self, other)

    def __rmul__(self, other: Given) -> Expression:
        return _made("*", other, self)

    def __truediv__(self, other: Given) -> Expression:
        return _made("/", self, other)

    def __rtruediv__(self, other: Given) -> Expression:
        return _made("/", other, self)

    def __floordiv__(self, other: int) -> Expression:
        return _made("//", self, _divisor(other))

    def __mod__(self, other: int) -> Expression:
        return _made("%", self, _divisor(other))

    def __neg__(self) -> Expression:
        return _made("negative", self)

    def __lt__(self, other: Given) -> Expression:
        return _made("<", self, other)

    def __le__(self, other: Given) -> Expression:
        return _made("<=", self, other)

    def __gt__(self, other: Given) -> Expression:
        return _made("<", other, self)

    def __ge__(self, other: Given) -> Expression:
        return _made("<=", other, self)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _made("=", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _made("<>", self, other)

    def __and__(self, other: Given) -> Expression:
        return _made("and", self, other)

    def __or__(self, other: Given) -> Expression:
        return _made("or", self, other)

    def __invert__(self) -> Expression:
        return _made("not", self)

    def __bool__(self) -> bool:
        """Refuse truth tests: ``a and b`` or ``a < b < c`` would silently drop the first condition."""
        raise TypeError("an expression has no truth value by itself; use & | ~ for and, or, not")

    __hash__ = object.__hash__

    def columns(self) -> Iterator[str]:
        """Names of the columns that it reads, possibly repeated."""
        if self.operation == "column":
            yield self.arguments[0]
        elif self.operation != "literal":
            for argument in self.arguments:
                yield from argument.columns()


Given = Expression | int | float | bool | str


@lru_cache(maxsize=1024)
def column(name: str) -> Expression:
    """Expression for a row's value in a column."""
    return Expression("column", (name,))


def literal(value: Any) -> Expression:
    """Expression with the same value in every row."""
    return value if isinstance(value, Expression) else Expression("literal", (_plain(value),))


def exp(x: Given) -> Expression:
    return _made("exp", x)


def log(x: Given) -> Expression:
    """The natural logarithm."""
    return _made("log", x)


def magnitude(x: Given) -> Expression:
    """The absolute value."""
    return _made("abs", x)


def greater(*values: Given) -> Expression:
    """The largest of the values in a row."""
    return _folded("max", values)


def lesser(*values: Given) -> Expression:
    """The smallest of the values in a row."""
    return _folded("min", values)


def choose(condition: Given, then: Given, otherwise: Given) -> Expression:
    """``then`` in rows where the condition is true, else ``otherwise``. Both are evaluated in every row."""
    return _made("choose", condition, then, otherwise)


def cast(x: Given, kind: Kind) -> Expression:
    """The value as another kind: whole numbers from truth values and whole floats, floats from whole numbers,
    text from whole numbers."""
    return _made(f"to {kind}", x)


def every(*conditions: Given) -> Expression:
    """Whether all of the conditions are true; with none, true."""
    return _folded("and", conditions) if conditions else literal(True)


def either(*conditions: Given) -> Expression:
    """Whether some condition is true; with none, false."""
    return _folded("or", conditions) if conditions else literal(False)


def summed(*values: Given) -> Expression:
    """The sum of the values in a row."""
    return _folded("+", values)


@dataclass(frozen=True)
class Operation:
    """One operation in NumPy and in SQL.

    ``array`` computes it on arrays; ``sql`` has a gap for each argument. ``kinds``: for each argument the
    allowed kinds, or the place of the argument whose kind it shares. ``gives``: kind of the result, or the
    place of the argument whose kind it has.
    """

    array: Callable[..., Array]
    sql: str
    kinds: tuple[str, ...]
    gives: Kind | int


def _exactly(operation: Callable[..., Array], bound: Callable[..., int]) -> Callable[..., Array]:
    """Wrap an operation so that whole numbers which do not fit in 64 bits raise an error.
    ``bound`` of the arguments' largest magnitudes is cheap; only if it is too large is each row
    checked with Python's integers."""

    def exact(*arguments: Any) -> Array:
        result = operation(*arguments)
        if result.dtype != np.int64 or not result.size:
            return result
        if bound(*(_largest(argument) for argument in arguments)) > LARGEST:
            plain = operation(*(np.asarray(argument).astype(object) for argument in arguments))
            if np.any(plain != result):
                raise too_large()
        return result

    return exact


def _largest(values: Any) -> int:
    return max(abs(int(np.max(values))), abs(int(np.min(values))))


def too_large() -> HerbrandError:
    return UnsupportedError(
        "a whole number does not fit in 64 bits",
        hint="compute with fractions, which a division makes: n / 1",
    )


def _text_of(values: Any) -> Array:
    return np.asarray(values).astype(np.dtypes.StringDType())


SHORTEST = len("2026-11-22")
"""Length of a date; NumPy also parses a bare year, or empty text."""
MICROSECONDS = 86_400_000_000
"""Microseconds in a day."""


def _instants(texts: Any, unit: str) -> Array:
    """Parse ISO 8601 dates or times to whole numbers of ``unit`` since 1970; raise for anything else."""
    written = np.asarray(texts).astype("U32")
    try:
        instants = written.astype(f"datetime64[{unit}]")
        if np.any(np.strings.str_len(written) < SHORTEST):
            raise ValueError
    except ValueError:
        hint = "dates are text such as 2026-11-22; the type of numbers is declared: type amount = number"
        given = next(text for text in written.reshape(-1).tolist() if not _is_moment(text, unit))
        message = f'text that is no date is not computed with: "{visible(given)}"'
        raise UnsupportedError(message, hint=hint) from None
    return instants.astype(np.int64)


def _is_moment(text: str, unit: str) -> bool:
    try:
        np.array(text).astype(f"datetime64[{unit}]")
    except ValueError:
        return False
    return len(text) >= SHORTEST


def _dates(days: Any) -> Array:
    return np.asarray(days).astype("datetime64[D]").astype("U32").astype(DTYPES["text"])


def _times(microseconds: Any) -> Array:
    """Times as ISO 8601 text, with a fraction of a second only where it is not 0."""
    instants = np.asarray(microseconds).astype("datetime64[us]")
    whole, fine = instants.astype("datetime64[s]").astype("U19"), instants.astype("U26")
    return np.where(microseconds % 1_000_000 == 0, whole, fine).astype(DTYPES["text"])


def _ratio(dividends: Any, divisors: Any) -> Array:
    """Quotients of whole numbers as correctly rounded floats. NumPy rounds operands beyond 2^53 to floats
    first, so that 2^53 / (2^53 + 1) would be 1; Python divides before it rounds."""
    a, b = np.broadcast_arrays(dividends, divisors)
    quotients = np.asarray(np.divide(a, b))
    wide = (np.maximum(np.abs(a.astype(float)), np.abs(b.astype(float))) >= 2**53) & (b != 0)
    if wide.any():
        quotients[wide] = [x / y for x, y in zip(a[wide].tolist(), b[wide].tolist(), strict=True)]
    return quotients


REST = (
    "CASE WHEN ({0} % NULLIF({1}, 0)) * SIGN({1}) < 0 THEN ({0} % NULLIF({1}, 0)) + {1} "
    "ELSE {0} % NULLIF({1}, 0) END"
)
"""Remainder of fractions in SQL: exact, with the divisor's sign. ``a - floor(a / b) * b`` would round twice.
"""
WHOLE_PART = f"ROUND(({{0}} - {REST}) / NULLIF({{1}}, 0))"
NUMBER = "int float"
ANY = "int float bool text"

OPERATIONS: Mapping[str, Operation] = {
    "+": Operation(_exactly(np.add, lambda a, b: a + b), "({} + {})", (NUMBER, "0"), 0),
    "-": Operation(_exactly(np.subtract, lambda a, b: a + b), "({} - {})", (NUMBER, "0"), 0),
    "*": Operation(_exactly(np.multiply, lambda a, b: a * b), "({} * {})", (NUMBER, "0"), 0),
    "negative": Operation(_exactly(np.negative, lambda a: a), "(-{})", (NUMBER,), 0),
    "/": Operation(np.divide, "{divided}", ("float", "float"), "float"),
    "ratio": Operation(lambda a, b: _ratio(a, b), "{divided}", ("int", "int"), "float"),
    "//": Operation(_exactly(np.floor_divide, lambda a, b: a), "{floored}", ("int", "int"), "int"),
    "%": Operation(np.mod, "{remainder}", ("int", "int"), "int"),
    "whole part": Operation(np.floor_divide, WHOLE_PART, ("float", "float"), "float"),
    "rest": Operation(np.mod, REST, ("float", "float"), "float"),
    "abs": Operation(_exactly(np.abs, lambda a: a), "ABS({})", (NUMBER,), 0),
    "floor": Operation(np.floor, "{whole}", ("float",), "float"),
    "days": Operation(lambda x: _instants(x, "D"), "{days}", ("text",), "int"),
    "date": Operation(lambda x: _dates(x), "{date}", ("int",), "text"),
    "microseconds": Operation(lambda x: _instants(x, "us"), "{microseconds}", ("text",), "int"),
    "time": Operation(lambda x: _times(x), "{time}", ("int",), "text"),
    "length": Operation(np.strings.str_len, "LENGTH({})", ("text",), "int"),
    "exp": Operation(np.exp, "EXP({})", ("float",), "float"),
    "log": Operation(np.log, "{log}", ("float",), "float"),
    "max": Operation(np.maximum, "GREATEST({}, {})", (NUMBER, "0"), 0),
    "min": Operation(np.minimum, "LEAST({}, {})", (NUMBER, "0"), 0),
    "choose": Operation(np.where, "CASE WHEN {} THEN {} ELSE {} END", ("bool", ANY, "1"), 1),
    "<": Operation(np.less, "({} < {})", (ANY, "0"), "bool"),
    "<=": Operation(np.less_equal, "({} <= {})", (ANY, "0"), "bool"),
    "=": Operation(np.equal, "({} = {})", (ANY, "0"), "bool"),
    "<>": Operation(np.not_equal, "({} <> {})", (ANY, "0"), "bool"),
    "and": Operation(np.logical_and, "({} AND {})", ("bool", "bool"), "bool"),
    "or": Operation(np.logical_or, "({} OR {})", ("bool", "bool"), "bool"),
    "not": Operation(np.logical_not, "(NOT {})", ("bool",), "bool"),
    "to int": Operation(
        lambda x: np.asarray(x).astype(np.int64), "CAST({} AS BIGINT)", ("int bool float",), "int"
    ),
    "to float": Operation(
        lambda x: np.asarray(x).astype(np.float64), "CAST({} AS DOUBLE)", ("int float",), "float"
    ),
    "to text": Operation(_text_of, "CAST({} AS {text})", ("int text",), "text"),
}
"""Meaning of each operation by its name. A digit in ``kinds`` means: of the same kind as that argument."""


def kind_of(expression: Expression, kinds: Kinds) -> Kind:
    """Kind of an expression's values; raises if an operation does not take its arguments' kinds."""
    return _Reader(kinds, None).read(expression)[0]


def written(expression: Expression, kinds: Kinds, dialect: Dialect) -> str:
    """SQL of an expression."""
    return _Reader(kinds, dialect).read(expression)[1]


def evaluated(expression: Expression, columns: Mapping[str, Array], count: int) -> Array:
    """Value of an expression in each of ``count`` rows."""
    with np.errstate(all="ignore"):
        values = _value(expression, columns)
    if np.ndim(values) == 0:
        return np.full(count, values, dtype=DTYPES[_kind_of_value(values)])
    return np.asarray(values)


def kind_of_array(values: Array) -> Kind:
    """Kind of a column by its dtype; raises if relations have no such kind."""
    letter = values.dtype.kind
    if letter not in _LETTERS:
        raise HerbrandError(f"a column of {values.dtype} is of no kind that relations have")
    return _LETTERS[letter]


_LETTERS: Mapping[str, Kind] = {"i": "int", "u": "int", "f": "float", "b": "bool", "T": "text", "U": "text"}


def _value(expression: Expression, columns: Mapping[str, Array]) -> Any:
    if expression.operation == "column":
        return columns[expression.arguments[0]]
    if expression.operation == "literal":
        value = expression.arguments[0]
        # Python's own numbers would take the other argument's dtype, so they are given their own.
        return (
            np.asarray(value, dtype=DTYPES[_kind_of_value(value)])[()]
            if not isinstance(value, str)
            else value
        )
    arguments = [_value(argument, columns) for argument in expression.arguments]
    if expression.operation == "choose" and all(isinstance(x, str) for x in arguments[1:]):
        arguments[1] = np.asarray(arguments[1], dtype=DTYPES["text"])
    return OPERATIONS[expression.operation].array(*arguments)


@dataclass(frozen=True)
class _Reader:
    """Type checker that also writes the SQL of expressions if it has a ``dialect``."""

    kinds: Kinds
    dialect: Dialect | None

    def read(self, expression: Expression) -> tuple[Kind, str]:
        dialect = self.dialect
        if expression.operation == "column":
            name = expression.arguments[0]
            if name not in self.kinds:
                raise HerbrandError(f"there is no column '{name}', only {', '.join(self.kinds) or 'none'}")
            return self.kinds[name], dialect.quoted(name) if dialect else ""
        if expression.operation == "literal":
            value = expression.arguments[0]
            return _kind_of_value(value), written_value(value, dialect) if dialect else ""
        parts = [self.read(argument) for argument in expression.arguments]
        operation = OPERATIONS[expression.operation]
        kinds = self._checked(expression.operation, operation, [kind for kind, _ in parts])
        gives = kinds[operation.gives] if isinstance(operation.gives, int) else operation.gives
        if dialect is None:
            return gives, ""
        texts = [
            f"CAST({text} AS DOUBLE)" if kind != before else text
            for kind, (before, text) in zip(kinds, parts, strict=True)
        ]
        return gives, dialect.phrase(operation.sql).format(*texts)

    def _checked(self, name: str, operation: Operation, kinds: list[Kind]) -> list[Kind]:
        """Kinds of the arguments after whole numbers are widened to floats beside floats or where only floats
        are taken; raises if they do not fit."""
        checked: list[Kind] = []
        for expected, kind in zip(operation.kinds, kinds, strict=True):
            like = int(expected) if expected.isdigit() else None
            if like is None:
                fits = kind in expected.split()
                widened: Kind = (
                    "float" if not fits and kind == "int" and "float" in expected.split() else kind
                )
                if not fits and widened == kind:
                    raise HerbrandError(f"'{name}' is not for {IN_WORDS[kind]}")
                checked.append(widened)
            else:
                pair = {checked[like], kind}
                if pair == {"int", "float"}:
                    checked[like] = "float"
                elif len(pair) > 1:
                    one, other = IN_WORDS[checked[like]], IN_WORDS[kind]
                    numbers = "if both are numbers, declare the type of the text: type amount = number"
                    hint = numbers if pair & {"int", "float"} and "text" in pair else ""
                    raise HerbrandError(f"'{name}' of {one} and {other}, which differ", hint=hint)
                checked.append(checked[like])
        return checked


def written_value(value: Any, dialect: Dialect) -> str:
    """SQL of a constant."""
    kind = _kind_of_value(value)
    if kind == "bool":
        return "TRUE" if value else "FALSE"
    if kind == "text":
        return dialect.text_value(value)
    return f"CAST('{value!r}' AS {TYPES[kind]})"


def _kind_of_value(value: Any) -> Kind:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    if isinstance(value, str):
        return "text"
    raise HerbrandError(f"{value!r} is no value that relations have", hint="use int, float, bool or str")


def _plain(value: Any) -> Any:
    """The value as Python's own number, as ``repr`` of NumPy's is not SQL; raises if it exceeds 64 bits."""
    plain = value.item() if isinstance(value, np.generic) else value
    if _kind_of_value(plain) == "int" and not -LARGEST - 1 <= plain <= LARGEST:
        raise too_large()
    return plain


def _divisor(value: Any) -> Expression:
    """Literal of a divisor, which must be positive: databases round negative quotients the other way."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise HerbrandError(f"whole division is by a positive whole number, not by {value!r}")
    return literal(value)


def _made(operation: str, *arguments: Any) -> Expression:
    return Expression(operation, tuple(literal(typed(Any, argument)) for argument in arguments))


def _folded(operation: str, values: tuple[Any, ...]) -> Expression:
    """Combine the values in balanced halves: a chain of a thousand would nest too deep for
    Python and databases."""
    if len(values) == 1:
        return literal(values[0])
    half = len(values) // 2
    return _made(operation, _folded(operation, values[:half]), _folded(operation, values[half:]))
