"""Expected states of every atom, from the beliefs of regions about counts.

Takes a summation and beliefs over its axes; :class:`Believed` gives the same :class:`Sums` that an exact
summation gives, so that atoms are looked up in the same way. Given the counts, everything within an axis is
exact: the expectation is the gradient of the axis's log-ways, averaged over the believed counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.engines.lifted.count_axes import Axis, Clamp
from herbrand.engines.lifted.summation import CountLayout, Summation, Sums, expectations
from herbrand.engines.lifted.tabulated import Link, pair_count
from herbrand.engines.regions.counts import axis_number
from herbrand.engines.regions.graph import Region, Scope
from herbrand.engines.regions.messages import Messages, Propagation
from herbrand.engines.regions.tables import summed


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Beliefs of regions for some messages, at rest or not."""

    propagation: Propagation
    messages: Messages

    def of(self, scope: Scope) -> np.ndarray | None:
        """Log-probabilities of the joint counts of some variables; None if no region contains them all."""
        return self.about(self.propagation.counts.all_of(scope))

    def about(self, needed: Region) -> np.ndarray | None:
        """Log-probabilities of the counts of a number of elements; None if no region takes as many.

        Variables with a single vector of counts need not be in the region.
        """
        counts = self.propagation.counts
        shape = counts.shape(needed)
        doubtful = Region(tuple(one for one, rows in zip(needed.taken, shape, strict=True) if rows > 1))
        if not doubtful.taken:
            return np.zeros(shape)
        number = self.propagation.graph.smallest_with(doubtful)
        if number is None:
            return None
        return self.propagation.implied(number, doubtful, self.messages).reshape(shape)


class Believed:
    """Replacement of a :class:`Summation` for looking up probabilities."""

    def __init__(self, summation: Summation, beliefs: Beliefs) -> None:
        self.tabulated = summation.tabulated
        self.model = summation.model
        self.element_groups = summation.element_groups
        self._summation, self._beliefs = summation, beliefs

    def sums(self, clamp: Clamp | None = None) -> Sums:
        """Expectations; with an element clamped, given that it has that profile."""
        if clamp is None:
            return _expected(self._beliefs.propagation.counts.counted, self._tables)
        layout = self._summation.layout(clamp)
        return _expected(layout, self._clamped(layout, clamp))

    @cached_property
    def _tables(self) -> dict[Scope, np.ndarray]:
        """Believed probabilities of each axis's counts, and of the joint counts of each two axes
        that pairs link."""
        scopes = [(i,) for i in range(len(self._beliefs.propagation.counts.variables))]
        scopes += [
            tuple(sorted(map(axis_number, names)))
            for names, _ in self._beliefs.propagation.counts.counted.pair_tables
        ]
        return {scope: np.exp(own) for scope in scopes if (own := self._beliefs.of(scope)) is not None}

    def likely(self, clamp: Clamp) -> np.ndarray:
        """Log-probability that the element has the profile, for each row of counts of its axis."""
        counted, pool = self._beliefs.propagation.counts.counted, self._pool(clamp)
        axis = _counting(counted, pool)
        if clamp.element_group in self.element_groups.whole_pools:
            with np.errstate(divide="ignore"):
                return np.log(
                    axis.counts[pool][:, clamp.profile].numpy()
                    / len(self.element_groups.all[clamp.element_group])
                )
        return _ratio(axis, _counting(self._summation.layout(clamp), pool))[0]

    def _pool(self, clamp: Clamp) -> int:
        return self.element_groups.all[clamp.element_group].pool

    def _clamped(self, layout: CountLayout, clamp: Clamp) -> dict[Scope, np.ndarray]:
        """Believed probabilities of each axis's counts given the clamp, by Bayes' rule on its own axis."""
        counted = self._beliefs.propagation.counts.counted
        before, here = counted.axes, counted.axis_of(self._pool(clamp))
        likely, rows = _ratio(before[here], _counting(layout, self._pool(clamp)))
        beliefs = {}
        for number, axis in enumerate(layout.axes):
            old = counted.axis_of(axis.pools[0])
            joint = self._beliefs.of(tuple(sorted({here, old})))
            if joint is None:
                belief = self._beliefs.of((old,))
                assert belief is not None
            elif old == here:
                belief = (joint + likely)[rows]
            else:
                belief = summed(joint + (likely[:, None] if here < old else likely), (int(here > old),))
            weights = np.exp(belief - belief.max(initial=-np.inf))
            beliefs[number,] = weights / weights.sum()
        return beliefs


class BelievedApart:
    """Replacement of a :class:`Summation` where regions take only some elements: beliefs about one element,
    and about each two that a link connects."""

    def __init__(self, summation: Summation, beliefs: Beliefs) -> None:
        self.tabulated = summation.tabulated
        self.model = summation.model
        self.element_groups = summation.element_groups
        self._beliefs = beliefs

    def sums(self, clamp: Clamp | None = None) -> Sums:
        """Expectations; nothing is ever clamped, since every pool has a single class."""
        assert clamp is None
        states = tuple(map(self._states, range(len(self.element_groups.all))))
        pairs = {link[1:]: self._pairs(link) for link in set(self.tabulated.tables) - self.tabulated.flat}
        return Sums(arrays.zeros(()), states, {}, pairs)

    def profiles(self, number: int) -> np.ndarray:
        """Probability of each profile for one element of a variable."""
        log_belief = self._beliefs.about(Region(((number, 1),)))
        assert log_belief is not None
        return np.exp(log_belief) @ self._beliefs.propagation.counts.variables[number].counts(1)

    def _states(self, number: int) -> np.ndarray:
        """Expected number of elements of a bunch in each state."""
        element_group = self.element_groups.all[number]
        cells = self.tabulated.cells[element_group.pool]
        weights = self.tabulated.own_weights(element_group.pool, element_group.klass).detach().numpy()
        by_state, by_profile = cells.by_state(weights), cells.by_profile(weights)
        profile = np.array(cells.profile_of, dtype=np.int64)
        with np.errstate(invalid="ignore"):
            share = np.where(by_state > -np.inf, np.exp(by_state - by_profile[profile]), 0.0)
        return len(element_group) * self.profiles(number)[profile] * share

    def _pairs(self, link: Link) -> np.ndarray:
        """Expected number of pairs of elements in each two profiles."""
        one, other = (self.element_groups.last_of[pool] for pool in link[1:])
        variables = self._beliefs.propagation.counts.variables
        about = Region(((one, 2),)) if one == other else Region(tuple(sorted([(one, 1), (other, 1)])))
        log_belief = self._beliefs.about(about)
        assert log_belief is not None
        if one != other:
            table = np.exp(log_belief if one < other else log_belief.T)
            joint = variables[one].counts(1).T @ table @ variables[other].counts(1)
        else:
            counts = variables[one].counts(2)
            both = np.exp(log_belief)[:, None] * counts
            joint = (both.T @ counts - np.diag(both.sum(0))) / 2
        return pair_count(self.model, link) * joint


def _expected(layout: CountLayout, tables: dict[Scope, np.ndarray]) -> Sums:
    """Sums whose gradient is that of the average log-ways, which equals that of the total
    at these beliefs."""
    terms = [_average(tables[i,], axis.prior) for i, axis in enumerate(layout.axes)]
    for names, table in layout.pair_tables:
        numbers = tuple(map(axis_number, names))
        scope = tuple(sorted(numbers))
        if scope in tables:
            believed = tables[scope]
            terms.append(_average(believed if numbers == scope else believed.T, table))
    return expectations(layout, arrays.stack(terms).sum() if terms else arrays.zeros(()))


def _average(believed: np.ndarray, table: Array) -> Array:
    """Mean of a table over the entries with positive belief."""
    here = arrays.from_numpy(believed > 0)
    return (arrays.from_numpy(np.ascontiguousarray(believed))[here] * table[here]).sum()


def _counting(layout: CountLayout, pool: int) -> Axis:
    return layout.axes[layout.axis_of(pool)]


def _ratio(before: Axis, after: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Log of the share of the ways to have each row of counts that an element's clamp leaves [row before],
    and the row before of each row after."""
    places = {tuple(row): i for i, row in enumerate(_counts(before).tolist())}
    rows = np.array([places[tuple(row)] for row in _counts(after).tolist()], dtype=np.int64)
    ratio = np.full(len(before), -np.inf)
    ratio[rows] = after.prior.detach().numpy() - before.prior.detach().numpy()[rows]
    return ratio, rows


def _counts(axis: Axis) -> np.ndarray:
    return np.concatenate([axis.counts[pool].numpy() for pool in sorted(axis.pools)], axis=1)
