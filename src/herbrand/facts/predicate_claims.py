"""Combine all claims about one predicate into its fact table: sorted unique indices without contradictions.

The rows of its tables are concatenated as keys. A probability of 0 or 1 is a fact. Contradictions are an atom
both true and false, two values of a many-valued atom, no possible value of one, and two weights of one atom.
Opinions about one atom add up.

>>> alarm = Predicate("alarm")
>>> nothing = claimed_of(alarm, [], [])
>>> nothing.chosen(TRUE).tolist(), true_and_false(nothing, nothing.keys, nothing.keys)
([], [])
>>> fact_table(alarm, [], {}, lambda has_facts: "closed" if has_facts else "open")
FactTable(0 true, 0 false, 0 soft, open)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from herbrand.errors import FactsError, Mistake
from herbrand.facts.column import Column, Index
from herbrand.facts.domain import Domain
from herbrand.facts.facts import FactTable, Numbers, World
from herbrand.facts.place import Place, rows_at_fault, shown
from herbrand.facts.table_claims import Claims, Truths
from herbrand.language.signature import Predicate
from herbrand.row_keys import BLOCK, Keys, fit, key_columns, row_keys, unique_pairs, unique_sorted

TRUE, FALSE, SOFT = np.int8(0), np.int8(1), np.int8(2)
States = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Claimed:
    """Rows of all tables of one predicate, concatenated. ``sizes``: upper bounds of the indices in a key.

    ``states``: state of each row, ``None`` if all are true; ``numbers``: probabilities of soft rows and
    weights of true ones, ``nan`` for a row without, ``None`` if no row has one.
    """

    predicate: Predicate
    claims: Sequence[Claims]
    domains: Sequence[Domain]
    sizes: Sequence[int]
    keys: Keys
    states: States | None
    numbers: Numbers | None

    def chosen(self, state: np.int8) -> Keys:
        """Keys of the rows in a state."""
        if self.states is None:
            return self.keys if state == TRUE else self.keys[:0]
        return self.keys[self.states == state]

    def distinct(self, state: np.int8) -> Keys:
        """Distinct keys of the rows in a state, ascending."""
        return unique_sorted(self.chosen(state), self.sizes)

    def rows(self, keys: Keys) -> Index:
        """Rows of indices of the keys, [n, columns], stored column by column."""
        rows = np.empty((len(keys), len(self.domains)), np.int32, order="F")
        for start in range(0, len(keys), BLOCK):
            block = slice(start, start + BLOCK)
            for place, column in enumerate(key_columns(keys[block], self.sizes)):
                rows[block, place] = column
        return rows

    def weighted(self) -> tuple[Keys, Numbers]:
        """Distinct pairs of key and weight of the true rows with a weight, sorted."""
        if self.numbers is None:
            return self.keys[:0], np.empty(0)
        is_weighted = ~np.isnan(self.numbers)
        if self.states is not None:
            is_weighted &= self.states == TRUE
        return unique_pairs(self.keys[is_weighted], self.numbers[is_weighted])

    def opinions(self) -> tuple[Keys, Numbers, Numbers]:
        """Distinct keys of soft rows, sorted, with the combined probability and log-odds of their opinions.

        Opinions are independent, so that their log-weights add up: log p - log((1 - p) / others), with 1
        other value for an atom that is true or false. Equal rows of a table are one opinion.
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
        """Soft rows of each table that has some, and whether equal rows count once."""
        start = 0
        for claim in self.claims:
            here = slice(start, start := start + claim.interned.row_count)
            if self.states is None or self.numbers is None:
                continue
            soft = self.states[here] == SOFT
            if soft.any():
                yield not claim.table.stated, (self.keys[here][soft], self.numbers[here][soft])

    def atom(self, row: Index) -> str:
        """Text of the atom of a row of indices, without the value of a many-valued one."""
        arguments = [shown(d.value(int(i))) for d, i in zip(self.domains, row, strict=True)]
        arguments = arguments[: self.predicate.arity]
        return f"{self.predicate.name}({', '.join(arguments)})" if arguments else self.predicate.name

    def value(self, row: Index) -> str:
        return shown(self.domains[-1].value(int(row[-1])))

    def place(self, key: Keys, state: np.int8, number: float | None = None) -> Place:
        """Place of the first row with a ``key`` [1], in this state and with this number."""
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

    def place_of(self, row: Sequence[int], holds: bool) -> Place | None:
        """Place of the first row that states a row of indices as true or as false; None if there is none."""
        key, state = row_keys(list(np.array(row, ndmin=2).T), self.sizes, 1), TRUE if holds else FALSE
        return self.place(key, state) if (self.chosen(state) == key).any() else None


def claimed_of(predicate: Predicate, claims: Sequence[Claims], domains: Sequence[Domain]) -> Claimed:
    known: dict[tuple[int, str], Index | None] = {}  # a dictionary that columns share is looked up once
    sizes = _key_sizes(domains)
    keys = _joined([_keys(claim, domains, sizes, known) for claim in claims] or [row_keys((), ())])
    certain = all(claim.truths is None and claim.probabilities is None for claim in claims)
    unnumbered = all(claim.weights is None and claim.probabilities is None for claim in claims)
    states = None if certain else _joined([_states(claim) for claim in claims])
    numbers = None if unnumbered else _joined([_numbers(claim) for claim in claims])
    return Claimed(predicate, claims, domains, sizes, keys, states, numbers)


def _key_sizes(domains: Sequence[Domain]) -> list[int]:
    """Upper bounds of the indices in a key: powers of two if they fit, as these are decoded by shifts."""
    sizes = [len(domain) for domain in domains]
    rounded = [1 << max(0, size - 1).bit_length() for size in sizes]
    return rounded if fit(rounded) else sizes


def _keys(
    claim: Claims,
    domains: Sequence[Domain],
    sizes: Sequence[int],
    known: dict[tuple[int, str], Index | None],
) -> Keys:
    """Key of each row, computed block by block, as indices of a whole column do not fit into the caches."""
    columns = claim.columns[: len(domains)]
    indices = [_indices(column, domain, known) for column, domain in zip(columns, domains, strict=True)]
    count = claim.interned.row_count

    def keys_of(block: slice) -> Keys:
        codes = [column.codes[block] for column in columns]
        rows = [own if of is None else of[own] for of, own in zip(indices, codes, strict=True)]
        return row_keys(rows, sizes, min(block.stop, count) - block.start)

    first = keys_of(slice(0, BLOCK))
    if count <= BLOCK:
        return first
    keys = np.empty(count, first.dtype)
    keys[:BLOCK] = first
    for start in range(BLOCK, count, BLOCK):
        block = slice(start, start + BLOCK)
        keys[block] = keys_of(block)
    return keys


def _indices(column: Column, domain: Domain, known: dict[tuple[int, str], Index | None]) -> Index | None:
    """Index of each of a column's distinct constants; None if its codes are the indices."""
    key = (id(column.values), domain.name)
    if key not in known:
        known[key] = None if column.values is domain.values else domain.indices_of(column.values)
    return known[key]


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


# Claims that cannot stand together, each with the two places that make them


def _conflict(atom: str, one: tuple[Place, str], other: tuple[Place, str]) -> Mistake:
    return other[0].mistake(f"{atom} {other[1]}, but {one[0]} says that it {one[1]}")


def true_and_false(claimed: Claimed, true: Keys, false: Keys) -> list[Mistake]:
    """Mistakes for atoms that are stated both true and false."""
    both = np.intersect1d(true, false, assume_unique=True) if len(false) else false
    if not len(both):
        return []
    many = claimed.predicate.value_type is not None

    def mistake(position: int) -> Mistake:
        key = both[position : position + 1]
        row = claimed.rows(key)[0]
        value = claimed.value(row) if many else "true"
        denied = f"is not {value}" if many else "is false"
        one, other = claimed.place(key, TRUE), claimed.place(key, FALSE)
        return _conflict(claimed.atom(row), (one, f"is {value}"), (other, denied))

    return rows_at_fault(claimed.predicate.name, range(len(both)), mistake)


def two_values(claimed: Claimed, true: Keys) -> list[Mistake]:
    """Mistakes for many-valued atoms that are stated to have two values."""
    if claimed.predicate.value_type is None or len(true) < 2:
        return []
    rows = claimed.rows(true)
    again = np.flatnonzero(_same_atom(rows))

    def mistake(position: int) -> Mistake:
        one, other = rows[position], rows[position + 1]
        first = claimed.place(true[position : position + 1], TRUE), f"is {claimed.value(one)}"
        second = claimed.place(true[position + 1 : position + 2], TRUE), f"is {claimed.value(other)}"
        return _conflict(claimed.atom(one), first, second)

    return rows_at_fault(claimed.predicate.name, again.tolist(), mistake)


def _same_atom(rows: Index) -> Truths:
    """Whether each row has the same atom as the next one, values aside."""
    same = np.ones(len(rows) - 1, bool)
    for column in rows.T[:-1]:
        same &= column[1:] == column[:-1]
    return same


def no_value(claimed: Claimed, false: Keys) -> list[Mistake]:
    """Mistakes for many-valued atoms of which every value is stated to be false."""
    if claimed.predicate.value_type is None or not len(false):
        return []
    rows, values = claimed.rows(false), len(claimed.domains[-1])
    starts = np.flatnonzero(np.append(True, ~_same_atom(rows)))
    excluded = starts[np.diff(np.append(starts, len(rows))) == values]

    def mistake(start: int) -> Mistake:
        place = claimed.place(false[start + values - 1 : start + values], FALSE)
        return place.mistake(f"every value of {claimed.atom(rows[start])} is excluded; it must have one")

    return rows_at_fault(claimed.predicate.name, excluded.tolist(), mistake)


def two_weights(claimed: Claimed, keys: Keys, weights: Numbers) -> list[Mistake]:
    """Mistakes for atoms with two weights."""
    if len(keys) < 2:
        return []
    again = np.flatnonzero(keys[1:] == keys[:-1])

    def mistake(position: int) -> Mistake:
        key, (one, other) = keys[position : position + 1], weights[position : position + 2].tolist()
        row = claimed.rows(key)[0]
        value = "" if claimed.predicate.value_type is None else f" = {claimed.value(row)}"
        first = claimed.place(key, TRUE, one), f"has the weight {shown(one)}"
        second = claimed.place(key, TRUE, other), f"has the weight {shown(other)}"
        return _conflict(f"{claimed.atom(row)}{value}", first, second)

    return rows_at_fault(claimed.predicate.name, again.tolist(), mistake)


def soft_in_closed(claimed: Claimed, soft: Keys) -> Mistake:
    """Mistake for soft evidence of a closed predicate."""
    predicate = claimed.predicate
    hint = f"say open=['{predicate.name}'] (--open {predicate.name})"
    if predicate.role is not None:
        hint = f"declare `predicate {predicate}` without `: {predicate.role}`"
    return claimed.place(soft[:1], SOFT).mistake(
        f"'{predicate.name}' is closed (what is not listed is false), so it takes no soft evidence", hint
    )


# The fact table


def fact_table(
    predicate: Predicate,
    claims: Sequence[Claims],
    domains: Mapping[str, Domain],
    world: Callable[[bool], World],
    has_value: bool = True,
) -> FactTable:
    """Make the fact table of a predicate; raises a ``FactsError`` with all contradictions.

    ``world`` returns the world assumption, given whether there are facts: rows of probabilities, even 0 and
    1, are opinions and close no predicate. ``has_value``: every many-valued atom has one of its values.
    """
    own = [domains[name] for name in predicate.column_types]
    if not claims:
        return FactTable.empty(len(own), world(False))
    claimed = claimed_of(predicate, claims, own)
    true = claimed.distinct(TRUE)
    if (
        claimed.states is None
        and claimed.numbers is None
        and not (predicate.value_type or predicate.function)
    ):
        return FactTable.listing(claimed.rows(true), world(bool(len(true))))
    false = claimed.distinct(FALSE)
    soft, probabilities, log_odds = claimed.opinions()
    weighted, weights = claimed.weighted()
    mistakes = [
        *true_and_false(claimed, true, false),
        *two_values(claimed, true),
        *(no_value(claimed, false) if has_value else ()),
        *two_weights(claimed, weighted, weights),
    ]
    plain = any(claim.probabilities is None and claim.interned.row_count for claim in claims)
    chosen = world(plain and bool(len(true) or len(false)) and not (len(soft) and predicate.undecided))
    if len(soft) and chosen == "closed":
        mistakes.append(soft_in_closed(claimed, soft))
    if mistakes:
        raise FactsError(mistakes)
    rows = claimed.rows
    weight_column = _aligned(true, weighted, weights) if len(weighted) else None
    table = FactTable(rows(true), rows(false), rows(soft), probabilities, log_odds, weight_column, chosen)
    return _without_other_values(table, own) if predicate.function and chosen == "closed" else table


def _without_other_values(listed: FactTable, domains: Sequence[Domain]) -> FactTable:
    """A table of a function: an atom with a listed value has no other; atoms without one are unknown."""
    *sizes, values = map(len, domains)
    known = np.unique(listed.true[:, :-1], axis=0)
    if len(known) == math.prod(sizes):
        return listed
    pairs = np.concatenate([np.repeat(known, values, axis=0), np.tile(range(values), len(known))[:, None]], 1)
    keys = [
        row_keys(list(rows.T), [*sizes, values], len(rows)) for rows in (pairs, listed.true, listed.false)
    ]
    others = pairs[~np.isin(keys[0], keys[1])]
    stated = listed.false[~np.isin(keys[2], keys[0])]
    false = np.concatenate([stated, others]).astype(listed.false.dtype)
    return replace(listed, false=np.asfortranarray(false[np.lexsort(false.T[::-1])]), world="open")


def _aligned(true: Keys, weighted: Keys, weights: Numbers) -> Numbers:
    """Weight of every fact; 1 if none is stated."""
    aligned = np.ones(len(true))
    aligned[np.searchsorted(true, weighted)] = weights
    return aligned
