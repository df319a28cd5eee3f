"""Random family trees: people are born one after the other, single people marry, cousins and siblings do not.

All worlds of a batch grow together, one person a step. ``father(x, y)`` says that y is the father of x, and
so on for ``mother``, ``son`` and ``daughter``.

>>> tree = grow(np.random.default_rng(1), worlds=2, people=20)
>>> relations(tree).shape
(2, 20, 20, 4)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from herbrand.induction.task import Sample

RELATIONS = ("father", "mother", "son", "daughter")
Parents = npt.NDArray[np.int64]
Truth = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Families:
    """``[worlds, people]``: who is the father and the mother
    of each person (-1: not in the tree), who is a man."""

    father: Parents
    mother: Parents
    man: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Lists:
    """A list of people in each world; taking one puts the last in its place."""

    members: Parents
    lengths: Parents

    def add(self, rows: Parents, people: Parents) -> None:
        self.members[rows, self.lengths[rows]] = people
        self.lengths[rows] += 1

    def remove(self, rows: Parents, places: Parents) -> None:
        self.lengths[rows] -= 1
        self.members[rows, places] = self.members[rows, self.lengths[rows]]


def _lists(worlds: int, people: int) -> _Lists:
    return _Lists(np.zeros((worlds, people + 1), np.int64), np.zeros(worlds, np.int64))


def grow(rng: np.random.Generator, worlds: int, people: int, marriage: float = 1.0) -> Families:
    """Families in which a wedding is tried after each birth with probability ``marriage``."""
    every = np.arange(worlds)
    father, mother = np.full((2, worlds, people), -1)
    man = rng.integers(2, size=(worlds, people)) == 0
    men, women, husbands, wives = (_lists(worlds, people) for _ in range(4))
    for person in range(people):
        couple = (rng.random(worlds) * (husbands.lengths + 1)).astype(np.int64) - 1
        born = couple >= 0
        father[born, person] = husbands.members[every[born], couple[born]]
        mother[born, person] = wives.members[every[born], couple[born]]
        for singles, here in ((men, man[:, person]), (women, ~man[:, person])):
            singles.add(every[here], np.full(here.sum(), person))
        tried = every[(rng.random(worlds) < marriage) & (men.lengths > 0) & (women.lengths > 0)]
        his, hers = ((rng.random(len(tried)) * s.lengths[tried]).astype(np.int64) for s in (men, women))
        groom, bride = men.members[tried, his], women.members[tried, hers]
        fine = ~_related(father, mother, tried, groom, bride)
        rows = tried[fine]
        husbands.add(rows, groom[fine])
        wives.add(rows, bride[fine])
        men.remove(rows, his[fine])
        women.remove(rows, hers[fine])
    return _shuffled(rng, Families(father, mother, man))


def _related(
    father: Parents, mother: Parents, rows: Parents, groom: Parents, bride: Parents
) -> npt.NDArray[np.bool_]:
    """Siblings, cousins, or an aunt or uncle with a niece or nephew."""

    def father_of(people: Parents) -> Parents:
        return np.where(people >= 0, father[rows, people], -1)

    def same(left: Parents, right: Parents) -> npt.NDArray[np.bool_]:
        return (left >= 0) & (left == right)

    his, hers = father_of(groom), father_of(bride)
    related = same(his, hers)
    for x in (his, mother[rows, groom]):
        for y in (hers, mother[rows, bride]):
            related |= same(his, father_of(y)) | same(hers, father_of(x)) | same(father_of(x), father_of(y))
    return related & (his >= 0) & (hers >= 0)


def _shuffled(rng: np.random.Generator, families: Families) -> Families:
    """The same families with people in a random order, so that the order shows no age."""
    order = np.argsort(rng.random(families.father.shape), 1)
    place = np.argsort(order, 1)

    def moved(parents: Parents) -> Parents:
        new = np.where(parents >= 0, np.take_along_axis(place, np.maximum(parents, 0), 1), -1)
        return np.take_along_axis(new, order, 1)

    return Families(
        moved(families.father), moved(families.mother), np.take_along_axis(families.man, order, 1)
    )


def relations(families: Families) -> Truth:
    """``[worlds, people, people, 4]``: father, mother, son, daughter."""
    worlds, people = families.father.shape
    result = np.zeros((worlds, people, people, 4), np.float32)
    for channel, parents in enumerate((families.father, families.mother)):
        row, child = np.nonzero(parents >= 0)
        parent = parents[row, child]
        result[row, child, parent, channel] = 1
        result[row, parent, child, np.where(families.man[row, child], 2, 3)] = 1
    return result


def _then(first: Truth, second: Truth) -> Truth:
    return (first @ second > 0).astype(np.float32)


def has_father(known: Truth) -> Truth:
    return known[..., 0].max(2)


def has_sister(known: Truth) -> Truth:
    """Another daughter of the father."""
    return _apart(_then(known[..., 0], known[..., 3])).max(2)


def grandparents(known: Truth) -> Truth:
    parents = np.maximum(known[..., 0], known[..., 1])
    return _then(parents, parents)


def uncle(known: Truth) -> Truth:
    """A son of a grandparent who is not the father."""
    return np.maximum(_then(grandparents(known), known[..., 2]) - known[..., 0], 0)


def maternal_great_uncle(known: Truth) -> Truth:
    """A son of the mother of a grandmother."""
    parents = np.maximum(known[..., 0], known[..., 1])
    grandmother = _then(parents, known[..., 1])
    return _then(_then(grandmother, known[..., 1]), known[..., 2])


def _apart(pairs: Truth) -> Truth:
    people = pairs.shape[1]
    return pairs * (1 - np.eye(people, dtype=np.float32))


def family_sample(
    label: Callable[[Truth], Truth], rng: np.random.Generator, worlds: int, people: int
) -> Sample:
    known = relations(grow(rng, worlds, people))
    return Sample({2: torch.from_numpy(known)}, torch.from_numpy(label(known)))
