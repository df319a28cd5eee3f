"""Networks of separate rows, and the masses of events in them.

In such a network every sentence bounds one row of one conditional table, independently of the others. Where
the graph has no cycle and every sentence is ``P(x | one case of all parents of x)``, the distributions are
the products of such rows, each anywhere in its own interval. Sentences about several cases qualify if their
probability is 0 or 1, since then it holds in every possible case.

>>> import herbrand as hb
>>> from herbrand.engines.credal.network_query import NetworkQuestion
>>> from herbrand.engines.credal.lowering import credal_network
>>> from herbrand.engines.credal.question import BoundQuestion
>>> theory = hb.parse("P(a) <= 0.3\\nP(b | a) in [0.6, 0.7]\\nP(not b | not a) = 0.75")
>>> part = NetworkQuestion(credal_network(hb.Model(theory).program), BoundQuestion(), True).whole
>>> for table in separate_tables(part):
...     print(table.parents, table.true.low.tolist(), table.false.low.tolist())
() [[0.0], [0.3]] [[1.0], [0.7]]
(0,) [[0.25, 0.6], [0.25, 0.7]] [[0.75, 0.4], [0.75, 0.30000000000000004]]

The two masses are P(event and given) and P(not event and given). Evidence cuts the network: a table keeps
only the entries that agree with it. Tables that are then not connected to the event multiply both masses
equally and are left out. The rest is summed by eliminating atoms; its tables are enclosures of the values
that a box of rows allows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from herbrand.engines.credal.directions import FALLS, RISES, UNKNOWN, Cut, chances, directions
from herbrand.engines.credal.network_part import MOST_KEPT, MOST_PARENTS, NetworkPart, Sentence
from herbrand.engines.credal.rounding import Enclosure, complement
from herbrand.graphs import linked


@dataclass(frozen=True, eq=False)
class RowTable:
    """The ends of each row of an atom's conditional table.

    ``true[end, case]`` encloses P(atom | case) at its lower (0) and upper end (1), ``false`` 1 minus it: each
    is exact where a sentence states it, so neither loses digits when it is small.
    """

    parents: tuple[int, ...]
    true: Enclosure
    false: Enclosure
    fixed: np.ndarray  # [case] bool: the two ends are equal


class _Rows:
    """The tightest ends of each row so far: numbers, each with True for P(atom) or False for P(not atom)."""

    def __init__(self, parents: tuple[int, ...]) -> None:
        self.parents = parents
        self.ends: list[list[tuple[float, bool]]] = [
            [(0.0, True), (1.0, True)] for _ in range(2 ** len(parents))
        ]

    def add(self, case: int, positive: bool, lower: float, upper: float) -> None:
        stated = ((lower, True), (upper, True)) if positive else ((upper, False), (lower, False))
        low, high = self.ends[case]
        if _exact(stated[0]) > _exact(low):
            self.ends[case][0] = stated[0]
        if _exact(stated[1]) < _exact(high):
            self.ends[case][1] = stated[1]

    def table(self) -> RowTable | None:
        """The table; ``None`` where some row's bounds are empty, so that its case must have probability 0."""
        if any(_exact(low) > _exact(high) for low, high in self.ends):
            return None
        stated = np.array([[end for end, _ in row] for row in self.ends]).T
        positive = np.array([[of_atom for _, of_atom in row] for row in self.ends]).T
        other = complement(stated)
        true = Enclosure(np.where(positive, stated, other.low), np.where(positive, stated, other.high))
        false = Enclosure(np.where(positive, other.low, stated), np.where(positive, other.high, stated))
        fixed = np.array([_exact(low) == _exact(high) for low, high in self.ends])
        return RowTable(self.parents, true, false, fixed)


def _exact(end: tuple[float, bool]) -> Fraction:
    value, of_atom = end
    return Fraction(value) if of_atom else 1 - Fraction(value)


@lru_cache(MOST_KEPT)
def separate_tables(part: NetworkPart) -> tuple[RowTable, ...] | None:
    """The table of every atom of a part; ``None`` where the part is no network of separate rows.

    Also ``None`` where an atom has more than ``MOST_PARENTS`` parents.
    """
    if not part.markov or part.graph.core:
        return None
    if max(map(len, part.graph.into), default=0) > MOST_PARENTS:
        return None
    rows = [_Rows(parents) for parents in part.graph.into]
    for sentence in part.sentences:
        if not _entered(sentence, rows):
            return None
    tables = [own.table() for own in rows]
    return None if any(table is None for table in tables) else tuple(t for t in tables if t is not None)


def _entered(sentence: Sentence, rows: Sequence[_Rows]) -> bool:
    """Add a sentence to the rows of its atom; False if it does not bound single rows."""
    if sentence.lower <= 0 and sentence.upper >= 1:
        return True
    for atom in sentence.atoms:
        case_bound = sentence.literal_on(atom, rows[atom].parents)
        if case_bound is None:
            continue
        cases, positive = case_bound
        sure = sentence.lower == sentence.upper and sentence.lower in (0.0, 1.0)
        if cases.sum() != 1 and not sure:
            return False
        for case in np.flatnonzero(cases):
            rows[atom].add(int(case), positive, sentence.lower, sentence.upper)
        return True
    return False


FREE, AT_ZERO, AT_ONE = -1, -2, -3
"""Marks of a row that is not fixed at one end, and of one whose probability is 0 or 1, whatever its ends."""
MOST_WIDTH = 18
"""Most atoms in one table of the elimination."""
MOST_ROWS = 2000
"""Most rows on which the masses of a query depend."""
MOST_ENTRIES = 1 << 20
"""Most entries of a table over several variants at once."""
FEW_ENTRIES = 1 << 16
"""Most entries of a table over all vertices of a box at once."""

Scope = tuple[int, ...]
Pair = tuple[Enclosure, Enclosure]
"""The masses P(event and given) and P(not event and given)."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A table with an axis of variants, then one axis for each atom of its scope."""

    scope: Scope
    table: Enclosure


@dataclass(frozen=True, eq=False)
class Masses:
    """The ends of every row, and the factors whose sums of products are the two masses.

    ``order`` eliminates the atoms, with tables of at most ``width`` atoms.
    """

    true: Enclosure  # [2 ends, rows]
    false: Enclosure
    fixed: np.ndarray  # [rows] bool
    cuts: tuple[Cut, ...]
    scope: Scope  # of the two indicators
    event: np.ndarray  # (2,) * len(scope) bool: the event and the condition
    rest: np.ndarray  # its negation and the condition
    order: tuple[int, ...]
    width: int

    @property
    def of_negation(self) -> Masses:
        """The same masses, that of the event's negation first."""
        return replace(self, event=self.rest, rest=self.event)

    @property
    def seconds(self) -> float:
        """Roughly estimated seconds for both ends."""
        return 1e-3 + 1e-7 * len(self.fixed) * 2**self.width

    @cached_property
    def possible(self) -> bool:
        """Whether the condition has a positive probability for some choice of rows."""
        of_event, of_rest = self.of(np.where(self.fixed, 0, FREE))
        return bool(of_event.high[0] > 0 or of_rest.high[0] > 0)

    @cached_property
    def moves(self) -> tuple[np.ndarray, np.ndarray]:
        """[rows] Directions of the two masses in each row."""
        return self._moves(chances(self.true))

    @cached_property
    def _moves_beyond(self) -> tuple[np.ndarray, np.ndarray]:
        """The same where free rows may be 0 or 1, outside their bounds, which can change directions."""
        return self._moves(chances(self.true, ~self.fixed))

    def _moves(self, chance: Enclosure) -> tuple[np.ndarray, np.ndarray]:
        one, other = (directions(self.cuts, self.scope, m, chance) for m in (self.event, self.rest))
        return one, other

    def width_of(self, rows: np.ndarray) -> np.ndarray:
        return self.true.high[1, rows] - self.true.low[0, rows]

    def of(self, rows: np.ndarray) -> Pair:
        """[boxes] Enclosures of the two masses: ``rows[b, r]`` is the end of row r in box b, or ``FREE``."""
        return self._pair(rows, self.moves)

    def _pair(self, rows: np.ndarray, moves: tuple[np.ndarray, np.ndarray]) -> Pair:
        return self._mass(rows, moves[0], self.event), self._mass(rows, moves[1], self.rest)

    def has_few_vertices(self, rows: np.ndarray) -> bool:
        """Whether a box has so few vertices that all are evaluated at once instead of splitting it."""
        return (1 << int((rows == FREE).sum())) << self.width <= FEW_ENTRIES

    def with_rows(self, rows: np.ndarray, varied: np.ndarray, until: float) -> tuple[Pair, Pair] | None:
        """The two masses [varied] with each of some rows at 1, then at 0; other rows range over the box.

        ``None`` where it takes beyond ``until``, a moment of the monotonic clock.
        """
        count, at_once = len(varied), max(1, MOST_ENTRIES >> (self.width + 2))
        boxes = np.tile(rows.astype(np.int8), (2 * count, 1))  # a million of small numbers, not of large ones
        boxes[np.arange(count), varied], boxes[np.arange(count, 2 * count), varied] = AT_ONE, AT_ZERO
        blocks = list[Pair]()
        for start in range(0, len(boxes), 2 * at_once):
            if time.monotonic() > until:
                return None
            blocks.append(self._pair(boxes[start : start + 2 * at_once], self._moves_beyond))
        one, other = (
            Enclosure(*map(np.concatenate, zip(*mass, strict=True))) for mass in zip(*blocks, strict=True)
        )
        first, last = (slice(count),), (slice(count, None),)
        return (one.part(first), other.part(first)), (one.part(last), other.part(last))

    def _mass(self, rows: np.ndarray, moves: np.ndarray, marked: np.ndarray) -> Enclosure:
        """[boxes] Enclosure of a mass, free rows of known direction at the ends that are extreme for it."""
        rows = np.atleast_2d(rows)
        free = (rows == FREE) & (moves != UNKNOWN)
        if not free.any():
            return self._summed(*self._box(rows), marked)
        least, most = (np.where(free, moves == at_end, rows) for at_end in (FALLS, RISES))
        mass = self._summed(*self._box(np.concatenate([least, most])), marked)
        return Enclosure(mass.low[: len(rows)], mass.high[len(rows) :])

    def _box(self, rows: np.ndarray) -> tuple[Enclosure, Enclosure]:
        """[boxes, rows] Enclosures of each row and of its complement over boxes."""
        every, low, high = np.arange(rows.shape[1]), np.where(rows == 1, 1, 0), np.where(rows == 0, 0, 1)
        true = Enclosure(self.true.low[low, every], self.true.high[high, every])
        false = Enclosure(self.false.low[high, every], self.false.high[low, every])
        for at, ends in ((AT_ONE, (true, false)), (AT_ZERO, (false, true))):
            for enclosed, value in zip(ends, (1.0, 0.0), strict=True):
                for end in enclosed:
                    end[rows == at] = value
        return true, false

    def _summed(self, true: Enclosure, false: Enclosure, marked: np.ndarray) -> Enclosure:
        """[variants] Sum over the marked cases of the products of rows."""
        factors = [_factor(cut, true, false) for cut in self.cuts]
        indicator = Factor(self.scope, Enclosure.of(marked[None].astype(float)))
        total = eliminated([*factors, indicator], self.order)
        return Enclosure(*(np.broadcast_to(end, (len(true.low),)) for end in total))


def separate_masses(
    part: NetworkPart, atoms: Scope, event: np.ndarray, given: np.ndarray | None
) -> Masses | None:
    """The masses of a query; ``None`` where rows are not separate, or masses are refused as too large."""
    tables = separate_tables(part)
    return None if not tables else masses_of(tables, atoms, event, given)


def masses_of(
    tables: Sequence[RowTable], atoms: Scope, event: np.ndarray, given: np.ndarray | None
) -> Masses | None:
    """The masses of event and not event, both with the condition; ``None`` where they are too large.

    An atom whose truth value the condition fixes is evidence and cuts its tables.
    """
    given = np.ones_like(event) if given is None else given
    known = {
        atom: truth
        for axis, atom in enumerate(atoms)
        for truth in (False, True)
        if not given.take(int(not truth), axis).any()
    }
    where = tuple(int(known[atom]) if atom in known else slice(None) for atom in atoms)
    one, other = np.asarray((event & given)[where]), np.asarray((~event & given)[where])
    scope = tuple(atom for atom in atoms if atom not in known)
    for atom in scope:
        axis = scope.index(atom)
        if all((table.take(0, axis) == table.take(1, axis)).all() for table in (one, other)):
            scope = scope[:axis] + scope[axis + 1 :]
            one, other = np.asarray(one.take(0, axis)), np.asarray(other.take(0, axis))
    starts = np.concatenate([[0], np.cumsum([len(table.fixed) for table in tables])]).astype(int)
    if starts[-1] > MOST_ROWS * 16:
        return None
    cuts = [_cut(atom, table, int(starts[atom]), known) for atom, table in enumerate(tables)]
    true, false = (
        Enclosure(*(np.concatenate([getattr(t, side)[end] for t in tables], axis=1) for end in range(2)))
        for side in ("true", "false")
    )
    fixed = np.concatenate([table.fixed for table in tables])
    masses = _with_cuts(Masses(true, false, fixed, (), scope, one, other, (), 0), cuts)
    return None if masses.width > MOST_WIDTH or len(masses.fixed) > MOST_ROWS else masses


def related(masses: Masses) -> Masses:
    """The masses without the tables that multiply both equally."""
    together = linked([masses, *masses.cuts], lambda one: one.scope)[0]
    return _with_cuts(masses, [one for one in together if isinstance(one, Cut)])


def _with_cuts(masses: Masses, kept: Sequence[Cut]) -> Masses:
    """The masses with these cuts only, over their rows."""
    rows = np.unique(np.concatenate([cut.rows for cut in kept] or [np.empty(0, int)]))
    place = np.zeros(len(masses.fixed), int)
    place[rows] = np.arange(len(rows))
    cuts = tuple(Cut(cut.atom, cut.scope, place[cut.rows], cut.truth) for cut in kept)
    order, width = _order([*(cut.scope for cut in cuts), masses.scope])
    here = (slice(None), rows)
    ends = masses.true.part(here), masses.false.part(here), masses.fixed[rows]
    return Masses(*ends, cuts, masses.scope, masses.event, masses.rest, order, width)


def _cut(atom: int, table: RowTable, start: int, known: dict[int, bool]) -> Cut:
    """The entries of a table that agree with the evidence ``known``; ``start`` is its first row's number."""
    rows = (start + np.arange(len(table.fixed))).reshape((2,) * len(table.parents))
    where = tuple(int(known[parent]) if parent in known else slice(None) for parent in table.parents)
    open_parents = tuple(parent for parent in table.parents if parent not in known)
    scope = open_parents if atom in known else (*open_parents, atom)
    return Cut(atom, scope, rows[where].reshape(-1), known.get(atom))


def _factor(cut: Cut, true: Enclosure, false: Enclosure) -> Factor:
    count = len(true.low)
    shape = (count, *(2,) * len(cut.scope))
    parts = true.part((slice(None), cut.rows)), false.part((slice(None), cut.rows))
    if cut.truth is not None:
        return Factor(cut.scope, parts[0 if cut.truth else 1].reshape(*shape))
    both = Enclosure(*(np.stack([parts[1][end], parts[0][end]], axis=-1) for end in range(2)))
    return Factor(cut.scope, both.reshape(*shape))


def _order(scopes: Sequence[Scope]) -> tuple[tuple[int, ...], int]:
    """A greedy elimination order, smallest joined table first, and the width of the widest table."""
    left = [set(scope) for scope in scopes]
    order: list[int] = []
    width = max(map(len, left), default=0)
    atoms = set().union(*left)
    while atoms:
        joined = {atom: set().union(*(s for s in left if atom in s)) for atom in atoms}
        atom = min(sorted(atoms), key=lambda a: len(joined[a]))
        width = max(width, len(joined[atom]))
        left = [s for s in left if atom not in s] + [joined[atom] - {atom}]
        order.append(atom)
        atoms.discard(atom)
    return tuple(order), width


def eliminated(factors: Sequence[Factor], order: Sequence[int]) -> Enclosure:
    """[variants] Sum over all cases of the product of factors, atoms eliminated in order."""
    left = list(factors)
    for atom in order:
        near = [factor for factor in left if atom in factor.scope]
        left = [factor for factor in left if atom not in factor.scope]
        joined = near[0]
        for factor in near[1:]:
            joined = _product(joined, factor)
        axis = 1 + joined.scope.index(atom)
        sides = [joined.table.part((slice(None),) * axis + (side,)) for side in range(2)]
        scope = tuple(other for other in joined.scope if other != atom)
        left.append(Factor(scope, sides[0].plus(sides[1])))
    result = left[0]
    for factor in left[1:]:
        result = _product(result, factor)
    return result.table


def _product(left: Factor, right: Factor) -> Factor:
    scope = left.scope + tuple(atom for atom in right.scope if atom not in left.scope)
    return Factor(scope, _spread(left, scope).times(_spread(right, scope)))


def _spread(factor: Factor, scope: Scope) -> Enclosure:
    """A factor's table with an axis for each atom of a larger scope, of length 1 where it lacks the atom."""
    held = [atom for atom in scope if atom in factor.scope]
    moved = factor.table.transpose([0, *(1 + factor.scope.index(atom) for atom in held)])
    shape = (len(factor.table.low), *(2 if atom in factor.scope else 1 for atom in scope))
    return moved.reshape(*shape)
