"""Objects: the constants of given tables, numbered, and the facts about them.

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
from herbrand.language.syntax import Value
from herbrand.language.theory import Theory
from herbrand.program.derive import derived

Object = tuple[str | None, bool, Value]
"""An object as a key: its declared type or ``None``, whether its constant is text, and the constant."""


def known_facts(
    theory: Theory,
    signature: Signature,
    sources: Sequence[FactSource],
    header: bool | None,
    target: str | None = None,
) -> tuple[Signature, Facts]:
    """Load the facts of a theory and of ``sources``, and derive more by its rules, except those for
    ``target``."""
    rules = [rule for rule in theory.rules if rule.head.predicate != target]
    heads = [rule.head.predicate for rule in rules]
    closed = [p.name for p in theory.predicates if p.role is None]
    worlds = Worlds(rule_heads=heads, closed=closed)
    known, facts = load_facts(theory.facts, signature, sources, worlds=worlds, header=header)
    return known, derived(rules, known, facts, UNLIMITED) if rules else facts


def declared_types(known: Signature) -> set[str]:
    """Names of the declared types; the others were invented, one for each column of a table."""
    named = {t for predicate in known.predicates.values() if predicate.declared for t in predicate.types}
    return named | {name for name, kind in known.types.items() if kind.declared}


def numbered(
    known: Signature, facts: Facts, types: Iterable[str], numbers: dict[Object, int]
) -> dict[str, np.ndarray]:
    """Number of each constant of these types, by type; new objects are added to ``numbers``."""
    declared, places = declared_types(known), dict[str, np.ndarray]()
    for name in types:
        kind = name if name in declared else None
        keys = [(kind, isinstance(value, str), value) for value in facts.domains[name]]
        places[name] = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    return places
