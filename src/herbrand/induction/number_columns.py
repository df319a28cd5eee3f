"""Notes on columns of numbers that are read as text, which a user may have wanted to be compared.

Text files hold text where no type says otherwise, and rules compare only numbers. A column whose constants
are all numbers gets a note, unless they may be names (some constant occurs in a first column), or are too few
for thresholds.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse(""), {"age": [("anna", "31"), ("bob", "7.5"), ("carl", "40")]})
>>> signature, facts = model.program.signature, model.program.facts
>>> for note in unordered_numbers([(signature, facts)]):
...     print(note)
column 2 of age holds numbers, but is text as no type says otherwise, so rules do not compare them; \
declare the predicates in a theory, and there: type amount = number, predicate age(thing, amount)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc  # its functions are made at import, which pyright cannot see

from herbrand.facts.column import numbers_from_text
from herbrand.facts.facts import Facts
from herbrand.language.names import shown_name
from herbrand.language.signature import Predicate, Signature

FEWEST = 3
"""Fewest different numbers in a column that gets a note."""


def unordered_numbers(worlds: Sequence[tuple[Signature, Facts]]) -> Iterator[str]:
    """Yield a note for each column of numbers that no type declares as such."""
    columns = {
        (p.name, place) for known, _ in worlds for p in known.named.values() for place in range(1, p.arity)
    }
    firsts = _joined([_constants(world, name, 0) for world in worlds for name in world[0].named])
    for name, place in sorted(columns):
        texts = _joined([_constants(world, name, place) for world in worlds])
        if len(texts) >= FEWEST and numbers_from_text(texts)[1].all() and not _share(texts, firsts):
            predicate = next(known.predicates[name] for known, _ in worlds if name in known.predicates)
            yield _note(predicate, place)


def _constants(world: tuple[Signature, Facts], name: str, place: int) -> pa.Array:
    """Constants of the type of a predicate's column, if they are text; else none."""
    known, facts = world
    predicate = known.predicates.get(name)
    none = pa.array([], pa.large_string())
    if predicate is None or place >= predicate.arity:
        return none
    domain = facts.domains[predicate.types[place]]
    return domain.values if domain.kind == "text" else none


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return pa.chunked_array([part.cast(pa.large_string()) for part in parts], pa.large_string()).unique()


def _share(one: pa.Array, other: pa.Array) -> bool:
    return bool(pc.any(pc.is_in(one, other)).as_py())  # type: ignore[attr-defined]


def _note(predicate: Predicate, place: int) -> str:
    types = ["amount" if i == place else "thing" for i in range(predicate.arity)]
    name = shown_name(predicate.name)
    return (
        f"column {place + 1} of {name} holds numbers, but is text as no type says otherwise, so rules do not "
        f"compare them; declare the predicates in a theory, and there: "
        f"type amount = number, predicate {name}({', '.join(types)})"
    )
