"""The exact intervals of atoms in trees of conditional tables, in closed form.

Where every sentence of an unconnected piece bounds one atom in one case of all its parents, ``P(x)`` or
``P(x | y and not z)``, any choice within each sentence is a distribution: no sentence restricts the parents.
And where links form a tree, the parents of an atom are independent, and the probability of one can be chosen
independently of the others'. Then P(x), a sum over the parents' cases, is linear in each sentence's value and
in each parent's probability, so its ends lie where all of these are at theirs.

An ancestor in the condition is a parent of fixed value: in a tree, all above it affects the atom only through
it. So P(x | y) is computed from y on, and whether y is possible is checked separately.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(a) <= 0.3\\nP(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]")
>>> found = forward(credal_network(hb.Model(theory).program))
>>> outward, inward = found.rows
>>> found.settled.tolist(), outward.lower.round(9).tolist(), inward.upper.round(9).tolist()
([True, True], [0.0, 0.1], [0.3, 0.35])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from herbrand.engines.credal.branch_and_bound import End
from herbrand.engines.credal.markov import Arrows, components, graph_of
from herbrand.engines.credal.masses import RowTable
from herbrand.engines.credal.network import Network, SentenceGroup
from herbrand.engines.credal.rounding import UNIT, Enclosure, inner_opposites, opposites
from herbrand.graphs import reached
from herbrand.loops import chosen, loop

MOST_PARENTS = 8
"""Most parents of an atom: all corners of their box are tried, each with all their cases."""


@dataclass(frozen=True, eq=False)
class Forward:
    """Intervals in closed form: ``settled[a]`` is whether atom a is in a tree of conditional tables.

    ``rows``: the tables of the settled atoms with their intervals, rounded outward and inward. The ends of an
    interval lie between those of the two.
    """

    settled: np.ndarray  # [atoms] bool
    rows: tuple[TreeTables, TreeTables] | None = None

    def ends(self, atom: int, known: Mapping[int, bool]) -> tuple[End, End] | None:
        """The two ends of an atom given truth values of others, each proved and attained up to rounding.

        ``None`` where that has no closed form, or the truth values may be impossible.
        """
        if not self.settled[atom] or self.rows is None:
            return None
        outward, inward = self.rows
        if known and not (known.keys() <= {*outward.above(atom)} - {atom} and self._possible(known)):
            return None
        (lower, upper), (least, most) = outward.ends(atom, known), inward.ends(atom, known)
        return End(lower, least, 0), End(upper, most, 0)

    def row(self, atom: int) -> RowTable:
        """An atom's probability as a row without parents, whose ends are enclosed by both roundings."""
        assert self.rows is not None
        outward, inward = self.rows
        low, high = (outward.lower, inward.upper), (inward.lower, outward.upper)
        true = Enclosure(*(np.array([[end[atom]] for end in ends]) for ends in (low, high)))
        false = Enclosure(*opposites(true.low, true.high))
        return RowTable((), true, false, np.array([bool(true.low[0, 0] == true.high[1, 0])]))

    def _possible(self, known: Mapping[int, bool]) -> bool:
        """Whether ancestors of one atom can have these values: different rows decide each of them."""
        assert self.rows is not None
        ends = ((truth, *self.rows[1].ends(atom, known)) for atom, truth in known.items())
        return all(upper > 0 if truth else lower < 1 for truth, lower, upper in ends)


@dataclass(frozen=True, eq=False)
class TreeTables:
    """The conditional tables of atoms: rows of atom a, by case of its parents, begin at ``start[a]``.

    ``low`` and ``high`` are the rows' ends, ``lower`` and ``upper`` those of the atoms without evidence;
    ``outward`` is 1 where they are rounded outward, -1 if inward.
    """

    arrows: Arrows
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lower: np.ndarray  # [atoms]
    upper: np.ndarray  # [atoms]
    outward: float

    def above(self, atom: int, known: Collection[int] = ()) -> list[int]:
        """The atom and its ancestors, each after its descendants, without those above the ``known`` atoms."""
        return reached(
            [atom], lambda one: self.arrows.parents(one).tolist() if one == atom or one not in known else ()
        )

    def ends(self, atom: int, known: Mapping[int, bool]) -> tuple[float, float]:
        """An atom's ends given its ancestors in ``known``; a value of the atom itself is ignored."""
        if not known:
            return float(self.lower[atom]), float(self.upper[atom])
        near = self.above(atom, known)
        place = {one: number for number, one in enumerate(near)}
        lower, upper = np.zeros(len(near)), np.ones(len(near))
        for number, one in reversed([*enumerate(near)]):
            if number and one in known:
                lower[number] = upper[number] = float(known[one])
                continue
            above = np.array([place[parent] for parent in self.arrows.parents(one).tolist()], np.int64)
            own = slice(self.start[one], self.start[one + 1])
            rows = self.low[own], self.high[own]
            lower[number], upper[number] = _ends_of(*rows, above, lower, upper, self.outward)
        return float(lower[0]), float(upper[0])


def forward(network: Network) -> Forward:
    """Compute the intervals of all atoms in trees of conditional tables; other atoms are not settled."""
    arrows, piece = graph_of(network).arrows, components(network)
    parents = np.diff(arrows.into_start)
    plain = np.ones(int(piece.max(initial=-1)) + 1, bool)
    members, joined = np.bincount(piece), np.bincount(piece[arrows.into], minlength=len(plain))
    plain &= joined == members - 1
    plain[piece[parents > MOST_PARENTS]] = False
    start = np.concatenate([[0], np.cumsum(2 ** np.minimum(parents, MOST_PARENTS))])
    tables = [(np.zeros(start[-1]), np.ones(start[-1])) for _ in ("outward", "inward")]
    for group in network.groups:
        if not len(group):
            continue
        _add(group, parents, plain, piece, start, tables)
    low, high = tables[0]
    crossed = np.add.reduceat(low > high, start[:-1]) > 0 if len(low) else np.zeros(0, bool)
    plain[piece[crossed]] = False
    settled = plain[piece]
    cases = 2.0 ** np.minimum(parents[settled], MOST_PARENTS)
    propagated = chosen(_propagate, 8 * float((cases * cases).sum()))
    rows = []
    for outward, (low, high) in zip((1.0, -1.0), tables, strict=True):
        lower, upper = np.zeros(len(piece)), np.ones(len(piece))
        propagated(arrows, settled, start, low, high, lower, upper, outward)
        rows.append(TreeTables(arrows, start, low, high, lower, upper, outward))
    return Forward(settled, (rows[0], rows[1]))


def _add(
    group: SentenceGroup,
    parents: np.ndarray,
    plain: np.ndarray,
    piece: np.ndarray,
    start: np.ndarray,
    tables: list[tuple[np.ndarray, np.ndarray]],
) -> None:
    """Tighten both tables by a group's rows; clear ``plain`` for pieces with other rows.

    ``tables``: the lower and the upper ends, rounded outward and inward.
    """
    count = group.arity - 1
    row = group.table_row if 0 <= count <= MOST_PARENTS else None
    if row is None:
        plain[piece[group.atoms[:, :1]]] = False
        return
    child = group.atoms[:, row.child]
    fits = parents[child] == count
    plain[piece[child[~fits]]] = False
    order = np.argsort(np.delete(group.atoms[fits], row.child, axis=1), axis=1)
    case = np.array(row.truths, np.int64)[order] @ (1 << np.arange(count)[::-1])
    entry = start[child[fits]] + case
    ends = group.lower[fits], group.upper[fits]
    both = (ends, ends) if row.positive else (opposites(*ends), inner_opposites(*ends))
    for (low, high), (lower, upper) in zip(tables, both, strict=True):
        np.maximum.at(low, entry, lower)
        np.minimum.at(high, entry, upper)


@loop
def _propagate(
    arrows: Arrows,
    settled: np.ndarray,
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    outward: float,
) -> None:
    """Compute each settled atom's ends from its table and its parents' ends, parents before children."""
    count = len(settled)
    into_start, into, out_start, out = arrows
    missing = np.diff(into_start)
    waiting = np.empty(count, np.int64)
    ready = 0
    for atom in range(count):
        if settled[atom] and missing[atom] == 0:
            waiting[ready] = atom
            ready += 1
    while ready:
        ready -= 1
        atom = waiting[ready]
        above = into[into_start[atom] : into_start[atom + 1]]
        begin, stop = start[atom], start[atom + 1]
        lower[atom], upper[atom] = _ends_of(low[begin:stop], high[begin:stop], above, lower, upper, outward)
        for child in out[out_start[atom] : out_start[atom + 1]]:
            missing[child] -= 1
            if missing[child] == 0:
                waiting[ready] = child
                ready += 1


@loop
def _ends_of(
    low: np.ndarray,
    high: np.ndarray,
    above: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    outward: float,
) -> tuple[float, float]:
    """The ends of an atom from its rows and its parents' ends.

    They are rounded outward, or inward where ``outward`` is -1: all terms are positive, so the relative error
    of a mean over k parents is at most that of 3 k roundings.
    """
    error = outward * len(above) * 8 * UNIT
    least, _ = _greatest(-low, above, lower, upper)
    most, certain = _greatest(high, above, lower, upper)
    return -least * (1.0 - error), 1.0 if certain else min(most * (1.0 + error), 1.0)


@loop
def _greatest(
    table: np.ndarray, above: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, bool]:
    """The maximum, over the corners of the parents' box, of a table's mean over the parents' cases.

    Also whether the mean is exactly 1 at some corner: where every case that is possible has the value 1, and
    nothing is rounded.
    """
    best, certain = -np.inf, False
    for corner in range(2 ** len(above)):
        left, sure = table.copy(), table == 1.0
        size = len(table)
        for place in range(len(above)):
            parent = above[place]
            chance = upper[parent] if corner >> place & 1 else lower[parent]
            size //= 2
            for case in range(size):
                left[case] = (1 - chance) * left[case] + chance * left[case + size]
                sure[case] = (chance == 1.0 or sure[case]) and (chance == 0.0 or sure[case + size])
        best, certain = max(best, left[0]), certain or sure[0]
    return best, certain
