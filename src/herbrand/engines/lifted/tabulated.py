"""A model with its weights: the tables of pairs, and the cells of each pool that need not be distinguished.

Cells of a pool that every default table and every count term treat alike are one *profile*: only counts of
profiles are summed over. Those that the tables of unusual pairs treat alike as well are one *state*. Alike
means equal numbers, shares of the atoms included, so that marginals read from them are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.algebra import Algebra
from herbrand.engines.lifted.elements import Elements
from herbrand.engines.lifted.exchangeable_model import ExchangeableModel
from herbrand.engines.lifted.pairs import PairTables, Pattern, tables_of, turned
from herbrand.engines.lifted.terms import PROPOSITIONS, CountTerm, NotLiftableError, Slot
from herbrand.program.program import Program

Link = tuple[int, int, int]
"""A pair group and two pools."""

SEPARABLE = 1e-15

MOST_LINKS = 10_000
"""Most links. Each takes a table, half a millisecond: a theory with more distinguishes its constants."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Profile and state of each cell of a pool (-1: impossible)."""

    profile: np.ndarray
    state: np.ndarray

    @property
    def profiles(self) -> int:
        return int(self.profile.max(initial=-1)) + 1

    @property
    def states(self) -> int:
        return int(self.state.max(initial=-1)) + 1

    @property
    def profile_of(self) -> list[int]:
        """The profile of each state."""
        return [int(self.profile[self.state == state][0]) for state in range(self.states)]

    def by_profile(self, weights: np.ndarray) -> np.ndarray:
        """Log-sums over the cells of each profile."""
        return _log_sums(weights, self.profile, self.profiles)

    def by_state(self, weights: np.ndarray) -> np.ndarray:
        """Log-sums over the cells of each state."""
        return _log_sums(weights, self.state, self.states)

    def first_of(self, profiles: bool) -> np.ndarray:
        """One cell of each profile, or of each state."""
        of = self.profile if profiles else self.state
        return np.array([np.flatnonzero(of == number)[0] for number in range(int(of.max(initial=-1)) + 1)])


def _log_sums(weights: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
    sums, possible = np.full(count, -np.inf), numbers >= 0
    np.logaddexp.at(sums, numbers[possible], weights[possible])
    return sums


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A model with weights. ``weights`` [class, cell] for each family; ``tables`` and ``cells``; ``flat``:
    links whose tables need no counts."""

    model: ExchangeableModel
    given: Mapping[str, int]
    algebra: Algebra
    numbers: Array
    weights: tuple[Array, ...]
    tables: Mapping[Link, PairTables]
    flat: frozenset[Link]
    cells: tuple[Cells, ...]

    def default(self, link: Link) -> Array:
        """Log-weight of a usual pair, its atoms summed out [left profile, right profile]."""
        rows, columns = (self.cells[pool].first_of(profiles=True) for pool in link[1:])
        return self.tables[link].summed_at(self.model.knowledge[link[0]].patterns[0], rows, columns)

    def own_weights(self, pool: int, klass: int) -> Array:
        """Log-weight of each cell of an element of a pool and a class."""
        return self.weights[self.model.pools[pool].family][klass]

    def log_weight(self, term: CountTerm) -> Array:
        assert term.weight is not None
        return term.sign * self.numbers[term.weight]

    def link(self, group: int, left: int, right: int) -> tuple[Link, bool]:
        """The link between two pools, and whether it has them in the other order."""
        if (group, left, right) in self.tables:
            return (group, left, right), False
        return (group, right, left), True

    def unusual(self, group: int, pattern: int, left: int, right: int) -> Array:
        """Log-weight of a pair of a pattern less that of a usual pair [left state, right state]."""
        link, is_turned = self.link(group, left, right)
        patterns = self.model.knowledge[group].patterns
        usual, special = patterns[0], patterns[pattern]
        if is_turned:
            usual, special = (turned(self.model.groups[group], p) for p in (usual, special))
        rows, columns = (self.cells[pool].first_of(profiles=False) for pool in link[1:])
        before, after = (self.tables[link].summed_at(p, rows, columns) for p in (usual, special))
        impossible = before == -math.inf
        if bool((after[impossible] > -math.inf).any()):
            raise NotLiftableError("a fact makes possible what a hard statement forbids of most pairs")
        extra = (after - before.masked_fill(impossible, 0.0)).masked_fill(impossible, 0.0)
        return extra.T if is_turned else extra


def numbers_of(program: Program, scale: float = 1.0) -> Array:
    """The program's weights, and last the factor of soft evidence; all times ``scale``."""
    return scale * arrays.tensor([*(weight.value for weight in program.weights), 1.0], dtype=arrays.float64)


def tabulated(
    model: ExchangeableModel,
    given: Mapping[str, int],
    numbers: Array,
    algebra: Algebra,
    budget: Budget = UNLIMITED,
) -> Tabulated:
    """A model with its weights. ``given``: values of the model's switches; ``numbers``: those of
    :func:`numbers_of`."""
    links = _links(model)
    tables = {link: _tables(model, link, given, numbers, algebra) for link in budget.each(links, 16)}
    weights = [_own_weights(model, family, given, numbers) for family in range(len(model.families))]
    flat = {link for link, table in tables.items() if _is_flat(model, link, table)}
    for link in sorted(flat):
        _fold(model, link, tables[link], weights)
    linked: list[dict[Link, PairTables]] = [{} for _ in model.pools]
    for link, table in tables.items():
        linked[link[1]][link] = linked[link[2]][link] = table
    cells = tuple(
        _cells(model, number, weights[pool.family].detach(), linked[number], flat)
        for number, pool in enumerate(budget.each(model.pools))
    )
    return Tabulated(model, given, algebra, numbers, tuple(weights), tables, frozenset(flat), cells)


def _links(model: ExchangeableModel) -> Iterator[Link]:
    """The links of each group: all two pools whose elements make pairs of it."""
    sides = [tuple(len(model.pools_of[family]) for family in group.families) for group in model.groups]
    if sum(left * right for left, right in sides) > MOST_LINKS:
        raise NotLiftableError(
            f"formulas tell {max(map(max, sides)):,} constants apart, and each two of them would take a table"
        )
    for number, group in enumerate(model.groups):
        left, right = (model.pools_of[family] for family in group.families)
        for one in left:
            for other in right:
                if not group.within or one < other or (one == other and len(model.pools[one]) > 1):
                    yield number, one, other


def _tables(
    model: ExchangeableModel, link: Link, given: Mapping[str, int], numbers: Array, algebra: Algebra
) -> PairTables:
    group = model.groups[link[0]]
    pools = [model.pools[i] for i in link[1:]]
    families = (model.families[pools[0].family], model.families[pools[1].family])
    return tables_of(group, families, (pools[0].range, pools[1].range), given, numbers, algebra)


def pair_count(model: ExchangeableModel, link: Link) -> int:
    """Number of pairs between the two pools of a link."""
    one, other = (len(model.pools[i]) for i in link[1:])
    return one * (one - 1) // 2 if link[1] == link[2] else one * other


def _own_weights(model: ExchangeableModel, index: int, given: Mapping[str, int], numbers: Array) -> Array:
    """Log-weights of single elements, from terms and evidence [class, cell]."""
    family, elements = model.families[index], model.elements[index]
    possible = elements.possible.copy()
    if family.type == PROPOSITIONS:
        for own in family.owns:
            if own.predicate in given:
                possible[:, family.values(own) != given[own.predicate]] = False
    weights = numbers[-1] * arrays.from_numpy(elements.opinions)
    weights = weights.masked_fill(arrays.from_numpy(~possible), -math.inf)
    for term, slot in model.own_terms_of[index]:
        covered = _covered(slot, elements, model.named[index])
        holds = arrays.from_numpy(np.outer(covered, family.holding(slot.literals)))
        if term.weight is None:
            weights = weights.masked_fill(holds, -math.inf)
        else:
            weights = weights + term.sign * numbers[term.weight] * holds
    return weights


def _covered(slot: Slot, elements: Elements, named: frozenset[int]) -> np.ndarray:
    """Whether a slot ranges over the elements of each class."""
    covered = np.zeros(len(elements.first), dtype=bool)
    if slot.constant is None:
        covered[:] = True
        covered[elements.class_of[sorted(slot.excluded & named)]] = False
    elif slot.constant in named:
        covered[elements.class_of[slot.constant]] = True
    return covered


def _is_flat(model: ExchangeableModel, link: Link, tables: PairTables) -> bool:
    """Whether a link's table is a sum over its two elements, and each atom depends on one of them at most."""
    pattern = model.knowledge[link[0]].patterns[0]
    table = tables.summed(pattern).detach().numpy()
    if not np.isfinite(table).all():
        return False
    apart = np.abs(table - table[:, :1] - table[:1] + table[0, 0]).max()
    if apart > SEPARABLE * (1 + np.abs(table).max()):
        return False
    return all(min(swings(share)) <= SEPARABLE for share in tables.shares(pattern))


def swings(share: np.ndarray) -> tuple[float, float]:
    """How much a share [left kind, right kind, value] depends on the right kind, and on the left one."""
    return float(np.abs(share - share[:, :1]).max()), float(np.abs(share - share[:1]).max())


def _fold(model: ExchangeableModel, link: Link, tables: PairTables, weights: list[Array]) -> None:
    """Add each element's part of a flat table to its weights, once for every partner that it has."""
    pattern, first = model.knowledge[link[0]].patterns[0], np.zeros(1, np.int64)
    left, right = (np.arange(len(kinds)) for kinds in tables.kinds)
    beside, below = tables.summed_at(pattern, left, first)[:, 0], tables.summed_at(pattern, first, right)[0]
    one, other = link[1:]
    if one == other:
        # The parts of both elements contain the corner of the table, which must count once for each pair.
        _give(model, one, (len(model.pools[one]) - 1) * (beside - beside[0] / 2), weights)
        return
    _give(model, one, len(model.pools[other]) * beside, weights)
    _give(model, other, len(model.pools[one]) * (below - below[0]), weights)


def _give(model: ExchangeableModel, number: int, extra: Array, weights: list[Array]) -> None:
    pool = model.pools[number]
    rows = np.zeros(len(weights[pool.family]), dtype=bool)
    rows[model.elements[pool.family].class_of[pool.elements]] = True
    weights[pool.family] = weights[pool.family] + arrays.from_numpy(rows)[:, None] * extra


def _cells(
    model: ExchangeableModel, number: int, weights: Array, tables: Mapping[Link, PairTables], flat: set[Link]
) -> Cells:
    """The cells of a pool; ``tables``: those of its links."""
    pool = model.pools[number]
    classes = np.unique(model.elements[pool.family].class_of[pool.elements])
    possible = (weights[classes] > -math.inf).any(0).numpy()
    usual: list[np.ndarray] = []
    unusual: list[np.ndarray] = []
    for link, pair_tables in tables.items():
        patterns = model.knowledge[link[0]].patterns
        for place, pattern in enumerate(patterns):
            if place == 0 and link in flat and len(patterns) == 1:
                continue
            features = _features(pair_tables, pattern, number == link[1], number == link[2])
            (unusual if place or link in flat else usual).extend(features)
            if place and model.groups[link[0]].within:
                other = turned(model.groups[link[0]], pattern)
                unusual += _features(pair_tables, other, number == link[1], number == link[2])
    family = model.families[pool.family]
    usual += [family.holding(literals)[:, None].astype(float) for literals in model.literals_of[number]]
    profile = _numbered(usual, possible)
    return Cells(profile, _numbered([profile[:, None], *unusual], possible))


def _features(tables: PairTables, pattern: Pattern, as_left: bool, as_right: bool) -> Iterator[np.ndarray]:
    """A number for each cell, equal for cells whose kinds the tables treat alike."""
    table = tables.summed(pattern).detach().numpy()
    left, right = tables.kinds
    for array in (table, *tables.shares(pattern)):
        if as_left:
            yield _alike(array)[left]
        if as_right:
            yield _alike(np.swapaxes(array, 0, 1))[right]


def _alike(array: np.ndarray) -> np.ndarray:
    """Numbers of the rows of an array, in a column; equal rows have the same."""
    return np.unique(array.reshape(len(array), -1), axis=0, return_inverse=True)[1].reshape(-1, 1)


def _numbered(features: list[np.ndarray], possible: np.ndarray) -> np.ndarray:
    """Number the rows, equal rows alike, impossible ones -1."""
    numbers = np.full(len(possible), -1)
    if not possible.any():
        return numbers
    columns = [feature[possible] for feature in features]
    rows = np.concatenate([np.zeros((int(possible.sum()), 1)), *columns], axis=1)
    numbers[possible] = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return numbers
