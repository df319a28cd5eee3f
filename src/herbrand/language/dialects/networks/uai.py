"""Reader of networks of the UAI competitions, ``.uai``, and their evidence, ``.uai.evid``.

Variables have numbers in these files: number 3 becomes the many-valued predicate `` `3` ``, its values
``"0"``, ``"1"`` and so on. Tables of ``BAYES`` are conditional probabilities of their last variable, those
of ``MARKOV`` potentials. Comments are lines that begin with ``c``, and text after ``#``.

>>> theory = read_uai(Source("coin.uai", "MARKOV 1 2  1  1 0  2 1.0 3.0"))
>>> theory.predicates[0].name, theory.tables[0].values.tolist()
('0', [1.0, 3.0])
>>> [(rows.predicate, rows.columns) for rows in read_evidence(Source("coin.uai.evid", "1 0 1"), ())]
[('0', (('1',),))]
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

import numpy as np

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.dialects.networks.normalised import normalised, refuse_bad_entry, refuse_bad_sum
from herbrand.language.formulas import Constant
from herbrand.language.names import floats_from
from herbrand.language.network_choices import refuse_cycle
from herbrand.language.network_tables import NetworkTable, refuse_wide
from herbrand.language.syntax import FactRows, PredicateDeclaration
from herbrand.language.theory import Theory

_TOKENS = re.compile(r"^[ \t]*c(?:[ \t][^\n]*)?$|#[^\n]*|([^\s#]+)", re.MULTILINE)
_LARGEST = 10**7


def read_uai(source: Source) -> Theory:
    """Read the network of a file of kind ``BAYES`` or ``MARKOV``."""
    tokens = _Tokens(source)
    kind = tokens.next("BAYES or MARKOV")
    if kind.upper() not in ("BAYES", "MARKOV"):
        raise tokens.refusal(f"a network of kind '{kind[:40]}'; expected BAYES or MARKOV")
    conditional = kind.upper() == "BAYES"
    declared = []
    count = tokens.count("the number of variables")
    for number in range(count):
        size = tokens.count(f"the number of values of variable {number}", least=1)
        values = tuple(Constant(str(value)) for value in range(size))
        declared.append(PredicateDeclaration(str(number), (), values, span=tokens.span))
    scopes = [_scope(tokens, count, conditional) for _ in range(tokens.count("the number of tables"))]
    tables = [_table(tokens, scope, span, declared, conditional) for scope, span in scopes]
    if not tokens.at_end:
        tokens.next("nothing")
        raise tokens.refusal("more follows than the tables that were announced")
    if conditional:
        _refuse_unequal(tables, declared)
    return Theory((*declared, *tables))


def read_evidence(source: Source, many_valued: Collection[str] = ()) -> tuple[FactRows, ...]:
    """Read evidence: the number of observed variables, then number and value of each.

    Files of some years begin with the number of samples of evidence, which must be 1.
    """
    tokens = _Tokens(source)
    if not tokens.texts:
        return ()
    if _are_samples(tokens.texts):
        samples = tokens.count("the number of samples")
        if samples != 1:
            hint = "give each sample in a file of its own"
            raise tokens.refusal(f"{samples} samples of evidence, which are {samples} questions", hint)
    rows = []
    for _ in range(tokens.count("the number of observed variables")):
        name = str(tokens.count("the number of a variable"))
        span = tokens.span
        value = str(tokens.count(f"the value of variable {name}"))
        rows.append(FactRows(name, ((value,),), 1, valued=True, span=span))
    if not tokens.at_end:
        tokens.next("nothing")
        raise tokens.refusal("more follows than the observed variables that were announced")
    return tuple(rows)


def _are_samples(texts: Sequence[str]) -> bool:
    """Whether the first number counts samples, each with its number of observed variables, and not the
    observed variables."""
    if not all(map(_is_count, texts)) or len(texts) in (1, 1 + 2 * int(texts[0])):
        return False
    at, left = 1, int(texts[0])
    while left and at < len(texts):
        at, left = at + 1 + 2 * int(texts[at]), left - 1
    return at == len(texts) and not left


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


class _Tokens:
    """Reader of the words of a source; ``span`` is that of the last word taken."""

    def __init__(self, source: Source) -> None:
        self.source = source
        matches = [match for match in _TOKENS.finditer(source.text) if match.lastindex]
        self.texts = [match[1] for match in matches]
        self.starts = [match.start(1) for match in matches]
        self.taken = 0

    @property
    def at_end(self) -> bool:
        return self.taken == len(self.texts)

    def next(self, what: str) -> str:
        if self.at_end:
            end = len(self.source.text)
            raise LanguageError(
                f"expected {what}, found the end of the text", span=Span(self.source, end, end)
            )
        self.taken += 1
        return self.texts[self.taken - 1]

    def count(self, what: str, least: int = 0) -> int:
        text = self.next(what)
        if not _is_count(text) or not least <= int(text) <= _LARGEST:
            raise self.refusal(f"expected {what}, found '{text[:40]}'")
        return int(text)

    def numbers(self, count: int) -> np.ndarray:
        if self.taken + count > len(self.texts):
            self.taken = len(self.texts)
            self.next(f"{count:,} numbers of a table")
        texts = self.texts[self.taken : self.taken + count]
        try:
            values = np.array(floats_from(texts))
        except ValueError:
            for text in texts:
                self.taken += 1
                try:
                    floats_from([text])
                except ValueError:
                    raise self.refusal(f"expected a number of a table, found '{text[:40]}'") from None
            raise
        self.taken += count
        return values

    @property
    def span(self) -> Span:
        return self.stretch(self.taken - 1, 1)

    def stretch(self, first: int, count: int) -> Span:
        """Span of ``count`` words."""
        last = first + count - 1
        return Span(self.source, self.starts[first], self.starts[last] + len(self.texts[last]))

    def refusal(self, message: str, hint: str = "") -> LanguageError:
        return LanguageError(message, span=self.span, hint=hint)


def _scope(tokens: _Tokens, count: int, conditional: bool) -> tuple[list[int], Span]:
    length = tokens.count("the number of variables of a table", least=int(conditional))
    span = tokens.span
    refuse_wide(length, span)
    scope: list[int] = []
    for _ in range(length):
        number = tokens.count("the number of a variable")
        if number >= count:
            raise tokens.refusal(f"there is no variable {number}: they are numbered from 0 to {count - 1}")
        if number in scope:
            raise tokens.refusal(f"variable {number} stands twice in this table")
        scope.append(number)
    return scope, span


def _table(
    tokens: _Tokens, scope: list[int], span: Span, declared: list[PredicateDeclaration], conditional: bool
) -> NetworkTable:
    constants = [declared[number].values for number in scope]
    labels = tuple(tuple(str(c.value) for c in known) for known in constants if isinstance(known, tuple))
    sizes = tuple(map(len, labels))
    cells = math.prod(sizes)
    length = tokens.count("the number of entries of a table")
    if length != cells:
        raise tokens.refusal(f"a table of {length:,} entries; its variables have {cells:,} cases")
    first, values = tokens.taken, tokens.numbers(cells)
    refuse_bad_entry(values, lambda entry: tokens.stretch(first + entry, 1))
    values = values.reshape(sizes)
    if conditional:
        width, hint = sizes[-1], "the entries of a BAYES table add up to 1 over its last variable"
        rows, at = values.reshape(-1, width), lambda row: tokens.stretch(first + row * width, width)
        refuse_bad_sum(rows, "probabilities of this table", hint, at)
    known = normalised(values) if conditional else values
    return NetworkTable(tuple(str(number) for number in scope), labels, known, conditional, span)


def _refuse_unequal(tables: list[NetworkTable], declared: list[PredicateDeclaration]) -> None:
    """Refuse tables that are not one for each variable, or have a cycle."""
    children: set[str] = set()
    for table in tables:
        child = table.scope[-1]
        if child in children:
            raise LanguageError(f"variable {child} has two tables", span=table.span)
        children.add(child)
    for declaration in declared:
        if declaration.name not in children:
            message = f"variable {declaration.name} has no table"
            raise LanguageError(message, span=declaration.span)
    refuse_cycle(tables)
