"""Probabilities of atoms from expected counts, computed for the queried atoms only.

An atom of one element has the share of the cells in which it holds. The probability of an atom of two
elements is the mean of its table over their joint profiles. That joint comes with the sums where each
element's pool is a single group, and else from sums with one element clamped to each of its profiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.lifted.count_axes import Clamp
from herbrand.engines.lifted.element_groups import ElementGroup, ElementGroups
from herbrand.engines.lifted.exchangeable_model import ExchangeableModel
from herbrand.engines.lifted.pairs import turned
from herbrand.engines.lifted.summation import Sums
from herbrand.engines.lifted.tabulated import Link, Tabulated, pair_count, swings
from herbrand.engines.lifted.terms import PROPOSITIONS, Own
from herbrand.row_keys import places_among


class Summed(Protocol):
    """A summation, or an object in place of one, that gives expected counts, also with an element clamped."""

    tabulated: Tabulated
    model: ExchangeableModel
    element_groups: ElementGroups

    def sums(self, clamp: Clamp | None = None) -> Sums: ...


@dataclass(frozen=True, eq=False)
class AtomProbabilities:
    """The probabilities that one summation gives. Clamping an element costs a whole summation, and reading
    may clamp each of them, so the clock of ``budget`` is checked before every one."""

    summation: Summed
    sums: Sums
    budget: Budget = UNLIMITED

    def of(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """Probability of each value of these atoms [atom, value]."""
        types = self.summation.model.program.signature.predicates[predicate].types
        if len(types) < 2:
            return self._own(types[0] if types else PROPOSITIONS, Own(predicate))[codes]
        return self._binary(predicate, codes)

    # Atoms of one element

    def _own(self, type_name: str, own: Own) -> np.ndarray:
        """Probability of each value of each element's own atom [element, value]."""
        model = self.summation.model
        index = model.family_with(type_name, own)
        family = model.families[index]
        of_cell = np.eye(model.program.value_count(own.predicate))[family.values(own)]
        own_shares = np.zeros((model.elements[index].count, of_cell.shape[1]))
        for number, element_group in enumerate(self.summation.element_groups.all):
            if model.pools[element_group.pool].family == index:
                own_shares[element_group.elements] = self.cells_of(number) @ of_cell
        return own_shares

    def cells_of(self, number: int) -> np.ndarray:
        """Probability of each cell for the elements of a group."""
        element_group = self.summation.element_groups.all[number]
        states = self.sums.states[number] / len(element_group)
        return self._within_states(element_group).T @ states

    def _within_states(self, element_group: ElementGroup) -> np.ndarray:
        """Share of each cell within its state [state, cell]."""
        tabulated = self.summation.tabulated
        cells = tabulated.cells[element_group.pool]
        weights = tabulated.own_weights(element_group.pool, element_group.klass).detach().numpy()
        shares = np.zeros((cells.states, len(weights)))
        for state in range(cells.states):
            here = np.flatnonzero((cells.state == state) & (weights > -np.inf))
            if len(here):
                w = np.exp(weights[here] - weights[here].max())
                shares[state, here] = w / w.sum()
        return shares

    # Atoms of two elements

    def _binary(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        model = self.summation.model
        width = model.evidence.sizes(predicate)[1]
        group = model.group_with(predicate)
        rows, columns = np.divmod(codes, width)
        families = model.groups[group].families
        same_order = model.program.signature.predicates[predicate].types == model.groups[group].types
        if not same_order:
            rows, columns = columns, rows
        table = self._between(group, predicate)
        shares = table[self.group_of_element[families[0]][rows], self.group_of_element[families[1]][columns]]
        unusual, values = self._unusual(group, predicate, width, same_order)
        at = places_among(unusual, codes)
        shares[at >= 0] = values[at[at >= 0]]
        if model.groups[group].within:
            own = Own(predicate, diagonal=True)
            diagonal = rows == columns
            if diagonal.any():
                shares[diagonal] = self._own(model.groups[group].types[0], own)[rows[diagonal]]
        return shares

    @cached_property
    def group_of_element(self) -> tuple[np.ndarray, ...]:
        """For each family, the number of each element's group."""
        model = self.summation.model
        numbers = tuple(np.empty(elements.count, np.int64) for elements in model.elements)
        for number, element_group in enumerate(self.summation.element_groups.all):
            numbers[model.pools[element_group.pool].family][element_group.elements] = number
        return numbers

    def _between(self, group: int, predicate: str) -> np.ndarray:
        """Probabilities of atoms for usual pairs of elements of two groups [group, group, value]."""
        model = self.summation.model
        atoms = model.groups[group].atoms
        element_groups = self.summation.element_groups.all
        by_pair = np.zeros((len(element_groups), len(element_groups), model.program.value_count(predicate)))
        pattern = model.knowledge[group].patterns[0]
        for link, tables in self.summation.tabulated.tables.items():
            if link[0] != group:
                continue
            ways = [way for way in (True, False) if (predicate, way) in atoms]
            shares = {way: tables.share(pattern, (predicate, way)) for way in ways}
            here = [[n for n, b in enumerate(element_groups) if b.pool == pool] for pool in link[1:]]
            for one in here[0]:
                for other in here[1]:
                    if link[1] == link[2] and one > other:
                        continue
                    joint = self._joint(link, one, other)
                    for way, share in shares.items():
                        value = self._mean(link, one, other, joint, share)
                        by_pair[(one, other) if way else (other, one)] = value
        return by_pair

    def _joint(self, link: Link, one: int, other: int) -> np.ndarray | None:
        """Joint probability of the profiles of two elements; ``None`` where atoms depend on at most one of
        them."""
        summation = self.summation
        if link in summation.tabulated.flat:
            return None
        element_groups = summation.element_groups.all
        if one == other and len(element_groups[one]) < 2:
            return np.zeros([summation.tabulated.cells[pool].profiles for pool in link[1:]])
        if {one, other} <= summation.element_groups.whole_pools:
            pools = (link[1], link[2])
            turned_pools = (link[2], link[1])
            straight = pools in self.sums.pairs
            expected = self.sums.pairs[pools] if straight else self.sums.pairs[turned_pools].T
            if link[1] == link[2]:
                expected = (expected + expected.T) / 2
            return expected / pair_count(summation.model, link)
        return self._by_clamping(one, other)

    def _by_clamping(self, one: int, other: int) -> np.ndarray:
        profiles = self._profiles(one, self.sums)
        rows = []
        for profile, probability in enumerate(profiles):
            if probability <= 0:
                rows.append(
                    np.zeros(
                        self.summation.tabulated.cells[self.summation.element_groups.all[other].pool].profiles
                    )
                )
                continue
            conditional = self._profiles(other, self._clamped(one, profile), one, profile)
            rows.append(probability * conditional)
        return np.array(rows)

    def _profiles(self, number: int, sums: Sums, held: int = -1, profile: int = -1) -> np.ndarray:
        """Probability of each profile for an element of a group, other than the clamped one."""
        element_group = self.summation.element_groups.all[number]
        cells = self.summation.tabulated.cells[element_group.pool]
        expected = np.bincount(cells.profile_of, sums.states[number], cells.profiles)
        count = len(element_group)
        if held == number:
            expected[profile] -= 1
            count -= 1
        return expected / max(1, count)

    @cached_property
    def _sums_when(self) -> dict[tuple[int, int], Sums]:
        return {}

    def _clamped(self, number: int, profile: int) -> Sums:
        key = (number, profile)
        if key not in self._sums_when:
            self.budget.check()
            self._sums_when[key] = self.summation.sums(Clamp(number, profile))
        return self._sums_when[key]

    def _mean(
        self, link: Link, one: int, other: int, joint: np.ndarray | None, share: np.ndarray
    ) -> np.ndarray:
        """Mean of a table of shares [left kind, right kind, value]."""
        left, right = self.summation.tabulated.tables[link].kinds
        if joint is None:
            by_right, by_left = swings(share)
            if by_right <= by_left:
                return self.cells_of(one) @ share[left, 0]
            return self.cells_of(other) @ share[0, right]
        rows, columns = (self.summation.tabulated.cells[pool].first_of(True) for pool in link[1:])
        return np.einsum("ij,ijv->v", joint, share[np.ix_(left[rows], right[columns])])

    def _unusual(
        self, group: int, predicate: str, width: int, same_order: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the atoms of unusual pairs, ascending, and their probabilities."""
        codes, values = (
            [np.empty(0, np.int64)],
            [np.empty((0, self.summation.model.program.value_count(predicate)))],
        )
        for left, right, forward, backward in self._unusual_pairs(group, predicate):
            for first, second, value in ((left, right, forward), (right, left, backward)):
                if value is None:
                    continue
                if not same_order:
                    first, second = second, first
                codes.append(first * width + second)
                values.append(np.broadcast_to(value, (len(first), len(value))))
        all_codes, all_values = np.concatenate(codes), np.concatenate(values)
        order = np.argsort(all_codes)
        return all_codes[order], all_values[order]

    def _unusual_pairs(
        self, group: int, predicate: str
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]]:
        """Left and right elements of pairs with the same probabilities, and these for the atom in each
        direction."""
        model, summation = self.summation.model, self.summation
        knowledge = model.knowledge[group]
        families = model.groups[group].families
        for settled, pattern, left, right in summation.element_groups.settled:
            if settled == group:
                here = knowledge.pattern_of == pattern
                for place, pool in enumerate((left, right)):
                    here &= model.pool_of[families[place]][knowledge.pairs[:, place]] == pool
                pairs = knowledge.pairs[here]
                joint = np.ones((1, 1))
                yield (
                    pairs[:, 0],
                    pairs[:, 1],
                    *self._pattern_means(group, predicate, pattern, left, right, joint),
                )
        for (number, tie), expected in self.sums.ties.items():
            if tie.group == group:
                element_group, hub = (
                    summation.element_groups.all[number],
                    summation.element_groups.hubs[tie.hub],
                )
                joint = expected / len(element_group)
                hubs = np.repeat(hub.elements, len(element_group))
                if tie.left:
                    means = self._pattern_means(
                        group, predicate, tie.pattern, element_group.pool, hub.pool, joint.T
                    )
                    yield element_group.elements, hubs, *means
                else:
                    means = self._pattern_means(
                        group, predicate, tie.pattern, hub.pool, element_group.pool, joint
                    )
                    yield hubs, element_group.elements, *means

    def _pattern_means(
        self, group: int, predicate: str, pattern: int, left: int, right: int, joint: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Mean shares of the atom in each direction, for pairs of a pattern; ``joint``: probability of the
        two states."""
        summation = self.summation
        of_group = summation.model.groups[group]
        link, is_turned = summation.tabulated.link(group, left, right)
        shown = summation.model.knowledge[group].patterns[pattern]
        if is_turned:
            shown, joint, left, right = turned(of_group, shown), joint.T, right, left
        tables = summation.tabulated.tables[link]
        cells = [summation.tabulated.cells[pool].first_of(False) for pool in (left, right)]
        means = [
            np.einsum("ij,ijv->v", joint, tables.share_at(shown, (predicate, way), *cells))
            if (predicate, way) in of_group.atoms
            else None
            for way in (True, False)
        ]
        return (means[1], means[0]) if is_turned else (means[0], means[1])
