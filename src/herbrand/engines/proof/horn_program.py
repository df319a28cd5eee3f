"""Horn rules as clauses over facts, ready to be planned.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"')
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> program = HornProgram.of(theory.rules, *load_facts((), check(theory), facts))
>>> print(program.clauses["uncle"][0])
uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"

The stated facts of a predicate are columns; an index, compressed rows for any bound columns, is built when a
plan first needs it and cached with the relation.

>>> relation = IndexedFacts((np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)), (3, 3), 3)
>>> by_second = relation.index((1,))
>>> by_second.pointers.tolist(), by_second.column(0).tolist()
([0, 0, 1, 3], [0, 0, 1])
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, FactRows, Learned, Rule, Value
from herbrand.program.clause_set import ClauseSet
from herbrand.program.clauses import Clause
from herbrand.program.dependencies import check_strata
from herbrand.program.lower_rules import rule_clause, stated_clause
from herbrand.row_keys import (
    Keys,
    Places,
    each_in,
    fit,
    places_among,
    row_keys,
    row_pointers,
    run_starts,
    stable_order,
)

MET = 4
"""If at least one in so many rows matches, a scan of all rows replaces sorting them."""

# Stated facts with their indexes


@dataclass(frozen=True, eq=False)
class IndexedFacts:
    """Stated facts of a predicate: distinct rows of constants' indices, as columns.

    ``weights`` is ``None`` where all are 1. Rows of soft evidence come last, weighted by their probability.
    """

    columns: tuple[np.ndarray, ...]
    sizes: tuple[int, ...]
    count: int
    weights: np.ndarray | None = None
    is_sorted: bool = True
    _indexes: dict[tuple[int, ...], Index] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: FactTable, sizes: tuple[int, ...], arity: int) -> IndexedFacts:
        """Build the relation of true facts, and of soft ones that no fact makes true or false.

        The probability of a soft fact is its weight. ``arity``: the number of arguments of an atom; a further
        column has the value of a many-valued atom, of which one known value excludes all others.
        """
        rows, weights = table.true, table.weights
        possible = table.probabilities > 0
        for stated, width in ((table.true, arity), (table.false, len(sizes))):
            if possible.any() and len(stated):
                soft, known = (
                    row_keys(list(part.T[:width]), sizes[:width], len(part)) for part in (table.soft, stated)
                )
                possible &= ~np.isin(soft, known)
        if possible.any():
            rows = np.concatenate([rows, table.soft[possible]])
            weights = np.concatenate([table.true_weights, table.probabilities[possible]])
        columns = tuple(np.ascontiguousarray(rows[:, place]) for place in range(len(sizes)))
        return cls(columns, sizes, len(rows), weights, not possible.any())

    def __reduce__(self) -> tuple[type[IndexedFacts], tuple[object, ...]]:
        """Pickle the relation without its indexes, which have a weak reference to it and are built again."""
        return IndexedFacts, (self.columns, self.sizes, self.count, self.weights, self.is_sorted)

    def weight(self, place: int) -> float:
        """Weight of one row."""
        return 1.0 if self.weights is None else float(self.weights[place])

    def index(self, bound: tuple[int, ...]) -> Index:
        """The index by some columns, whose places ascend."""
        if bound not in self._indexes:
            self._indexes[bound] = Index.of(self, bound)
        return self._indexes[bound]

    def fanout(self, bound: Sequence[int]) -> float:
        """Mean number of rows for one choice of the bound columns' values."""
        return self.count / max(1.0, float(np.prod([max(1, self.sizes[place]) for place in bound])))


@dataclass(frozen=True, eq=False)
class _Runs:
    """Start and number of the rows of each distinct key; the last entry is for unknown keys: no rows."""

    find: Callable[[Keys], np.ndarray]
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, keys: Keys) -> _Runs:
        """Build the runs of sorted keys."""
        starts = run_starts(keys)
        known, lengths = keys[starts], np.diff(starts, append=len(keys))
        find = Places(known).of if known.dtype == np.int64 else partial(places_among, known)
        return cls(find, np.append(starts, 0), np.append(lengths, 0))


@dataclass(frozen=True, eq=False)
class Index:
    """A relation's rows sorted by its bound columns, with ``pointers`` by value of one column, else ``keys``.

    Rows are sorted when that is first needed; pointers need only the number of rows for each value.
    """

    relation: IndexedFacts
    bound: tuple[int, ...]
    pointers: np.ndarray
    _kept: dict[object, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, relation: IndexedFacts, bound: tuple[int, ...]) -> Index:
        # the relation keeps its indexes: a reference cycle would hold both until the next garbage collection
        relation = weakref.proxy(relation)
        if len(bound) == 0:
            return cls(relation, bound, np.array([0, relation.count]))
        if len(bound) == 1:
            return cls(relation, bound, row_pointers(relation.columns[bound[0]], relation.sizes[bound[0]]))
        return cls(relation, bound, np.empty(0, np.int64))

    @cached_property
    def order(self) -> np.ndarray | None:
        """Row numbers of the relation in this index's order; ``None`` if that is the relation's own."""
        if not self._is_apart:
            return None
        if len(self.bound) > 1:
            return self._ordered_keys[0]
        return stable_order(*self._by_value)

    @property
    def _by_value(self) -> tuple[np.ndarray, int]:
        """The one bound column, and its number of possible values."""
        place = self.bound[-1]
        return self.relation.columns[place], self.relation.sizes[place]

    @property
    def keys(self) -> Keys | None:
        return self._ordered_keys[1] if len(self.bound) > 1 else None

    @cached_property
    def _is_apart(self) -> bool:
        """Whether the relation's own order is another."""
        in_order = self.relation.is_sorted and self.bound == tuple(range(len(self.bound)))
        return len(self.bound) > 0 and not in_order

    @cached_property
    def _ordered_keys(self) -> tuple[np.ndarray | None, Keys]:
        sizes = [max(1, self.relation.sizes[place]) for place in self.bound]
        keys = row_keys([self.relation.columns[place] for place in self.bound], sizes)
        if not self._is_apart:
            return None, keys
        order = stable_order(keys, math.prod(sizes))
        return order, keys[order]

    def is_read_through(self, matches: int) -> bool:
        """Whether :meth:`met` is faster for so many matches than sorting the rows.

        Rows that are sorted already, or few matches, make the index worthwhile, also for later questions.
        """
        return (
            self.is_unary
            and self._is_apart
            and "order" not in vars(self)
            and matches * MET >= self.relation.count
        )

    def met(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matches of ``keys`` values of the one bound column, by one scan of the relation.

        Each is a place in ``keys`` and a row with that value, in the order of the rows.
        """
        column, size = self._by_value
        starts = row_pointers(keys, size)
        rows, places = each_in(starts[column], starts[1:][column] - starts[column])
        return stable_order(keys, size)[places], rows

    def column(self, place: int) -> np.ndarray:
        """A column of the relation in this index's order."""
        return self.in_order(("column", place), self.relation.columns[place])

    def in_order(self, name: object, values: np.ndarray) -> np.ndarray:
        """An array over the relation's rows, put into this index's order and cached under a name."""
        if name not in self._kept:
            self._kept[name] = values if self.order is None else np.ascontiguousarray(values[self.order])
        return self._kept[name]

    def ranges(self, columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Start and number of the rows for each of ``count`` choices of the bound columns' values."""
        if not self.bound:
            return np.zeros(count, np.int64), np.full(count, self.relation.count)
        if self.keys is None:
            first = self.pointers[columns[0]]
            return first, self.pointers[columns[0] + 1] - first
        keys = row_keys(columns, [self.relation.sizes[place] for place in self.bound])
        if self._cases <= max(len(keys), len(self.keys)):
            first = self._key_pointers[keys]
            return first, self._key_pointers[keys + 1] - first
        runs = self._runs
        at = runs.find(keys)
        return runs.starts[at], runs.lengths[at]

    @cached_property
    def _runs(self) -> _Runs:
        assert self.keys is not None
        return _Runs.of(self.keys)

    @cached_property
    def _cases(self) -> float:
        """Number of possible keys; infinite where keys are no numbers."""
        sizes = [self.relation.sizes[place] for place in self.bound]
        return math.prod(max(1, size) for size in sizes) if fit(sizes) else math.inf

    @cached_property
    def _key_pointers(self) -> np.ndarray:
        """Start of the rows of each possible key; a search for many unsorted keys would miss the cache."""
        assert self.keys is not None
        return row_pointers(self.keys, int(self._cases))

    def entries(self, places: np.ndarray) -> np.ndarray:
        """The relation's row numbers at places of this index."""
        return places if self.order is None else self.order[places]

    @property
    def is_unary(self) -> bool:
        """Whether there is one bound column, so that kernels over compressed rows apply."""
        return len(self.bound) == 1


# The program


def rule_number(rule: Rule) -> float:
    """The stated weight of a rule; 1 for a weight that is to be learned."""
    assert rule.weight is not None
    return 1.0 if isinstance(rule.weight, Learned) else float(rule.weight)


_CONDITIONS = "--algebra probability conditions on it"


@dataclass(frozen=True, eq=False)
class HornProgram(ClauseSet):
    """Rules as clauses, and the facts; relations are built when first needed, and cached.

    ``choices``: each with the rules of its alternatives, which are among the rules; only probabilities draw
    them. Rules that compare totals are among them too, each with the rule that names what it counts.
    """

    signature: Signature
    facts: Facts
    clauses: Mapping[str, tuple[Clause, ...]]
    rules: tuple[Rule, ...] = ()
    weighted: tuple[Rule, ...] = ()
    choices: tuple[tuple[Choice | Rule, tuple[Rule, ...]], ...] = ()
    chances: tuple[float | str, ...] = ()
    of_choices: bool = False
    _relations: dict[str, IndexedFacts] = field(default_factory=dict, init=False, repr=False)
    _values: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        signature: Signature,
        facts: Facts,
        is_stated: Callable[[str], bool] | None = None,
        choices: Sequence[tuple[Choice | Rule, tuple[Rule, ...]]] = (),
    ) -> HornProgram:
        """Build a program; ``is_stated``: whether a predicate has facts, where these are not in memory.

        Raises ``LanguageError`` where a predicate depends on its own negation, or texts are ordered.
        """
        check_strata(rules)
        tables = facts.tables
        stated = is_stated or (lambda name: len(tables[name].true) or len(tables[name].soft))
        weighted: list[Rule] = []
        clauses: dict[str, list[Clause]] = {}
        for rule in rules:
            known = clauses.setdefault(rule.head.predicate, [])
            place = None if rule.weight is None else len(weighted)
            if rule.weight is not None:
                weighted.append(rule)
            clause = rule_clause(rule, signature, facts)
            if clause is not None:
                known.append(replace(clause, weight=place))
        for name, known in clauses.items():
            if stated(name):
                known.insert(0, stated_clause(name, signature))
        return cls(
            signature,
            facts,
            {name: tuple(known) for name, known in clauses.items()},
            tuple(rules),
            tuple(weighted),
            tuple(choices),
            tuple(map(rule_number, weighted)),
        )

    def with_facts(self, facts: Facts) -> HornProgram:
        """The program with other facts."""
        return HornProgram.of(self.rules, self.signature, facts, choices=self.choices)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Number of constants of each type."""
        return {name: len(domain) for name, domain in self.facts.domains.items()}

    def values(self, type_name: str) -> np.ndarray:
        """The constants of a type as an array, for comparisons."""
        if type_name not in self._values:
            self._values[type_name] = self.facts.domains[type_name].values.to_numpy(zero_copy_only=False)
        return self._values[type_name]

    def refuse_given(self, given: Sequence[FactRows], algebra: str) -> None:
        """Raise UnsupportedError if a condition is on a derived predicate.

        Sums over proofs cannot be conditioned on it.
        """
        for rows in given:
            if self.is_derived(rows.predicate):
                raise UnsupportedError(
                    f"rules derive {rows.predicate}, and --algebra {algebra} takes no evidence on what rules "
                    "derive",
                    span=rows.span,
                    hint=_CONDITIONS,
                )

    def column_types(self, predicate: str) -> tuple[str, ...]:
        return self.signature.predicates[predicate].column_types

    def relation(self, predicate: str) -> IndexedFacts:
        """The stated facts of a predicate."""
        if predicate not in self._relations:
            sizes = tuple(self.sizes[name] for name in self.column_types(predicate))
            arity = self.signature.predicates[predicate].arity
            return self._kept(predicate, IndexedFacts.of(self.facts.tables[predicate], sizes, arity))
        return self._relations[predicate]

    def standing(self, predicate: str, place: int) -> str:
        """The name of a relation of the constants in one argument of a predicate's facts, built if needed."""
        name = f"{predicate}`{place}"
        if name not in self._relations:
            relation = self.relation(predicate)
            constants = np.unique(relation.columns[place])
            self._kept(name, IndexedFacts((constants,), (relation.sizes[place],), len(constants)))
        return name

    def of_type(self, type_name: str) -> str:
        """The name of a relation of all constants of a type, built if needed."""
        name = f"`{type_name}"
        if name not in self._relations:
            size = self.sizes[type_name]
            self._kept(name, IndexedFacts((np.arange(size),), (size,), size))
        return name

    def _kept(self, name: str, relation: IndexedFacts) -> IndexedFacts:
        """Cache a relation; if several threads build one, the first stays, as its indexes may be in use."""
        return self._relations.setdefault(name, relation)

    def all_positive(self, but: Collection[str], rules: bool) -> bool:
        """Whether all weights are above 0: those of facts, ``but`` some predicates', and of ``rules``."""
        numbers = [rule.weight for rule in self.weighted if rules and not isinstance(rule.weight, Learned)]
        tables = [table for name, table in self.facts.tables.items() if name not in but]
        return all(number is None or number > 0 for number in numbers) and all(
            table.weights is None or not len(table.weights) or table.weights.min() > 0 for table in tables
        )


def denied_but_derived(predicate: str, values: tuple[Value, ...], algebra: str) -> UnsupportedError:
    """The error that an atom of a derived predicate is stated to be false."""
    return UnsupportedError(
        f"{show_atom(predicate, values)} is stated to be false, and rules derive it: --algebra {algebra} "
        "takes no evidence on what rules derive",
        hint=_CONDITIONS,
    )


def remaining_depth(left: int | None, height: int | None) -> int | None:
    """The calls left, or ``None`` where proofs of at most ``height`` nested calls always fit in them.

    Such a goal is the same at every depth, and is solved once.

    >>> remaining_depth(3, 2), remaining_depth(2, 2), remaining_depth(2, None), remaining_depth(None, 2)
    (None, 2, 2, None)
    """
    return None if left is None or (height is not None and left > height) else left
