"""Beam search over bodies that grow by joins and tests; useful clauses go into a pool.

A table of bindings (:mod:`herbrand.induction.refinement`) shows at once which examples each further test
would leave. The best bodies by each of several measures go on, until they cover no negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from math import inf

import numpy as np

from herbrand.induction.cover import Candidate, Errors, union
from herbrand.induction.database import Database, Rows
from herbrand.induction.evaluation import Literal
from herbrand.induction.examples import Examples
from herbrand.induction.limits import Limits
from herbrand.induction.pool import Pool
from herbrand.induction.refinement import UNLINKED, Partial, links_head
from herbrand.induction.simpler import Guard, guarded, guards, safe
from herbrand.induction.vocabulary import LITERAL, Join, Vocabulary

MOST_ROWS = 40_000
"""Most bindings of a body; a join that would make more is skipped."""

WORK = 200_000
"""Words of bits in a step of work (see :class:`~herbrand.induction.limits.Effort`), which no clock
measures."""

PATIENCE = 1
"""Levels without a better clause that a beam goes on for; two more while the best clause covers negatives."""

KEPT = 5
"""Clauses of one table of bindings that go into the pool, and least number that may go on. With few tables in
the beam, as many go on as it has room for: two tests that tell nothing alone may do so together, which
neither shows."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Input of a search: ``examples``, and the ``predicates`` of a ``database`` that bodies may use;
    ``excepted``: whether clauses that cover negatives are of use too, since their exceptions may be
    learned."""

    examples: Examples
    database: Database
    predicates: tuple[str, ...]
    excepted: bool

    @cached_property
    def guards(self) -> list[list[Guard]]:
        """Literals that could bind each variable of the head."""
        return guards(self.examples, self.database, self.predicates)

    def root(self, known: np.ndarray | None = None) -> Partial:
        """The empty body. If ``known`` is given, bodies may contain the target, which is true of these
        examples."""
        examples, database, names = self.examples, self.database, self.predicates
        recursive = None if known is None else examples.target
        if known is not None:
            rows = examples.rows[known]
            database = database.with_table(examples.target, rows, rows.shape[1])
            names = (*names, examples.target)
        rows = examples.rows[:, :0] if examples.of_worlds else examples.rows
        return Partial.root(
            Vocabulary.of(database, names, rows, recursive, examples.positive),
            examples.rows,
            examples.of_worlds,
        )


@dataclass(frozen=True, eq=False)
class Aim:
    """Aim of a beam: clauses that cover many positives and few negatives beside a theory, which makes
    ``errors`` already. ``weights`` ``[2, examples]``: positives and negatives that it does not cover;
    ``seed``: a positive that must be covered; ``enough``: bits from which on a clause is of no use."""

    weights: np.ndarray
    errors: Errors
    seed: int | None = None
    enough: float = inf

    @classmethod
    def beside(
        cls, theory: Sequence[Candidate], positive: np.ndarray, seed: int | None = None, enough: float = inf
    ) -> Aim:
        done = union(theory, len(positive))
        weights = np.stack([positive & ~done, ~positive & ~done]).astype(np.float32)
        return cls(weights, Errors.of(done, positive), seed, enough)


@dataclass(frozen=True, eq=False)
class _Step:
    """An extension of the body ``start`` by a join, a test, or both. ``scores``: by each measure;
    ``potential``: bits saved by the best clause that it can lead to, with all its positives, no negative and
    one more literal; ``alike``: key that extensions with the same effect share."""

    start: Partial
    join: Join | None
    test: int | None
    scores: tuple[float, float]
    potential: float
    cost: float
    alike: object

    def taken(self) -> Partial | None:
        grown = self.start if self.join is None else self.start.joined(self.join, MOST_ROWS)
        return grown if grown is None or self.test is None else grown.with_test(self.test)


@dataclass
class Beam:
    """A beam search that fills a pool. ``gain``: bits that the best clause so far saves; ``clean_gain``: the
    best one that covers no negative; ``whole``: bits of the shortest that leaves no errors."""

    setting: Setting
    aim: Aim
    limits: Limits
    pool: Pool
    gain: float = 0.0
    clean_gain: float = 0.0
    whole: float = inf

    def run(self, root: Partial) -> None:
        """Fill the pool by the search, or by its record in the journal."""
        journal, effort = self.limits.journal, self.limits.effort
        if journal is None:
            self._explore(root)
            return
        begun = effort.account
        known = journal.taken(begun)
        if known is not None:
            self.pool.change(known["pool"])
            effort.set_account(known["account"])
            return
        before = self.pool.copy()
        self._explore(root)
        if not self.limits.late:
            journal.add(begun, {"account": effort.account, "pool": self.pool.changes(before)})

    def _explore(self, root: Partial) -> None:
        beam, since, before = [root], 0, 0.0
        while beam and not self.limits.over and since <= PATIENCE + 2 * (self.clean_gain < self.gain):
            kept = max(KEPT, self.limits.beam // len(beam))
            steps = [step for partial in beam for step in self._steps(partial, kept)]
            since = since + 1 if before == self.gain > 0 else 0
            before = self.gain
            beam = [taken for step in self._chosen(steps) if (taken := step.taken())]

    def _steps(self, partial: Partial, kept: int) -> Iterator[_Step]:
        if self.limits.over:
            return
        yield from self._tested(partial, None, partial, kept)
        if partial.length < self.limits.literals:
            spread = self.limits.spread * partial.rows
            for join in partial.joins(self.setting.examples.of_worlds):
                if self.limits.over:
                    return
                free = all(variable is None for variable in join.variables)
                grown = partial.joined(join, MOST_ROWS if free else int(min(MOST_ROWS, spread)))
                if grown is not None:
                    yield from self._tested(partial, join, grown, kept)

    def _chosen(self, steps: list[_Step]) -> list[_Step]:
        """Choose the best extensions by each measure in turn, of those that look alike the cheapest. As many
        joins without a test are chosen as others: what they lead to cannot be seen in one step."""
        cheapest: dict[object, _Step] = {}
        for step in steps:
            if self._promising(step):
                other = cheapest.setdefault(step.alike, step)
                if step.cost < other.cost:
                    cheapest[step.alike] = step
        bare = [step for step in cheapest.values() if step.test is None]
        tested = [step for step in cheapest.values() if step.test is not None]
        by_score = [sorted(tested, key=lambda s, n=n: (-s.scores[n], s.cost)) for n in (0, 1)]
        bare_by_score = sorted(bare, key=lambda s: (-s.scores[0], s.cost))
        bare_by_cost = sorted(bare, key=lambda s: (s.cost, -s.scores[0]))
        width = self.limits.beam
        return [*_merged(by_score, width), *_merged([bare_by_score, bare_by_cost], width)]

    def _promising(self, step: _Step) -> bool:
        """Whether an extension may lead to a clause that saves more bits than the best so far. A clause for a
        ``seed`` may cover few others, so that none saves bits alone; then all are promising that are shorter
        than a clause that leaves no errors."""
        if step.cost + LITERAL >= min(self.aim.enough, self.whole):
            return False
        return step.potential > self.gain or (self.aim.seed is not None and self.gain == 0)

    def _tested(self, start: Partial, join: Join | None, partial: Partial, kept: int) -> Iterator[_Step]:
        """Evaluate every test of a table of bindings at once: put clauses into the pool, and yield the
        ``kept`` best extensions by each measure."""
        self.limits.effort.spend(1 + partial.bits.size / WORK)
        examples, seed = partial.covered(), self.aim.seed
        weights = self.aim.weights[:, examples]
        whole = weights.sum(1)
        if not whole[0] or (seed is not None and not (examples == seed).any()):
            return
        left = partial.covered_with_each_test()
        testing = partial.length < self.limits.literals
        right, wrong = weights @ left.astype(np.float32)
        possible = (right > 0) & np.isfinite(partial.costs) & testing
        if seed is not None:
            possible &= left[np.flatnonzero(examples == seed)[0]] > 0
        places = np.flatnonzero(possible)
        # the last entry is the body without a further test
        right, wrong = np.append(right[places], whole[0]), np.append(wrong[places], whole[1])
        costs = np.append(partial.costs[places], partial.cost)
        saved = self.aim.errors.saved(np.stack([right, right]), np.stack([wrong, 0 * wrong]))
        gains, potentials = saved[0] - costs, saved[1] - costs - LITERAL  # of it, and of what it may lead to
        scores = self._scores(right, wrong)

        def step(place: int, test: int | None, covered: Rows) -> _Step:
            own = float(scores[0][place]), float(scores[1][place])
            alike = (covered.tobytes(), partial.rows, partial.signature if test is None else None)
            return _Step(start, join, test, own, float(potentials[place]), float(costs[place]), alike)

        if join is not None or not whole[1]:  # the empty body counts too where it leaves no negative
            self._keep(partial, None, examples, whole, partial.cost, saved[:, -1])
        if join is not None:
            yield step(-1, None, examples)
        order = np.argsort(-gains[:-1], kind="stable")
        clean = order[wrong[order] == 0][:KEPT]
        for place in dict.fromkeys([*order[:KEPT].tolist(), *clean.tolist()]):
            number = int(places[place])
            counts = np.array([right[place], wrong[place]])
            covered = examples[left[:, number] > 0]
            self._keep(partial, number, covered, counts, float(costs[place]), saved[:, place])
        ranked = [np.argsort(-(one - 0.01 * costs)[:-1], kind="stable")[:kept].tolist() for one in scores]
        for place in dict.fromkeys(ranked[0] + ranked[1]):
            if wrong[place]:  # without negatives, longer bodies cover no more
                number = int(places[place])
                yield step(place, number, examples[left[:, number] > 0])

    def _scores(self, right: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores by two measures: information gained about the label over all covered positives (as in FOIL),
        and precision times the logarithm of their number."""
        prior = self.setting.examples.positive.mean()
        precision = (right + prior) / (right + wrong + 1)
        return right * np.log2(precision / prior), precision * np.log1p(right)

    def _keep(
        self,
        partial: Partial,
        test: int | None,
        covered: Rows,
        counts: np.ndarray,
        cost: float,
        saved: np.ndarray,
    ) -> None:
        """Put a clause into the pool if it may be of use. ``saved``: bits that it saves beside the theory,
        and that it would save without its exceptions."""
        gain = float(saved[0]) - cost
        few = self.aim.seed is not None or counts[0] >= 0.1 * self.aim.errors.missed
        # while no clause pays alone, this one may beside another
        pays = gain > 0 or (self.gain == 0 and gain > -cost / 2)
        useful = (counts[1] == 0 and (few or gain > 0)) or (pays and self.limits.noise > 0)
        wide = self.setting.excepted and counts[1] > 0 and partial.length <= 2
        if not useful and not wide:
            return
        covers = np.zeros(len(self.setting.examples.positive), bool)
        covers[covered] = True
        key = Pool.key(covers)
        if not self.pool.wants(key, cost):
            return
        body = partial
        if test is not None:
            part = partial.tests[test]
            assert part is not None
            body = replace(partial, body=(*partial.body, part.literal))
        clause = body.clause(self.setting.examples.target)
        if Literal(clause.head, clause.variables) in clause.body:
            return
        if not safe(clause):
            mended = guarded(clause, self.setting.guards, covers)
            if mended is None:
                return
            cost += LITERAL * (len(mended.body) - len(clause.body))
            clause = mended
        cost += 0 if links_head(clause) else UNLINKED
        if wide:
            self.pool.add_wide(key, float(saved[1]) - cost - 2 * LITERAL, cost, clause)
        if useful:
            self.gain = max(self.gain, gain)
            if counts[1] == 0:
                self.clean_gain = max(self.clean_gain, gain)
                self.whole = min(self.whole, cost if counts[0] == self.aim.errors.missed else inf)
            self.pool.add(key, cost, clause)


def _merged(rankings: Sequence[Sequence[_Step]], most: int) -> list[_Step]:
    """The first ``most`` extensions of all rankings in turn, each once."""
    steps = (step for rank in zip_longest(*rankings) for step in rank if step is not None)
    return list({id(step): step for step in steps}.values())[:most]
