"""Reader of Bayesian networks in the Bayesian interchange format, ``.bif``.

Each variable becomes a many-valued predicate without arguments, each ``probability`` block one
:class:`NetworkTable`. Names may be quoted. Comments and properties are skipped.

>>> theory = read_bif(Source("rain.bif", '''
... variable rain { type discrete [ 2 ] { yes, no }; }
... probability ( rain ) { table 0.2, 0.8; }'''))
>>> theory.predicates[0].name, theory.tables[0].values.tolist()
('rain', [0.2, 0.8])
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NoReturn

import numpy as np

from herbrand.errors import LanguageError, Source, Span, counted
from herbrand.language.dialects.networks.normalised import (
    are_normal,
    normalised_rows,
    refuse_bad_entry,
    refuse_bad_sum,
    row_sums,
)
from herbrand.language.formulas import Constant
from herbrand.language.names import floats_from, is_writable
from herbrand.language.network_choices import refuse_cycle
from herbrand.language.network_tables import NetworkTable, refuse_wide
from herbrand.language.syntax import PredicateDeclaration
from herbrand.language.theory import Theory

_TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z)    # left out, as are properties
    | property(?=\s*"|\s+[^\s{}()\[\],;|])(?:"[^"]*"|[^;}"])*;?
    | ("[^"]*" | [{}()\[\],;|] | (?:[^\s{}()\[\],;|"/]+ | /(?![/*]))+ | ")""",
    re.VERBOSE | re.DOTALL,
)
_END = ""
DEFAULT = -1
MOST_ENTRIES = 10**8
"""Most entries of a table with a default row, which may cover more cases than memory holds."""


def read_bif(source: Source) -> Theory:
    """Read the network of a file: declarations in the file's order, then a table for each variable."""
    return _Reader(source).theory()


@dataclass
class _Block:
    """A ``probability`` block: rows of a table as texts, with ``width`` entries each.

    ``cases``: number of the case of the parents of each row, or ``DEFAULT`` for the row of all other cases.
    ``start``, ``end``: first and last token of the block; ``tokens``: those of each row.
    """

    scope: tuple[str, ...]
    sizes: list[int]
    width: int
    start: int
    end: int = 0
    texts: list[str] = field(default_factory=list)
    cases: list[int] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of cases of the parents."""
        return math.prod(self.sizes)

    def add(self, case: int, texts: Sequence[str], first: int, last: int) -> None:
        self.texts += texts
        self.cases.append(case)
        self.tokens.append((first, last))

    def table(self, numbers: np.ndarray) -> np.ndarray:
        """The entries as an array with the axis of the variable itself last."""
        rows = numbers.reshape(-1, self.width)
        if self.cases != list(range(len(self.cases))):  # in another order, or some by default
            values = np.empty((self.count, self.width))
            if DEFAULT in self.cases:
                values[:] = rows[self.cases.index(DEFAULT)]
            for_one = np.array(self.cases, np.int64)
            values[for_one[for_one != DEFAULT]] = rows[for_one != DEFAULT]
            rows = values
        return rows.reshape(*self.sizes, self.width)


class _Reader:
    """Reader of a token list; offsets are computed only for spans of tables and for messages."""

    def __init__(self, source: Source) -> None:
        self.source = source
        matches = list(_TOKENS.finditer(source.text))
        self._refuse_open_comment(matches)
        self.matches = [match for match in matches if match.lastindex]
        self.tokens = [match[1] for match in self.matches]
        self.tokens.append(_END)
        self.at = 0
        self.variables: dict[str, tuple[str, ...]] = {}
        self.declared: list[PredicateDeclaration] = []
        self.blocks: dict[str, _Block] = {}

    def _refuse_open_comment(self, matches: Sequence[re.Match[str]]) -> None:
        """Raise LanguageError if a comment is never closed, as it would hide the rest of the text."""
        last = matches[-1][0] if matches else ""
        if last.startswith("/*") and (len(last) < len("/**/") or not last.endswith("*/")):
            start = matches[-1].start()
            hint = "a comment that begins with /* ends with */"
            raise LanguageError(
                "this comment is not closed", span=Span(self.source, start, start + 2), hint=hint
            )

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
            if declaration.name not in self.blocks:
                message = f"variable '{declaration.name}' has no probabilities"
                hint = f"write probability ( {declaration.name} ) {{ table ...; }}"
                raise LanguageError(message, span=declaration.span, hint=hint)
        tables = tuple(self._tables())
        refuse_cycle(tables)
        return Theory((*self.declared, *tables))

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
            message = f"variable '{name}' has {counted(len(labels), 'value')}, and [ {count} ] is written"
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
        refuse_wide(len(scope), self._span(place, self.at - 2))
        if child in self.blocks:
            message = f"'{child}' has probabilities already"
            raise LanguageError(message, span=self._span(place, place))
        self._take("{")
        child, *parents = scope
        sizes = [len(self.variables[name]) for name in parents]
        block = _Block((*parents, child), sizes, len(self.variables[child]), start)
        self._rows(block)
        self._take("}")
        block.end = self.at - 1
        self.blocks[child] = block

    def _rows(self, block: _Block) -> None:
        start = self.at
        parents = block.scope[:-1]
        places = [{label: i for i, label in enumerate(self.variables[name])} for name in parents]
        known: set[int] = set()
        while self.tokens[self.at] not in ("}", _END):
            token, here = self.tokens[self.at], self.at
            if token == "table":
                self.at += 1
                if known:
                    self._refuse("a table stands beside rows")
                self._whole_table(block)
                return
            if token == "default":
                case = DEFAULT
                if case in known:
                    self._refuse("there is a default already")
                self.at += 1
            elif token == "(":
                self.at += 1
                case = self._case(parents, places)
                if case in known:
                    raise LanguageError("these values have a row already", span=self._span(here, self.at - 1))
            else:
                self._expected("'table', 'default' or '(' and values of the parents")
            known.add(case)
            block.add(case, self._numbers(block.width), here, here)
        self._refuse_missing(block, start)

    def _refuse_missing(self, block: _Block, start: int) -> None:
        """Raise LanguageError if a case has no row, or a default row covers too many cases."""
        count = block.count
        if DEFAULT not in block.cases:
            if len(block.cases) == count:
                return
            rows, cases = counted(len(block.cases), "row"), counted(count, "case")
            message = f"there is no default, and {rows} for {cases} of the parents"
        elif count * block.width > MOST_ENTRIES:
            message = f"a table of {count * block.width:,} entries; at most {MOST_ENTRIES:,} are kept"
        else:
            return
        raise LanguageError(message, span=self._span(start, start))

    def _whole_table(self, block: _Block) -> None:
        """Read a ``table``, in which the variable itself varies slowest and its last parent fastest."""
        start, count = self.at, block.count
        texts = self._numbers(count * block.width)
        for case in range(count):
            block.add(case, texts[case::count], start, self.at - 1)

    def _tables(self) -> Iterator[NetworkTable]:
        """Yield the tables of all blocks; their numbers are parsed and normalised together, for speed."""
        blocks = list(self.blocks.values())
        widths = np.repeat([block.width for block in blocks], [len(block.cases) for block in blocks])
        try:
            numbers = np.array(floats_from([*chain.from_iterable(block.texts for block in blocks)]))
        except ValueError:
            self._refuse_bad(blocks)
            raise
        sums = row_sums(numbers, widths)
        if not are_normal(numbers, sums):
            self._refuse_bad(blocks)
        numbers, at = normalised_rows(numbers, sums, widths), 0
        for block in blocks:
            values = block.table(numbers[at : at + len(block.texts)])
            labels = tuple(self.variables[name] for name in block.scope)
            span = self._span(block.start, block.end)
            yield NetworkTable(block.scope, labels, values, conditional=True, span=span)
            at += len(block.texts)

    def _refuse_bad(self, blocks: Sequence[_Block]) -> None:
        """Raise LanguageError for the first row that is not a distribution."""
        for block in blocks:
            for place, tokens in enumerate(block.tokens):
                span, row = self._span(*tokens), block.texts[place * block.width : (place + 1) * block.width]
                for text in row:
                    self._refuse_unless_number(text, span)
                self._refuse_unless_distribution(np.array(list(map(float, row))), span)

    def _refuse_unless_number(self, text: str, span: Span) -> None:
        try:
            floats_from([text])
        except ValueError:
            message = f"expected a probability, found '{text}'"
            raise LanguageError(message, span=span) from None

    def _refuse_unless_distribution(self, values: np.ndarray, span: Span) -> None:
        hint = "the probabilities of a variable's values add up to 1 in each case"
        refuse_bad_entry(values, lambda _: span)
        refuse_bad_sum(values[None], "these probabilities", hint, lambda _: span)

    def _case(self, parents: Sequence[str], places: Sequence[Mapping[str, int]]) -> int:
        """Read values of the parents; return the number of their case, in which the last varies fastest."""
        start = self.at
        labels = self._names(")")
        if len(labels) != len(parents):
            message = f"{counted(len(labels), 'value')} for {counted(len(parents), 'parent')}"
            raise LanguageError(message, span=self._span(start - 1, self.at - 1))
        case = 0
        try:
            for known, label in zip(places, labels, strict=True):
                case = case * len(known) + known[label]
        except KeyError:
            name, label = next((n, x) for n, k, x in zip(parents, places, labels, strict=True) if x not in k)
            hint = f"its values: {', '.join(self.variables[name])}"
            message = f"'{name}' has no value '{label}'"
            raise LanguageError(message, span=self._span(start, self.at - 2), hint=hint) from None
        return case

    def _numbers(self, count: int) -> list[str]:
        """Read ``count`` texts of numbers up to the next ``;``."""
        start = self.at
        while self.tokens[self.at] not in (";", "}", "(", _END):
            self.at += 1
        numbers = [text for text in self.tokens[start : self.at] if text != ","]
        self._take(";")
        if len(numbers) != count:
            message = f"expected {count:,} probabilities, found {len(numbers):,}"
            raise LanguageError(message, span=self._span(start, max(start, self.at - 2)))
        return numbers

    def _names(self, closing: str) -> tuple[str, ...]:
        """Read names up to a closing bracket; commas between them are optional."""
        names: list[str] = []
        while self.tokens[self.at] != closing:
            names.append(self._name(f"a name or '{closing}'"))
            if self.tokens[self.at] == ",":
                self.at += 1
        self.at += 1
        return tuple(names)

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
        """Span from one token to the end of another."""
        return Span(self.source, self._start(first), self._start(last) + len(self.tokens[last]))

    def _start(self, token: int) -> int:
        return self.matches[token].start() if token < len(self.matches) else len(self.source.text)


_SIGNS = frozenset("{}()[],;|") | {_END}
