"""Reader of whole ``.lcn`` files: lines become columns, and each form of a formula is parsed only once.

Takes a source; returns a run of bounds, or ``None`` if some line is not a valid bound: then the reader of
single lines takes over, which makes all messages.

>>> from herbrand.errors import Source
>>> text = "s1: 0.2 <= P(a | b) <= 0.4\\ns2: 0.5 <= P(b | !c) <= 1\\ns3: 0 <= P(c | a) <= 0.9"
>>> rows = read_bound_rows(Source("t.lcn", text), lambda span: ...)
>>> rows.names, list(rows.form), list(rows.atoms), list(rows.upper)
(('a', 'b', 'c'), [0, 1, 0], [0, 1, 1, 2, 2, 0], [0.4, 1.0, 0.9])
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from operator import gt

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.dialects.lcn.formulas import ATOM, read_event_and_given
from herbrand.language.names import floats_from
from herbrand.language.syntax import Bound, BoundRows

BLANK = r"[^\S\n]*"
NUMBER = r"[^\s<>=:;()|]+"
LINE = (
    rf"{BLANK}([^\s:#][^\s:]*){BLANK}:{BLANK}({NUMBER}){BLANK}<={BLANK}P{BLANK}"
    rf"\(([^;\n]*)\){BLANK}<={BLANK}({NUMBER}){BLANK}(?:;{BLANK}(.*))?$"
)
"""A line: label, lower bound, text inside ``P( )``, upper bound, and text after ``;``."""
NOTHING = rf"{BLANK}(?:#.*)?$"
_ANY_LINE = re.compile(rf"^(?:{LINE}|{NOTHING})", re.MULTILINE)
_NAME = re.compile(rf"(?<!\w){ATOM.pattern}")
_NAME_HERE = "\0"
"""Mark in place of a name: NUL, which no source holds."""
_CHARACTERS_AT_ONCE = 1 << 22
"""Characters of lines that are read at a time, so that temporary values stay small."""


def read_bound_rows(source: Source, read: Callable[[Span], Bound]) -> BoundRows | None:
    """The bounds of a file as one run, or ``None`` if there is no bound or some line is wrong.

    ``read`` parses a row again into a bound whose parts have spans.
    """
    columns = _Columns()
    for start, end in whole_lines(source.text, _CHARACTERS_AT_ONCE):
        if not columns.take(source.text, start, end):
            return None
    return columns.rows(source, read)


def whole_lines(text: str, together: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of blocks of whole lines, each cut at the first line end after ``together``
    characters."""
    start = 0
    while start < len(text):
        end = text.find("\n", min(start + together, len(text)))
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


class _Columns:
    """Columns of a run of bounds, filled block by block."""

    def __init__(self) -> None:
        self._code: dict[str, int] = defaultdict(count().__next__)
        self._form_of: dict[tuple[str, bool], int] = {}
        self._forms: list[Bound] = []
        self._form, self._atoms = array("q"), array("q")
        self._lower, self._upper = array("d"), array("d")
        self._labels: list[str] = []
        self._starts, self._places = array("q"), array("q")
        self._end = 0

    def take(self, text: str, start: int, end: int) -> bool:
        """Add the bounds of some lines; return False if a line is not a valid bound."""
        lines = list(_ANY_LINE.finditer(text, start, end))
        if len(lines) != text.count("\n", start, end) + 1:
            return False
        lines = [line for line in lines if line[1] is not None]
        if not lines:
            return True
        labels, lowers, insides, uppers, flags = zip(*[line.groups() for line in lines], strict=True)
        joined = "\n".join(insides)
        formed = self._take_forms(_NAME.sub(_NAME_HERE, joined).split("\n"), flags)
        if not formed or not self._take_ends(lowers, uppers):
            return False
        self._labels += labels
        self._starts.extend([line.start(1) for line in lines])
        self._end = lines[-1].end()
        self._take_names(joined, [line.start(3) for line in lines], insides)
        return True

    def _take_forms(self, keys: Sequence[str], flags: Sequence[str | None]) -> bool:
        """Add the forms of lines; return False if one is wrong. ``keys``: texts inside ``P( )`` with marks in
        place of names."""
        known = self._form_of
        for key, flag in zip(keys, flags, strict=True):
            form = key, bool(flag and flag.strip())
            number = known.get(form)
            if number is None:
                number = known[form] = len(self._forms)
                try:
                    self._forms.append(_form(*form))
                except LanguageError:
                    return False
            self._form.append(number)
        return True

    def _take_ends(self, lowers: Sequence[str], uppers: Sequence[str]) -> bool:
        try:
            lower, upper = array("d", floats_from(lowers)), array("d", floats_from(uppers))
        except ValueError:
            return False
        self._lower += lower
        self._upper += upper
        ordered = not any(map(gt, lower, upper)) and min(lower) >= 0 and max(upper) <= 1
        return ordered and all(end == end for ends in (lower, upper) for end in ends)

    def _take_names(self, joined: str, begins: Sequence[int], insides: Sequence[str]) -> None:
        """Add the numbers of names, and the offsets of new ones."""
        before = len(self._code)
        codes = array("q", map(self._code.__getitem__, _NAME.findall(joined)))
        self._atoms += codes
        if len(self._code) > before:
            self._places.extend(_new_places(joined, codes, before, begins, insides))

    def rows(self, source: Source, read: Callable[[Span], Bound]) -> BoundRows | None:
        if not self._labels or len(set(self._labels)) != len(self._labels):
            return None
        return BoundRows(
            forms=tuple(self._forms),
            form=self._form,
            names=tuple(self._code),
            atoms=self._atoms,
            lower=self._lower,
            upper=self._upper,
            labels=tuple(self._labels),
            span=Span(source, self._starts[0], self._end),
            starts=self._starts,
            places=self._places,
            read=read,
        )


def _new_places(
    joined: str, codes: Sequence[int], first: int, begins: Sequence[int], insides: Sequence[str]
) -> Iterator[int]:
    """Yield offsets of the first occurrence of the names numbered from ``first`` on; ``begins``: offset of
    each text inside ``P( )``."""
    matches = _NAME.finditer(joined)
    row, offset, end = 0, begins[0], len(insides[0])
    next_place = first
    for code, name in zip(codes, matches, strict=True):
        if code != next_place:
            continue
        next_place += 1
        place = name.start()
        while place > end:
            row += 1
            offset, end = begins[row] - end - 1, end + 1 + len(insides[row])
        yield offset + place


def _form(key: str, independent: bool) -> Bound:
    """The bound of a form, with atoms x0, x1, ... at the places of names."""
    parts = key.split(_NAME_HERE)
    text = "".join(f"{part}x{place}" for place, part in enumerate(parts[:-1])) + parts[-1]
    event, given = read_event_and_given(Source("", text), 0, len(text))
    return Bound(event, given, 0.0, 1.0, independent)
