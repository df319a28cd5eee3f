"""Checks of the studio at each keystroke: mistakes with their places, an outline, words to complete.

>>> found = checked_files({"a.hb": "predicate rain\\n1: rian"})
>>> [(mistake["message"], mistake["line"]) for mistake in found["mistakes"]]
[("predicate 'rian' is not declared", 2)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from herbrand.editing.document import Document
from herbrand.editing.reading import Checked, checked_together
from herbrand.errors import Mistake, Source

MOST_OUTLINED, MOST_CONSTANTS = 2_000, 1_000
NOWHERE = dict.fromkeys(("file", "line", "column", "end_line", "end_column"))


def checked_files(texts: Mapping[str, str], folder: Path | None = None) -> dict[str, Any]:
    """Check the theory that some texts make up together; ``folder``: that of the files they include."""
    documents = [Document.of(text, name) for name, text in texts.items()]
    checked = checked_together({document.name: document.text for document in documents}, folder)
    return {
        "mistakes": [_described(mistake) for mistake in checked.mistakes],
        "outline": list(islice(_outline(documents), MOST_OUTLINED)),
        "predicates": _predicates(checked),
        "constants": _constants(checked),
    }


def _described(mistake: Mistake) -> dict[str, Any]:
    described = {"message": mistake.message, "hint": mistake.hint, "severity": "error"}
    span = mistake.span
    if span is None:
        return described | NOWHERE
    line, column = span.source.line_and_column(span.start)
    end_line, end_column = span.source.line_and_column(max(span.end, span.start + 1))
    ends = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return described | {"file": span.source.name} | ends


def _outline(documents: list[Document]) -> Iterator[dict[str, Any]]:
    for document in documents:
        source = Source(document.name, document.text)
        for symbol in document.symbols():
            line = source.line_and_column(symbol.start)[0]
            yield {"name": symbol.name, "kind": symbol.kind, "line": line, "file": document.name}


def _predicates(checked: Checked) -> list[dict[str, Any]]:
    """Predicates of the signature; if there is none, those that are declared."""
    if checked.signature is not None:
        known = checked.signature.named.values()
        return [{"name": p.name, "arguments": list(p.types), "values": p.value_type} for p in known]
    declared = checked.theory.predicates
    return [{"name": p.name, "arguments": list(p.types), "values": None} for p in declared]


def _constants(checked: Checked) -> list[Any]:
    constants: dict[Any, None] = {}
    for rows in checked.theory.facts:
        for column in rows.columns:
            constants.update(dict.fromkeys(column[:MOST_CONSTANTS]))
    if checked.signature is not None:
        types = checked.signature.types.values()
        for values in (*checked.signature.mentioned.values(), *(known.values or () for known in types)):
            constants.update(dict.fromkeys(values[:MOST_CONSTANTS]))
    return list(constants)[:MOST_CONSTANTS]
