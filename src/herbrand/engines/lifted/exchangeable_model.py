"""The parts of a counting problem that do not depend on the values of weights.

Owns :class:`ExchangeableModel`: families of own atoms, classes of elements, groups of binary predicates with
the evidence on their pairs, and pools: the elements of a family that terms do not distinguish. A constant
that a formula about several elements names is a pool by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.lifted.elements import Elements, element_count, elements_of
from herbrand.engines.lifted.families import Family, families_of, grouped_pairs
from herbrand.engines.lifted.pairs import PairGroup, PairKnowledge, Range, covers, group_of, knowledge_of
from herbrand.engines.lifted.terms import (
    CountTerm,
    Literals,
    NotLiftableError,
    Own,
    PairTerm,
    Slot,
    Terms,
    terms_of,
)
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program, Template

MOST_POOLS = 2_000
"""Most pools; counts of more are no easier to sum out than the ground atoms."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Elements of a family that terms do not distinguish; ``range``: which elements these are, for a slot."""

    family: int
    range: Range
    elements: np.ndarray

    def __len__(self) -> int:
        return len(self.elements)


@dataclass(frozen=True, eq=False)
class ExchangeableModel:
    program: Program
    evidence: Evidence
    terms: Terms
    families: tuple[Family, ...]
    elements: tuple[Elements, ...]
    groups: tuple[PairGroup, ...]
    knowledge: tuple[PairKnowledge, ...]
    pools: tuple[Pool, ...]
    named: tuple[frozenset[int], ...]
    """For each family, the constants that terms name."""

    def family_with(self, type_name: str, own: Own) -> int:
        """The family of an own atom."""
        return self._family_of[type_name, own]

    @cached_property
    def _family_of(self) -> dict[tuple[str, Own], int]:
        return {(f.type, own): i for i, f in enumerate(self.families) for own in f.owns}

    def group_with(self, predicate: str) -> int:
        """The pair group of a predicate of two arguments."""
        return self._group_of[predicate]

    @cached_property
    def _group_of(self) -> dict[str, int]:
        return {name: i for i, group in enumerate(self.groups) for name, _ in group.atoms}

    @cached_property
    def pools_of(self) -> tuple[tuple[int, ...], ...]:
        """The pools of each family."""
        pools: list[list[int]] = [[] for _ in self.families]
        for number, pool in enumerate(self.pools):
            pools[pool.family].append(number)
        return tuple(map(tuple, pools))

    @cached_property
    def _pool_alone(self) -> dict[tuple[int, Range], int]:
        """The pool of each constant that is a pool by itself."""
        return {(p.family, p.range): i for i, p in enumerate(self.pools) if isinstance(p.range, int)}

    def pools_in(self, slot: Slot) -> tuple[int, ...]:
        """The pools that a slot with literals ranges over."""
        family = self.family_with(slot.type, slot.literals[0][0])
        if slot.constant is not None:
            alone = self._pool_alone.get((family, slot.constant))
            return () if alone is None else (alone,)
        return tuple(i for i in self.pools_of[family] if covers(slot, self.pools[i].range))

    def pools_with(self, term: CountTerm) -> set[int]:
        """The pools over which the slots of a term about several elements range."""
        return {pool for slot in term.slots if slot.literals for pool in self.pools_in(slot)}

    @cached_property
    def own_terms_of(self) -> tuple[tuple[tuple[CountTerm, Slot], ...], ...]:
        """For each family, the terms about one of its elements at a time, each with its slot."""
        terms: list[list[tuple[CountTerm, Slot]]] = [[] for _ in self.families]
        for term in self.terms.counts:
            if (slot := term.single) is not None and slot.literals:
                terms[self.family_with(slot.type, slot.literals[0][0])].append((term, slot))
        return tuple(map(tuple, terms))

    @cached_property
    def literals_of(self) -> tuple[tuple[Literals, ...], ...]:
        """For each pool, the literals of slots that range over it in count terms about several elements."""
        literals: list[dict[Literals, None]] = [{} for _ in self.pools]
        for term in self.terms.counts:
            for slot in term.slots if term.single is None else ():
                for pool in self.pools_in(slot) if slot.literals else ():
                    literals[pool][slot.literals] = None
        return tuple(map(tuple, literals))

    def linear_in(self, term: CountTerm) -> frozenset[int]:
        """The pools in whose counts a term is linear: at most one slot of each product ranges over them."""
        if term.weight is None:
            return frozenset()
        times: Counter[int] = Counter()
        for number in term.numbers:
            products = [
                Counter(p for s in slots if s.literals for p in self.pools_in(s)) for _, slots in number
            ]
            for pool in {pool for product in products for pool in product}:
                times[pool] += max(product[pool] for product in products)
        bent = {p for slot in term.quantified if slot.literals for p in self.pools_in(slot)}
        return frozenset(pool for pool, most in times.items() if most == 1) - bent

    def elements_in(self, slot: Slot) -> int:
        """Number of elements that a slot without literals ranges over."""
        if slot.constant is not None:
            return 1
        return element_count(slot.type, self.program) - len(slot.excluded)

    @cached_property
    def pool_of(self) -> tuple[np.ndarray, ...]:
        """For each family, the pool of each element."""
        pools = tuple(np.empty(elements.count, np.int64) for elements in self.elements)
        for number, pool in enumerate(self.pools):
            pools[pool.family][pool.elements] = number
        return pools

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """Propositions on which terms about pairs depend; their values are tried one after another."""
        return tuple(sorted({own.predicate for term in self.terms.pairs for own, _ in term.given}))


def exchangeable_model_of(
    program: Program,
    templates: Sequence[Template],
    evidence: Evidence,
    by_class: bool = False,
    budget: Budget = UNLIMITED,
) -> ExchangeableModel:
    """The model of a program. ``by_class``: elements with different evidence are in different pools. Raises
    :class:`~herbrand.engines.lifted.terms.NotLiftableError`."""
    terms = terms_of(program, templates, budget)
    families = list(families_of(terms, program))
    family_of = {(f.type, own): i for i, f in enumerate(families) for own in f.owns}

    def side(slots: Sequence[Slot], type_name: str) -> int:
        """The family of one side of a group: that of the atoms in terms about it, or, if there are none, one
        without atoms."""
        for slot in slots:
            if slot.literals:
                return family_of[slot.type, slot.literals[0][0]]
        nothing = Family(type_name, (), ())
        if nothing not in families:
            families.append(nothing)
        return families.index(nothing)

    groups = []
    for predicates, own_terms in grouped_pairs(terms.pairs, program):
        types = program.signature.predicates[predicates[0]].types
        slots = list(_sides(own_terms))
        of_type = [[slot for slot in slots if slot.type == name] for name in types]
        sides = (side(of_type[0], types[0]), side(of_type[1], types[1]))
        groups.append(group_of(predicates, own_terms, sides, program))
    named = _named(families, terms, groups, family_of)
    elements = tuple(elements_of(f, n[0] | n[1], evidence) for f, n in zip(families, named, strict=True))
    pools = tuple(
        pool
        for i, (family, (_, apart)) in enumerate(zip(families, named, strict=True))
        for pool in _pools(i, family, apart, program, elements[i] if by_class else None)
    )
    if len(pools) > MOST_POOLS:
        raise NotLiftableError(f"formulas tell {len(pools):,} constants, or classes of them, apart")
    knowledge = tuple(knowledge_of(group, evidence) for group in groups)
    return ExchangeableModel(
        program,
        evidence,
        terms,
        tuple(families),
        elements,
        tuple(groups),
        knowledge,
        pools,
        tuple(one | other for one, other in named),
    )


def _named(
    families: Sequence[Family],
    terms: Terms,
    groups: Sequence[PairGroup],
    family_of: dict[tuple[str, Own], int],
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """For each family, the constants named by terms about one element, and those named by terms about
    several."""
    alone: list[set[int]] = [set() for _ in families]
    apart: list[set[int]] = [set() for _ in families]
    for term in terms.counts:
        named = apart if term.single is None else alone
        for slot in term.slots:
            if slot.literals:
                named[family_of[slot.type, slot.literals[0][0]]].update(slot.named)
    for group in groups:
        for slot in _sides(group.terms):
            for index in group.families:
                if slot.type == families[index].type:
                    apart[index].update(slot.named)
    return [(frozenset(one), frozenset(other)) for one, other in zip(alone, apart, strict=True)]


def _sides(terms: Sequence[PairTerm]) -> Iterator[Slot]:
    for term in terms:
        yield term.left
        yield term.right


def _pools(
    index: int, family: Family, apart: frozenset[int], program: Program, elements: Elements | None
) -> Iterator[Pool]:
    """A pool for each constant that is named, and one for all others; or, given their ``elements``, one for
    each class of these."""
    count = element_count(family.type, program)
    others = np.setdiff1d(np.arange(count), sorted(apart))
    classes = np.zeros(len(others)) if elements is None else elements.class_of[others]
    for klass in np.unique(classes):
        yield Pool(index, apart, others[classes == klass])
    for constant in sorted(apart):
        yield Pool(index, constant, np.array([constant]))
