"""Refinement of clauses for all examples at once: bindings of a body as rows, further tests as bits.

Tests are not tried one by one: the bits of an example's rows are joined by `or`, which gives the examples
that the clause covers with each of the tests. Only the clauses that go on get rows, made from those of the
body that they extend.

>>> from herbrand.induction.database import Database, World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)], "red": [(2,)]})])
>>> examples = np.array([[0], [1], [2]])
>>> root = Partial.root(Vocabulary.of(database, ["edge", "red"], examples), examples, of_worlds=False)
>>> after = root.joined(Join("edge", (0, None)), most=100)
>>> red = [part and part.literal for part in after.tests].index(Literal("red", (1,)))
>>> after.with_test(red).covered().tolist()
[1]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.induction.database import Rows
from herbrand.induction.evaluation import Clause, Condition, Literal
from herbrand.induction.vocabulary import INEQUALITY, LITERAL, Bits, Join, Part, Vocabulary, packed, unpacked
from herbrand.row_keys import each_in

UNLINKED = 0.25
"""Extra bits of a body that does not link the variables of the head: all else equal, a body that links them
is more likely to be the reason."""


@dataclass(frozen=True, eq=False)
class Partial:
    """A partial clause with its bindings. ``kinds`` of its variables, those of the head first; ``columns``
    ``[variables, rows]``: the objects bound to them; ``origin``: the example of each row, in order; ``bits``
    ``[rows, words]``: which of ``tests`` (``None``: no test) hold."""

    vocabulary: Vocabulary
    body: tuple[Literal | Condition, ...]
    cost: float
    kinds: tuple[int, ...]
    columns: Rows
    origin: Rows
    worlds: Rows
    tests: tuple[Part | None, ...]
    bits: Bits

    @classmethod
    def root(cls, vocabulary: Vocabulary, examples: Rows, of_worlds: bool) -> Partial:
        """The empty body, with a row for each example."""
        rows = len(examples)
        columns = np.empty((0, rows), np.int64) if of_worlds else np.ascontiguousarray(examples.T)
        worlds = examples[:, 0] if of_worlds else vocabulary.database.world_of[examples[:, 0]]
        kinds = () if of_worlds else vocabulary.head
        empty = cls(vocabulary, (), LITERAL, (), columns[:0], np.arange(rows), worlds, (), packed([], rows))
        return empty._with_variables(kinds, columns, vocabulary.world_tests(worlds))

    @property
    def rows(self) -> int:
        return len(self.origin)

    @property
    def arity(self) -> int:
        return len(self.vocabulary.head) if self.kinds else 0

    @cached_property
    def _begins(self) -> Rows:
        """First row of each covered example."""
        return np.flatnonzero(np.diff(self.origin, prepend=-1))

    @property
    def length(self) -> int:
        """Number of literals and comparisons; a constant in place of a variable counts none."""
        return sum(isinstance(part, Literal) or not part.binds for part in self.body)

    @property
    def signature(self) -> tuple[str, ...]:
        """Predicates and operators of the body, sorted, whatever their variables."""
        return tuple(sorted(p.predicate if isinstance(p, Literal) else p.operator for p in self.body))

    @cached_property
    def costs(self) -> np.ndarray:
        """Bits of the clause with each test; infinite where there is no test."""
        return np.array([np.inf if test is None else self.cost + test.bits for test in self.tests])

    def covered(self) -> Rows:
        """The covered examples, which have a row."""
        return self.origin[self._begins]

    def covered_with_each_test(self) -> np.ndarray:
        """``[covered examples, tests]``: whether each example stays covered with each test. A test that holds
        in every row would change nothing; its column is 0."""
        if not self.rows or not self.bits.shape[1]:
            return np.zeros((len(self._begins), 64 * self.bits.shape[1]), np.uint8)
        some = np.bitwise_or.reduceat(self.bits, self._begins, axis=0)
        some &= ~np.bitwise_and.reduce(self.bits, axis=0)
        return unpacked(some)

    def with_test(self, number: int) -> Partial:
        """Add a test to the body, and keep the rows in which it holds."""
        test = self.tests[number]
        assert test is not None
        word, bit = divmod(number, 64)
        kept = np.flatnonzero((self.bits[:, word] >> np.uint64(bit)) & np.uint64(1))
        return replace(
            self,
            body=(*self.body, test.literal),
            cost=self.cost + test.bits,
            columns=self.columns[:, kept],
            origin=self.origin[kept],
            worlds=self.worlds[kept],
            bits=self.bits[kept],
        )

    def joins(self, of_worlds: bool) -> Iterator[Join]:
        """Every literal that may bind new variables. One that differs from a literal of the body only in its
        new variable also comes with the condition that the objects differ, since the same object would add
        nothing."""
        for join in self.vocabulary.joins(self.kinds, of_worlds):
            yield join
            if join.variables.count(None) == 1:
                place, fresh = join.variables.index(None), len(self.kinds)
                alike = [part for part in self.body if _differs_only_at(part, join, place)]
                if alike:
                    yield join._replace(apart=tuple((part.variables[place], fresh) for part in alike))

    def joined(self, join: Join, most: int) -> Partial | None:
        """Add a literal to the body, and every binding of its variables to the rows; ``None`` if there would
        be none or more than ``most``, or if a single new variable always equals another one."""
        bound = [(place, v) for place, v in enumerate(join.variables) if v is not None]
        keys, table, offsets = self._entry(join, bound)
        counts = offsets[keys + 1] - offsets[keys]
        total = int(counts.sum())
        if not 0 < total <= most:
            return None
        repeated, places = each_in(offsets[keys], counts)
        rows, columns = table[:, places], self.columns[:, repeated]
        new = [place for place, v in enumerate(join.variables) if v is None]
        agree = np.ones(total, bool)
        for known, _ in join.apart:
            agree &= rows[new[0]] != columns[known]
        for place, variable in bound if len(bound) > 1 else ():
            agree &= rows[place] == columns[variable]
        if join.predicate == self.vocabulary.recursive:  # no example may be derived from itself
            agree &= (columns[: self.arity] != rows).any(0)
        if not agree.all():
            rows, columns, repeated = rows[:, agree], columns[:, agree], repeated[agree]
        if not len(repeated):
            return None
        if len(new) == 1 and (rows[new[0]] == columns).all(1).any():
            return None
        fresh = iter(range(len(self.kinds), len(self.kinds) + len(join.variables)))
        places = tuple(next(fresh) if v is None else v for v in join.variables)
        unequal = [Condition("!=", *pair) for pair in join.apart]
        grown = replace(
            self,
            body=(*self.body, Literal(join.predicate, places), *unequal),
            cost=self.cost + LITERAL + INEQUALITY * len(unequal),
            columns=columns,
            origin=self.origin[repeated],
            worlds=self.worlds[repeated],
            bits=self.bits[repeated],
        )
        kinds = tuple(self.vocabulary.kinds[join.predicate, place] for place in new)
        return grown._with_variables(kinds, rows[new])

    def _entry(self, join: Join, bound: list[tuple[int, int]]) -> tuple[Rows, Rows, Rows]:
        """Keys, sorted table and offsets that a join looks rows up by: by the bound argument that leaves
        fewest rows, or by world if none is bound."""
        database = self.vocabulary.database
        entries = []
        for place, variable in bound:
            table, offsets = database.by_column(join.predicate, place)
            keys = self.columns[variable]
            entries.append((int((offsets[keys + 1] - offsets[keys]).sum()), place, keys, table, offsets))
        if not entries:
            return (self.worlds, *database.by_world(join.predicate))
        return min(entries, key=lambda one: one[:2])[2:]

    def _with_variables(
        self, kinds: tuple[int, ...], columns: Rows, more: Sequence[tuple[Part, np.ndarray]] = ()
    ) -> Partial:
        """The same rows with further variables, their tests, tests of each of them with another variable, and
        ``more``."""
        recursive = self.vocabulary.recursive
        tests: list[Part | None] = list(self.tests)
        words = [self.bits]
        every, known = np.concatenate([self.columns, columns]), (*self.kinds, *kinds)
        paired = [*more]
        for variable in range(len(self.kinds), len(known)):
            of_kind = self.vocabulary.tests_of(variable, known[variable])
            bits = self.vocabulary.properties(known[variable])[1]
            if bits.shape[1]:
                tests += [*of_kind, *[None] * (64 * bits.shape[1] - len(of_kind))]
                words.append(bits[every[variable]])
            if self.vocabulary.recurses_over(known[variable]) and variable:
                paired.append(self.vocabulary.recursive_test(variable, every[variable], every[0]))
            for other in range(variable):
                for part, truth in self.vocabulary.pair_tests(
                    (other, variable), (known[other], known[variable]), (every[other], every[variable])
                ):
                    own = _is_head(part.literal, recursive, every)
                    paired.append((part, truth if own is None else truth & ~own))
        if paired:
            words.append(packed([truth for _, truth in paired], self.rows))
            tests += [part for part, _ in paired]
            tests += [None] * (64 * words[-1].shape[1] - len(paired))
        return replace(
            self, kinds=known, columns=every, tests=tuple(tests), bits=np.concatenate(words, axis=1)
        )

    # As a clause

    def clause(self, head: str) -> Clause:
        """The clause so far, for the predicate ``head``."""
        unequal = [part for part in self.body if isinstance(part, Condition) and part.operator == "!="]
        return Clause(
            head,
            tuple(range(self.arity)),
            tuple(dict.fromkeys(part for part in self.body if isinstance(part, Literal))),
            tuple((part.left, part.right) for part in unequal if part.right is not None),
            tuple(part for part in self.body if isinstance(part, Condition) and part not in unequal),
        )


def _differs_only_at(part: Literal | Condition, join: Join, place: int) -> bool:
    if not isinstance(part, Literal) or part.predicate != join.predicate or part.negated:
        return False
    return all(v is None or v == part.variables[n] for n, v in enumerate(join.variables))


def _is_head(part: Literal | Condition, recursive: str | None, columns: Rows) -> np.ndarray | None:
    """Whether a literal of the target is the example itself, which explains nothing, in each row; ``None``
    for another literal."""
    if not isinstance(part, Literal) or part.predicate != recursive:
        return None
    return np.logical_and.reduce([columns[v] == columns[n] for n, v in enumerate(part.variables)])


def links_head(clause: Clause) -> bool:
    """Whether positive literals lead from each variable of the head to every other."""
    if not clause.variables:
        return True
    reached = {clause.variables[0]}
    for _ in clause.body:
        for literal in clause.body:
            if reached & set(literal.variables) and not literal.negated:
                reached |= set(literal.variables)
    return set(clause.variables) <= reached
