"""Renaming to names that a dialect accepts, without collisions.

>>> names = SpelledNames(["x", "X", "_"], str.upper)
>>> names["x"], names["X"], names.fresh("A"), names.fresh("A")
('X1', 'X', 'A', 'A1')
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from itertools import count


class SpelledNames:
    """A mapping from names to distinct spellings; names that ``spell`` does not change keep theirs, and
    others are numbered if they would collide."""

    def __init__(self, names: Iterable[str], spell: Callable[[str], str]) -> None:
        spelled = {name: spell(name) for name in names}
        self._given = {name: name for name, spelling in spelled.items() if spelling == name}
        self._taken = set(self._given)
        for name, spelling in spelled.items():
            if name not in self._given:
                self._given[name] = self.fresh(spelling)

    def __getitem__(self, name: str) -> str:
        return self._given[name]

    def fresh(self, preferred: str) -> str:
        """A new name like ``preferred``, which counts as taken from now on."""
        name = fresh_name(preferred, self._taken)
        self._taken.add(name)
        return name


def fresh_name(preferred: str, taken: Container[str]) -> str:
    """``preferred``, or the first of ``preferred1``, ``preferred2``, ... that is not taken."""
    if preferred not in taken:
        return preferred
    return next(name for number in count(1) if (name := f"{preferred}{number}") not in taken)
