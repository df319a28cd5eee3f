"""Reader of ``.lcn`` files, with one bound on each line.

Takes a source; returns a theory of bounds, each with the label of its line. Any text after a ``;``, even
``; False``, makes the bound ``independent``, as in the package that defines the format.

>>> theory = read_lcn(Source("t.lcn", "s1: 0.2 <= P(a or b | !c) <= 0.4 ; True"))
>>> theory.bounds[0].label, theory.bounds[0].upper, theory.bounds[0].independent
('s1', 0.4, True)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from herbrand.errors import LanguageError, Mistakes, Source, Span
from herbrand.language.dialects.lcn.formulas import read_event_and_given
from herbrand.language.dialects.lcn.rows import BLANK, LINE, NOTHING, NUMBER, read_bound_rows, whole_lines
from herbrand.language.names import floats_from
from herbrand.language.syntax import Bound
from herbrand.language.theory import Theory

_LINE = re.compile(LINE)
_NOTHING = re.compile(NOTHING)
_PARTS = [
    (re.compile(rf"{BLANK}[^\s:#][^\s:]*{BLANK}:"), "a label and ':'"),
    (re.compile(rf"{BLANK}{NUMBER}(?={BLANK}<)"), "the lower bound"),
    (re.compile(rf"{BLANK}<="), "'<='"),
    (re.compile(rf"{BLANK}P{BLANK}\("), "'P('"),
    (re.compile(r"[^;]*\)"), "')'"),
    (re.compile(rf"{BLANK}<="), "'<='"),
    (re.compile(rf"{BLANK}{NUMBER}"), "the upper bound"),
    (re.compile(rf"{BLANK}(?:;.*)?$"), "';' or the end of the line"),
]
_WORD = re.compile(r"\w+|[<>=]+|\S")
_LINE_SHAPE = "a line reads 's1: 0.2 <= P(a | b) <= 0.4'"


def read_lcn(source: Source) -> Theory:
    """Read the bounds of a file in order; all mistakes are raised together."""
    rows = read_bound_rows(source, read_bound)
    return read_lines(source) if rows is None else Theory((rows,))


def read_bound(span: Span) -> Bound:
    """Parse the bound of one line, with a span for each of its parts."""
    (bound,) = _bounds(span.source, span.start, span.end, {})
    return bound


def read_lines(source: Source) -> Theory:
    """Read a file line by line, with messages; all mistakes are raised together."""
    mistakes = Mistakes()
    bounds: list[Bound] = []
    labelled: dict[str, Span] = {}
    for start, end in whole_lines(source.text, 0):
        with mistakes.collecting():
            bounds += _bounds(source, start, end, labelled)
    mistakes.raise_any()
    return Theory(tuple(bounds))


def _bounds(source: Source, start: int, end: int, labelled: dict[str, Span]) -> Iterator[Bound]:
    """Yield the bound of a line, if it has one; refuse a label that is already ``labelled``, and note it."""
    line = _LINE.match(source.text, start, end)
    if line is None:
        if not _NOTHING.fullmatch(source.text, start, end):
            raise _misread(source, start, end)
        return
    span, label = Span(source, line.start(1), line.end()), line[1]
    if label in labelled:
        raise LanguageError(
            f"the label '{label}' is given twice",
            span=Span(source, line.start(1), line.end(1)),
            related=[("first here", labelled[label])],
        )
    labelled[label] = span
    lower, upper = _probability(source, line, 2), _probability(source, line, 4)
    event, given = read_event_and_given(source, line.start(3), line.end(3))
    if lower > upper:
        raise LanguageError(
            f"the lower bound {line[2]} is above the upper bound {line[4]}",
            span=Span(source, line.start(2), line.end(4)),
        )
    independent = bool(line[5] and line[5].strip())
    yield Bound(event, given, lower, upper, independent, label, span)


def _probability(source: Source, line: re.Match[str], group: int) -> float:
    try:
        (number,) = floats_from([line[group]])
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise LanguageError(
            f"'{line[group]}' is not a probability",
            span=Span(source, line.start(group), line.end(group)),
            hint="expected a number from 0 to 1",
        )
    return number


def _misread(source: Source, start: int, end: int) -> LanguageError:
    """Error at the first part of a line that does not have the expected shape."""
    position = start
    for pattern, what in _PARTS:
        match = pattern.match(source.text, position, end)
        if match is None:
            word = _WORD.search(source.text, position, end)
            shown, place = (f"'{word.group()}'", word.span()) if word else ("the end of the line", (end, end))
            return LanguageError(
                f"expected {what}, found {shown}", span=Span(source, *place), hint=_LINE_SHAPE
            )
        position = match.end()
    return LanguageError("this line is no bound", span=Span(source, start, end), hint=_LINE_SHAPE)
