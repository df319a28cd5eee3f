"""ARIEL, the engine of ``bound`` for networks of any size: interval messages between atoms and sentences.

In sound mode (the default) every interval holds all values that the theory allows, whenever the run is
stopped; on polytrees of tables it was the tightest in all comparisons. Paper mode repeats the published
messages for comparison; its intervals may be too narrow, so they are labelled an approximation.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> from herbrand.engines.loop import run
>>> theory = hb.parse("P(a) <= 0.3\\nP(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]\\nP(b) >= 0.3")
>>> answer = run(Ariel(), credal_network(hb.Model(theory).program), BoundQuestion())
>>> [(row.query, round(row.lower, 4), round(row.upper, 4)) for row in answer.rows()]
[('a', 0.2, 0.3), ('b', 0.3, 0.35)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import UNLIMITED, Budget, readable, refuse_beyond
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.messages import FoundContradictionError, Messages
from herbrand.engines.credal.ariel.neighbourhood import Incidence, growing, kept_only, with_ends
from herbrand.engines.credal.ariel.published import PublishedMessages
from herbrand.engines.credal.ariel.query_bounds import Answering
from herbrand.engines.credal.ariel.scopes import scopes_of
from herbrand.engines.credal.ariel.trees import Interval
from herbrand.engines.credal.contradictions import contradiction_of_messages
from herbrand.engines.credal.end_reasons import NOTE, Relaxation
from herbrand.engines.credal.nearby_facts import NearbyFacts
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import (
    SECONDS_APART,
    TOLERANCE,
    BoundQuery,
    BoundQuestion,
    BoundSettings,
    ImpossibleConditionError,
    Progress,
    cannot_be_given,
    each_answered,
    refused,
)
from herbrand.engines.credal.shape import GroundFormula, conjunction, negation
from herbrand.engines.engine import Cost, Prepared, Refusal
from herbrand.engines.loop import Limits, settle
from herbrand.errors import BudgetError, ContradictionError, Mistake, OutOfTimeError

MOST_PASSES = 1000
BYTES_AN_ATOM = 80
BYTES_A_SENTENCE = 400
OPERATIONS_A_SENTENCE = 2e4
UNKNOWN: Interval = (0.0, 1.0)
"""The interval of a query for which no time was left."""
MOST_RELAXED = 200
"""Most statements near the query that an explanation relaxes."""
SEEN = 1e-6
"""Movement of an end up to which a statement is no reason for it."""
NEARBY = f" Only the {MOST_RELAXED} statements nearest to the query were tried."


@dataclass(frozen=True)
class Ariel:
    """Settings of the interval messages: ``iterations`` is the most passes, None for the default.

    ``tolerance``: movement of an end in a pass below which it has converged. ``sound``: False for the
    published messages. ``markov``: whether the Markov condition holds.
    """

    iterations: int | None = None
    tolerance: float | None = None
    budget: Budget = UNLIMITED
    sound: bool = True
    markov: bool = True
    progress: Progress | None = field(default=None, compare=False, repr=False)
    name: str = field(default="ariel", init=False)

    @classmethod
    def with_settings(cls, settings: BoundSettings) -> Ariel:
        return cls(
            settings.iterations,
            settings.tolerance,
            settings.budget,
            settings.mode == "sound",
            settings.independence == "markov",
            settings.progress,
        )

    def prepare(self, network: Network, question: BoundQuestion, within: Budget) -> Prepared[QueryMessages]:
        return Prepared(partial(self._begun, network, question), partial(self._cost, network, within))

    def _cost(self, network: Network, within: Budget) -> Cost | Refusal:
        """Estimate the cost; refuse only where messages do not fit into memory."""
        size = self._bytes(network)
        if size > within.bytes:
            return Refusal(BudgetError(f"it needs about {readable(size)}"))
        return Cost(len(network) * OPERATIONS_A_SENTENCE, size, self._guarantee)

    def _begun(self, network: Network, question: BoundQuestion) -> QueryMessages:
        run = self._started(network)
        with run.naming_statements():
            return QueryMessages(run, question, run.start())

    def step(self, state: QueryMessages) -> QueryMessages:
        with state.run.naming_statements():
            after = replace(state, messages=state.run.exchange.step(state.messages), passes=state.passes + 1)
        if self.progress is not None:
            text = f"pass {after.passes}: intervals move by {self.residual(after):.1e}"
            self.progress(text, after.passes / (self.iterations or MOST_PASSES))
        return after

    def residual(self, state: QueryMessages) -> float:
        return state.run.exchange.residual(state.messages)

    def read(self, state: QueryMessages, status: Status) -> Bounds:
        """Read the intervals of atoms from the messages, and compute those of other queries from them."""
        run, question, network = state.run, state.question, state.run.network
        lower, upper = confined = state.messages.intervals
        if question.everything and not len(network.facts):
            texts: Sequence[str] = network.atoms.texts()
        else:
            queries = list(question.each(network.atoms))
            texts = [query.text for query in queries]
            intervals, refusals = each_answered(
                queries,
                lambda _, query: run.interval(query, *confined),
                lambda _: UNKNOWN,
                self.budget.for_answering(),
            )
            if refusals or not question.everything:
                answered = (query for query, one in zip(queries, intervals, strict=True) if one is not None)
                run.check_facts(answered, *confined)
            status = _without_time(status, sum(one is UNKNOWN for one in intervals), len(intervals))
            ends = np.array([(np.nan, np.nan) if one is None else one for one in intervals]).reshape(-1, 2)
            lower, upper = ends.T
            status = refused(status, refusals)
        certified = np.full(len(texts), self.sound) & ~np.isnan(lower)
        return Bounds(self.name, self._guarantee, status, texts, lower, upper, certified)

    def explain(self, state: QueryMessages, status: Status) -> tuple[Explanation, Explanation]:
        """Explain the lower and the upper end of the one query by the statements near it."""
        (query,) = state.question.queries
        run = state.run

        def answer(changed: Network, facts: bool = False) -> Interval:
            other = MessageRun(self, changed, run.links, UNLIMITED)
            with other.naming_statements():
                rested = other.rested()
            if facts:
                other.check_facts([query], *rested)
            return other.interval(query, *rested)

        whole = answer(run.network, facts=True)
        near, complete = _nearest(run.incidence, query)
        small = kept_only(run.network, near)
        index = Incidence(small)
        sentences = [index.sentence(number) for number in range(len(small))]
        relaxation = Relaxation(
            small,
            query.text,
            sentences,
            answer(small),
            lambda number, lower, upper: answer(with_ends(small, sentences[number].source, lower, upper)),
            lambda one, other: abs(one - other) > SEEN,
            self.progress,
        )
        note = NOTE if complete else NOTE + NEARBY
        return relaxation.explained(whole, self.name, [self._guarantee] * 2, note)

    @property
    def _guarantee(self) -> Guarantee:
        return Guarantee.BOUND if self.sound else Guarantee.APPROXIMATION

    def _bytes(self, network: Network) -> int:
        return len(network.atoms) * BYTES_AN_ATOM + len(network) * BYTES_A_SENTENCE

    def _started(self, network: Network) -> MessageRun:
        what = f"messages over {len(network.atoms):,} atoms and {len(network):,} ground sentences need"
        refuse_beyond(self._bytes(network), self.budget.bytes, what)
        links = Links.of(network) if self.markov else None
        return MessageRun(self, network, links, self.budget)


def _nearest(incidence: Incidence, query: BoundQuery) -> tuple[list[int], bool]:
    """The sentences near a query and near facts, ``MOST_RELAXED`` at most, and whether these are all."""
    near: list[int] = []
    for region in growing(incidence, (), {*query.atoms, *incidence.network.facts.atoms.tolist()}):
        if len(region) > MOST_RELAXED:
            return near or region[:MOST_RELAXED], False
        near = region
    return near, True


def outer_run(network: Network, markov: bool = True, budget: Budget = UNLIMITED) -> MessageRun:
    """A run of sound messages whose intervals are outer bounds for another engine."""
    return Ariel(budget=budget, markov=markov)._started(network)


@dataclass(frozen=True, eq=False)
class QueryMessages:
    """The state of the engine: a run's messages after some passes, and the question to answer."""

    run: MessageRun
    question: BoundQuestion
    messages: Any
    passes: int = 0


@dataclass(frozen=True, eq=False)
class MessageRun:
    """One run over one network; ``links`` are those of the whole theory, ``None`` without independences.

    The network may have fewer sentences than the theory, whose links stay.
    """

    engine: Ariel
    network: Network
    links: Links | None
    budget: Budget

    @cached_property
    def incidence(self) -> Incidence:
        return Incidence(self.network)

    @cached_property
    def facts(self) -> NearbyFacts:
        return NearbyFacts(self.network, self.links is not None)

    @cached_property
    def exchange(self) -> Any:
        """The message algorithm: sound or published."""
        return Messages(budget=self.budget) if self.engine.sound else PublishedMessages()

    def start(self) -> Any:
        """The first state, with the intervals that sentences about single atoms give."""
        scopes, count = scopes_of(self.network), len(self.network.atoms)
        if isinstance(self.exchange, Messages):
            return self.exchange.start(scopes, self.links, count)
        return self.exchange.start(scopes, count)

    def rested(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of all atoms after messages have converged or met a limit."""
        engine = self.engine
        tolerance = TOLERANCE if engine.tolerance is None else engine.tolerance
        limits = Limits(tolerance, engine.iterations or MOST_PASSES, self.budget)
        return settle(self.exchange, self.start, limits)[0].intervals

    @contextmanager
    def naming_statements(self) -> Iterator[None]:
        """Turn a contradiction that messages find into an error that names statements."""
        try:
            yield
        except FoundContradictionError as error:
            raise self._refusal(error) from None

    def outer_intervals(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper ends of all atoms without facts; ``None`` for a contradiction."""
        try:
            return self.rested()
        except FoundContradictionError:
            return None

    def outer_interval(self, query: BoundQuery, lower: np.ndarray, upper: np.ndarray) -> Interval:
        """The interval of a query given the atoms' intervals; [0, 1] for a contradiction or without time."""
        try:
            return self.interval(query, lower, upper)
        except (ContradictionError, OutOfTimeError):
            return 0.0, 1.0

    def interval(self, query: BoundQuery, lower: np.ndarray, upper: np.ndarray) -> Interval:
        """The interval of a query conditioned on facts, from the atoms' intervals.

        Raises ``ImpossibleGivenError`` where its condition has upper probability 0.
        """
        answering = Answering(self.incidence, self.links, lower, upper, self.budget.for_answering())
        near = self.facts.relevant_to(query.atoms)
        known = conjunction([atom if truth else negation(atom) for atom, truth in near.items()])
        given = ([query.given] if query.given else []) + ([GroundFormula.of(known)] if near else [])
        try:
            return answering.interval(query.event, given)
        except ImpossibleConditionError:
            raise cannot_be_given(query, facts=bool(near)) from None

    def check_facts(self, answered: Iterable[BoundQuery], lower: np.ndarray, upper: np.ndarray) -> None:
        """Raise ``ImpossibleGivenError`` if facts on which no answered query depends are impossible.

        They are checked until ``SECONDS_APART`` have passed.
        """
        within = self.budget.at_most(SECONDS_APART)
        for atom, *_ in self.facts.apart_from(query.atoms for query in answered):
            if within.ended:
                return
            try:
                self.interval(
                    BoundQuery(self.network.atoms.text(atom), GroundFormula(0, (atom,))), lower, upper
                )
            except OutOfTimeError:
                return

    def _refusal(self, error: FoundContradictionError) -> ContradictionError:
        if self.engine.sound:
            return self._contradiction(error)
        shown = self.network.sentence_text(*self.incidence.source(int(error.sentences[0])))
        return ContradictionError(
            Mistake(
                f"no distribution satisfies the factor of {shown} with its other atoms pairwise independent, "
                "as paper mode takes them to be",
                hint="the statements may be consistent all the same: try --mode sound",
            )
        )

    def _contradiction(self, error: FoundContradictionError) -> ContradictionError:
        """The error that names statements near the failed factor.

        Its neighbourhood grows until it contradicts itself, and is then shrunk to a smallest set.
        """
        near = error.sentences.tolist()
        regions = growing(self.incidence, near, error.atoms.tolist())
        region = next((one for one in regions if self._contradicts(one)), near)
        sources = dict(zip(map(self.incidence.source, region), region, strict=True))

        def contradicts(kept: list[tuple[int, int]]) -> bool:
            return self._contradicts([sources[source] for source in kept])

        return contradiction_of_messages(self.network, sources, contradicts, self.links is not None)

    def _contradicts(self, sentences: Sequence[int]) -> bool:
        """Whether messages over these ground sentences find a contradiction."""
        network = kept_only(self.network, sentences)
        try:
            MessageRun(self.engine, network, self.links, UNLIMITED).rested()
        except FoundContradictionError:
            return True
        return False


def _without_time(status: Status, unknown: int, count: int) -> Status:
    """The status of an answer in which some queries have :data:`UNKNOWN` intervals."""
    if not unknown:
        return status
    advice = f"no time was left for {unknown:,} of {count:,} intervals, which are [0, 1]; raise --time-limit"
    return replace(status, converged=False, advice=advice)
