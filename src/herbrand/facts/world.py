"""What is not listed: false in a closed world, unknown in an open one.

>>> smokes = Predicate("smokes", ("person",), declared=True)
>>> Worlds().world(smokes, has_facts=True), Worlds(closed=("smokes",)).world(smokes, has_facts=True)
('open', 'closed')
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from herbrand.errors import FactsError, Mistake, nearest
from herbrand.facts.facts import World
from herbrand.language.signature import Predicate


@dataclass(frozen=True)
class Worlds:
    """What the theory and the call say of each predicate's
    world. ``open`` and ``closed`` have the last word."""

    rule_heads: Collection[str] = ()
    queried: Collection[str] = ()
    open: Collection[str] = ()
    closed: Collection[str] = ()

    def world(self, predicate: Predicate, *, has_facts: bool) -> World:
        name = predicate.name
        if name in self.open:
            return "open"
        if name in self.closed or predicate.role is not None:
            return "closed"
        if predicate.declared and predicate.tells_world:
            return "open"
        listed = has_facts and name not in self.rule_heads and name not in self.queried
        return "closed" if listed else "open"

    def check(self, known: Iterable[str]) -> None:
        """Raises where a predicate is not known, or is said to be both open and closed."""
        known = set(known)
        mistakes = [
            Mistake(f"{option}: there is no predicate '{name}'", hint=nearest(name, known))
            for option, names in (("open", self.open), ("closed", self.closed))
            for name in names
            if name not in known
        ]
        mistakes += [
            Mistake(f"'{name}' is said to be open and closed") for name in self.open if name in self.closed
        ]
        if mistakes:
            raise FactsError(mistakes)
