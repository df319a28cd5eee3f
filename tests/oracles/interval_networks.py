"""Networks of conditional tables with an interval for each row, by trying every end of every row.

P(event and given) and P(given) are linear in each single row, so their ratio is monotone in each where it is
defined, and its ends lie where every row is at an end. A row at whose end P(given) is 0 changes nothing:
there P(event and given) is 0 too, both are proportional to the row, and its other end gives the same ratio.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.oracles.ariel import Sentence, holds

Interval = tuple[float, float]


@dataclass(frozen=True)
class Table:
    """``rows[i]`` holds P(atom | case i of the parents), the first parent the high bit."""

    parents: tuple[int, ...]
    rows: tuple[Interval, ...]

    def condition(self, case: int) -> str | None:
        """A case of the parents in words."""
        count = len(self.parents)
        truths = [case >> (count - 1 - place) & 1 for place in range(count)]
        said = [f"x{p}" if true else f"not x{p}" for p, true in zip(self.parents, truths, strict=True)]
        return " and ".join(said) or None


@dataclass(frozen=True)
class IntervalNetwork:
    """``tables[a]`` is that of atom xa; parents come before their children."""

    tables: tuple[Table, ...]

    @property
    def count(self) -> int:
        return len(self.tables)

    def sentences(self) -> list[Sentence]:
        """Every row as a sentence."""
        return [
            Sentence(f"x{atom}", table.condition(case), *ends)
            for atom, table in enumerate(self.tables)
            for case, ends in enumerate(table.rows)
        ]

    @property
    def text(self) -> str:
        return "\n".join(sentence.statement for sentence in self.sentences())

    def corners(self) -> np.ndarray:
        """The mass of every world [corners, worlds], for every choice of an end for every row."""
        rows = [(atom, case) for atom, table in enumerate(self.tables) for case in range(len(table.rows))]
        ends = [sorted(set(self.tables[atom].rows[case])) for atom, case in rows]
        chosen = np.array(list(itertools.product(*ends))).reshape(-1, len(rows))
        column = {row: chosen[:, number] for number, row in enumerate(rows)}
        found = []
        for world in itertools.product((0, 1), repeat=self.count):
            mass = np.ones(len(chosen))
            for atom, table in enumerate(self.tables):
                case = 0
                for parent in table.parents:
                    case = 2 * case + world[parent]
                mass = mass * (column[atom, case] if world[atom] else 1 - column[atom, case])
            found.append(mass)
        return np.stack(found, axis=1)

    def interval(self, event: str, given: str | None = None) -> Interval | None:
        """The ends of P(event | given); ``None`` where what is given is impossible."""
        masses = self.corners()
        told = holds(given, range(self.count))
        both = masses[:, told & holds(event, range(self.count))].sum(axis=1)
        of_given = masses[:, told].sum(axis=1)
        possible = of_given > 1e-12
        if not possible.any():
            return None
        ratios = both[possible] / of_given[possible]
        return float(ratios.min()), float(ratios.max())

    def exact_interval(self, event: str, given: str | None = None) -> tuple[Fraction, Fraction] | None:
        """The same in rational arithmetic, each end the number that its floating-point text stands for."""
        told, true = holds(given, range(self.count)), holds(event, range(self.count))
        rows = [sorted({Fraction(end) for end in row}) for table in self.tables for row in table.rows]
        ratios = []
        for chosen in itertools.product(*rows):
            masses = self.masses(chosen)
            of_given = sum((m for m, one in zip(masses, told, strict=True) if one), Fraction(0))
            if of_given:
                both = (m for m, one, other in zip(masses, told, true, strict=True) if one and other)
                ratios.append(sum(both, Fraction(0)) / of_given)
        return (min(ratios), max(ratios)) if ratios else None

    def masses(self, rows: Sequence[Fraction]) -> list[Fraction]:
        """The mass of every world for one number a row, atom by atom and case by case."""
        starts = list(itertools.accumulate((len(table.rows) for table in self.tables), initial=0))
        found = []
        for world in itertools.product((0, 1), repeat=self.count):
            mass = Fraction(1)
            for atom, table in enumerate(self.tables):
                case = 0
                for parent in table.parents:
                    case = 2 * case + world[parent]
                chance = rows[starts[atom] + case]
                mass *= chance if world[atom] else 1 - chance
            found.append(mass)
        return found


def some_networks(
    rng: np.random.Generator, count: int, most_parents: int, most_rows: int = 11
) -> Iterator[IntervalNetwork]:
    """Networks of so many atoms, one after another: ends anywhere, at 0 and 1, and both the same."""
    while True:
        parents = [
            tuple(sorted(rng.permutation(atom)[: rng.integers(0, most_parents + 1)].tolist()))
            for atom in range(count)
        ]
        if sum(2 ** len(its) for its in parents) <= most_rows:
            tables = (Table(its, tuple(_row(rng) for _ in range(2 ** len(its)))) for its in parents)
            yield IntervalNetwork(tuple(tables))


def _row(rng: np.random.Generator) -> Interval:
    low, high = np.sort(rng.random(2).round(2)).tolist()
    kinds = [(low, high), (low, high), (low, high), (low, low), (0.0, high), (low, 1.0), (0.0, 1.0)]
    kinds += [(0.0, 0.0)] if rng.random() < 0.3 else [(1.0, 1.0)]
    return kinds[rng.integers(len(kinds))]
