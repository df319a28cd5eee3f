"""A network's sentences grouped by their atoms: the factors and their variables.

From a :class:`~herbrand.engines.credal.network.Network` it builds, by sorting arrays, one :class:`Scope` for
each number of atoms, with the sentences over the same atoms next to each other and their cases in one order.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(b | a) >= 0.6\\nP(c | b) <= 0.3\\nP(b | not a) <= 0.2")
>>> for scope in scopes_of(credal_network(hb.Model(theory).program)):
...     print(scope.atoms.tolist(), scope.start.tolist(), scope.sentence.tolist())
[[0, 1], [0, 2]] [0, 2, 3] [0, 2, 1]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.credal.network import Network, SentenceGroup, TableRow, table_row
from herbrand.engines.credal.rounding import at_least, at_most, stated_ends
from herbrand.row_keys import row_keys, run_starts


@dataclass(frozen=True)
class Pattern:
    """Truth tables over the 2^k cases of a scope: whether the event and the condition hold."""

    event: np.ndarray
    given: np.ndarray


@dataclass(frozen=True, eq=False)
class Scope:
    """All factors over k atoms; factor f has ``atoms[f]``, ascending.

    Its sentences are rows ``start[f]:start[f + 1]``. ``sentence`` has their numbers in the network, counted
    group after group.
    """

    atoms: np.ndarray  # [factors, k]
    start: np.ndarray  # [factors + 1]
    pattern: np.ndarray  # [sentences] index into ``patterns``
    lower: np.ndarray
    upper: np.ndarray
    sentence: np.ndarray
    patterns: tuple[Pattern, ...]

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def arity(self) -> int:
        return self.atoms.shape[1]

    @property
    def factor(self) -> np.ndarray:
        """The factor of each sentence."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def sentences(self, factor: int) -> np.ndarray:
        """The numbers of a factor's sentences."""
        return self.sentence[self.start[factor] : self.start[factor + 1]]

    @cached_property
    def table_rows(self) -> tuple[TableRow | None, ...]:
        """For each pattern the row of a conditional table that its sentences bound; None for other forms."""
        shape = (2,) * self.arity
        tables = ((p.event & p.given, p.given) for p in self.patterns)
        return tuple(table_row(event.reshape(shape), given.reshape(shape)) for event, given in tables)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end of each sentence, rounded outward from the stated ones."""
        return stated_ends(self.lower, self.upper)

    def part(self, factors: np.ndarray) -> Scope:
        """The scope restricted to some factors, given by a mask or by their ascending numbers."""
        chosen = np.zeros(len(self), bool)
        chosen[factors] = True
        kept = np.repeat(chosen, np.diff(self.start))
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[chosen])])
        columns = [self.pattern[kept], self.lower[kept], self.upper[kept], self.sentence[kept]]
        return Scope(self.atoms[chosen], start, *columns, patterns=self.patterns)

    def forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Constraints ``forms @ p >= 0`` on the masses p of each factor's cases, without vacuous ones.

        The forms [forms, 2^k], and the start of each factor's forms [factors + 1].
        """
        both = np.array([p.event & p.given for p in self.patterns], float).reshape(-1, 2**self.arity)
        given = np.array([p.given for p in self.patterns], float).reshape(-1, 2**self.arity)
        place = 2 * np.arange(len(self.pattern))
        lower, upper = self.ends
        low, high = np.flatnonzero(lower > 0), np.flatnonzero(upper < 1)
        order = np.argsort(np.concatenate([place[low], place[high] + 1]))
        which = np.concatenate([low, high])[order]
        forms = np.concatenate(
            [
                at_least(both[self.pattern[low]], given[self.pattern[low]], lower[low, None]),
                at_most(both[self.pattern[high]], given[self.pattern[high]], upper[high, None]),
            ]
        )[order]
        counts = np.bincount(self.factor[which], minlength=len(self))
        return forms, np.concatenate([[0], np.cumsum(counts)])


def scopes_of(network: Network) -> tuple[Scope, ...]:
    """The factors of a network by their number of atoms, fewest first."""
    by_arity: dict[int, list[tuple[Pattern, np.ndarray, SentenceGroup, np.ndarray, int]]] = {}
    first = 0
    for group in network.groups:
        if not len(group):
            continue
        for pattern, atoms, rows in _sorted_rows(group):
            by_arity.setdefault(group.arity, []).append((pattern, atoms, group, rows, first))
        first += len(group)
    return tuple(_scope(by_arity[arity]) for arity in sorted(by_arity))


def _sorted_rows(group: SentenceGroup) -> Iterator[tuple[Pattern, np.ndarray, np.ndarray]]:
    """Group the rows whose atoms ascend in the same order of columns: pattern, sorted atoms, row numbers."""
    arity = group.arity
    if arity < 2:
        yield Pattern(group.event_table, group.given_table), group.atoms, np.arange(len(group))
        return
    orders = np.argsort(group.atoms, axis=1, kind="stable")
    codes = orders @ (arity ** np.arange(arity))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        order = orders[rows[0]]
        tables = (
            np.ascontiguousarray(table.reshape((2,) * arity).transpose(order)).reshape(-1)
            for table in (group.event_table, group.given_table)
        )
        yield Pattern(*tables), group.atoms[rows][:, order], rows


def _scope(chunks: list[tuple[Pattern, np.ndarray, SentenceGroup, np.ndarray, int]]) -> Scope:
    atoms = np.concatenate([atoms for _, atoms, _, _, _ in chunks])
    lower = np.concatenate([group.lower[rows] for _, _, group, rows, _ in chunks])
    upper = np.concatenate([group.upper[rows] for _, _, group, rows, _ in chunks])
    sentence = np.concatenate([first + rows for _, _, _, rows, first in chunks])
    pattern = np.repeat(np.arange(len(chunks)), [len(atoms) for _, atoms, _, _, _ in chunks])
    keys = row_keys(list(atoms.T), [int(column.max()) + 1 for column in atoms.T], len(atoms))
    order = np.lexsort((sentence, keys))
    begins = run_starts(keys[order])
    start = np.concatenate([begins, [len(keys)]])
    columns = [pattern[order], lower[order], upper[order], sentence[order]]
    patterns = tuple(pattern for pattern, *_ in chunks)
    return Scope(atoms[order[begins]], start, *columns, patterns=patterns)
