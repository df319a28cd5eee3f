"""Atoms of two different elements: the evidence on each pair, and the tables from summing the atoms out.

Binary predicates that terms tie together make a :class:`PairGroup`. Given the cells of its two elements, a
pair's atoms are independent of all others, so they are summed out at once: a table [left cell, right cell]
for each :class:`Pattern` of evidence on them. Nearly all pairs have the default pattern; the others are
listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.contraction.algebra import Algebra
from herbrand.engines.lifted.families import Family
from herbrand.engines.lifted.terms import Literals, NotLiftableError, PairTerm, Slot
from herbrand.language.names import shown_predicate
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import Program

MOST_ENTRIES = 2**22

Range = frozenset[int] | int
"""The elements of a pool: one constant, or all but those in the set, which have pools of their own."""

Atom = tuple[str, bool]
"""A predicate, and whether its arguments are the pair's elements in the group's order."""


@dataclass(frozen=True)
class PairGroup:
    """A group of tied binary predicates. ``families``: those of its left and right elements; the same where
    the types are."""

    types: tuple[str, str]
    atoms: tuple[Atom, ...]
    sizes: tuple[int, ...]
    terms: tuple[PairTerm, ...]
    families: tuple[int, int]

    @property
    def within(self) -> bool:
        """Whether both elements are of one type."""
        return self.types[0] == self.types[1]

    def terms_between(self, ranges: tuple[Range, Range]) -> list[PairTerm]:
        """The terms whose slots name no constants but those of two pools."""
        one, other = ({None, each} if isinstance(each, int) else {None} for each in ranges)
        named = {*product(one, other), *product(other, one)}
        numbers = [self._naming[constants] for constants in named if constants in self._naming]
        return [self.terms[number] for number in sorted(chain.from_iterable(numbers))]

    @cached_property
    def _naming(self) -> dict[tuple[int | None, int | None], list[int]]:
        """Numbers of the terms, by the constants that their left and right slots name."""
        by_constants: dict[tuple[int | None, int | None], list[int]] = {}
        for number, term in enumerate(self.terms):
            by_constants.setdefault((term.left.constant, term.right.constant), []).append(number)
        return by_constants


@dataclass(frozen=True, eq=False)
class Pattern:
    """Evidence on a pair: the value of each atom, or ``LATENT``, and the log-weights that soft evidence adds
    to its values."""

    values: tuple[int, ...]
    opinions: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class PairKnowledge:
    """Evidence on the pairs of a group. ``patterns[0]``: that of all pairs but those listed in ``pairs``
    [pair, 2], each with its pattern."""

    patterns: tuple[Pattern, ...]
    pairs: np.ndarray
    pattern_of: np.ndarray


def turned(group: PairGroup, pattern: Pattern) -> Pattern:
    """The pattern seen from the other element of a pair within one type."""
    order = [group.atoms.index((name, not way)) for name, way in group.atoms]
    values, opinions = pattern.values, pattern.opinions
    return Pattern(tuple(values[i] for i in order), tuple(opinions[i] for i in order))


def group_of(
    predicates: tuple[str, ...], terms: tuple[PairTerm, ...], families: tuple[int, int], program: Program
) -> PairGroup:
    first = program.signature.predicates[predicates[0]].types
    types = (first[0], first[1])
    ways = (True, False) if types[0] == types[1] else (True,)
    atoms = tuple((name, way) for name in predicates for way in ways)
    return PairGroup(types, atoms, tuple(program.value_count(name) for name, _ in atoms), terms, families)


def knowledge_of(group: PairGroup, evidence: Evidence) -> PairKnowledge:
    """The pairs with other evidence than most, and the patterns."""
    left, right = (len(evidence.program.domain(name)) for name in group.types)
    sizes = (left, right)
    default = tuple(_default(name, sizes, group.within, evidence) for name, _ in group.atoms)
    listed = [
        _pair_keys(group, name, codes, sizes, evidence)
        for name in dict.fromkeys(name for name, _ in group.atoms)
        for codes in _unusual(name, default[group.atoms.index((name, True))], evidence)
    ]
    keys = np.unique(np.concatenate(listed)) if listed else np.empty(0, np.int64)
    pairs = np.column_stack(np.divmod(keys, sizes[1]))
    codes = [_codes(pairs, name, way, group, evidence) for name, way in group.atoms]
    values = [evidence.known(name).lookup(c) for (name, _), c in zip(group.atoms, codes, strict=True)]
    added = [evidence.weight_rows(name, c) for (name, _), c in zip(group.atoms, codes, strict=True)]
    _, first, pattern_of = np.unique(
        np.column_stack([*values, *added]), axis=0, return_index=True, return_inverse=True
    )
    usual = Pattern(default, tuple(np.zeros(size) for size in group.sizes))
    unusual = (Pattern(tuple(int(v[i]) for v in values), tuple(a[i] for a in added)) for i in first)
    return PairKnowledge((usual, *unusual), pairs, pattern_of.reshape(-1) + 1)


def _default(predicate: str, sizes: tuple[int, int], within: bool, evidence: Evidence) -> int:
    """The evidence on most pairs of different elements: a value, or ``LATENT``."""
    known = evidence.known(predicate)
    listed = ~_on_diagonal(known.codes, sizes, within)
    values, counts = np.unique(known.values[listed], return_counts=True)
    pairs = sizes[0] * sizes[1] - (min(sizes) if within else 0)
    if not len(counts) or 2 * counts.max() <= pairs:
        return known.default
    return int(values[counts.argmax()])


def _on_diagonal(codes: np.ndarray, sizes: tuple[int, int], within: bool) -> np.ndarray:
    return codes % (sizes[1] + 1) == 0 if within else np.zeros(len(codes), dtype=bool)


def _unusual(predicate: str, default: int, evidence: Evidence) -> list[np.ndarray]:
    """Codes of atoms with another value than the default, or with soft evidence."""
    known = evidence.known(predicate)
    if default == known.default:
        unusual = known.codes[known.values != default]
    else:
        every = np.arange(known.atom_count)
        unusual = every[known.lookup(every) != default]
    return [unusual, evidence.weights(predicate)[0]]


def _pair_keys(
    group: PairGroup, predicate: str, codes: np.ndarray, sizes: tuple[int, int], evidence: Evidence
) -> np.ndarray:
    """Key of each atom's pair; of two elements of one type the smaller comes first."""
    codes = codes[~_on_diagonal(codes, sizes, group.within)]
    width = evidence.sizes(predicate)[1]
    left, right = np.divmod(codes, width)
    if group.within:
        left, right = np.minimum(left, right), np.maximum(left, right)
    elif not _in_order(group, predicate, evidence):
        left, right = right, left
    return left * sizes[1] + right


def _in_order(group: PairGroup, predicate: str, evidence: Evidence) -> bool:
    return evidence.program.signature.predicates[predicate].types == group.types


def _codes(pairs: np.ndarray, name: str, way: bool, group: PairGroup, evidence: Evidence) -> np.ndarray:
    """Code of the atom for each pair."""
    straight = way if group.within else _in_order(group, name, evidence)
    first, second = (pairs[:, 0], pairs[:, 1]) if straight else (pairs[:, 1], pairs[:, 0])
    return first * evidence.sizes(name)[1] + second


def covers(slot: Slot, elements: Range) -> bool:
    """Whether a slot's variable ranges over a pool."""
    if isinstance(elements, int):
        return slot.constant == elements if slot.constant is not None else elements not in slot.excluded
    return slot.constant is None


@dataclass(frozen=True, eq=False)
class PairTables:
    """The tables of one group's pairs between two pools, for given values of the weights and of propositions.

    Most cells differ in atoms that are in no term of the group. Cells that its terms treat alike are one
    *kind*, and the tables are over kinds. ``kinds``: that of each cell, for the left and the right element.
    """

    group: PairGroup
    kinds: tuple[np.ndarray, np.ndarray]
    algebra: Algebra
    potential: Array
    """Log-weights from terms: [left kind, right kind, the values of each atom]."""
    trust: Array
    """Factor of soft evidence."""

    def masked(self, pattern: Pattern) -> Array:
        """The potential with a pattern of evidence."""
        potential = self.potential
        for place, (value, added) in enumerate(zip(pattern.values, pattern.opinions, strict=True)):
            impossible = np.isneginf(added)
            if value != LATENT:
                impossible |= np.arange(len(added)) != value
            if not (impossible.any() or added.any()):
                continue
            shape = [-1 if i == place + 2 else 1 for i in range(potential.dim())]
            potential = potential + self.trust * arrays.from_numpy(np.where(impossible, 0.0, added)).view(
                shape
            )
            potential = potential.masked_fill(arrays.from_numpy(impossible).view(shape), -math.inf)
        return potential

    def summed(self, pattern: Pattern) -> Array:
        """The pair's atoms summed, or maximised, out: [left kind, right kind]."""
        return self.algebra.sum(self.masked(pattern), tuple(range(2, self.potential.dim())))

    def summed_at(self, pattern: Pattern, left: np.ndarray, right: np.ndarray) -> Array:
        """The same for these cells: [left cell, right cell]."""
        rows, columns = (arrays.from_numpy(of[at]) for of, at in zip(self.kinds, (left, right), strict=True))
        return self.summed(pattern)[rows][:, columns]

    def shares(self, pattern: Pattern) -> list[np.ndarray]:
        """For each atom, the shares of its values given the kinds [left kind, right kind, value]."""
        masked = self.masked(pattern).detach()
        flat = masked.reshape(*masked.shape[:2], -1)
        if self.algebra.idempotent:
            best = flat.argmax(2, keepdim=True)
            shares = (arrays.arange(flat.shape[2]) == best).to(arrays.float64)
        else:
            shares = arrays.softmax(flat.clamp_min(float(arrays.finfo(flat.dtype).min)), 2)
        shares = shares.view(masked.shape)
        places = range(2, masked.dim())
        return [
            shares.sum([p for p in places if p != place]).numpy() if len(places) > 1 else shares.numpy()
            for place in places
        ]

    def share(self, pattern: Pattern, atom: Atom) -> np.ndarray:
        """The shares of one atom [left kind, right kind, value]."""
        return self.shares(pattern)[self.group.atoms.index(atom)]

    def share_at(self, pattern: Pattern, atom: Atom, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The shares of one atom for these cells [left cell, right cell, value]."""
        return self.share(pattern, atom)[np.ix_(self.kinds[0][left], self.kinds[1][right])]


PlacedTerm = tuple[PairTerm, Slot, Slot, bool]
"""A term, its slots for the left and the right element, and whether they are in the term's order."""


def tables_of(
    group: PairGroup,
    families: tuple[Family, Family],
    ranges: tuple[Range, Range],
    given: Mapping[str, int],
    weights: Array,
    algebra: Algebra,
) -> PairTables:
    """The group's tables between two pools; ``given``: the values of propositions."""
    terms = list(_placed_terms(group, ranges, given))
    left, left_kinds = _kinds(families[0], [slot.literals for _, slot, _, _ in terms])
    right, right_kinds = _kinds(families[1], [slot.literals for _, _, slot, _ in terms])
    shape = (left.shape[1], right.shape[1], *group.sizes)
    if np.prod(shape, dtype=float) > MOST_ENTRIES:
        names = ", ".join(dict.fromkeys(shown_predicate(name) for name, _ in group.atoms))
        raise NotLiftableError(f"a pair's table over {names} would be too large")
    potential = arrays.zeros(shape, dtype=arrays.float64)
    for (term, _, _, straight), *sides in zip(terms, left, right, strict=True):
        holds = arrays.from_numpy(_holding(group, sides, term, straight))
        if term.weight is None:
            potential = potential.masked_fill(holds, -math.inf)
        else:
            potential = potential + term.sign * term.times * weights[term.weight] * holds
    return PairTables(group, (left_kinds, right_kinds), algebra, potential, weights[-1])


def _placed_terms(
    group: PairGroup, ranges: tuple[Range, Range], given: Mapping[str, int]
) -> Iterator[PlacedTerm]:
    """The terms that apply to pairs between two pools, in each direction in which they do."""
    for term in group.terms_between(ranges):
        if any(given[own.predicate] not in allowed for own, allowed in term.given):
            continue
        for straight in _ways(group, term):
            left, right = (term.left, term.right) if straight else (term.right, term.left)
            if covers(left, ranges[0]) and covers(right, ranges[1]):
                yield term, left, right, straight


def _ways(group: PairGroup, term: PairTerm) -> tuple[bool, ...]:
    """The directions in which the term's slots may be the left and the right element."""
    return (True, False) if group.within else (term.left.type == group.types[0],)


def _kinds(family: Family, literals: Sequence[Literals]) -> tuple[np.ndarray, np.ndarray]:
    """Whether each conjunction holds for each kind of cells [conjunction, kind], and the kind of each
    cell."""
    always = np.ones(family.cells, dtype=bool)
    holds = np.array([always, *map(family.holding, literals)])
    columns, kinds = np.unique(holds, axis=1, return_inverse=True)
    return columns[1:], kinds.reshape(-1)


def _holding(group: PairGroup, sides: Sequence[np.ndarray], term: PairTerm, straight: bool) -> np.ndarray:
    """Where the term holds, in the shape of the potential; ``sides``: the kinds of each element for which it
    may."""
    count = 2 + len(group.sizes)
    holds = np.ones((*map(len, sides), *group.sizes), dtype=bool)
    for place, side in enumerate(sides):
        holds &= side.reshape([-1 if i == place else 1 for i in range(count)])
    for name, way, allowed in term.atoms:
        place = group.atoms.index((name, way == straight if group.within else True))
        values = np.isin(np.arange(group.sizes[place]), allowed)
        holds &= values.reshape([-1 if i == place + 2 else 1 for i in range(count)])
    return holds
