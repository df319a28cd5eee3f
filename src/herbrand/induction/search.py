"""A search for clauses that describe labelled tuples in few bits.

Clauses grow by joins and tests from the empty body. A table of bindings shows at once what every further test
would leave of all examples; a beam of the best goes on, and whatever separates the examples goes into a pool.
From the pool a theory is chosen (:mod:`herbrand.induction.cover`). What the theory does not explain is looked
at again: first all that is left together, then one positive at a time; one that no clause explains is set
aside and met again with a wider beam. Clauses that cover too much are tried with exceptions, which become a
predicate of their own, learned in the same way and negated. Where several clauses are needed, the target may
stand in bodies; such a theory counts by its least fixpoint.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(4, {"edge": [(0, 1), (1, 2), (2, 3)]})])
>>> examples = Examples.of("two_steps", np.array([[0, 2], [1, 3]]), 2, database)
>>> [str(next(show_statement(clause.to_rule()))) for clause in search(examples, database).clauses]
['two_steps(x, y) :- edge(z, y), edge(x, z)']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.cover import Candidate, Errors, best_theory, description, exact_cover, union
from herbrand.induction.database import Database, Rows
from herbrand.induction.description import error_bits
from herbrand.induction.evaluation import Clause, Literal, covered, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.refinement import UNLINKED, Partial, links_head
from herbrand.induction.simpler import Guard, covering, guarded, guards, safe, simplified
from herbrand.induction.vocabulary import LITERAL, Join, Vocabulary
from herbrand.language.show import show_statement as show_statement

NOISE = 0.3
"""The share of labels that may be wrong where nothing else is given."""

MOST_ROWS = 40_000
"""Bindings of a body: a join that would make more is not taken."""

WORK = 200_000
"""Words of bits that a step of the search touches: a unit of work that no clock measures."""

PASSES = 3
"""How often positives that no clause explains are met, each time with a beam twice as wide."""

PATIENCE = 1
"""Levels without a better clause after which a beam ends that has found one without exceptions, and two more
otherwise; the next looks at what is left."""

ROUNDS = 4
"""How often negatives that the rules derive wrongly join a sample and the search goes on."""

SHORT = 3
"""Literals of the bodies that are looked at before exceptions and recursion: long bodies take most work."""

FIRST_SHARE, SHARE = 0.05, 0.25
"""Of the work that is left: for exceptions of one clause before all else, and for recursion and exceptions
of several clauses later."""

KEPT = 5
"""Clauses of one table of bindings that go into the pool, and that may go on."""

LEAST = 13.5
"""Bits of the shortest theory with an exception or with recursion: two clauses with three literals."""

FEWEST = 100
"""Negatives that join a sample at once, where there are so many."""

POOL = 4_000
TIES = 4
WORTHY = 0.8
"""A theory that takes more than this share of the bits of the bare labels is looked at again."""

WIDE = 10
"""Clauses with exceptions that are tried, at most; and clauses that join a recursive theory."""

STARTS = 12
"""Recursive clauses that are tried with each of a few clauses to begin with."""


@dataclass
class Effort:
    """Steps of work that were done, and may be."""

    done: float = 0
    most: float = 10_000


@dataclass(frozen=True)
class Limits:
    """``literals`` in a body, ``beam`` bodies that go on, ``clauses`` of a theory, ``sample`` examples of
    each kind that guide; ``exceptions`` to exceptions; ``noise``: the share of labels that may be wrong;
    ``recursive``: the target may stand in bodies; ``effort``: work that was done and may be, of this search
    alone where there is none; ``until``, a time of ``time.monotonic`` that ends the search between two steps.
    """

    literals: int = 7
    beam: int = 24
    clauses: int = 24
    sample: int = 1_500
    exceptions: int = 2
    noise: float = NOISE
    recursive: bool = True
    until: float | None = None
    effort: Effort | None = field(default=None, compare=False, repr=False)

    @property
    def work(self) -> Effort:
        assert self.effort is not None, "a search counts its work"
        return self.effort

    @property
    def over(self) -> bool:
        late = self.until is not None and time.monotonic() > self.until
        return late or self.work.done >= self.work.most


@dataclass(frozen=True)
class Found:
    """Clauses, those of invented predicates first. ``missed`` positives and ``wrong`` negatives remain.
    ``ties``: for a clause, others that cover the same examples in about as many bits."""

    clauses: tuple[Clause, ...]
    missed: int
    wrong: int
    ties: dict[Clause, tuple[Clause, ...]] = field(default_factory=dict)

    @property
    def literals(self) -> int:
        """The size of the rules, heads included."""
        return sum(1 + clause.literals for clause in self.clauses)


def search(
    examples: Examples,
    database: Database,
    limits: Limits | None = None,
    predicates: Sequence[str] | None = None,
    level: int = 0,
) -> Found:
    """Clauses for the positives, as far as the limits allow.

    ``predicates``: those that bodies may use, all others than the target by default.
    """
    limits = limits or Limits()
    limits = limits if limits.effort is not None else replace(limits, effort=Effort())
    database = database.without(examples.target)
    used = [p for p in predicates or database.tables if p != examples.target and p in database.tables]
    rng = np.random.default_rng(len(examples.rows))
    chosen = _sampled(examples.positive, limits.sample, rng)
    best: Found | None = None
    for _ in range(ROUNDS):
        learner = _Learner(examples.take(chosen), database, limits, used, level)
        theory = learner.learned()
        found = _finished(theory, examples, database)
        if best is None or found.missed + found.wrong < best.missed + best.wrong:
            best = found
        more = _wrongly(found, examples, database, chosen)
        if not len(more) or limits.over:
            break
        chosen = np.sort(np.concatenate([chosen, more[: max(limits.sample, FEWEST)]]))
    assert best is not None
    return best


def _sampled(positive: np.ndarray, most: int, rng: np.random.Generator) -> Rows:
    """Places of at most so many examples of each kind."""
    parts = []
    for kind in (positive, ~positive):
        places = np.flatnonzero(kind)
        parts.append(rng.choice(places, most, replace=False) if len(places) > most else places)
    return np.sort(np.concatenate(parts))


def _wrongly(found: Found, examples: Examples, database: Database, chosen: Rows) -> Rows:
    """Places of negatives outside the sample that the clauses derive."""
    if len(chosen) == len(examples.rows) or not found.wrong:
        return chosen[:0]
    wrong = covering(found.clauses, examples, evaluated(found.clauses, database)) & ~examples.positive
    wrong[chosen] = False
    return np.flatnonzero(wrong)


def _finished(theory: Sequence[Candidate], examples: Examples, database: Database) -> Found:
    """The theory as it is over all examples, each clause without what it does not need."""
    clauses: list[Clause] = []
    ties: dict[Clause, tuple[Clause, ...]] = {}
    for one in theory:
        clause = one.clause
        if not one.helpers and not _reads(clause, examples.target):
            clause = simplified(clause, examples, database)
        clauses += [helper for helper in one.helpers if helper not in clauses]
        if clause not in clauses:
            clauses.append(clause)
            ties[clause] = tuple(other for other in one.ties if other != clause)
    covers = covering(clauses, examples, evaluated(clauses, database))
    errors = Errors.of(covers, examples.positive)
    return Found(tuple(clauses), errors.missed, errors.wrong, {c: t for c, t in ties.items() if t})


def _reads(clause: Clause, predicate: str) -> bool:
    return any(literal.predicate == predicate for literal in clause.body)


@dataclass(frozen=True, eq=False)
class _Step:
    """A way on: a table of bindings by its beginning, a join, a test, or both; how good it looks."""

    start: Partial
    join: Join | None
    test: int | None
    scores: tuple[float, float]
    right: float
    cost: float
    alike: object

    def taken(self) -> Partial | None:
        grown = self.start if self.join is None else self.start.joined(self.join, MOST_ROWS)
        return grown if grown is None or self.test is None else grown.with_test(self.test)


class _Learner:
    """The pool of clauses for some examples, and the theory chosen from it."""

    def __init__(
        self, examples: Examples, database: Database, limits: Limits, predicates: Sequence[str], level: int
    ) -> None:
        self.examples, self.database, self.limits = examples, database, limits
        self.predicates, self.level = predicates, level
        self.positive = examples.positive
        self.pool: dict[bytes, list[tuple[float, Clause]]] = {}
        self.wide: dict[bytes, tuple[float, float, Clause]] = {}
        self.mended: list[Candidate] = []
        self.theory: list[Candidate] = []
        self._errors_now = self._errors()

    def learned(self) -> list[Candidate]:
        if not self.positive.any() or self.limits.over:
            return []
        root = Partial.root(self._vocabulary(None), self.examples.rows, self.examples.of_worlds)
        whole, self.limits = self.limits, replace(self.limits, literals=min(SHORT, self.limits.literals))
        self._explore(root, whole.beam, None, [])
        self.limits = whole
        self._choose()
        recursive: list[Candidate] | None = None
        if self.level < self.limits.exceptions and self._worth_more():
            with self._share(FIRST_SHARE):
                self._with_exceptions(1)
        if self.limits.recursive and self.level == 0 and self._worth_more():
            with self._share(SHARE):
                recursive = self._with_recursion()
            if recursive is not None and not self._fixpoint_errors(recursive).total:
                return recursive
        if self.limits.literals > SHORT and self._worth_more():
            self._explore(root, self.limits.beam, None, [])
            self._choose()
        self._explain(root, 0)
        if self.level < self.limits.exceptions and self._worth_more():
            with self._share(SHARE):
                self._with_exceptions(self.limits.clauses)
        for attempt in range(1, PASSES):
            if not self._over and not self._explained():
                self._explain(root, attempt)
        if self.level == 0:
            self._improve(root)
        if recursive is not None and self._length(recursive) < description(self.theory, self.positive):
            return recursive
        return self.theory

    @cached_property
    def _guards(self) -> list[list[Guard]]:
        return guards(self.examples, self.database, self.predicates)

    @property
    def _over(self) -> bool:
        return self.limits.over

    @contextmanager
    def _share(self, part: float) -> Iterator[None]:
        """A part of the work that is left, for what may lead nowhere."""
        whole = self.limits
        own = Effort(most=(whole.work.most - whole.work.done) * part)
        self.limits = replace(whole, effort=own)
        try:
            yield
        finally:
            self.limits = whole
            whole.work.done += own.done

    def _vocabulary(self, known: np.ndarray | None) -> Vocabulary:
        """With the target, where it is ``known`` to hold of some of the examples."""
        examples, database, names = self.examples, self.database, list(self.predicates)
        recursive = None if known is None else examples.target
        if known is not None:
            rows = examples.rows[known]
            database = database.with_table(examples.target, rows, rows.shape[1])
            names.append(examples.target)
        rows = examples.rows[:, :0] if examples.of_worlds else examples.rows
        return Vocabulary.of(database, names, rows, recursive)

    def _errors(self) -> Errors:
        return Errors.of(union(self.theory, len(self.positive)), self.positive)

    def _worth_more(self) -> bool:
        """True if some other theory may describe the examples in fewer bits than this one."""
        return (
            not self._over
            and description(self.theory, self.positive) > LEAST
            and (len(self.theory) > 2 or self._errors().total > 0)
        )

    # What is left, together and one by one

    def _explain(self, root: Partial, attempt: int) -> None:
        """Fill the pool until its best theory leaves nothing that a clause could explain."""
        for clean in (False, True):
            if not clean or self._errors().wrong:
                self._explain_rest(root, self.limits.beam << attempt, 6 * (attempt + 1), clean)

    def _explain_rest(self, root: Partial, width: int, most: int, clean: bool) -> None:
        """What the theory leaves, or with ``clean`` what clauses without exceptions leave: all of it at once,
        then positive by positive, of which ``most`` are set aside before it ends."""
        aside: set[int] = set()
        seed: int | None = None
        while not self._over and not self._explained():
            before = self._standing()
            own = self.theory
            if clean:
                own = exact_cover(self._candidates(), self.positive, self.limits.clauses)
            left = np.flatnonzero(self.positive & ~union(own, len(self.positive)))
            if seed is not None or not len(left):
                waiting = [int(place) for place in left if int(place) not in aside]
                if not waiting or len(aside) >= most:
                    return
                seed = waiting[0]
                aside.add(seed)
            self._explore(root, width if seed is None else max(width // 2, 4), seed, own)
            missed = len(left)
            self._choose()
            if clean:
                own = exact_cover(self._candidates(), self.positive, self.limits.clauses)
                better = int((self.positive & ~union(own, len(self.positive))).sum()) < missed
            else:
                better = self._better_than(before)
            if better:
                seed = None
                aside.clear()
            elif seed is None:
                seed = -1

    def _improve(self, root: Partial) -> None:
        """Look for other clauses as long as the theory hardly says less than the labels themselves: for each
        positive in turn, as if there were no theory."""
        nothing = description([], self.positive)
        width = self.limits.beam // 2
        for _ in range(PASSES):
            for seed in np.flatnonzero(self.positive):
                if self._over or description(self.theory, self.positive) < WORTHY * nothing:
                    return
                self._explore(root, width, int(seed), [])
                self._choose()
            width *= 2

    def _choose(self) -> None:
        self.theory = best_theory(self._candidates(), self.positive, self.limits.noise, self.limits.clauses)

    def _standing(self) -> tuple[int, float]:
        """Errors, and the length of the description."""
        return self._errors().total, description(self.theory, self.positive)

    def _better_than(self, before: tuple[int, float]) -> bool:
        errors, bits = self._standing()
        return bits < before[1] - 1e-9 or (not self.limits.noise and errors < before[0])

    def _explained(self) -> bool:
        """True if no clause that is left to be found can pay: the errors cost less than the shortest one."""
        errors = self._errors()
        if not self.limits.noise or not self.theory or not errors.within(self.limits.noise):
            return bool(self.theory) and not errors.missed and not errors.wrong
        return errors.bits - 1 < 2 * LITERAL

    def _candidates(self) -> list[Candidate]:
        """The pool with the shortest clause for each set of examples, others as ties."""
        found = []
        for key, clauses in self.pool.items():
            covers = np.unpackbits(np.frombuffer(key, np.uint8), count=len(self.positive)).astype(bool)
            bits, clause = clauses[0]
            ties = tuple(other for cost, other in clauses[1:] if cost <= bits + LITERAL)
            found.append(Candidate(clause, bits, covers, (), ties))
        return found + self.mended

    # A beam

    def _explore(self, root: Partial, width: int, seed: int | None, beside: Sequence[Candidate]) -> None:
        """One beam from the empty body, for what the clauses ``beside`` it leave; with a ``seed``, clauses
        that cover this positive."""
        done = union(beside, len(self.positive))
        weights = np.stack([self.positive & ~done, ~self.positive & ~done]).astype(np.float32)
        best = [0.0, 0.0]
        self._errors_now = Errors.of(done, self.positive)
        beam = [root]
        since, before = 0, 0.0
        while beam and not self._over and since <= PATIENCE + 2 * (best[1] < best[0]):
            steps: list[_Step] = []
            for partial in beam:
                steps += self._steps(partial, weights, seed, best)
                if self._over:
                    break
            since = since + 1 if before == best[0] > 0 else 0
            before = best[0]
            beam = [taken for step in self._chosen(steps, width, best[0], weights) if (taken := step.taken())]

    def _chosen(self, steps: list[_Step], width: int, best: float, weights: np.ndarray) -> list[_Step]:
        """The best by each measure in turn, of those that look alike the cheapest; a third goes to joins that
        no test followed yet: what they lead to is not to be seen in one step."""
        alive = [s for s in steps if self._potential(s, weights) > best]
        cheapest: dict[object, _Step] = {}
        for step in alive:
            other = cheapest.setdefault(step.alike, step)
            if step.cost < other.cost:
                cheapest[step.alike] = step
        found = list(cheapest.values())
        bare = [s for s in found if s.test is None]
        tested = [s for s in found if s.test is not None]
        rankings = [
            sorted(tested, key=lambda s: (-s.scores[0], s.cost)),
            sorted(tested, key=lambda s: (-s.scores[1], s.cost)),
            sorted(bare, key=lambda s: (-s.scores[0], s.cost)),
        ]
        chosen: dict[int, _Step] = {}
        for rank in range(max(map(len, rankings), default=0)):
            for ranking in rankings:
                if rank < len(ranking) and len(chosen) < width:
                    chosen[id(ranking[rank])] = ranking[rank]
        return list(chosen.values())

    def _potential(self, step: _Step, weights: np.ndarray) -> float:
        """The gain of the best clause that a step can lead to: all its positives, no negative, one more
        literal."""
        return float(self._gain(np.array(step.right), np.array(0.0), step.cost + LITERAL))

    def _gain(self, right: np.ndarray, wrong: np.ndarray, bits: np.ndarray | float) -> np.ndarray:
        """Bits that a clause saves beside the theory."""
        errors = self._errors_now
        covered = errors.covered + right + wrong
        missed = np.maximum(errors.missed - right, 0)
        after = error_bits(covered, errors.wrong + wrong, errors.examples - covered, missed)
        return errors.bits - after - bits

    def _steps(
        self, partial: Partial, weights: np.ndarray, seed: int | None, best: list[float]
    ) -> Iterator[_Step]:
        yield from self._tested(partial, None, partial, weights, seed, best)
        if partial.length >= self.limits.literals:
            return
        for join in partial.joins(self.examples.of_worlds):
            if self._over:
                return
            grown = partial.joined(join, MOST_ROWS)
            if grown is not None:
                yield from self._tested(partial, join, grown, weights, seed, best)

    def _tested(
        self,
        start: Partial,
        join: Join | None,
        partial: Partial,
        weights: np.ndarray,
        seed: int | None,
        best: list[float],
    ) -> Iterator[_Step]:
        """Every test of a table of bindings at once: clauses for the pool, and ways to go on."""
        self.limits.work.done += 1 + partial.bits.size / WORK
        examples = partial.covered()
        of_examples = weights[:, examples]
        whole = of_examples.sum(1)
        if not whole[0] or (seed is not None and not (examples == seed).any()):
            return
        if join is not None:
            gain = float(self._gain(whole[0], whole[1], partial.cost))
            self._keep(partial, np.ones(len(examples), bool), examples, whole, partial.cost, gain, best, seed)
            scores = self._scores(whole[:1], whole[1:])
            alike = (examples.tobytes(), partial.rows, None)
            yield _Step(start, join, None, (scores[0][0], scores[1][0]), whole[0], partial.cost, alike)
        if partial.length >= self.limits.literals:
            return
        left = partial.covered_with_each_test()
        right, wrong = of_examples @ left.astype(np.float32)
        possible = (right > 0) & np.isfinite(partial.costs)
        if seed is not None:
            possible &= left[np.flatnonzero(examples == seed)[0]] > 0
        places = np.flatnonzero(possible)
        if not len(places):
            return
        right, wrong = right[places], wrong[places]
        costs = partial.costs[places]
        gains = self._gain(right, wrong, costs)
        order = np.argsort(-gains, kind="stable")
        clean = order[wrong[order] == 0][:KEPT]
        for place in dict.fromkeys([*order[:KEPT].tolist(), *clean.tolist()]):
            counts = np.array([right[place], wrong[place]])
            cost = float(costs[place])
            taken = left[:, places[place]] > 0
            gain = float(gains[place])
            self._keep(partial, taken, examples, counts, cost, gain, best, seed, int(places[place]))
        scores = self._scores(right, wrong)
        ranked = [np.argsort(-(one - 0.01 * costs), kind="stable")[:KEPT].tolist() for one in scores]
        for place in dict.fromkeys(ranked[0] + ranked[1]):
            number = int(places[place])
            if not wrong[place]:
                continue  # nothing is left to distinguish: what is longer covers no more
            alike = (examples[left[:, number] > 0].tobytes(), partial.rows)
            both = (float(scores[0][place]), float(scores[1][place]))
            yield _Step(start, join, number, both, float(right[place]), float(costs[place]), alike)

    def _scores(self, right: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Information about the label gained over all covered positives, and precision by size."""
        prior = self.positive.mean()
        precision = (right + prior) / (right + wrong + 1)
        return right * np.log2(precision / prior), precision * np.log1p(right)

    def _keep(
        self,
        partial: Partial,
        taken: np.ndarray,
        examples: Rows,
        counts: np.ndarray,
        cost: float,
        gain: float,
        best: list[float],
        seed: int | None,
        test: int | None = None,
    ) -> None:
        """Put a clause into the pool if it may be of use."""
        few = seed is not None or counts[0] >= 0.1 * self._errors_now.missed
        useful = (counts[1] == 0 and (few or gain > 0)) or (gain > 0 and self.limits.noise > 0)
        wide = counts[1] > 0 and partial.length <= 2 and self.level < self.limits.exceptions
        if not useful and not wide:
            return
        covers = np.zeros(len(self.positive), bool)
        covers[examples[taken]] = True
        key = np.packbits(covers).tobytes()
        known = self.pool.get(key)
        if known is not None and len(known) >= TIES and known[-1][0] <= cost:
            return
        body = partial
        if test is not None:
            part = partial.tests[test]
            assert part is not None
            body = replace(partial, body=(*partial.body, part.literal))
        clause = body.clause(self.examples.target)
        if Literal(clause.head, clause.variables) in clause.body:
            return
        if not safe(clause):
            mended = guarded(clause, self._guards, covers)
            if mended is None:
                return
            cost += LITERAL * (len(mended.body) - len(clause.body))
            clause = mended
        cost += 0 if links_head(clause) else UNLINKED
        if wide:
            worth = float(self._gain(counts[0], np.array(0.0), cost + 2 * LITERAL))
            if worth > self.wide.get(key, (0.0,))[0]:
                self.wide[key] = (worth, cost, clause)
        if useful:
            best[0] = max(best[0], gain)
            best[1] = max(best[1], gain if counts[1] == 0 else 0.0)
            clauses = self.pool.setdefault(key, [])
            if all(clause != other for _, other in clauses):
                clauses.append((cost, clause))
                clauses.sort(key=lambda one: one[0])
                del clauses[TIES:]
            if len(self.pool) > POOL:
                self._shrink()

    def _shrink(self) -> None:
        """Half of the pool, by the bits that each clause would save alone."""
        nothing = Errors.of(np.zeros(len(self.positive), bool), self.positive)

        def worth(one: Candidate) -> float:
            return nothing.bits - Errors.of(one.covers, self.positive).bits - one.bits

        kept = sorted(self._candidates()[: len(self.pool)], key=worth, reverse=True)[: POOL // 2]
        needed = {np.packbits(one.covers).tobytes() for one in [*kept, *self.theory]}
        self.pool = {key: clauses for key, clauses in self.pool.items() if key in needed}

    # Exceptions

    def _with_exceptions(self, most: int) -> None:
        """Clauses that cover too much, each with the negation of a predicate that holds of its exceptions, by
        at most so many clauses."""
        enough = self.limits.work.most / (4 if most == 1 else 2)
        ranked = sorted(self.wide.items(), key=lambda one: (-one[1][0], one[1][1]))[:WIDE]
        for key, (_, bits, clause) in ranked:
            if self._over:
                break
            if description(self.theory, self.positive) < bits + 2 * LITERAL:
                continue
            covers = np.unpackbits(np.frombuffer(key, np.uint8), count=len(self.positive)).astype(bool)
            mended = self._mended(clause, bits, covers, enough)
            if mended is not None and len(mended.helpers) <= most:
                self.mended.append(mended)
                self._choose()

    def _mended(self, clause: Clause, bits: float, covers: np.ndarray, steps: float) -> Candidate | None:
        name = _fresh(self.examples.target, self.database)
        inner = replace(self.examples.take(covers), target=name, positive=~self.positive[covers])
        effort = self.limits.work
        share = Effort(most=min(steps, effort.most - effort.done))
        limits = replace(self.limits, beam=max(self.limits.beam // 3, 4), literals=6, effort=share)
        found = search(inner, self.database, limits, self.predicates, self.level + 1)
        effort.done += share.done
        if not found.clauses:
            return None
        database = evaluated(found.clauses, self.database)
        literal = Literal(name, clause.variables, True)
        whole = replace(clause, body=(*clause.body, literal))
        exact = covered(whole, database, self.examples.rows)
        cost = bits + sum(LITERAL * (1 + one.literals) for one in found.clauses)
        return Candidate(whole, cost, exact, found.clauses)

    # Recursion

    def _with_recursion(self) -> list[Candidate] | None:
        """A theory in which the target stands in bodies, if one describes the examples in fewer bits."""
        if self.examples.of_worlds:
            return None
        plain = [c for c in self._candidates() if not (c.covers & ~self.positive).any()]
        bases = _first(plain, 4, lambda c: c.bits) + _first(plain, 4, lambda c: -c.covers.sum() / c.bits)
        bases = list(dict.fromkeys(bases))
        best, least = None, description(self.theory, self.positive)

        def tried(start: list[Candidate], steps: Sequence[Candidate], width: int) -> None:
            nonlocal best, least
            if self._over or sum(one.bits for one in start) >= least:
                return
            theory = self._completed(start, plain, steps, width)
            bits = self._length(theory)
            if bits < least - 1e-9 and self._fixpoint_errors(theory).within(self.limits.noise):
                best, least = theory, bits

        width = self.limits.beam
        for base in bases[:2]:
            tried([base], [], max(width // 2, 4))
        steps = self._recursive_candidates(self.positive, [], max(width // 2, 4))
        pairs = [[base, step] for step in steps[:STARTS] for base in bases]
        pairs = [pair for pair in pairs if sum(one.bits for one in pair) < least and not self._over]
        for pair in sorted(pairs, key=self._length)[: STARTS // 2]:
            tried(pair, steps, width)
        for base in bases if best is None else ():
            tried([base], [], width)
        return best

    def _recursive_candidates(
        self, known: np.ndarray, beside: Sequence[Candidate], width: int
    ) -> list[Candidate]:
        """Clauses that read the target where it is ``known``, for what those ``beside`` them leave, the
        shortest descriptions first."""
        pool, self.pool = self.pool, {}
        root = Partial.root(self._vocabulary(known), self.examples.rows, False)
        whole, self.limits = self.limits, replace(self.limits, literals=min(SHORT, self.limits.literals))
        self._explore(root, width, None, beside)
        self.limits = whole
        found = [c for c in self._candidates() if _reads(c.clause, self.examples.target)]
        self.pool = pool
        done = union(beside, len(self.positive))
        return sorted(found, key=lambda one: one.bits + Errors.of(done | one.covers, self.positive).bits)

    def _length(self, theory: Sequence[Candidate]) -> float:
        """The description of the examples by the fixpoint of a theory."""
        return sum(one.bits for one in theory) + self._fixpoint_errors(theory).bits

    def _completed(
        self,
        theory: list[Candidate],
        plain: Sequence[Candidate],
        steps: Sequence[Candidate],
        width: int,
    ) -> list[Candidate]:
        """The theory with clauses for what its fixpoint misses, while each of them pays, and without those
        that do not pay any more. Where no ``steps`` are given, clauses that read the target are looked for
        among what the theory derives: none is then its own reason."""
        bits = self._length(theory)
        while len(theory) < self.limits.clauses and not self._over:
            covers = self._fixpoint(theory)
            left = self.positive & ~covers
            if not left.any() or (covers & ~self.positive).any():
                break
            whole = replace(theory[0], bits=0.0, covers=covers)
            others = steps or self._recursive_candidates(covers, [whole], width)
            right = [c for c in (*plain, *others) if not (c.covers & ~self.positive).any()]
            shares = {one: (one.covers & left).sum() / one.bits for one in right}
            right = sorted(right, key=shares.__getitem__, reverse=True)[:WIDE]
            if not right:
                break
            more = min(([*theory, one] for one in right), key=self._length)
            if self._length(more) >= bits:
                break
            theory, bits = more, self._length(more)
        for one in list(theory):
            rest = [other for other in theory if other is not one]
            if rest and self._length(rest) <= bits:
                theory, bits = rest, self._length(rest)
        return theory

    def _fixpoint(self, theory: Sequence[Candidate]) -> np.ndarray:
        clauses = [c for one in theory for c in (*one.helpers, one.clause)]
        self.limits.work.done += 2
        try:
            return covering(clauses, self.examples, evaluated(clauses, self.database))
        except BudgetError:
            return np.ones(len(self.positive), bool)

    def _fixpoint_errors(self, theory: Sequence[Candidate]) -> Errors:
        return Errors.of(self._fixpoint(theory), self.positive)


def _first(candidates: list[Candidate], count: int, key: Callable[[Candidate], float]) -> list[Candidate]:
    return sorted(candidates, key=key)[:count]


def _fresh(target: str, database: Database) -> str:
    number = 1
    while f"{target}_except_{number}" in database.tables:
        number += 1
    return f"{target}_except_{number}"
