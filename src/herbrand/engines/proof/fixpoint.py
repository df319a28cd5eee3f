"""All answers of a predicate, at any depth: semi-naive evaluation from the question on.

Every predicate and mode that is called is an owner of questions and answers. A clause with a call in its
middle keeps its rows waiting there; a new answer of the owner is joined with all waiting rows, and a new
waiting row with all answers so far. So each pair of a row and an answer is joined exactly once, which makes
sums correct, and not only sets. A call at the end of a clause is run in its caller's place, so that
reachability from one constant never becomes reachability between all.

Each round adds a delta to the rows. In the real algebra it is the increments, in algebras that keep the
better value it is the rows that improve. A row that an increment leaves unchanged, to the last bit, is
settled.

>>> from herbrand.engines.proof.arithmetic import Numbers
>>> rows = FixpointRows(("", "x"), [2, 3], Numbers.of("max_product"), 10**6)
>>> def row(x, value): return Table(("", "x"), (np.array([0]), np.array([x])), np.array([value]))
>>> len(rows.add(row(1, 0.5))), len(rows.add(row(1, 0.4))), rows.add(row(1, 0.7)).values.tolist()
(1, 0, [0.7])
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.proof.arithmetic import Arithmetic, Numbers
from herbrand.engines.proof.plan import Ask, ClausePlan, Mode
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.steps import Complete, Runner, inputs_named, newly_asked, outputs_named
from herbrand.engines.proof.table import Answers, Questions, State, Table, grouped, merged, without_zeros
from herbrand.row_keys import Keys, fit, key_columns, places_among, row_keys

SAME = 1e-12
"""Relative difference of weights up to which they count as equal, but for rounding."""
DENSE_BYTES = 2**28
"""Most memory of one dense array of rows."""
FLOAT = 8


class FixpointRows:
    """The rows found so far with their values: a dense array over all possible rows if it is small enough.

    Else a sorted list of the rows' keys. In the array the algebra's zero means no row. The first column may
    outgrow its size.
    """

    def __init__(
        self, names: tuple[str, ...], sizes: Sequence[int], arithmetic: Arithmetic, memory: int
    ) -> None:
        self.names, self._sizes, self._arithmetic = names, list(sizes), arithmetic
        self._zero = arithmetic.algebra.zero
        self._limit = min(DENSE_BYTES, memory // 8)
        self._width = int(np.prod([max(1, size) for size in sizes[1:]], dtype=np.float64))
        self._dense: np.ndarray | None = None
        self._keys: Keys = row_keys([np.empty(0, np.int64) for _ in sizes], sizes)
        self._values = np.empty(0)
        self._table: Table | None = None
        self._grow(max(1, sizes[0]))

    def __len__(self) -> int:
        return len(self._keys) if self._dense is None else int(np.count_nonzero(self._dense != self._zero))

    @np.errstate(over="ignore", invalid="ignore")  # overflow is reported when answers are read
    def add(self, table: Table) -> Table:
        """Add a table; return the delta: rows that are new or change, with their increment or new value."""
        if not len(table):
            return table
        self._grow(int(table.columns[0].max()) + 1)
        new = grouped(table, self.names, self._sizes, self._arithmetic)
        keys = row_keys(new.columns, self._sizes)
        old = self._known(keys)
        after = self._arithmetic.algebra.pair(old, new.values)
        moved = np.flatnonzero(after != old)
        if not len(moved):
            return new.take(moved, self._arithmetic)
        self._table = None
        self._put(keys[moved], after[moved])
        return new.take(moved, self._arithmetic)

    @property
    def table(self) -> Table:
        """All rows, sorted."""
        if self._table is None:
            keys = self._keys if self._dense is None else np.flatnonzero(self._dense != self._zero)
            values = self._values if self._dense is None else self._dense[keys]
            self._table = Table(self.names, tuple(key_columns(keys, self._sizes)), values)
        return self._table

    def _grow(self, rows: int) -> None:
        before, self._sizes[0] = list(self._sizes), max(self._sizes[0], rows)
        places = self._sizes[0] * self._width
        if self._dense is not None and places <= len(self._dense):
            return
        if places * FLOAT <= self._limit and (self._dense is not None or not len(self._keys)):
            dense = np.full(min(2 * places, self._limit // FLOAT), float(self._zero))
            if self._dense is not None:
                dense[: len(self._dense)] = self._dense
            self._dense = dense
        elif self._dense is not None:
            self._keys = np.flatnonzero(self._dense != self._zero)
            self._values = self._dense[self._keys]
            self._dense = None
        if fit(before) and not fit(self._sizes):  # keys become bytes instead of integers
            self._keys = row_keys(key_columns(self._keys, before), self._sizes)

    def _known(self, keys: Keys) -> np.ndarray:
        """The value of each key's row, zero for rows that do not exist."""
        if self._dense is not None:
            return self._dense[keys]
        return np.append(self._values, self._zero)[places_among(self._keys, keys)]

    def _put(self, keys: Keys, values: np.ndarray) -> None:
        if self._dense is not None:
            self._dense[keys] = values
            return
        at = places_among(self._keys, keys)
        known = at >= 0
        self._values[at[known]] = values[known]
        if not known.all():
            merged = np.concatenate([self._keys, keys[~known]])
            order = np.argsort(merged, kind="stable")
            self._keys = merged[order]
            self._values = np.concatenate([self._values, values[~known]])[order]


MOST_ROUNDS = 1000
"""Most rounds without a new row: sums whose terms shrink by at least 3 % a round converge in them."""


@dataclass(eq=False)
class Patience:
    """The limit of rounds of a fixpoint.

    Best proofs without a cycle are no deeper than the number of rows; sums have ``MOST_ROUNDS`` after the
    last new row.
    """

    idempotent: bool
    _rows: int = 0
    _grown: int = 0

    def is_over(self, rounds: int, rows: int) -> bool:
        """Whether the limit is exceeded after ``rounds``, with ``rows`` so far."""
        if self.idempotent:
            return rounds > rows + 2
        if rows > self._rows:
            self._rows, self._grown = rows, rounds
        return rounds > self._grown + MOST_ROUNDS


def advice_without_end(algebra: str) -> str:
    """Advice for an evaluation whose rounds did not converge."""
    if algebra == "max":
        return "a cycle of rules multiplies to more than 1, so there is no best proof; give a depth"
    return "the sum over all proofs grows without end or too slowly; give a depth"


Place = tuple[str, Mode]


@dataclass(eq=False)
class _Owner:
    """A predicate in a mode: its questions, its answers so far, and the sites that wait for more.

    ``reached`` has the frontiers run for it so far, also those of predicates that answer in its place;
    ``new_answers`` are answers not yet added.
    """

    place: Place
    questions: Questions
    answers: FixpointRows
    reached: dict[Place, FixpointRows] = field(default_factory=dict)
    waiting: list[_Site] = field(default_factory=list)
    new_answers: list[Table] = field(default_factory=list)


@dataclass(eq=False)
class _Site:
    """A call in the middle of a clause, and the ``rows`` that wait there for its answers."""

    owner: _Owner
    plan: ClausePlan
    position: int
    rows: FixpointRows


class Fixpoint:
    """A semi-naive evaluation, continued by each question.

    ``converged`` is False if sums were still growing when the limit of rounds was reached, or overflowed.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._plans, self._arithmetic = runner.plans, runner.arithmetic
        self._owners: dict[Place, _Owner] = {}
        self._sites: dict[tuple[int, int, int], _Site] = {}
        self._frontiers: dict[tuple[int, Place], tuple[_Owner, list[State]]] = {}
        self.converged = True
        self.rounds = 0
        self._patience = Patience(self._arithmetic.algebra.idempotent)

    def answers(self, predicate: str, mode: Mode, columns: list[np.ndarray]) -> Answers:
        """Evaluate rounds until nothing changes; return the answers to each distinct row of inputs."""
        owner = self._owner((predicate, mode))
        self._ask(owner, columns)
        while self._frontiers or any(other.new_answers for other in self._owners.values()):
            self.rounds += 1
            self._runner.budget.check()
            if self._is_hopeless():
                self.converged = False
                self._frontiers.clear()
                break
            self._run_frontiers()
            self._propagate_new_answers()
        nonzero = without_zeros(owner.answers.table, self._arithmetic)
        self.converged &= bool(np.isfinite(nonzero.values).all())
        return Answers(owner.questions, nonzero)

    def _is_hopeless(self) -> bool:
        """Whether the rounds do not converge; checked every 64 rounds, as it scans all values."""
        return self.rounds % 64 == 0 and (
            not all(np.isfinite(owner.answers.table.values).all() for owner in self._owners.values())
            or self._patience.is_over(self.rounds, self._row_count())
        )

    def _row_count(self) -> int:
        owners = self._owners.values()
        return sum(len(rows) for owner in owners for rows in (owner.answers, *owner.reached.values()))

    def _owner(self, place: Place) -> _Owner:
        if place not in self._owners:
            free = self._plans.output_sizes(*place)
            self._owners[place] = _Owner(
                place,
                Questions(self._plans.input_sizes(*place)),
                self._accumulated(outputs_named(len(free)), [1, *free]),
            )
        return self._owners[place]

    def _accumulated(self, names: tuple[str, ...], sizes: list[int]) -> FixpointRows:
        return FixpointRows(names, sizes, self._arithmetic, self._runner.budget.bytes)

    def _ask(self, owner: _Owner, columns: list[np.ndarray]) -> None:
        """Start a frontier for each new question."""
        frontier = newly_asked(owner.questions, owner.place[1], columns, self._arithmetic)
        if frontier is not None:
            self._reach(owner, owner.place, frontier)

    def _reach(self, owner: _Owner, place: Place, frontier: State) -> None:
        """Add a frontier for the next round, as a table: a grid has a fixed number of questions."""
        self._frontiers.setdefault((id(owner), place), (owner, []))[1].append(frontier.sparse())

    def _run_frontiers(self) -> None:
        """Run each predicate's clauses on the frontiers that are new since the last round."""
        taken, self._frontiers = self._frontiers, {}
        for (_, place), (owner, states) in taken.items():
            sizes_in = [len(owner.questions), *self._plans.input_sizes(*place)]
            names = inputs_named(place[1])
            if place not in owner.reached:
                owner.reached[place] = self._accumulated(names, sizes_in)
            new = owner.reached[place].add(self._merged(states, names, sizes_in))
            if len(new):
                for plan in self._plans.plan(*place).clauses:
                    self._go_on(owner, plan, 0, self._runner.started(plan, new, len(owner.questions)))

    def _merged(self, states: Sequence[State], names: tuple[str, ...], sizes: Sequence[int]) -> Table:
        return merged(states, names, sizes, self._arithmetic, self._runner.check_size).sparse()

    def _propagate_new_answers(self) -> None:
        """Add each owner's new answers and join them with the rows that wait for them."""
        for owner in list(self._owners.values()):
            if not owner.new_answers:
                continue
            free = self._plans.output_sizes(*owner.place)
            new_answers, owner.new_answers = owner.new_answers, []
            more = self._merged(new_answers, outputs_named(len(free)), [len(owner.questions), *free])
            new = owner.answers.add(more)
            if not len(new):
                continue
            self._runner.check_size(len(owner.answers), len(new.names) + 1)
            answers = Answers(owner.questions, new)
            for site, rows in [(site, site.rows.table) for site in owner.waiting]:
                self._continue(site, rows, answers)

    def _go_on(self, owner: _Owner, plan: ClausePlan, position: int, state: State) -> None:
        """Run a clause until it ends, reaches a call at its end, or waits for answers."""
        rows = len(owner.questions)
        position, state = self._runner.advance(plan, position, state, rows)
        if not state:
            return
        if position == len(plan.steps):
            owner.new_answers.append(self._runner.finished(plan, state, rows).sparse())
            return
        step = plan.steps[position]
        assert isinstance(step, Ask)
        if step is plan.tail:  # the predicate called at the end of a clause answers for this owner
            passed = self._runner.weighed(plan, self._runner.passed(step, state))
            self._reach(owner, (step.predicate, step.bound), passed)
        else:
            self._wait(owner, plan, position, step, state.sparse())

    def _wait(self, owner: _Owner, plan: ClausePlan, position: int, step: Ask, table: Table) -> None:
        callee = self._owner((step.predicate, step.bound))
        site = self._site(owner, plan, position, callee, table.names)
        new = site.rows.add(table)
        if not len(new):
            return
        self._ask(callee, [new.column(name) for name in step.inputs])
        self._continue(site, new, Answers(callee.questions, callee.answers.table))

    def _site(
        self, owner: _Owner, plan: ClausePlan, position: int, callee: _Owner, names: tuple[str, ...]
    ) -> _Site:
        key = (id(owner), id(plan), position)
        if key not in self._sites:
            sizes = self._runner.sizes(names, plan, max(1, len(owner.questions)))
            self._sites[key] = _Site(owner, plan, position, self._accumulated(names, sizes))
            callee.waiting.append(self._sites[key])
        return self._sites[key]

    def _continue(self, site: _Site, rows: Table, answers: Answers) -> None:
        step = site.plan.steps[site.position]
        assert isinstance(step, Ask)
        joined = self._runner.with_answers(step, site.plan, rows, answers, len(site.owner.questions))
        if len(joined):
            self._go_on(site.owner, site.plan, site.position + 1, joined)


@dataclass(eq=False)
class Provable:
    """The provable atoms at any depth, cached for a whole evaluation.

    ``not`` before a derived predicate means that its boolean fixpoint lacks the atom.
    """

    plans: Plans
    budget: Budget

    def __call__(self, predicate: str, mode: Mode, columns: list[np.ndarray]) -> Answers:
        return self._fixpoint.answers(predicate, mode, columns)

    @cached_property
    def _fixpoint(self) -> Fixpoint:
        # weak, as a reference cycle would keep all facts in memory until the next garbage collection
        own = cast(Complete, weakref.proxy(self))
        return Fixpoint(Runner(self.plans, Numbers.of("boolean"), self.budget, own))
