"""What an editor needs at each keystroke: mistakes with their places, an outline, words to complete.

Statements are kept as they were read, so that a keystroke reads only the few around it again.

>>> checker = Checker()
>>> found = checker.check({"a.hb": "predicate rain\\n1: rian"}, ["a.hb"])
>>> [(mistake["message"], mistake["line"]) for mistake in found["mistakes"]]
[("predicate 'rian' is not declared", 2)]
"""

from __future__ import annotations

import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import PurePosixPath
from typing import Any

from herbrand.budget import Budget
from herbrand.errors import LanguageError, Mistake, Source, Span
from herbrand.language.check import check_all
from herbrand.language.dialects import read_theory_text
from herbrand.language.layout import stretches
from herbrand.language.parse import Reading, plain_source, read_theory
from herbrand.language.show import show_statement
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Choice,
    FactRows,
    PredicateDeclaration,
    Rule,
    Statement,
    TypeDeclaration,
)

KEPT = 4_000
FEW = 8
"""A part ends where a hash of its last statement is a multiple of this: so parts stay as they are when
others change, and hold about so many statements."""
SECONDS = 5.0
MOST_OUTLINED, MOST_CONSTANTS = 2_000, 1_000
OUTLINED = 80
KINDS = {
    TypeDeclaration: "type",
    PredicateDeclaration: "predicate",
    FactRows: "facts",
    Bound: "bound",
    BoundRows: "bound",
    Rule: "rule",
    Choice: "choice",
}
OWN = (".hb", "")


@dataclass(frozen=True)
class _Part:
    """Some statements of a file: what was read of them, and where they begin."""

    file: Source
    start: int
    reading: Reading


class Checker:
    """Checks files again and again; reads what it has not read before."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int], tuple[Reading, str]] = OrderedDict()
        self._numbers = count()

    def check(self, files: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
        """The mistakes of a theory in one or several files, and what its editor shows beside them."""
        budget = Budget(seconds=SECONDS)
        parts: list[_Part] = []
        places: dict[str, tuple[Source, int]] = {}
        sources: dict[str, Source] = {}
        failed: list[Mistake] = []
        for name in names:
            try:
                sources[name] = plain_source(files[name], name)
            except LanguageError as error:
                failed += error.mistakes
                continue
            ending = PurePosixPath(name).suffix.lower()
            seen: dict[str, int] = {}
            for start, end in _parts(sources[name].text) if ending in OWN else [(0, len(sources[name].text))]:
                text = sources[name].text[start:end]
                seen[text] = seen.get(text, -1) + 1
                reading, part = self._read(ending, text, seen[text], budget)
                places[part] = (sources[name], start)
                parts.append(_Part(sources[name], start, reading))
        readings = [part.reading for part in parts]
        signature, mistakes = None, failed
        try:
            signature = check_all(readings)[1]
        except LanguageError as error:
            mistakes = [*failed, *error.mistakes]
        return {
            "mistakes": [_described(mistake, places) for mistake in mistakes],
            "outline": list(islice(_outline(parts), MOST_OUTLINED)),
            "predicates": _predicates(signature, readings),
            "constants": _constants(signature, readings),
        }

    def _read(self, ending: str, text: str, copy: int, budget: Budget) -> tuple[Reading, str]:
        """What a part says, and the name of its source, which tells its place: each copy of an equal text
        has a name of its own."""
        key = (ending, text, copy)
        if key not in self._kept:
            name = f"part {next(self._numbers)}"
            self._kept[key] = (_reading(ending, text, name, budget), name)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _reading(ending: str, text: str, name: str, budget: Budget) -> Reading:
    if ending in OWN:
        return read_theory(text, name, budget)
    try:
        return Reading(read_theory_text(text, ending.removeprefix("."), name))
    except LanguageError as error:
        return Reading.failed(error)


def _parts(text: str) -> Iterator[tuple[int, int]]:
    begin = None
    end = 0
    for stretch in stretches(text):
        begin = stretch.start if begin is None else begin
        end = stretch.end
        if zlib.crc32(text[stretch.start : end].encode()) % FEW == 0:
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, end


def _described(mistake: Mistake, places: Mapping[str, tuple[Source, int]]) -> dict[str, Any]:
    found = {"message": mistake.message, "hint": mistake.hint, "severity": "error", "file": None}
    found |= {"replacement": _replacement(mistake)}
    return found | (_ends(mistake.span, places) if mistake.span is not None else _NOWHERE)


_NOWHERE = {"line": 1, "column": 1, "end_line": 1, "end_column": 1}
_MEANT = re.compile(r"\Adid you mean '(.+)'\?\Z")
_NAMED = re.compile(r"'([^']+)'")


def _replacement(mistake: Mistake) -> str | None:
    """What to write in the place of a mistake where its hint proposes another name."""
    meant, named = _MEANT.match(mistake.hint), _NAMED.search(mistake.message)
    if mistake.span is None or meant is None or named is None or named[1] not in mistake.span.text:
        return None
    return mistake.span.text.replace(named[1], meant[1], 1)


def _ends(span: Span, places: Mapping[str, tuple[Source, int]]) -> dict[str, Any]:
    source, start = places.get(span.source.name, (span.source, 0))
    line, column = source.line_and_column(start + span.start)
    end_line, end_column = source.line_and_column(start + max(span.end, span.start + 1))
    ends = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return {"file": source.name, **ends}


def _outline(parts: Sequence[_Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        for statement in part.reading.theory.statements:
            start = part.start + (statement.span.start if statement.span is not None else 0)
            line = part.file.line_and_column(start)[0]
            kind = KINDS.get(type(statement), "formula")
            yield {"name": _name(statement), "kind": kind, "line": line, "file": part.file.name}


def _name(statement: Statement) -> str:
    if isinstance(statement, PredicateDeclaration | TypeDeclaration):
        return statement.name
    if isinstance(statement, FactRows) and statement.row_count > 1:
        return f"{statement.predicate}: {statement.row_count:,} facts"
    shown = next(iter(show_statement(statement)), "")
    return shown if len(shown) <= OUTLINED else f"{shown[: OUTLINED - 3]}..."


def _predicates(signature: Signature | None, readings: Sequence[Reading]) -> list[dict[str, Any]]:
    """The predicates; while there are mistakes, those that are declared."""
    if signature is not None:
        known = signature.predicates.values()
        return [{"name": p.name, "arguments": list(p.types), "values": p.value_type} for p in known]
    declared = (each for reading in readings for each in reading.theory.predicates)
    return [{"name": p.name, "arguments": list(p.types), "values": None} for p in declared]


def _constants(signature: Signature | None, readings: Sequence[Reading]) -> list[Any]:
    found: dict[Any, None] = {}
    for reading in readings:
        for rows in reading.theory.facts:
            for column in rows.columns:
                found.update(dict.fromkeys(column[:MOST_CONSTANTS]))
    if signature is not None:
        for values in (*signature.mentioned.values(), *(t.values or () for t in signature.types.values())):
            found.update(dict.fromkeys(values[:MOST_CONSTANTS]))
    return list(found)[:MOST_CONSTANTS]
