"""Which argument positions and variables share a type: classes of at most one declared type.

Used by the checker. A clash is a mistake that shows both places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from herbrand.errors import Mistake, Mistakes, Span
from herbrand.graphs import Classes
from herbrand.language.signature import Predicate


class Slot(NamedTuple):
    """An argument position of a predicate; the position after the last is its value."""

    predicate: str
    position: int


class VariableKey(NamedTuple):
    """A variable of one statement, after renaming apart."""

    statement: int
    name: str


Key = Slot | VariableKey


class TypeClasses:
    """Classes of keys that must have one type. A class is known by the key at its root."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._classes = Classes[Key]()
        self._type: dict[Key, str] = {}
        self._witness: dict[Key, Span | None] = {}
        self._with_slot: set[Key] = set()

    def add_slots(self, predicate: Predicate) -> None:
        """Argument positions whose types are to be inferred."""
        for position in range(predicate.arity):
            self._with_slot.add(self._classes.leader(Slot(predicate.name, position)))

    def settle(self, slot: Slot, name: str, span: Span | None) -> None:
        """This position has the declared type."""
        root = self._classes.leader(slot)
        self._with_slot.add(root)
        self._type[root] = name
        self._witness[root] = span

    def has_slot(self, key: Key) -> bool:
        """Something gives the range of the key."""
        return self._classes.leader(key) in self._with_slot

    def join(self, variable: VariableKey, other: Key, shown: str, span: Span | None) -> None:
        """A variable stands here for what the other key ranges over."""
        left, right = self._classes.leader(variable), self._classes.leader(other)
        if left == right:
            return
        ours, theirs = self._type.get(left), self._type.get(right)
        if ours is not None and theirs is not None and ours != theirs:
            self._clash(shown, ours, theirs, self._witness.get(left), span)
            return
        self._classes.join(left, right)
        if ours is not None and theirs is None:
            self._type[right] = ours
            self._witness[right] = self._witness.get(left)
        else:
            self._witness[right] = span if theirs is not None else self._witness.get(right, span)
        if left in self._with_slot:
            self._with_slot.add(right)

    def names(self, predicates: Mapping[str, Predicate]) -> dict[Slot, str]:
        """The type of every argument position; classes without a declared type get a made name."""
        slots = [
            Slot(p.name, position) for p in predicates.values() for position in range(len(p.column_types))
        ]
        first_slots: dict[Key, Slot] = {}
        for slot in slots:
            first_slots.setdefault(self._classes.leader(slot), slot)
        unnamed = {root: slot for root, slot in first_slots.items() if root not in self._type}
        taken = set(self._type.values())
        for root, slot in unnamed.items():
            made = "thing" if len(unnamed) == 1 else f"{slot.predicate}_{slot.position + 1}"
            while made in taken:
                made += "_"
            taken.add(made)
            self._type[root] = made
        return {slot: self._type[self._classes.leader(slot)] for slot in slots}

    def name_of(self, key: Key) -> str | None:
        """The type of a key once all are named; ``None`` for a variable in no atom."""
        return self._type.get(self._classes.leader(key))

    def _clash(self, shown: str, ours: str, theirs: str, first: Span | None, span: Span | None) -> None:
        related = ((f"as {ours}", first),) if first is not None else ()
        self._mistakes.add(Mistake(f"{shown} stands for a {ours} and for a {theirs}", span, "", related))
