"""Incremental reading of theory texts: after a change, only the statements that changed are parsed.

A statement is parsed as a separate text and cached by this text; its mistakes are then moved to its current
place. Parsing is nine tenths of the time of a check, so a keystroke costs what the changed statement costs.

>>> mistakes("1: a\\n1: b ->\\n", "rain.hb")[0].span.place
'rain.hb:2:6'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath

from herbrand.editing.words import MOST_KEPT
from herbrand.errors import LanguageError, Mistake, Source, Span, UnsupportedError, in_order
from herbrand.language.check import examined
from herbrand.language.dialects import read_theory_text
from herbrand.language.layout import stretches
from herbrand.language.parse import Reading, plain_source, read_theory
from herbrand.language.signature import Signature
from herbrand.language.theory import Theory
from herbrand.program.dependencies import resting_on_choices

_FACT = re.compile(r"(?:not[ \t]+)?[^\W\d]\w*\([^()\n:]*\)[^\n:(]*")


@dataclass(frozen=True)
class Checked:
    """The theory that could be read, its signature if any, and its mistakes in the order of lines."""

    theory: Theory
    signature: Signature | None
    mistakes: tuple[Mistake, ...]


def mistakes(text: str, name: str) -> tuple[Mistake, ...]:
    """All mistakes in a text."""
    return checked(text, name).mistakes


def checked(text: str, name: str) -> Checked:
    """Read and check a text, whose line ends are ``\\n``."""
    return checked_together({name: text})


def checked_together(texts: Mapping[str, str], folder: Path | None = None) -> Checked:
    """Read and check several texts, by their names, as one theory; texts in dialects are read as a whole.
    What they include lies in the ``folder`` of the names, if there is one.

    >>> checked_together({"a.hb": "predicate rain", "b.hb": "1: rian"}).mistakes[0].span.place
    'b.hb:1:4'
    """
    starts: dict[int, tuple[Source, int]] = {}
    readings: list[Reading] = []
    keep: list[Source] = []
    for name, text in texts.items():
        try:
            source = plain_source(text, name)
        except LanguageError as error:
            readings.append(Reading.failed(error))
            continue
        whole, shift = Source(name, text), len(text) - len(source.text)  # a byte order mark
        times: Counter[str] = Counter()
        for start, part in _parts(source.text) if _is_own(name) else [(0, source.text)]:
            own, reading = _read_part(part, times[part], name, folder)
            times[part] += 1
            starts[id(own)] = whole, start + shift
            keep.append(own)
            readings.append(reading)
    theory, signature, noted = examined(readings)
    mistakes = tuple(in_order(noted.listed))
    if not mistakes:
        try:
            resting_on_choices(theory.choices, theory.rules)
        except LanguageError as error:
            mistakes = error.mistakes
    return Checked(theory, signature, tuple(in_order(_moved(mistake, starts) for mistake in mistakes)))


def _is_own(name: str) -> bool:
    return PurePath(name).suffix.lower() in (".hb", "")


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements with their offsets; consecutive facts stay together."""
    start = end = -1
    for stretch in stretches(text):
        if _FACT.fullmatch(text, stretch.start, stretch.end):
            start, end = (start if start >= 0 else stretch.start), stretch.end
            continue
        if start >= 0:
            yield start, text[start:end]
            start = -1
        yield stretch.start, text[stretch.start : stretch.end]
    if start >= 0:
        yield start, text[start:end]


@lru_cache(MOST_KEPT)
def _read_part(part: str, time: int, name: str, folder: Path | None) -> tuple[Source, Reading]:
    """Parse a part as a separate text; return its source and reading.

    ``time``: number of equal parts before it. The cache then keeps a separate source for each of them, by
    which their mistakes are moved to their places.
    """
    reading = _reading(part, name, folder)
    for statement in reading.theory.statements:
        if statement.span is not None:
            return statement.span.source, reading
    for mistake in reading.mistakes:
        if mistake.span is not None:
            return mistake.span.source, reading
    return Source(name, part), reading


def _reading(part: str, name: str, folder: Path | None) -> Reading:
    if _is_own(name):
        return read_theory(part, name)
    own = None if folder is None else (folder / name).parent
    try:
        return Reading(read_theory_text(part, PurePath(name).suffix.lower()[1:], name, own))
    except LanguageError as error:
        return Reading.failed(error)
    except UnsupportedError as error:
        return Reading.failed(LanguageError(error.mistakes))


def _moved(mistake: Mistake, starts: Mapping[int, tuple[Source, int]]) -> Mistake:
    def move(span: Span) -> Span:
        whole, start = starts.get(id(span.source), (span.source, 0))
        return Span(whole, start + span.start, start + span.end)

    related = tuple((note, move(span)) for note, span in mistake.related)
    return replace(mistake, span=mistake.span and move(mistake.span), related=related)
