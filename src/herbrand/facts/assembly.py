"""From the claims about one predicate to its fact table: indices, sorted and unique, with no contradiction
left.

A probability of 0 or 1 is a fact. Refused are: an atom both true and false, two values of a many-valued atom,
none of its values possible, two weights or two probabilities of one atom.

>>> alarm = Predicate("alarm")
>>> fact_table(alarm, [], {}, lambda has_facts: "closed" if has_facts else "open")
FactTable(0 true, 0 false, 0 soft, open)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.errors import FactsError, Mistake
from herbrand.facts.claims import Claims
from herbrand.facts.column import Index
from herbrand.facts.domain import Domain
from herbrand.facts.keys import Keys, RowKeys, unique_pairs, unique_sorted
from herbrand.facts.place import Place, rows_at_fault, shown
from herbrand.facts.table import FactTable, Numbers, World
from herbrand.language.signature import Predicate

TRUE, FALSE, SOFT = np.int8(0), np.int8(1), np.int8(2)
States = npt.NDArray[np.int8]
Selected = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Claimed:
    """All rows claimed of one predicate, one table after the other.

    ``states`` is ``None`` where every row is true; ``numbers`` are the probabilities of soft rows and the
    weights of true ones, ``nan`` where a row has none, ``None`` where no row has one.
    """

    predicate: Predicate
    claims: Sequence[Claims]
    domains: Sequence[Domain]
    keys: RowKeys
    states: States | None
    numbers: Numbers | None

    def chosen(self, state: np.int8) -> Keys:
        """The keys of the rows in a state."""
        keys = self.keys.values
        if self.states is None:
            return keys if state == TRUE else keys[:0]
        return keys[self.states == state]

    def numbered(self, state: np.int8) -> tuple[Keys, Numbers]:
        """The keys and numbers of the rows in a state that have a number, each pair once, sorted."""
        if self.numbers is None:
            return self.keys.values[:0], np.empty(0)
        wanted = ~np.isnan(self.numbers)
        if self.states is not None:
            wanted &= self.states == state
        elif state != TRUE:
            wanted[:] = False
        return unique_pairs(self.keys.values[wanted], self.numbers[wanted])

    def atom(self, row: Index) -> str:
        """The atom of a row of indices, a many-valued one without its value."""
        arguments = [shown(d.value(int(i))) for d, i in zip(self.domains, row, strict=True)]
        arguments = arguments[: self.predicate.arity]
        return f"{self.predicate.name}({', '.join(arguments)})" if arguments else self.predicate.name

    def value(self, row: Index) -> str:
        return shown(self.domains[-1].value(int(row[-1])))

    def place(self, key: int, state: np.int8, number: float | None = None) -> Place:
        """The first place that says the row, in this state and with this number."""
        here = self.keys.values == key
        if self.states is not None:
            here &= self.states == state
        if number is not None and self.numbers is not None:
            here &= self.numbers == number
        start = 0
        for claim in self.claims:
            positions = np.flatnonzero(here[start : start + claim.interned.row_count])
            if len(positions):
                rows = claim.interned.rows
                first = positions[0] if rows is None else positions[np.argmin(rows[positions])]
                return claim.place(int(first))
            start += claim.interned.row_count
        raise AssertionError("a key that no row has")


def fact_table(
    predicate: Predicate,
    claims: Sequence[Claims],
    domains: Mapping[str, Domain],
    world: Callable[[bool], World],
) -> FactTable:
    """``world`` is asked with whether there are facts; raises ``FactsError`` with all contradictions."""
    own = [domains[name] for name in predicate.column_types]
    if not claims:
        return FactTable.empty(len(own), world(False))
    claimed = _claimed(predicate, claims, own)
    true, false = unique_sorted(claimed.chosen(TRUE)), unique_sorted(claimed.chosen(FALSE))
    soft, probabilities = claimed.numbered(SOFT)
    weighted, weights = claimed.numbered(TRUE)
    mistakes = [
        *_true_and_false(claimed, true, false),
        *_two_values(claimed, true),
        *_no_value(claimed, false),
        *_two_numbers(claimed, weighted, weights, TRUE, "weight"),
        *_two_numbers(claimed, soft, probabilities, SOFT, "probability"),
    ]
    chosen = world(bool(len(true) or len(false)))
    if len(soft) and chosen == "closed":
        mistakes.append(_soft_in_closed(claimed, soft, probabilities))
    if mistakes:
        raise FactsError(mistakes)
    rows = claimed.keys.rows
    weight_column = _aligned(true, weighted, weights) if len(weighted) else None
    return FactTable(rows(true), rows(false), rows(soft), probabilities, weight_column, chosen)


def _claimed(predicate: Predicate, claims: Sequence[Claims], domains: Sequence[Domain]) -> Claimed:
    count = sum(claim.interned.row_count for claim in claims)
    keys = RowKeys.of(_index_columns(claims, domains), [len(domain) for domain in domains], count)
    certain = all(claim.truths is None and claim.probabilities is None for claim in claims)
    unnumbered = all(claim.weights is None and claim.probabilities is None for claim in claims)
    states = None if certain else _joined([_states(claim) for claim in claims])
    numbers = None if unnumbered else _joined([_numbers(claim) for claim in claims])
    return Claimed(predicate, claims, domains, keys, states, numbers)


def _index_columns(claims: Sequence[Claims], domains: Sequence[Domain]) -> list[Index]:
    """Every column as indices into its domain; a dictionary that columns share is looked up once."""
    known: dict[tuple[int, str], Index] = {}

    def indices(values: pa.Array, domain: Domain) -> Index:
        key = (id(values), domain.name)
        if key not in known:
            known[key] = domain.indices_of(values)
        return known[key]

    return [
        _joined(
            [
                indices(claim.columns[number].values, domain)[claim.columns[number].codes]
                for claim in claims
                if claim.interned.row_count
            ]
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


def _aligned(true: Keys, weighted: Keys, weights: Numbers) -> Numbers:
    """The weight of every fact; 1 where none is said."""
    aligned = np.ones(len(true))
    aligned[np.searchsorted(true, weighted)] = weights
    return aligned


# Contradictions


def _conflict(atom: str, one: tuple[Place, str], other: tuple[Place, str]) -> Mistake:
    return other[0].mistake(f"{atom} {other[1]}, but {one[0]} says that it {one[1]}")


def _told(claimed: Claimed, count: int, mistakes: Iterator[Mistake]) -> list[Mistake]:
    return rows_at_fault(claimed.predicate.name, count, mistakes)


def _rows_of(claimed: Claimed, keys: Iterable[int]) -> Iterator[tuple[int, Index]]:
    for key in map(int, keys):
        yield key, claimed.keys.rows(np.array([key]))[0]


def _true_and_false(claimed: Claimed, true: Keys, false: Keys) -> list[Mistake]:
    both = np.intersect1d(true, false, assume_unique=True) if len(false) else false
    many = claimed.predicate.value_type is not None

    def tell() -> Iterator[Mistake]:
        for key, row in _rows_of(claimed, both):
            value = claimed.value(row) if many else "true"
            denied = f"is not {value}" if many else "is false"
            one, other = claimed.place(key, TRUE), claimed.place(key, FALSE)
            yield _conflict(claimed.atom(row), (one, f"is {value}"), (other, denied))

    return _told(claimed, len(both), tell())


def _two_values(claimed: Claimed, true: Keys) -> list[Mistake]:
    if claimed.predicate.value_type is None or len(true) < 2:
        return []
    rows = claimed.keys.rows(true)
    again = np.flatnonzero(_same_atom(rows))

    def tell() -> Iterator[Mistake]:
        for position in again:
            one, other = rows[position], rows[position + 1]
            first = claimed.place(int(true[position]), TRUE), f"is {claimed.value(one)}"
            second = claimed.place(int(true[position + 1]), TRUE), f"is {claimed.value(other)}"
            yield _conflict(claimed.atom(one), first, second)

    return _told(claimed, len(again), tell())


def _same_atom(rows: Index) -> Selected:
    """Whether each row is about the atom of the next one, their values aside."""
    same = np.ones(len(rows) - 1, bool)
    for column in rows.T[:-1]:
        same &= column[1:] == column[:-1]
    return same


def _no_value(claimed: Claimed, false: Keys) -> list[Mistake]:
    if claimed.predicate.value_type is None or not len(false):
        return []
    rows, values = claimed.keys.rows(false), len(claimed.domains[-1])
    starts = np.flatnonzero(np.append(True, ~_same_atom(rows)))
    excluded = starts[np.diff(np.append(starts, len(rows))) == values]

    def tell() -> Iterator[Mistake]:
        for start in excluded:
            place = claimed.place(int(false[start + values - 1]), FALSE)
            yield place.mistake(f"every value of {claimed.atom(rows[start])} is excluded; it must have one")

    return _told(claimed, len(excluded), tell())


def _two_numbers(claimed: Claimed, keys: Keys, numbers: Numbers, state: np.int8, noun: str) -> list[Mistake]:
    again = np.flatnonzero(keys[1:] == keys[:-1])

    def tell() -> Iterator[Mistake]:
        for position in again:
            key, (one, other) = int(keys[position]), numbers[position : position + 2]
            (_, row), *_rest = _rows_of(claimed, [key])
            first = claimed.place(key, state, one), f"has the {noun} {shown(float(one))}"
            second = claimed.place(key, state, other), f"has the {noun} {shown(float(other))}"
            yield _conflict(_with_value(claimed, row), first, second)

    return _told(claimed, len(again), tell())


def _with_value(claimed: Claimed, row: Index) -> str:
    atom = claimed.atom(row)
    return atom if claimed.predicate.value_type is None else f"{atom} = {claimed.value(row)}"


def _soft_in_closed(claimed: Claimed, soft: Keys, probabilities: Numbers) -> Mistake:
    predicate = claimed.predicate
    hint = f"say open=['{predicate.name}'] (--open {predicate.name})"
    if predicate.role is not None:
        hint = f"declare `predicate {predicate}` without `: {predicate.role}`"
    return claimed.place(int(soft[0]), SOFT, probabilities[0]).mistake(
        f"'{predicate.name}' is closed (what is not listed is false), so it takes no soft evidence", hint
    )
