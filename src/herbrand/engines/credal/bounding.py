"""The stages of ``Model.bound``: from a program and query texts to an interval for each query.

The engine that is named answers. ``auto`` chooses the exact engine if its estimate is at most ``AFFORDABLE``
operations (some two minutes), else interval messages.

>>> import herbrand as hb
>>> theory = hb.parse("P(a) in [0.2, 0.3]\\nP(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]")
>>> bounded(hb.Model(theory).program, ["P(b)"], "exact", BoundSettings())
exact bounds
query   lower   upper
b      0.2000  0.3500
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import IntervalExplanation
from herbrand.answers.guarantee import Status
from herbrand.budget import Budget
from herbrand.engines.choice import Choice, Refused, chosen_by_name, offered
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import TOLERANCE, BoundQuestion, BoundSettings, read_bound_question
from herbrand.engines.engine import described, options_in
from herbrand.engines.loop import Limits, settle
from herbrand.engines.registry import BOUND, engine_named, takes
from herbrand.errors import UnsupportedError
from herbrand.language.arguments import in_formula
from herbrand.language.comparisons import computes
from herbrand.language.parse import parse_probability
from herbrand.language.signature import Signature
from herbrand.language.syntax import Atom, Bound, Formula, formulas_in
from herbrand.options.table import options_of
from herbrand.program.knowledge import Knowledge
from herbrand.program.program import Program
from herbrand.program.question import named_predicates

Note = Callable[[str], None] | None

AFFORDABLE = 1.2e10
"""Most operations, about two minutes of work, for which ``auto`` chooses an engine before the last."""
PLANNING_SHARE = 0.25
"""Share of the time left that the estimate of one engine may take."""


def bounded(
    program: Program,
    queries: Sequence[str | Bound],
    engine: str,
    settings: BoundSettings,
    note: Note = None,
) -> Bounds:
    """The interval of each query, or of every atom where none is given."""
    choice, _ = _chosen(program, queries, engine, settings, note)
    began = time.perf_counter()
    bounds = choice.engine.read(*settle(choice.engine, choice.begin, Limits.of(settings, TOLERANCE)))
    return replace(bounds, status=replace(bounds.status, seconds=time.perf_counter() - began))


def explained_bounds(
    program: Program,
    query: str | Bound,
    engine: str,
    settings: BoundSettings,
    note: Note = None,
) -> IntervalExplanation:
    """Explain the lower and the upper end of one query's interval.

    Raises UnsupportedError where the query has variables with more or fewer than one instance.
    """
    choice, question = _chosen(program, [query], engine, settings, note)
    if len(question.queries) != 1:
        raise UnsupportedError(
            f"an explanation is of one interval, and this query has {len(question.queries):,}",
            hint="put constants for its variables",
        )
    return IntervalExplanation(*choice.engine.explain(choice.begin(), Status(False, 0)))


def queried_predicates(queries: Iterable[str], signature: Signature) -> frozenset[str]:
    """Predicates of the queries whose whole event is one atom; they are open unless declared."""
    events = (event for event, _ in _read(queries, signature))
    return frozenset(event.predicate for event in events if isinstance(event, Atom))


def named_in(queries: Iterable[str], signature: Signature) -> frozenset[str]:
    """All predicates in the events and conditions of queries."""
    parts = _read(queries, signature)
    return named_predicates(formula for part in parts for formula in part if formula is not None)


def with_tables(queries: Sequence[str], knowledge: Knowledge) -> tuple[Knowledge, tuple[str | Bound, ...]]:
    """Evaluate the computed values of queries as tables: the knowledge with them, and the queries over them.

    Queries that compute nothing stay texts.
    """
    read = [_computing(text, knowledge.signature.valued_names) for text in queries]
    known, formulas = knowledge.asking_probabilities(tuple(one for one in read if one is not None))
    over_tables = iter(formulas)
    both = zip(queries, read, strict=True)
    return known, tuple(text if one is None else next(over_tables) for text, one in both)


@lru_cache(maxsize=1024)
def _computing(query: str, valued: frozenset[str]) -> Bound | None:
    """A query that computes values, as a bound of [0, 1]; None for other queries."""
    event, given = parse_probability(query, valued=valued, computes=True)
    bound = Bound(in_formula(event), given and in_formula(given), 0.0, 1.0, span=event.span)
    return bound if any(map(computes, formulas_in(bound))) else None


def _read(queries: Iterable[str], signature: Signature) -> Iterator[tuple[Formula, Formula | None]]:
    """Event and condition of each query."""
    valued = signature.valued_names
    return (parse_probability(text, valued=valued, computes=True) for text in queries)


def bound_settings(given: Mapping[str, Any], budget: Budget | None = None) -> BoundSettings:
    """Settings from the keywords of ``bound``.

    >>> bound_settings({"time_limit": 5.0, "mode": "paper"}).budget.seconds
    5.0
    """
    return described(BoundSettings, "bound", given, budget)


def _chosen(
    program: Program, queries: Sequence[str | Bound], engine: str, settings: BoundSettings, note: Note
) -> tuple[Choice, BoundQuestion]:
    question = _question(program, settings.budget, tuple(queries))
    network = _network(program, settings.budget)
    return chosen(engine, settings, network, question, note), question


def chosen(
    name: str,
    settings: BoundSettings,
    network: Network,
    question: BoundQuestion,
    note: Note = None,
) -> Choice:
    """Choose the engine of a name, without asking for its estimate.

    For ``auto``: the first that uses all given options and whose estimate is at most ``AFFORDABLE``, else the
    last of the list. ``note`` is called with each decision as a text.
    """
    *preferred, last = BOUND
    for candidate in preferred if name == "auto" else ():
        unused = [o for o in options_in("bound", settings) if not takes("bound", candidate, o)]
        if unused:
            flags = " and ".join(options_of("bound")[option].flag for option in unused)
            _tell(note, f"engine {last}, as {candidate} does not use {flags}")
            continue
        engine = engine_named("bound", candidate, settings)
        # an estimate that takes longer counts as a refusal, so that the last engine has time to run
        prepared = engine.prepare(network, question, settings.budget.share(PLANNING_SHARE))
        offer = offered(engine, settings, prepared)
        if isinstance(offer, Choice) and offer.operations <= AFFORDABLE:
            _tell(note, f"engine {candidate}: about {offer.operations:.1e} operations")
            return offer
        _tell(note, f"engine {last}, as {candidate} is too dear or cannot: {_why_not(offer)}")
    engine = engine_named("bound", last if name == "auto" else name, settings)
    return chosen_by_name(engine, settings, network, question)


def _why_not(offer: Choice | Refused) -> str:
    return (
        offer.refusal.why if isinstance(offer, Refused) else f"it may take {offer.operations:.1e} operations"
    )


def _tell(note: Note, text: str) -> None:
    if note is not None:
        note(text)


def _lowering(program: Program, budget: Budget) -> Lowering:
    """The cached lowering of a program, with the budget of this call."""
    return replace(_first_lowering(program, budget), budget=budget)


@lru_cache(maxsize=4)
def _first_lowering(program: Program, budget: Budget) -> Lowering:
    return Lowering.over(program, budget)


@lru_cache(maxsize=4)
def _question(program: Program, budget: Budget, queries: tuple[str | Bound, ...]) -> BoundQuestion:
    return read_bound_question(queries, _lowering(program, budget))


@lru_cache(maxsize=4)
def _network(program: Program, budget: Budget) -> Network:
    return _lowering(program, budget).network()
