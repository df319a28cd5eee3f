"""A vocabulary that the tests of loading share, and what was loaded as plain sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import pytest

from herbrand.errors import FactsError
from herbrand.facts.facts import Facts, Worlds
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from herbrand.language.signature import Predicate, Signature, Type
from tests.oracles.facts import Constant, Known, Row

AREAS = ("theory", "ai", "db")
TYPES = {
    "person": Type("person", declared=True),
    "paper": Type("paper", declared=True),
    "year": Type("year", kind="number", declared=True),
    "level": Type("level", ("junior", "senior"), "text", True),
    "decade": Type("decade", tuple(range(1990, 2031)), "number", True),
    "area value": Type("area value", AREAS, "text", True),
}
PREDICATES = {
    "friends": Predicate("friends", ("person", "person"), declared=True),
    "knows": Predicate("knows", ("person", "person"), role="observed", declared=True),
    "smokes": Predicate("smokes", ("person",), declared=True),
    "born": Predicate("born", ("person", "year"), declared=True),
    "rank": Predicate("rank", ("person", "level"), declared=True),
    "active": Predicate("active", ("person", "decade"), declared=True),
    "area": Predicate("area", ("paper",), "area value", declared=True),
    "alarm": Predicate("alarm", (), declared=True),
}
SIGNATURE = Signature(TYPES, PREDICATES, strict=True)
ANYTHING = Signature({}, {})


def load(facts: Any = None, signature: Signature = SIGNATURE, rows: Any = (), **options: Any) -> Facts:
    """``options``: those of :func:`load_facts`, and the parts of :class:`Worlds`."""
    parts = {part.name: options.pop(part.name) for part in fields(Worlds) if part.name in options}
    return load_facts(rows, signature, fact_sources(facts), worlds=Worlds(**parts), **options)[1]


def message(facts: Any = None, signature: Signature = SIGNATURE, rows: Any = (), **options: Any) -> str:
    """What a user is told."""
    with pytest.raises(FactsError) as caught:
        load(facts, signature, rows, **options)
    return str(caught.value)


def constants(facts: Facts, predicate: str, rows: Any = None, signature: Signature = SIGNATURE) -> list[Row]:
    """The rows of a table, the true ones unless others are given, as constants."""
    rows = facts.tables[predicate].true if rows is None else rows
    return list(facts.rows(signature.predicates[predicate], rows))


def known(facts: Facts, signature: Signature) -> dict[str, Known]:
    return {name: _known(facts, name, signature) for name in facts.tables}


def _known(facts: Facts, name: str, signature: Signature) -> Known:
    table = facts.tables[name]
    true = constants(facts, name, table.true, signature)
    soft = constants(facts, name, table.soft, signature)
    weights = {} if table.weights is None else dict(zip(true, table.weights.tolist(), strict=True))
    return Known(
        unique(true),
        unique(constants(facts, name, table.false, signature)),
        dict(zip(soft, table.probabilities.tolist(), strict=True)),
        weights,
    )


def unique(rows: Iterable[Row]) -> set[Row]:
    rows = list(rows)
    assert len(set(rows)) == len(rows), "a row stands twice"
    return set(rows)


def domains(facts: Facts) -> dict[str, list[Constant]]:
    return {name: list(domain) for name, domain in facts.domains.items()}
