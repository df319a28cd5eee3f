"""The exact engine of ``bound``: every end is a global optimum, or the bound that its search has proved.

Each query is asked of the part of the network that it depends on (:mod:`herbrand.engines.credal.part`), as a
program over cluster tables (:mod:`herbrand.engines.credal.tables`): linear where no independence couples its
tables, then solved by HiGHS; else by SCIP's spatial branch and bound. A local optimum is never an answer.
Atoms in trees of conditional tables need no program (:mod:`herbrand.engines.credal.forward`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.status import Status
from herbrand.engines.credal.asked import Asked
from herbrand.engines.credal.conflict import contradiction
from herbrand.engines.credal.engine import BoundSettings, Progress
from herbrand.engines.credal.interval import (
    Clock,
    Ends,
    ImpossibleConditionError,
    ends_of,
    is_consistent,
)
from herbrand.engines.credal.markov import components, cyclic_atoms
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.part import Part
from herbrand.engines.credal.question import IMPOSSIBLE, BoundQuestion, Query
from herbrand.engines.credal.relaxation import explained
from herbrand.engines.credal.seeding import Seeds
from herbrand.engines.credal.size import BYTES_AN_ENTRY, LEAST_SECONDS, MOST_CORE, size_of
from herbrand.engines.credal.solve import (
    HINT,
    TOLERANCE,
    InfeasibleError,
    Optimum,
    Watch,
    search_installed,
)
from herbrand.engines.engine import Support
from herbrand.errors import BudgetError

SECONDS_AN_END = 30.0
"""How long one end may be searched for where no time limit is given."""
MOST_SECONDS = 60.0
"""What is estimated to take longer is left to other engines, unless this one is named."""
TOO_LONG = f"it may take more than {MOST_SECONDS:.0f} seconds"
SECONDS_IN_CLOSED_FORM = 1e-6
LEAST_TURN = 0.02
"""Seconds for which a search that was stopped is gone on with at least."""
SHARE_OF_SEEDS = 0.2
"""How much of the time messages may take that confine the atoms before the search."""
OPERATIONS_A_SECOND = 1e8


@dataclass(frozen=True)
class Exact:
    """``tolerance`` is how far from the optimum a search may stop; ``seconds`` is for the whole question."""

    memory: int | None = None
    seconds: float | None = None
    tolerance: float = TOLERANCE
    markov: bool = True
    name: str = field(default="exact", init=False)

    @classmethod
    def with_settings(cls, settings: BoundSettings) -> Exact:
        tolerance = TOLERANCE if settings.tolerance is None else settings.tolerance
        return cls(settings.memory, settings.seconds, tolerance, settings.independence == "markov")

    def supports(self, network: Network, question: BoundQuestion) -> Support:
        """Whether every query's program is small enough, and can be solved with what is installed."""
        asked = Asked(network, question, self.markov)
        hopeless = self._hopeless(asked) if question.everything else None
        if hopeless is not None:
            return Support(False, hopeless)
        seconds, largest, width, products = 0.0, 0, 0, False
        try:
            for query in _all_of(asked):
                if asked.closed_form(query) is not None:
                    seconds += SECONDS_IN_CLOSED_FORM
                    continue
                size = size_of(*asked.part_of(query))
                size.check(self.memory, query.text)
                seconds += size.seconds
                largest, products = max(largest, size.entries), products or bool(size.products)
                width = max(width, size.width)
                if seconds > MOST_SECONDS:
                    return Support(False, TOO_LONG)
        except BudgetError as error:
            return Support(False, error.mistakes[0].message)
        if products and not search_installed():
            return Support(False, f"it needs pyscipopt: {HINT}")
        return Support(
            True,
            operations=seconds * OPERATIONS_A_SECOND,
            bytes=largest * BYTES_AN_ENTRY,
            guarantee=Guarantee.EXACT,
            detail=f"tables of up to {width:,} atoms" if width else "closed form along trees",
        )

    def _hopeless(self, asked: Asked) -> str | None:
        """Why not every atom of a large network can be asked for, as far as arrays alone tell."""
        network = asked.network
        settled = 0 if len(network.facts) else int(asked.forward.settled.sum())
        if (len(network.atoms) - settled) * LEAST_SECONDS > MOST_SECONDS:
            return TOO_LONG
        if not self.markov:
            return None
        cyclic = cyclic_atoms(network)
        core = int(np.bincount(components(network)[cyclic]).max(initial=0))
        return None if core <= MOST_CORE else f"up to {core:,} atoms lie on or above cycles, {MOST_CORE} can"

    def run(self, network: Network, question: BoundQuestion, progress: Progress | None = None) -> Bounds:
        """An interval for each query; one not proved in time is as tight as proved, and tells its gap."""
        began = time.monotonic()
        asked = Asked(network, question, self.markov)
        queries = list(asked.queries())
        clock = self._clock(began)
        seeds = self._seeds(network)
        found: list[Ends] = []
        for number, query in enumerate(queries):
            told = _told(progress, query.text, number, len(queries))
            ends_left = 2 * (len(queries) - number)
            found.append(self._ends(asked, seeds, query, replace(clock, watch=told), ends_left))
        self._search_on(asked, queries, found, clock)
        if not question.everything:
            self._check_others(asked, queries, clock)
        if progress is not None:
            progress("bounded", 1.0)
        return self._answer([query.text for query in queries], found, time.monotonic() - began)

    def explain(
        self, network: Network, question: BoundQuestion, progress: Progress | None = None
    ) -> tuple[Explanation, Explanation]:
        """What each statement holds of the lower and of the upper end."""
        (query,) = question.queries
        asked = Asked(network, question, self.markov)
        part, local = asked.part_of(query)
        ends = self._ends(asked, self._seeds(network), query, self._clock(time.monotonic()), 2)
        return explained(network, part, local, query.text, ends, self._clock(time.monotonic()), progress)

    def _seeds(self, network: Network) -> Seeds:
        seconds = SECONDS_AN_END if self.seconds is None else self.seconds
        return Seeds(network, self.markov, seconds * SHARE_OF_SEEDS)

    def _search_on(self, asked: Asked, queries: Sequence[Query], found: list[Ends], clock: Clock) -> None:
        """Go on with the searches that were stopped, by turns, in the time that the others have left."""
        if self.seconds is None:
            return
        while still := [
            (number, least)
            for number, ends in enumerate(found)
            for least, end, gap in zip((True, False), (ends.lower, ends.upper), ends.gaps, strict=True)
            if gap > self.tolerance and end.more is not None
        ]:
            for done, (number, least) in enumerate(still):
                seconds = clock.seconds(len(still) - done)
                if seconds < LEAST_TURN:
                    return
                part, _ = asked.part_of(queries[number])
                with _told_why(asked, queries[number], part, clock):
                    found[number] = found[number].searched_on(least, seconds)

    def _clock(self, began: float) -> Clock:
        if self.seconds is None:
            return Clock(most=SECONDS_AN_END, tolerance=self.tolerance)
        return Clock(until=began + self.seconds, tolerance=self.tolerance)

    def _ends(self, asked: Asked, seeds: Seeds, query: Query, clock: Clock, ends_left: int) -> Ends:
        apart = asked.unrelated(query)
        if apart is not None and self._ends(asked, seeds, apart, clock, ends_left).upper.bound <= IMPOSSIBLE:
            raise asked.impossible(query)
        known = asked.closed_form(query)
        if known is not None:
            return Ends(*(Optimum(end, end, 0) for end in known))
        part, local = asked.part_of(query)
        size = size_of(part, local)
        size.check(self.memory, query.text)
        with _told_why(asked, query, part, clock):
            if not size.products:
                return ends_of(part, local, clock, ends_left)
            atom = asked.atom_of(query)
            known = seeds.interval_of(query) if atom is None else seeds.interval(atom)
            local = replace(local, within=known)
            return ends_of(seeds.added_to(part), local, clock, ends_left).within(*known)

    def _check_others(self, asked: Asked, queries: Sequence[Query], clock: Clock) -> None:
        """What no query depends on must not contradict itself either, as far as it is small enough to see."""
        if asked.forward.settled.all():
            return
        seen = {name for query in queries for name in asked.part_of(query)[0].names}
        for part in asked.whole.without_barren().pieces():
            wanted = part.sentences and not seen.issuperset(part.names)
            if wanted and size_of(part).fits(self.memory) and not is_consistent(part, clock):
                raise contradiction(asked.network, part, clock)

    def _answer(self, texts: Sequence[str], found: Sequence[Ends], seconds: float) -> Bounds:
        gaps = np.array([ends.gap for ends in found])
        proved = gaps <= self.tolerance
        nodes = sum(ends.lower.nodes + ends.upper.nodes for ends in found)
        advice = "" if proved.all() else _advice(int((~proved).sum()), len(found), float(gaps.max()))
        return Bounds(
            self.name,
            Guarantee.EXACT if proved.all() else Guarantee.BOUND,
            Status(bool(proved.all()), nodes, seconds, advice),
            texts,
            np.array([ends.lower.bound for ends in found]) + 0.0,  # no zero is negative
            np.array([ends.upper.bound for ends in found]) + 0.0,
            np.ones(len(found), bool),
            np.where(proved, 0.0, gaps),
        )


def _all_of(asked: Asked) -> Iterator[Query]:
    """What is asked, and what is given beside it that has to be possible."""
    for query in asked.queries():
        apart = asked.unrelated(query)
        yield from (query,) if apart is None else (apart, query)


@contextmanager
def _told_why(asked: Asked, query: Query, part: Part, clock: Clock) -> Iterator[None]:
    """What a search finds impossible, as an error that names statements."""
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


def _told(progress: Progress | None, text: str, number: int, count: int) -> Watch | None:
    """Tells which query is worked on, and later its gap."""
    if progress is None:
        return None
    progress(text, number / count)

    def watch(gap: float) -> None:
        progress(f"{text}: gap {gap:.1e}", number / count)

    return watch
