"""Families of own atoms that terms tie together, and their cells: the value combinations they can take.

A family is a smallest set of own atoms of one type such that no term contains atoms of two families about one
element. Counts of different families are then independent except through terms over counts.

>>> family = Family("person", (Own("smokes"), Own("cancer")), (2, 2))
>>> family.holding(((Own("cancer"), (1,)),))
array([False,  True, False,  True])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from herbrand.engines.lifted.terms import (
    PROPOSITIONS,
    Literals,
    NotLiftableError,
    Own,
    PairTerm,
    Slot,
    Terms,
)
from herbrand.errors import few_of
from herbrand.graphs import linked
from herbrand.language.names import is_made, shown_predicate
from herbrand.program.program import Program

MOST_CELLS = 4096
MOST_SHOWN = 10**9

TypedOwn = tuple[str, Own]


@dataclass(frozen=True)
class Family:
    """A family of own atoms. ``sizes``: number of values of each; a cell is their joint index, the last the
    fastest."""

    type: str
    owns: tuple[Own, ...]
    sizes: tuple[int, ...]

    @property
    def cells(self) -> int:
        return math.prod(self.sizes)

    def values(self, own: Own) -> np.ndarray:
        """Value of an own atom in each cell."""
        place = self.owns.index(own)
        faster = math.prod(self.sizes[place + 1 :])
        return np.arange(self.cells) // faster % self.sizes[place]

    def holding(self, literals: Literals) -> np.ndarray:
        """Whether all literals hold in each cell."""
        holds = np.ones(self.cells, dtype=bool)
        for own, allowed in literals:
            holds &= np.isin(self.values(own), allowed)
        return holds


def families_of(terms: Terms, program: Program) -> tuple[Family, ...]:
    """All families of own atoms that are latent, or occur in a term or in a network's table."""
    tied: list[list[TypedOwn]] = [_owned([slot]) for term in terms.counts for slot in term.slots]
    tied += [
        [(PROPOSITIONS, Own(name)) for name in table.scope]
        for table in program.tables
        if (table.values != 1).any()
    ]
    tied += [_owned(slots) for sides in pair_sides(terms.pairs, program) for slots in sides]
    tied += [[(PROPOSITIONS, own)] for term in terms.pairs for own, _ in term.given]
    tied += [[owned] for owned in _latent(program)]
    groups = linked(filter(None, tied), lambda together: together)
    return tuple(_family(sorted(set(chain.from_iterable(group))), program) for group in groups)


def _owned(slots: Iterable[Slot]) -> list[TypedOwn]:
    """The own atoms in slots."""
    return [(slot.type, own) for slot in slots for own, _ in slot.literals]


def pair_sides(pairs: Sequence[PairTerm], program: Program) -> Iterator[tuple[list[Slot], ...]]:
    """For each group of tied binary predicates, the slots whose families must be one."""
    for group, own in grouped_pairs(pairs, program):
        slots = [(term.left, term.right) for term in own]
        types = program.signature.predicates[group[0]].types
        if types[0] == types[1]:
            yield ([slot for both in slots for slot in both],)
        else:
            yield tuple([slot for both in slots for slot in both if slot.type == name] for name in types)


def grouped_pairs(
    pairs: Sequence[PairTerm], program: Program
) -> Iterator[tuple[tuple[str, ...], tuple[PairTerm, ...]]]:
    """Each group of binary predicates, with the terms about it."""
    groups = binary_groups(pairs, program)
    number = {name: i for i, names in enumerate(groups) for name in names}
    terms: list[list[PairTerm]] = [[] for _ in groups]
    for term in pairs:
        terms[number[term.atoms[0][0]]].append(term)
    return zip(groups, map(tuple, terms), strict=True)


def binary_groups(pairs: Sequence[PairTerm], program: Program) -> list[tuple[str, ...]]:
    """Groups of binary predicates that occur in one term; latent ones in no term are alone."""
    binary = (one for one in program.signature.predicates.values() if one.arity == 2)
    together = [{one.name} for one in binary if affects_sum(one.name, program)]
    together += [{name for name, _, _ in term.atoms} for term in pairs]
    return [tuple(sorted(set().union(*group))) for group in linked(together, lambda names: names)]


def affects_sum(predicate: str, program: Program) -> bool:
    """Whether a predicate's atoms bear on the sum even if no term contains them: latent, or with soft
    evidence."""
    return program.is_open(predicate) or bool(len(program.table(predicate).soft))


def _latent(program: Program) -> Iterator[TypedOwn]:
    for predicate in program.signature.predicates.values():
        if not affects_sum(predicate.name, program):
            continue
        if predicate.arity == 0:
            yield PROPOSITIONS, Own(predicate.name)
        elif predicate.arity == 1:
            yield predicate.types[0], Own(predicate.name)
        elif predicate.arity == 2 and predicate.types[0] == predicate.types[1]:
            yield predicate.types[0], Own(predicate.name, diagonal=True)


def _family(members: Sequence[TypedOwn], program: Program) -> Family:
    owns = tuple(own for _, own in members)
    sizes = tuple(program.value_count(own.predicate) for own in owns)
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        named = dict.fromkeys(own.predicate for own in owns)
        names = few_of([name for name in named if not is_made(name)] or [*map(shown_predicate, named)])
        shown = f"{cells:,}" if cells < MOST_SHOWN else "billions of"
        raise NotLiftableError(
            f"{names} hang together about one constant, which makes {shown} cells; "
            f"at most {MOST_CELLS:,} are taken"
        )
    return Family(members[0][0], owns, sizes)
