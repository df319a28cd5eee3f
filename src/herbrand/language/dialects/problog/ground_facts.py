"""Ground facts in runs: clauses that differ from an earlier one in constants and probability alone.

Takes the offset at which a clause begins; reads as many plain ground facts as follow, such as
``0.3::edge(a, 1).``, and returns where they end. All other clauses, and the first of each predicate, are left
to :mod:`~herbrand.language.dialects.problog.terms`, whose readers also make all messages.

>>> clauses = []
>>> facts = GroundFacts(Source("t.pl", "0.3::p(a). p('B c', 2). p(X)."), {("p", 1): "p"}, clauses)
>>> facts.read(0), facts.read(10), [(clause.chances, clause.heads[0].arguments) for clause in clauses]
(10, 10, [((0.3,), (Constant(value='a'),))])
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from herbrand.errors import Source, Span
from herbrand.language.dialects.problog.goals import PrologClause
from herbrand.language.dialects.problog.terms import number_of
from herbrand.language.formulas import Atom, Constant, Value

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_CONSTANT = rf"(?:[a-z]\w*|{_NUMBER}|'[^'\\\n]*')"
_FACT = re.compile(  # the group ``end`` is empty: it is the place behind the atom
    rf"(?>\s+|%[^\n]*)*+(?:(?P<chance>{_NUMBER})\s*::\s*)?(?P<name>[a-z]\w*)"
    rf"(?:\(\s*(?P<inside>{_CONSTANT}(?:\s*,\s*{_CONSTANT})*)\s*\))?(?P<end>)\s*\.(?=\s|%|$)"
)
_CONSTANTS = re.compile(_CONSTANT)


class GroundFacts:
    """Reader of the ground facts of one file. ``predicates``: the predicates of which a fact was read, by
    their names in the file and numbers of arguments; ``clauses``: gets the facts."""

    def __init__(
        self, source: Source, predicates: Mapping[tuple[str, int], str], clauses: list[PrologClause]
    ) -> None:
        self._source, self._predicates, self._clauses = source, predicates, clauses
        self._values: dict[str, Value] = {}

    def read(self, start: int) -> int:
        """Read the facts from an offset on; return where they end."""
        while (match := _FACT.match(self._source.text, start)) and (clause := self._clause(match)):
            self._clauses.append(clause)
            start = match.end()
        return start

    def _clause(self, match: re.Match[str]) -> PrologClause | None:
        """The clause of a fact; ``None`` where it is not known to be one."""
        chance, inside = match["chance"], match.span("inside")
        try:
            arguments = tuple(map(self._constant, _CONSTANTS.finditer(match.string, *inside)))
            chances = (float(self._value(chance)),) if chance else ()
        except OverflowError:
            return None
        predicate = self._predicates.get((match["name"], len(arguments)))
        if predicate is None:
            return None
        first, end = match.start("name"), match.end("end")
        head = Atom(predicate, arguments, Span(self._source, first, end))
        first = match.start("chance") if chance else first
        return PrologClause((head,), (), chances, Span(self._source, first, end))

    def _constant(self, match: re.Match[str]) -> Constant:
        return Constant(self._value(match[0]), Span(self._source, *match.span()))

    def _value(self, token: str) -> Value:
        """Value of a name, a number or a text between quotes; most occur in several facts."""
        if token not in self._values:
            self._values[token] = (
                number_of(token) if token[0].isdigit() else token[1:-1] if token[0] == "'" else token
            )
        return self._values[token]
