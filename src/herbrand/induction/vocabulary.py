"""Vocabulary of clause bodies: tests of objects and of pairs of objects as bits, and joins.

Columns have kinds: two columns are of one kind if some object occurs in both. Only variables of fitting kinds
are compared or joined, so no test is tried that can hold of no object.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)], "red": [(2,)]})])
>>> vocabulary = Vocabulary.of(database, ["edge", "red"], np.array([[0], [1], [2]]))
>>> [part.literal.variables for part in vocabulary.tests_of(0, vocabulary.head[0])]
[(0,), (-1, 0), (0,)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from herbrand.graphs import Classes, reached
from herbrand.induction.database import Database, Rows
from herbrand.induction.evaluation import ANY, Condition, Literal
from herbrand.induction.order import order_of
from herbrand.language.formulas import ORDERS
from herbrand.row_keys import places_among

Bits = npt.NDArray[np.uint64]
"""Truth values of tests, ``[rows, words]``: 64 tests a word, the first in the lowest bit."""

FEW_CONSTANTS, MOST_CONSTANTS = 12, 24
"""Limits on the constants of a kind that are tested: all where there are at most ``FEW_CONSTANTS``; else the
``MOST_CONSTANTS`` most frequent of those that occur twice in a column, of kinds without an order that no
argument of the target has, since others name single objects. In a single world, those of the target's first
argument are never tested."""

MOST_THRESHOLDS = 16
"""Thresholds that are tried on a column of numbers; those of a rule are moved to where they fit best
(:mod:`herbrand.induction.thresholds`)."""

DENSE_PAIRS = 2**26
"""Pairs of objects up to which a binary predicate is looked up in a table of all of them."""

LITERAL, NEGATION, INEQUALITY = 2.5, 3.0, 2.0
"""Bits that a part of a clause costs. A literal costs less than its choice among all predicates would: it is
chosen among those that hold around an example. With these costs, six literals are worth about four errors in
sixty examples, as in the usual measure of one for each literal and each error."""


class Part(NamedTuple):
    """A literal or condition over bound variables, and the bits that it costs."""

    literal: Literal | Condition
    bits: float


Tests = list[tuple[Part, np.ndarray]]
"""Tests, and the rows or objects for which each holds."""


class Join(NamedTuple):
    """A literal that may bind new variables. ``variables``: for each argument a bound one, or ``None`` for a
    new one; if all are ``None``, any tuple of the same world matches. ``apart``: pairs of variables bound to
    different objects; new variables are numbered after the bound ones."""

    predicate: str
    variables: tuple[int | None, ...]
    apart: tuple[tuple[int, int], ...] = ()


def packed(columns: Sequence[np.ndarray], rows: int) -> Bits:
    """Pack truth values ``[rows]`` of many tests into bits."""
    bits = np.zeros((rows, 8 * -(-len(columns) // 64)), np.uint8)
    for start in range(0, len(columns), 8):  # whole columns at once: NumPy packs short rows one by one
        byte = np.zeros(rows, np.uint8)
        for place, truth in enumerate(columns[start : start + 8]):
            byte |= truth.view(np.uint8) << place
        bits[:, start // 8] = byte
    return bits.view(np.uint64)


def unpacked(bits: Bits) -> npt.NDArray[np.uint8]:
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tests and joins over the ``predicates`` of a database. ``kinds``: the kind of each column of a
    predicate, by its name and place; ``head``: of the target's arguments, of which ``examples`` are rows.
    ``recursive``: the target, where bodies may use it."""

    database: Database
    predicates: tuple[str, ...]
    kinds: dict[tuple[str, int], int]
    head: tuple[int, ...]
    examples: Rows
    recursive: str | None = None
    _tests: dict[tuple[int, int], list[Part]] = field(default_factory=dict, repr=False)
    _properties: dict[int, tuple[list[Part], Bits]] = field(default_factory=dict, repr=False)
    _pairs: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        database: Database,
        predicates: Sequence[str],
        examples: Rows,
        recursive: str | None = None,
        positive: npt.NDArray[np.bool_] | slice = slice(None),
    ) -> Vocabulary:
        """Build a vocabulary. ``examples``: rows of the target, whose columns have the kinds of the objects
        in ``positive`` ones: without declared types every object is a negative example. World numbers have
        none."""
        names = [name for name in predicates if len(database.tables[name])]
        columns: list[tuple[object, Rows]] = [
            ((name, place), np.unique(database.tables[name][:, place]))
            for name in names
            for place in range(database.arities[name])
        ]
        columns += [(place, np.unique(column)) for place, column in enumerate(examples[positive].T)]
        columns += database.numeric_types.items()  # numbers of one declared type are comparable
        classes, owner = Classes[int](), np.full(database.size, -1)
        for number, (_, objects) in enumerate(columns):
            for other in np.unique(owner[objects]):
                if other >= 0:
                    classes.join(number, int(other))
            owner[objects] = np.where(owner[objects] < 0, number, owner[objects])
        kinds = {key: classes.leader(number) for number, (key, _) in enumerate(columns)}
        head = tuple(kinds[place] for place in range(examples.shape[1]))
        of_columns = {key: kind for key, kind in kinds.items() if isinstance(key, tuple)}
        return cls(database, tuple(names), of_columns, head, examples, recursive)

    def objects_of(self, kind: int) -> Rows:
        """Objects that occur in some column of a kind, those of examples among them."""
        return self._objects[kind]

    @cached_property
    def _objects(self) -> dict[int, Rows]:
        columns = {kind: self._columns_of(kind) for kind in {*self.kinds.values(), *self.head}}
        for kind, column in zip(self.head, self.examples.T, strict=True):
            columns[kind].append(column)
        return {kind: np.unique(np.concatenate(own)) for kind, own in columns.items()}

    # Tests of one object

    def tests_of(self, variable: int, kind: int) -> list[Part]:
        """Tests of a single variable, in the order of the bits of :meth:`properties`."""
        key = (variable, kind)
        if key not in self._tests:
            self._tests[key] = [_about(test, variable) for test in self.properties(kind)[0]]
        return self._tests[key]

    def properties(self, kind: int) -> tuple[list[Part], Bits]:
        """Tests of variable 0, and their bits ``[objects, words]``; of tests that agree on all objects of the
        kind the cheapest, and none that always or never holds."""
        if kind not in self._properties:
            objects = self.objects_of(kind)
            tests, columns = [], []
            seen: set[bytes] = set()
            for test, holds in self._properties_by_cost(kind):
                truth = holds[objects]
                if truth.any() and not truth.all() and truth.tobytes() not in seen:
                    seen.add(truth.tobytes())
                    tests.append(test)
                    columns.append(holds)
            self._properties[kind] = tests, packed(columns, self.database.size)
        return self._properties[kind]

    def _properties_by_cost(self, kind: int) -> Tests:
        properties: Tests = []
        database = self.database
        for name in self.predicates:
            own = [self.kinds[name, place] for place in range(database.arities[name])]
            rows = database.tables[name]
            properties += self._absences(name, own, kind)
            if not own or set(own) != {kind} or len(own) > 2 or name == self.recursive:
                continue
            loops = rows if len(own) == 1 else rows[rows[:, 0] == rows[:, 1]]
            holds = np.zeros(database.size, bool)
            holds[loops[:, 0]] = True
            properties += self._both_signs(name, (0,) * len(own), holds)
        properties += self._constants(kind)
        return sorted(properties, key=lambda one: one[0].bits)

    def _absences(self, name: str, own: Sequence[int], kind: int) -> Tests:
        """Tests that an object occurs nowhere in a column, for each column of this kind."""
        absences: Tests = []
        for place, other in enumerate(own) if len(own) > 1 and name != self.recursive else ():
            if other == kind:
                variables = (*(ANY,) * place, 0, *(ANY,) * (len(own) - place - 1))
                holds = np.ones(self.database.size, bool)
                holds[self.database.tables[name][:, place]] = False
                absences.append((Part(Literal(name, variables, True), NEGATION), holds))
        return absences

    def _constants(self, kind: int) -> Tests:
        database, objects = self.database, self.objects_of(kind)
        labels = np.unique(database.labels[objects])
        labels = labels[labels >= 0]
        if not len(labels):
            return []
        values = {database.label(value): value for value in database.constants}
        cost = LITERAL + np.log2(len(labels))
        conditions = [
            (Part(Condition("=", 0, value=values[int(label)]), cost), database.labels == label)
            for label in self._frequent(kind, labels)
        ]
        of_number = {order_of(value): value for value in values.values()} if kind in self._numeric else {}
        for number in self._thresholds(kind) if of_number else ():
            for sign in (">=", "<="):
                holds = ORDERS[sign](database.numbers, number)
                conditions.append((Part(Condition(sign, 0, value=of_number[number]), cost), holds))
        return conditions

    def _frequent(self, kind: int, labels: Rows) -> Rows:
        """Numbers of the constants of a kind that are tested."""
        database = self.database
        if len(labels) <= FEW_CONSTANTS:
            subject = len(database.starts) == 2 and self.head[:1] == (kind,)
            return labels[:0] if subject else labels
        if kind in self.head or kind in self._numeric:
            return labels[:0]
        counts = np.zeros(int(labels.max()) + 1, np.int64)
        for column in self._columns_of(kind):  # a constant that each column has at most once names one object
            np.maximum(counts, np.bincount(database.labels[column], minlength=len(counts)), out=counts)
        most = labels[np.argsort(-counts[labels], kind="stable")[:MOST_CONSTANTS]]
        return most[counts[most] > 1]

    def _thresholds(self, kind: int) -> list[float]:
        """Distinct numbers at evenly spaced ranks in each column of a kind."""
        thresholds: set[float] = set()
        for column in self._columns_of(kind):
            numbers = np.unique(self.database.numbers[column])
            numbers = numbers[~np.isnan(numbers)]
            places = np.linspace(0, len(numbers) - 1, MOST_THRESHOLDS + 2).round().astype(int)[1:-1]
            thresholds |= set(numbers[places].tolist() if len(numbers) > 2 else ())
        return sorted(thresholds)

    def _columns_of(self, kind: int) -> list[Rows]:
        """Objects in each column of a kind, with repetition."""
        return [self.database.tables[name][:, place] for (name, place), k in self.kinds.items() if k == kind]

    # Tests of two objects, and of the world

    def pair_tests(
        self, variables: tuple[int, int], kinds: tuple[int, int], columns: tuple[Rows, Rows]
    ) -> Tests:
        """Tests of two variables, and the rows in which they hold."""
        (left, right), (one, other) = variables, columns
        tests: Tests = []
        if kinds[0] == kinds[1]:
            tests.append((Part(Condition("!=", left, right), INEQUALITY), one != other))
            numbers = self.database.numbers
            for sign in ("<", ">", "<=", ">=") if kinds[0] in self._numeric else ():
                holds = ORDERS[sign](numbers[one], numbers[other])
                tests.append((Part(Condition(sign, left, right), LITERAL), holds))
        for first, second in ((0, 1), (1, 0)):
            for name in self._binary.get((kinds[first], kinds[second]), ()):
                holds = self._true_of(name, columns[first], columns[second])
                tests += self._both_signs(name, (variables[first], variables[second]), holds)
        return tests

    def recurses_over(self, kind: int) -> bool:
        """Whether the target has one argument, of this kind, and bodies may use it."""
        name = self.recursive
        return name is not None and self.database.arities[name] == 1 and self.kinds.get((name, 0)) == kind

    def recursive_test(self, variable: int, objects: Rows, example: Rows) -> tuple[Part, np.ndarray]:
        """Test that the target, of one argument, holds of an object other than the example's."""
        assert self.recursive is not None
        holds = np.isin(objects, self.database.tables[self.recursive]) & (objects != example)
        return Part(Literal(self.recursive, (variable,)), LITERAL), holds

    def _both_signs(self, name: str, variables: tuple[int, ...], holds: np.ndarray) -> Tests:
        """Tests of a literal and its negation; for the target of the literal alone."""
        positive = Part(Literal(name, variables), LITERAL), holds
        if name == self.recursive:
            return [positive]
        return [positive, (Part(Literal(name, variables, True), NEGATION), ~holds)]

    @cached_property
    def _numeric(self) -> set[int]:
        """Kinds whose objects all have an order."""
        numbers = self.database.numbers
        return {kind for kind, own in self._objects.items() if len(own) and not np.isnan(numbers[own]).any()}

    @cached_property
    def _binary(self) -> dict[tuple[int, int], list[str]]:
        by_kinds: dict[tuple[int, int], list[str]] = {}
        for name in self.predicates:
            if self.database.arities[name] == 2:
                by_kinds.setdefault((self.kinds[name, 0], self.kinds[name, 1]), []).append(name)
        return by_kinds

    def _true_of(self, name: str, left: Rows, right: Rows) -> np.ndarray:
        size = self.database.size
        if name not in self._pairs:
            codes = np.unique(self.database.tables[name] @ np.array([size, 1]))
            if size * size <= DENSE_PAIRS:
                dense = np.zeros(size * size, bool)
                dense[codes] = True
                codes = dense
            self._pairs[name] = codes
        known, queried = self._pairs[name], left * size + right
        if known.dtype == bool:
            return known[queried]
        return places_among(known, queried) >= 0

    def world_tests(self, worlds: Rows) -> Tests:
        """Tests of predicates without arguments, and the rows in whose world they hold."""
        tests: Tests = []
        for name in self.predicates:
            if self.database.arities[name] == 0 and name != self.recursive:
                tests += self._both_signs(name, (), np.isin(worlds, self.database.tables[name][:, 0]))
        return tests

    # Joins

    def reached(self, spread: float) -> set[int]:
        """Kinds of variables that joins can bind from those of the head on, where each join makes at most
        ``spread`` bindings of one on average."""
        ways: dict[int, set[int]] = {}
        for name in self.predicates:
            rows, places = self.database.tables[name], range(self.database.arities[name])
            for place in places:
                if len(rows) <= spread * len(np.unique(rows[:, place])):
                    others = {self.kinds[name, other] for other in places if other != place}
                    ways.setdefault(self.kinds[name, place], set()).update(others)
        near = (other for kind in self.head for other in ways.get(kind, ()))
        return set(reached(near, lambda kind: ways.get(kind, ())))

    def joins(self, kinds: Sequence[int], of_worlds: bool) -> list[Join]:
        """Literals that bind more variables, given the kinds of those that are bound, and tests of three or
        more variables."""
        joins = []
        for name in self.predicates:
            arity = self.database.arities[name]
            options = [
                [None, *(v for v, kind in enumerate(kinds) if kind == self.kinds[name, place])]
                for place in range(arity)
            ]
            for variables in product(*options):
                bound = arity - variables.count(None)
                if (0 < bound < arity or bound == arity > 2) or (of_worlds and not bound and arity):
                    joins.append(Join(name, variables))
        return joins


def _about(test: Part, variable: int) -> Part:
    """Rewrite a test of variable 0 for another variable."""
    match test.literal:
        case Literal(variables=variables):
            places = tuple(v if v == ANY else variable for v in variables)
            return Part(replace(test.literal, variables=places), test.bits)
        case Condition():
            return Part(replace(test.literal, left=variable), test.bits)
