"""Ground facts in runs: clauses that differ from an earlier one in constants and probability alone.

Takes the offset at which a clause begins; reads as many plain ground facts as follow, such as
``0.3::edge(a, 1).`` or ``0.4::red(a); 0.6::blue(a).``, and returns where they end. All other clauses, and the
first of each predicate, are left to :mod:`~herbrand.language.dialects.problog.terms`, whose readers also make
all messages.

>>> clauses = []
>>> facts = GroundFacts(Source("t.pl", "0.3::p(a). p('B c', 2). p(X)."), {"p": {1: "p"}}, clauses)
>>> facts.read(0), facts.read(10), [(clause.chances, clause.heads[0].arguments) for clause in clauses]
(10, 10, [((0.3,), (Constant(value='a'),))])
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from herbrand.errors import Source, Span
from herbrand.language.dialects.problog.goals import PrologClause
from herbrand.language.dialects.problog.terms import number_of
from herbrand.language.formulas import Atom, Constant, Value

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_CONSTANT = rf"(?:[a-z]\w*|{_NUMBER}|'[^'\\\n]*')"
_HEAD = re.compile(  # the group ``end`` is empty: it is the place behind the atom
    rf"(?>\s+|%[^\n]*)*+(?:(?P<chance>{_NUMBER})\s*::\s*)?(?P<name>[a-z]\w*)"
    rf"(?:\(\s*(?P<inside>{_CONSTANT}(?:\s*,\s*{_CONSTANT})*)\s*\))?(?P<end>)\s*(?P<sign>;|\.(?=\s|%|$))"
)
_CONSTANTS = re.compile(_CONSTANT)


class GroundFacts:
    """Reader of the ground facts of one file. ``predicates``: the predicates of which a clause was read, by
    their name in the file and number of arguments; ``clauses``: gets the facts."""

    def __init__(
        self, source: Source, predicates: Mapping[str, Mapping[int, str]], clauses: list[PrologClause]
    ) -> None:
        self._source, self._predicates, self._clauses = source, predicates, clauses
        self._values: dict[str, Value] = {}

    def read(self, start: int) -> int:
        """Read the facts from an offset on; return where they end."""
        text, heads = self._source.text, list[re.Match[str]]()
        while match := _HEAD.match(text, heads[-1].end() if heads else start):
            if match["name"] not in self._predicates:
                break
            heads.append(match)
            if match["sign"] == ".":
                clause = self._clause(heads)
                if clause is None:
                    break
                self._clauses.append(clause)
                start, heads = match.end(), []
        return start

    def _clause(self, matches: Sequence[re.Match[str]]) -> PrologClause | None:
        """The clause of a fact with these heads; ``None`` where it is not known to be one, or a number is too
        large."""
        first, last = matches[0], matches[-1]
        try:
            chances = tuple([float(self._value(one["chance"])) for one in matches if one["chance"]])
            heads = tuple([head for one in matches if (head := self._head(one))])
        except OverflowError:
            return None
        if len(heads) < len(matches) or len(chances) < len(heads) > 1:
            return None
        begin = first.start("chance" if first["chance"] else "name")
        return PrologClause(heads, (), chances, Span(self._source, begin, last.end("end")))

    def _head(self, match: re.Match[str]) -> Atom | None:
        """The atom of a head; ``None`` where no fact of its predicate was read."""
        inside = match.span("inside")
        arguments = tuple([self._constant(one) for one in _CONSTANTS.finditer(match.string, *inside)])
        predicate = self._predicates[match["name"]].get(len(arguments))
        if predicate is None:
            return None
        return Atom(predicate, arguments, Span(self._source, match.start("name"), match.end("end")))

    def _constant(self, match: re.Match[str]) -> Constant:
        return Constant(self._value(match[0]), Span(self._source, *match.span()))

    def _value(self, token: str) -> Value:
        """Value of a name, a number or a text between quotes; most occur in several facts."""
        if token not in self._values:
            self._values[token] = (
                number_of(token) if token[0].isdigit() else token[1:-1] if token[0] == "'" else token
            )
        return self._values[token]
