"""The exact engine of ``bound``: every end is a proved bound, with its largest distance from the tightest.

Each query is answered on the part of the network that it depends on
(:mod:`herbrand.engines.credal.network_part`). Where every sentence bounds one row of one conditional table,
its ends lie at ends of rows, and a search over these finds them at any scale
(:mod:`herbrand.engines.credal.vertices`). Otherwise it is a program over cluster tables
(:mod:`herbrand.engines.credal.cluster_program`): linear where no independence couples them, else with
products, solved by branch and bound (:mod:`herbrand.engines.credal.branch_and_bound`). Every bound is rounded
outward. Atoms in trees of conditional tables take one pass (:mod:`herbrand.engines.credal.tree_intervals`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.branch_and_bound import TOLERANCE, InfeasibleError, Watch
from herbrand.engines.credal.contradictions import contradiction
from herbrand.engines.credal.interval import (
    BYTES_AN_ENTRY,
    LEAST_SECONDS,
    MOST_CORE,
    UNKNOWN,
    Clock,
    Ends,
    ends_of,
    is_consistent,
    size_of,
    vertex_ends,
)
from herbrand.engines.credal.markov import components, graph_of
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import NetworkPart
from herbrand.engines.credal.network_query import NetworkQuestion, network_question
from herbrand.engines.credal.question import (
    SECONDS_APART,
    BoundQuery,
    BoundQuestion,
    BoundSettings,
    ImpossibleConditionError,
    ImpossibleGivenError,
    Progress,
    each_answered,
    refused,
)
from herbrand.engines.credal.seeding import Seeds
from herbrand.engines.engine import Cost, Prepared, Refusal
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.extras import later

_explained = later("herbrand.engines.credal.end_reasons:explained")
SECONDS_AN_END = 30.0
"""Time limit in seconds of the search for one end where no time limit is given."""
MOST_SECONDS = 60.0
"""Estimated seconds above which the engine refuses, unless it is named."""
TOO_LONG = f"it may take more than {MOST_SECONDS:.0f} seconds"
SECONDS_IN_CLOSED_FORM = 1e-6
"""Seconds that one end in closed form takes."""
LEAST_TURN = 0.02
"""Shortest time in seconds for which a stopped search is continued."""
SHARE_OF_SEEDS = 0.2
"""Share of the time that messages which confine the atoms may take, where a search does not end soon."""
AT_FIRST = 1.0
"""Seconds of search for an end before messages are computed."""
OPERATIONS_A_SECOND = 1e8


@dataclass(frozen=True, eq=False)
class Searched:
    """The state of the engine: the question, and after its only step the ends of each query.

    The ends are None where the condition has probability 0; ``refusals`` has these errors.
    """

    asked: NetworkQuestion
    texts: tuple[str, ...] = ()
    all_ends: tuple[Ends | None, ...] = ()
    refusals: tuple[ImpossibleGivenError, ...] = ()


@dataclass(frozen=True)
class Exact:
    """Settings of the exact engine.

    ``tolerance``: largest distance from the optimum at which a search may stop, relative to the optimum.
    ``markov``: whether the Markov condition holds. ``budget`` is for all queries together.
    """

    budget: Budget = UNLIMITED
    tolerance: float = TOLERANCE
    markov: bool = True
    progress: Progress | None = field(default=None, compare=False, repr=False)
    name: str = field(default="exact", init=False)

    @classmethod
    def with_settings(cls, settings: BoundSettings) -> Exact:
        tolerance = TOLERANCE if settings.tolerance is None else settings.tolerance
        return cls(settings.budget, tolerance, settings.independence == "markov", settings.progress)

    def prepare(self, network: Network, question: BoundQuestion, within: Budget) -> Prepared[Searched]:
        asked = network_question(network, question, self.markov)
        return Prepared(lambda: Searched(asked), partial(self._cost, asked, within))

    def _cost(self, asked: NetworkQuestion, within: Budget) -> Cost | Refusal:
        """Estimate the cost of all queries; refuse where a program is too large or they may take too long."""
        hopeless = self._hopeless(asked) if asked.question.everything else None
        if hopeless is not None:
            return Refusal(UnsupportedError(hopeless))
        seconds, largest, width = 0.0, 0, 0
        try:
            for query in _all_of(asked):
                within.check()
                if asked.closed_form(query) is not None:
                    seconds += SECONDS_IN_CLOSED_FORM
                    continue
                masses = asked.masses_of(query)
                if masses is not None:
                    seconds, width = seconds + masses.seconds, max(width, masses.width)
                    continue
                part, local = asked.part_of(query)
                size = size_of(part, local)
                size.check(within.memory, query.text)
                seconds += size.seconds
                largest, width = max(largest, size.entries), max(width, size.width)
                if seconds > MOST_SECONDS:
                    return Refusal(UnsupportedError(TOO_LONG))
        except BudgetError as error:
            return Refusal(error)
        return Cost(
            operations=seconds * OPERATIONS_A_SECOND,
            bytes=largest * BYTES_AN_ENTRY,
            guarantee=Guarantee.EXACT,
            detail=f"tables of up to {width:,} atoms" if width else "closed form along trees",
        )

    def _hopeless(self, asked: NetworkQuestion) -> str | None:
        """Reason why not every atom of the network can be bounded, if array sizes alone show one."""
        network = asked.network
        settled = 0 if len(network.facts) else int(asked.forward.settled.sum())
        if (len(network.atoms) - settled) * LEAST_SECONDS > MOST_SECONDS:
            return TOO_LONG
        if not self.markov:
            return None
        cyclic = graph_of(network).is_core
        core = int(np.bincount(components(network)[cyclic]).max(initial=0))
        return None if core <= MOST_CORE else f"up to {core:,} atoms lie on or above cycles, {MOST_CORE} can"

    def step(self, state: Searched) -> Searched:
        """Compute an interval for each query; where time ends, it is a valid bound with its gap."""
        asked, progress = state.asked, self.progress
        queries = list(asked.queries())
        clock = self._clock()
        seeds = self._seeds(asked.network)

        def answer(number: int, query: BoundQuery) -> Ends:
            watch = _watching(progress, query.text, number, len(queries))
            ends_left = 2 * (len(queries) - number)
            return self._ends(asked, seeds, query, replace(clock, watch=watch), ends_left)

        def unsearched(query: BoundQuery) -> Ends:
            return UNKNOWN.within(*self._near(asked, seeds, query)) if seeds.known else UNKNOWN

        all_ends, refusals = each_answered(queries, answer, unsearched, self.budget.for_answering())
        self._search_on(asked, queries, all_ends, clock)
        if not asked.question.everything:
            self._check_others(asked, queries, clock)
        if refusals or not asked.question.everything:
            answered = [query for query, ends in zip(queries, all_ends, strict=True) if ends is not None]
            self._check_facts(asked, answered, clock)
        if progress is not None:
            progress("bounded", 1.0)
        return Searched(asked, tuple(query.text for query in queries), tuple(all_ends), tuple(refusals))

    def residual(self, state: Searched) -> float:
        """0: the only step ends by itself, and ``read`` reports the gaps that are left."""
        return 0.0

    def explain(self, state: Searched, status: Status) -> tuple[Explanation, Explanation]:
        """Explain the lower and the upper end of the one query by the statements that each depends on."""
        asked = state.asked
        (query,) = asked.question.queries
        part, local = asked.part_of(query)
        clock = self._clock()
        ends = self._ends(asked, self._seeds(asked.network), query, clock, 2)
        self._check_others(asked, [query], clock)
        self._check_facts(asked, [query], clock)
        return _explained(asked.network, part, local, query.text, ends, clock, self.progress)

    def _seeds(self, network: Network) -> Seeds:
        return Seeds(network, self.markov, self._searching.share(SHARE_OF_SEEDS))

    @property
    def _searching(self) -> Budget:
        """The budget; without a time limit, the same with that of one end's search."""
        return self.budget if self.budget.is_limited else self.budget.at_most(SECONDS_AN_END)

    def _search_on(
        self, asked: NetworkQuestion, queries: Sequence[BoundQuery], all_ends: list[Ends | None], clock: Clock
    ) -> None:
        """Continue the stopped searches in turns, in the time that the others have left.

        Nothing without a time limit: then each search had its own.
        """
        if not self.budget.is_limited:
            return
        while still := [
            (number, least)
            for number, ends in enumerate(all_ends)
            if ends is not None
            for least, end in ((True, ends.lower), (False, ends.upper))
            if not end.proved and end.more is not None
        ]:
            for done, (number, least) in enumerate(still):
                seconds = clock.seconds(len(still) - done)
                if seconds < LEAST_TURN:
                    return
                part, _ = asked.part_of(queries[number])
                ends = all_ends[number]
                assert ends is not None
                with _naming_statements(asked, queries[number], part, clock):
                    all_ends[number] = ends.searched_on(least, seconds)

    def _clock(self) -> Clock:
        if not self.budget.is_limited:
            return Clock(most=SECONDS_AN_END, tolerance=self.tolerance)
        return Clock(until=time.monotonic() + self.budget.seconds_left, tolerance=self.tolerance)

    def _ends(
        self, asked: NetworkQuestion, seeds: Seeds, query: BoundQuery, clock: Clock, ends_left: int
    ) -> Ends:
        apart = asked.unrelated(query)
        if apart is not None and self._ends(asked, seeds, apart, clock, ends_left).upper.bound <= 0:
            raise asked.impossible(query)
        known = asked.closed_form(query)
        if known is not None:
            return Ends(*known)
        soon = replace(clock, most=min(clock.most, AT_FIRST))
        ends = self._at_vertices(asked, query, soon, ends_left)
        if ends is not None and ends.proved:
            return ends
        part, local = asked.part_of(query)
        with _naming_statements(asked, query, part, clock):
            size = size_of(part, local)
            rows = ends is not None
            if not rows:
                size.check(self.budget.memory, query.text)
            again = (rows or size.products > 0) and size.fits(self.budget.memory)
            if ends is None or not again:
                ends = ends_of(part, local, soon if again else clock, ends_left)
            if ends.proved:
                return ends
            near = self._near(asked, seeds, query)
            if again:
                parts = seeds.added_to(part), replace(local, within=near)
                confined = ends_of(*parts, clock, ends_left, at_vertices=False)
                ends = confined.within(ends.lower.bound, ends.upper.bound)
            return ends.within(*near)

    def _at_vertices(
        self, asked: NetworkQuestion, query: BoundQuery, clock: Clock, ends_left: int
    ) -> Ends | None:
        """The ends of a query in a network of separate rows; ``None`` in any other."""
        masses = asked.masses_of(query)
        if masses is None:
            return None
        try:
            return vertex_ends(masses, clock, ends_left)
        except ImpossibleConditionError:
            raise asked.impossible(query) from None

    def _near(self, asked: NetworkQuestion, seeds: Seeds, query: BoundQuery) -> tuple[float, float]:
        """The interval that messages prove for a query."""
        atom = asked.atom_of(query)
        return seeds.interval_of(query) if atom is None else seeds.interval(atom)

    def _check_others(self, asked: NetworkQuestion, queries: Sequence[BoundQuery], clock: Clock) -> None:
        """Raise an error if a piece that no query depends on contradicts itself, where it is small enough."""
        if self.budget.ended or asked.forward.settled.all():
            return
        seen = {name for query in queries for name in asked.part_of(query)[0].names}
        for part in asked.bounding_pieces:
            unchecked = part.sentences and not seen.issuperset(part.names)
            if unchecked and size_of(part).fits(self.budget.memory) and not is_consistent(part, clock):
                raise contradiction(asked.network, part, clock)

    def _check_facts(self, asked: NetworkQuestion, queries: Sequence[BoundQuery], clock: Clock) -> None:
        """Raise an error if facts on which no answered query depends are impossible, where they are few."""
        within = self.budget.at_most(SECONDS_APART)
        for query in asked.facts_apart(queries):
            part, local = asked.part_of(query)
            if not within.ended and size_of(part, local).fits(self.budget.memory):
                with _naming_statements(asked, query, part, clock):
                    ends_of(part, local, replace(clock, most=min(clock.most, AT_FIRST)), 2)

    def read(self, state: Searched, status: Status) -> Bounds:
        all_ends = state.all_ends
        answered = [ends for ends in all_ends if ends is not None]
        open_ones = [ends for ends in answered if not ends.proved]
        nodes = sum(ends.lower.nodes + ends.upper.nodes for ends in answered)
        advice = ""
        if open_ones:
            advice = _advice(len(open_ones), len(all_ends), max(ends.gap for ends in open_ones))
        ended = refused(Status(not open_ones, nodes, status.seconds, advice), state.refusals)
        guarantee = Guarantee.BOUND if open_ones else Guarantee.EXACT
        refused_one = (math.nan,) * 3
        rows = [(e.lower.bound, e.upper.bound, e.gap) if e is not None else refused_one for e in all_ends]
        lower, upper, gaps = np.array(rows).reshape(-1, 3).T + 0.0  # no -0.0
        texts, certified = list(state.texts), ~np.isnan(lower)
        return Bounds(self.name, guarantee, ended, texts, lower, upper, certified, gaps)


def _all_of(asked: NetworkQuestion) -> Iterator[BoundQuery]:
    """The queries, each after the query of its conditions on unrelated pieces, which must be possible."""
    for query in asked.queries():
        apart = asked.unrelated(query)
        yield from (query,) if apart is None else (apart, query)


@contextmanager
def _naming_statements(
    asked: NetworkQuestion, query: BoundQuery, part: NetworkPart, clock: Clock
) -> Iterator[None]:
    """Turn the infeasibility of a search into an error that names statements or the query's condition."""
    try:
        yield
    except InfeasibleError:
        raise contradiction(asked.network, part, replace(clock, watch=None)) from None
    except ImpossibleConditionError:
        raise asked.impossible(query) from None


def _advice(open_ones: int, all_of_them: int, gap: float) -> str:
    return (
        f"{open_ones} of {all_of_them} intervals are bounds that may be wider than the tightest by up to "
        f"{gap:.1e}; raise --time-limit"
    )


def _watching(progress: Progress | None, text: str, number: int, count: int) -> Watch | None:
    """Report the query that is being answered; return a function that reports its gap."""
    if progress is None:
        return None
    progress(text, number / count)

    def watch(gap: float) -> None:
        progress(f"{text}: gap {gap:.1e}", number / count)

    return watch
