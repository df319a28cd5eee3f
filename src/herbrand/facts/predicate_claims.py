"""All that is claimed of one predicate: the rows of its tables, one after the other, as keys.

>>> claimed_of(Predicate("alarm"), [], []).chosen(TRUE).tolist()
[]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from herbrand.facts.column import Column, Index
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Numbers
from herbrand.facts.place import Place, shown
from herbrand.facts.table_claims import Claims
from herbrand.language.signature import Predicate
from herbrand.row_keys import BLOCK, Keys, key_columns, row_keys, unique_pairs

TRUE, FALSE, SOFT = np.int8(0), np.int8(1), np.int8(2)
States = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Claimed:
    """All rows claimed of one predicate, one table after the other.

    ``states`` is ``None`` where every row is true; ``numbers`` are the probabilities of soft rows and the
    weights of true ones, ``nan`` where a row has none, ``None`` where no row has one.
    """

    predicate: Predicate
    claims: Sequence[Claims]
    domains: Sequence[Domain]
    keys: Keys
    states: States | None
    numbers: Numbers | None

    def chosen(self, state: np.int8) -> Keys:
        """The keys of the rows in a state."""
        if self.states is None:
            return self.keys if state == TRUE else self.keys[:0]
        return self.keys[self.states == state]

    def rows(self, keys: Keys) -> Index:
        """The rows of indices that the keys stand for, [n, columns], stored column by column."""
        rows = np.empty((len(keys), len(self.domains)), np.int32, order="F")
        for start in range(0, len(keys), BLOCK):
            block = slice(start, start + BLOCK)
            for place, column in enumerate(key_columns(keys[block], self._sizes)):
                rows[block, place] = column
        return rows

    def weighted(self) -> tuple[Keys, Numbers]:
        """The keys and weights of the true rows that have a weight, each pair once, sorted."""
        if self.numbers is None:
            return self.keys[:0], np.empty(0)
        wanted = ~np.isnan(self.numbers)
        if self.states is not None:
            wanted &= self.states == TRUE
        return unique_pairs(self.keys[wanted], self.numbers[wanted])

    def opinions(self) -> tuple[Keys, Numbers, Numbers]:
        """The keys of soft rows, sorted, each once; the probability and the log-odds of all their opinions.

        Opinions are independent, so what they add to a log-weight adds up: log p - log((1 - p) / others),
        with 1 other value of an atom that is true or false. Equal rows of a table are one opinion.
        """
        parts = [unique_pairs(*part) if once else part for once, part in self._soft_rows()]
        if not parts:
            return self.keys[:0], np.empty(0), np.empty(0)
        keys, p = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((p, keys))
        keys, first, count = np.unique(keys[order], return_index=True, return_counts=True)
        p = p[order]
        others = len(self.domains[-1]) - 1 if self.predicate.value_type is not None else 1
        log_odds = np.add.reduceat(np.log(p) - np.log1p(-p), first) + (count - 1) * np.log(max(1, others))
        return keys, np.where(count == 1, p[first], np.exp(-np.logaddexp(0, -log_odds))), log_odds

    def _soft_rows(self) -> Iterator[tuple[bool, tuple[Keys, Numbers]]]:
        """The soft rows of each table that has some, and whether equal ones are one."""
        start = 0
        for claim in self.claims:
            here = slice(start, start := start + claim.interned.row_count)
            if self.states is None or self.numbers is None:
                continue
            soft = self.states[here] == SOFT
            if soft.any():
                yield not claim.table.stated, (self.keys[here][soft], self.numbers[here][soft])

    def atom(self, row: Index) -> str:
        """The atom of a row of indices, a many-valued one without its value."""
        arguments = [shown(d.value(int(i))) for d, i in zip(self.domains, row, strict=True)]
        arguments = arguments[: self.predicate.arity]
        return f"{self.predicate.name}({', '.join(arguments)})" if arguments else self.predicate.name

    def value(self, row: Index) -> str:
        return shown(self.domains[-1].value(int(row[-1])))

    @property
    def _sizes(self) -> list[int]:
        return [len(domain) for domain in self.domains]

    def place(self, key: Keys, state: np.int8, number: float | None = None) -> Place:
        """The first place that says the row of a ``key`` [1], in this state and with this number."""
        here = self.keys == key
        if self.states is not None:
            here &= self.states == state
        if number is not None and self.numbers is not None:
            here &= self.numbers == number
        start = 0
        for claim in self.claims:
            positions = np.flatnonzero(here[start : start + claim.interned.row_count])
            if len(positions):
                return claim.place(int(positions[0]))
            start += claim.interned.row_count
        raise AssertionError("a key that no row has")


def claimed_of(predicate: Predicate, claims: Sequence[Claims], domains: Sequence[Domain]) -> Claimed:
    count = sum(claim.interned.row_count for claim in claims)
    keys = row_keys(_index_columns(claims, domains), [len(domain) for domain in domains], count)
    certain = all(claim.truths is None and claim.probabilities is None for claim in claims)
    unnumbered = all(claim.weights is None and claim.probabilities is None for claim in claims)
    states = None if certain else _joined([_states(claim) for claim in claims])
    numbers = None if unnumbered else _joined([_numbers(claim) for claim in claims])
    return Claimed(predicate, claims, domains, keys, states, numbers)


def _index_columns(claims: Sequence[Claims], domains: Sequence[Domain]) -> list[Index]:
    """Every column as indices into its domain; a dictionary that columns share is looked up once."""
    known: dict[tuple[int, str], Index] = {}

    def indices(column: Column, domain: Domain) -> Index:
        if column.values is domain.values:
            return column.codes
        key = (id(column.values), domain.name)
        if key not in known:
            known[key] = domain.indices_of(column.values)
        return known[key][column.codes]

    return [
        _joined(
            [indices(claim.columns[number], domain) for claim in claims if claim.interned.row_count]
            or [np.empty(0, np.int32)]
        )
        for number, domain in enumerate(domains)
    ]


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _states(claim: Claims) -> States:
    states = np.full(claim.interned.row_count, TRUE)
    if claim.truths is not None:
        states[~claim.truths] = FALSE
    if claim.probabilities is not None:
        states[claim.probabilities < 1] = SOFT
        states[claim.probabilities == 0] = FALSE
    return states


def _numbers(claim: Claims) -> Numbers:
    if claim.weights is not None:
        return claim.weights
    numbers = np.full(claim.interned.row_count, np.nan)
    if claim.probabilities is not None:
        soft = (claim.probabilities > 0) & (claim.probabilities < 1)
        numbers[soft] = claim.probabilities[soft]
    return numbers
