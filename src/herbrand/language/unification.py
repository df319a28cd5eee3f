"""Which argument positions and variables share a type: classes of at most one declared type.

Used by the checker. A clash is a mistake that shows both places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from herbrand.errors import Mistake, Span
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
    """Classes of keys that must have one type."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        self._mistakes = mistakes
        self._parent: dict[Key, Key] = {}
        self._type: dict[Key, str] = {}
        self._witness: dict[Key, Span | None] = {}
        self._slots: dict[Key, Slot] = {}

    def add_slot(self, slot: Slot) -> None:
        self._slots.setdefault(self._root(slot), slot)

    def has_slot(self, key: Key) -> bool:
        return self._root(key) in self._slots

    def settle(self, key: Key, name: str, span: Span | None) -> None:
        """This key's class has the declared type."""
        root = self._root(key)
        self._type[root] = name
        self._witness[root] = span

    def join(self, variable: VariableKey, other: Key, shown: str, span: Span | None) -> None:
        """A variable stands here for what the other key ranges over."""
        left, right = self._root(variable), self._root(other)
        if left == right:
            return
        ours, theirs = self._type.get(left), self._type.get(right)
        if ours is not None and theirs is not None and ours != theirs:
            self._clash(shown, ours, theirs, self._witness.get(left), span)
            return
        self._parent[left] = right
        if theirs is None and ours is not None:
            self._type[right] = ours
            self._witness[right] = self._witness.get(left)
        else:
            self._witness[right] = span if theirs is not None else self._witness.get(right, span)
        if left in self._slots:
            self._slots.setdefault(right, self._slots[left])

    def names(self, predicates: Mapping[str, Predicate]) -> dict[Slot, str]:
        """The type of every argument position; classes without a declared type get a made name."""
        slots = [Slot(p.name, i) for p in predicates.values() for i in range(len(p.column_types))]
        unnamed = list(dict.fromkeys(r for s in slots if (r := self._root(s)) not in self._type))
        taken = set(self._type.values())
        for root in unnamed:
            first = next(slot for slot in slots if self._root(slot) == root)
            made = "thing" if len(unnamed) == 1 else f"{first.predicate}_{first.position + 1}"
            while made in taken:
                made += "_"
            taken.add(made)
            self._type[root] = made
        return {slot: self._type[self._root(slot)] for slot in slots}

    def name_of(self, key: Key, predicates: Mapping[str, Predicate]) -> str | None:
        """The type of a key once all are named; ``None`` for a variable in no atom."""
        return self._type.get(self._root(key))

    def _root(self, key: Key) -> Key:
        parent = self._parent
        while key in parent:
            following = parent[key]
            if following in parent:
                parent[key] = parent[following]
            key = following
        return key

    def _clash(self, shown: str, ours: str, theirs: str, first: Span | None, span: Span | None) -> None:
        related = ((f"as {ours}", first),) if first is not None else ()
        self._mistakes.append(Mistake(f"{shown} stands for a {ours} and for a {theirs}", span, "", related))
