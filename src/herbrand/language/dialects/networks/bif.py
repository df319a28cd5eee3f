"""Bayesian networks in the Bayesian interchange format, ``.bif``.

Each variable becomes a many-valued predicate without arguments, each ``probability`` block one
:class:`NetworkTable`. Names may be quoted. Comments and properties are passed over.

>>> theory = read_bif(Source("rain.bif", '''
... variable rain { type discrete [ 2 ] { yes, no }; }
... probability ( rain ) { table 0.2, 0.8; }'''))
>>> theory.predicates[0].name, theory.tables[0].values.tolist()
('rain', [0.2, 0.8])
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from herbrand.errors import LanguageError, Source, Span, counted
from herbrand.language.dialects.networks.normalised import bad_entry, bad_row, normalised
from herbrand.language.names import is_writable
from herbrand.language.network_statements import refuse_cycle
from herbrand.language.network_tables import NetworkTable
from herbrand.language.syntax import Constant, PredicateDeclaration, Theory

_TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | property\b(?:"[^"]*"|[^;}"])*;?   # left out
    | ("[^"]*" | [{}()\[\],;|] | (?:[^\s{}()\[\],;|"/]+ | /(?![/*]))+ | ")""",
    re.VERBOSE | re.DOTALL,
)
_END = ""
MOST_ENTRIES = 10**8
"""A default row may stand for more cases than memory holds; written rows cannot."""


def read_bif(source: Source) -> Theory:
    """The network of a file: declarations in the file's order, then a table for each variable."""
    return _Reader(source).theory()


class _Reader:
    """Walks along the tokens; their places are found only for a table's span and for messages."""

    def __init__(self, source: Source) -> None:
        self.source = source
        matches = [match for match in _TOKENS.finditer(source.text) if match.lastindex]
        self.tokens = [match[1] for match in matches] + [_END]
        self.starts = [match.start() for match in matches] + [len(source.text)]
        self.at = 0
        self.variables: dict[str, tuple[str, ...]] = {}
        self.declared: list[PredicateDeclaration] = []
        self.tables: dict[str, NetworkTable] = {}

    def theory(self) -> Theory:
        blocks: list[int] = []
        while self.tokens[self.at] != _END:
            match self.tokens[self.at]:
                case "network":
                    self._skip_block()
                case "variable":
                    self._variable()
                case "probability":  # may stand before the variables that it names
                    blocks.append(self.at)
                    self._skip_block()
                case _:
                    self._expected("'network', 'variable' or 'probability'")
        for self.at in blocks:
            self._probability()
        for declaration in self.declared:
            if declaration.name not in self.tables:
                message = f"variable '{declaration.name}' has no probabilities"
                hint = f"write probability ( {declaration.name} ) {{ table ...; }}"
                raise LanguageError(message, span=declaration.span, hint=hint)
        refuse_cycle(self.tables.values())
        return Theory((*self.declared, *self.tables.values()))

    def _skip_block(self) -> None:
        start = self.at
        while self.tokens[self.at] not in ("}", _END):
            self.at += 1
        if self.tokens[self.at] == _END:
            raise LanguageError("this block has no closing '}'", span=self._span(start, start))
        self.at += 1

    def _variable(self) -> None:
        start = self.at
        self.at += 1
        place, name = self.at, self._name("the name of a variable")
        self._take("{")
        self._take("type")
        self._take("discrete")
        self._take("[")
        count_at, count = self.at, self._name("the number of values")
        self._take("]")
        self._take("{")
        labels_at, labels = self.at, self._names("}")
        if self.tokens[self.at] == ";":
            self.at += 1
        self._take("}")
        if not is_writable(name):
            hint = "no name of a variable holds a back-quote or the end of a line: give it another name"
            raise LanguageError(
                f"variable {name!r} cannot be named here", span=self._span(place, place), hint=hint
            )
        if name in self.variables:
            raise LanguageError(f"variable '{name}' is declared twice", span=self._span(place, place))
        if count != str(len(labels)):
            message = f"variable '{name}' has {len(labels)} values, and [ {count} ] is written"
            raise LanguageError(message, span=self._span(count_at, count_at))
        if not labels or len(set(labels)) < len(labels):
            message = f"variable '{name}' has no values" if not labels else f"'{name}' has a value twice"
            raise LanguageError(message, span=self._span(labels_at, labels_at))
        self.variables[name] = labels
        constants = tuple(map(Constant, labels))
        self.declared.append(PredicateDeclaration(name, (), constants, span=self._span(start, self.at - 1)))

    def _probability(self) -> None:
        start = self.at
        self.at += 1
        self._take("(")
        place = self.at
        child = self._name("the name of a variable")
        if self.tokens[self.at] in ("|", ","):
            self.at += 1
        scope = (child, *self._names(")"))
        for name in scope:
            if name not in self.variables:
                message = f"there is no variable '{name}'"
                raise LanguageError(message, span=self._span(place, self.at - 2))
        if len(set(scope)) < len(scope):
            raise LanguageError("a variable stands here twice", span=self._span(place, self.at - 2))
        if child in self.tables:
            message = f"'{child}' has probabilities already"
            raise LanguageError(message, span=self._span(place, place))
        self._take("{")
        values = self._rows(scope)
        self._take("}")
        parents = scope[1:]
        self.tables[child] = NetworkTable(
            (*parents, child),
            tuple(self.variables[name] for name in (*parents, child)),
            values,
            conditional=True,
            span=self._span(start, self.at - 1),
        )

    def _rows(self, scope: Sequence[str]) -> np.ndarray:
        """The entries of a block, with the axis of the variable itself last."""
        start = self.at
        child, *parents = scope
        sizes = [len(self.variables[name]) for name in parents]
        width = len(self.variables[child])
        places = [{label: i for i, label in enumerate(self.variables[name])} for name in parents]
        rows: dict[tuple[int, ...], tuple[list[str], int]] = {}
        default: tuple[list[str], int] | None = None
        while self.tokens[self.at] not in ("}", _END):
            token = self.tokens[self.at]
            if token == "table":
                self.at += 1
                if rows or default:
                    self._refuse("a table stands beside rows")
                return self._whole_table(sizes, width, child)
            if token == "default":
                if default is not None:
                    self._refuse("there is a default already")
                self.at += 1
                default = self._numbers(width), start
            elif token == "(":
                here = self.at
                self.at += 1
                case = self._case(parents, places)
                if case in rows:
                    raise LanguageError("these values have a row already", span=self._span(here, self.at - 1))
                rows[case] = self._numbers(width), here
            else:
                self._expected("'table', 'default' or '(' and values of the parents")
        return self._filled(rows, default, sizes, width, start)

    def _filled(
        self,
        rows: Mapping[tuple[int, ...], tuple[list[str], int]],
        default: tuple[list[str], int] | None,
        sizes: Sequence[int],
        width: int,
        start: int,
    ) -> np.ndarray:
        count = math.prod(sizes)
        if default is not None and count * width > MOST_ENTRIES:
            message = f"a table of {count * width:,} entries; at most {MOST_ENTRIES:,} are kept"
            raise LanguageError(message, span=self._span(start, start))
        if default is None and len(rows) < count:
            cases = counted(count, "case")
            message = f"there is no default, and {counted(len(rows), 'row')} for {cases} of the parents"
            raise LanguageError(message, span=self._span(start, start))
        values = np.empty((count, width))
        if default is not None:
            values[:] = self._floats([default[0]], [default[1]])[0]
        if rows:
            steps = np.cumprod([1, *sizes[:0:-1]])[::-1] if sizes else np.empty(0, np.int64)
            at = np.array(list(rows), np.int64).reshape(len(rows), len(sizes)) @ steps
            texts, places = zip(*rows.values(), strict=True)
            values[at] = self._floats(texts, places)
        return normalised(values).reshape(*sizes, width)

    def _floats(self, texts: Sequence[list[str]], places: Sequence[int]) -> np.ndarray:
        """Rows of numbers, each a distribution; ``places``: where each begins."""
        try:
            values = np.array([list(map(float, row)) for row in texts])
        except ValueError:
            for row, place in zip(texts, places, strict=True):
                for text in row:
                    self._refuse_unless_number(text, place)
            raise
        for row, place in zip(values, places, strict=True) if _suspect(values) else ():
            self._refuse_bad(row, self._span(place, place))
        return values

    def _whole_table(self, sizes: Sequence[int], width: int, child: str) -> np.ndarray:
        """``table`` lists the values of the variable itself slowest, those of its last parent fastest."""
        start = self.at
        count = math.prod(sizes) * width
        texts = self._numbers(count)
        for text in texts:
            self._refuse_unless_number(text, start)
        values = np.moveaxis(np.array(list(map(float, texts))).reshape(width, *sizes), 0, -1)
        self._refuse_bad(values, self._span(start, self.at - 1))
        return normalised(values)

    def _refuse_bad(self, values: np.ndarray, span: Span) -> None:
        entry = bad_entry(values)
        if entry is not None:
            raise LanguageError(entry, span=span)
        row = bad_row(values)
        if row is not None:
            hint = "the probabilities of a variable's values add up to 1 in each case, but for rounding"
            raise LanguageError(f"these probabilities add up to {row[1]:.6g}", span=span, hint=hint)

    def _refuse_unless_number(self, text: str, place: int) -> None:
        try:
            float(text)
        except ValueError:
            message = f"expected a probability, found '{text}'"
            raise LanguageError(message, span=self._span(place, place)) from None

    def _case(self, parents: Sequence[str], places: Sequence[Mapping[str, int]]) -> tuple[int, ...]:
        start = self.at
        labels = self._names(")")
        if len(labels) != len(parents):
            message = f"{len(labels)} values for {len(parents)} parents"
            raise LanguageError(message, span=self._span(start - 1, self.at - 1))
        try:
            return tuple([known[label] for known, label in zip(places, labels, strict=True)])
        except KeyError:
            name, label = next((n, x) for n, k, x in zip(parents, places, labels, strict=True) if x not in k)
            hint = f"its values: {', '.join(self.variables[name])}"
            message = f"'{name}' has no value '{label}'"
            raise LanguageError(message, span=self._span(start, self.at - 2), hint=hint) from None

    def _numbers(self, count: int) -> list[str]:
        """The texts up to the next ``;``."""
        start = self.at
        while self.tokens[self.at] not in (";", "}", "(", _END):
            self.at += 1
        found = [text for text in self.tokens[start : self.at] if text != ","]
        self._take(";")
        if len(found) != count:
            message = f"expected {count:,} probabilities, found {len(found):,}"
            raise LanguageError(message, span=self._span(start, max(start, self.at - 2)))
        return found

    def _names(self, closing: str) -> tuple[str, ...]:
        """Names up to a bracket, with commas between them or none."""
        found: list[str] = []
        while self.tokens[self.at] != closing:
            found.append(self._name(f"a name or '{closing}'"))
            if self.tokens[self.at] == ",":
                self.at += 1
        self.at += 1
        return tuple(found)

    def _name(self, what: str) -> str:
        token = self.tokens[self.at]
        if token in _SIGNS:
            self._expected(what)
        self.at += 1
        if token[0] != '"':
            return token
        if len(token) < 3:
            self.at -= 1
            self._refuse("a name between quotes has a closing quote and is not empty")
        return token[1:-1]

    def _take(self, text: str) -> None:
        if self.tokens[self.at] != text:
            self._expected(f"'{text}'")
        self.at += 1

    def _expected(self, what: str) -> NoReturn:
        token = self.tokens[self.at]
        shown = f"'{token[:40]}'" if token else "the end of the text"
        self._refuse(f"expected {what}, found {shown}")

    def _refuse(self, message: str) -> NoReturn:
        raise LanguageError(message, span=self._span(self.at, self.at))

    def _span(self, first: int, last: int) -> Span:
        """From one token to the end of another."""
        return Span(self.source, self.starts[first], self.starts[last] + len(self.tokens[last]))


_SIGNS = frozenset("{}()[],;|") | {_END}


def _suspect(values: np.ndarray) -> bool:
    return bad_entry(values) is not None or bad_row(values) is not None
