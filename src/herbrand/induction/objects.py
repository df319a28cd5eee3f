"""The constants of given tables as numbered objects, and the facts that hold of them.

Declared types distinguish constants; where nothing is declared, equal constants are one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.facts.facts import Facts, Worlds
from herbrand.facts.load import load_facts
from herbrand.facts.source import FactSource
from herbrand.language.signature import Signature
from herbrand.language.syntax import Theory, Value
from herbrand.program.derive import derived

Object = tuple[str | None, bool, Value]
"""A declared type or ``None``, whether the constant is text, and the constant."""


def known_facts(
    theory: Theory,
    signature: Signature,
    sources: Sequence[FactSource],
    header: bool | None,
    target: str | None = None,
) -> tuple[Signature, Facts]:
    """What a theory's facts and ``sources`` state, and what its rules derive of all but the ``target``."""
    rules = [rule for rule in theory.rules if rule.head.predicate != target]
    heads = [rule.head.predicate for rule in rules]
    closed = [p.name for p in theory.predicates if p.role is None]
    worlds = Worlds(rule_heads=heads, closed=closed)
    known, facts = load_facts(theory.facts, signature, sources, worlds=worlds, header=header)
    return known, derived(rules, known, facts, UNLIMITED) if rules else facts


def declared_types(known: Signature) -> set[str]:
    """Types that somebody named; the others were made up, one for each column of a table."""
    named = {t for predicate in known.predicates.values() if predicate.declared for t in predicate.types}
    return named | {name for name, kind in known.types.items() if kind.declared}


def numbered(
    known: Signature, facts: Facts, types: Iterable[str], numbers: dict[Object, int]
) -> dict[str, np.ndarray]:
    """The number of each constant of these types, by type; ``numbers`` grows by objects that are new."""
    declared, places = declared_types(known), dict[str, np.ndarray]()
    for name in types:
        kind = name if name in declared else None
        keys = [(kind, isinstance(value, str), value) for value in facts.domains[name]]
        places[name] = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    return places
