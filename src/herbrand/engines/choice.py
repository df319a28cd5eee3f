"""Which engine runs a question: the one that was named, or by ``auto`` the surest that is affordable.

``auto`` takes the first engine that answers exactly at once; else the cheapest that answers exactly within
:data:`AFFORDABLE` operations; else the first approximation, in the order of the registry, that can run; else
whatever exact engine can. The estimate often had to prepare what a run needs; a choice goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.engine import Cost, Engine, Prepared, Refusal, Settings, first_state
from herbrand.engines.fallback import HandedOver
from herbrand.engines.registry import APPROXIMATE, INFERENCE, WORLDS, engine_named, installed, used_settings
from herbrand.errors import BudgetError, HerbrandError, Mistake
from herbrand.program.choices import only_count, unusable_by
from herbrand.program.network_cells import in_cells
from herbrand.program.program import Program
from herbrand.program.question import Question

AnyEngine = Engine[Any, Any, Any, Any, Any]

AT_ONCE = 1e7
"""Operations: nobody waits for them, so that no other engine need be asked."""
CHOICES = "circuit"
"""The one engine that draws choices (``::``)."""
BEST_WORLD = "integer"
"""The engine that finds the most probable world under counts and sums."""
AFFORDABLE = 1e11
"""Operations: some minutes of work. Above it an approximation is the better first answer."""


PLANNING_SHARE = 0.25
"""Of the time left, what one engine's estimate may take, so that others can still be asked, and run."""
PLANNING_SECONDS = 10.0
"""The same where there is no limit: an engine whose plan is not made by then is not the one to wait for."""


@dataclass(frozen=True, eq=False)
class Offer:
    """An engine that can run, and what it would cost."""

    name: str
    cost: Cost

    @property
    def operations(self) -> float:
        return self.cost.operations or 0.0

    @property
    def exact(self) -> bool:
        return self.cost.guarantee is Guarantee.EXACT

    @property
    def why(self) -> str:
        """Why ``auto`` takes it, if it does."""
        if self.cost.operations is None and self.name == BEST_WORLD:
            return "the one that finds the best world under counts and sums"
        if self.cost.operations is None:
            return "the one that draws choices and counts what is uncertain"
        if not self.exact:
            return f"the first {self.cost.guarantee.value}, as no exact answer is affordable"
        if self.operations <= AT_ONCE:
            return "exact at once"
        if self.operations <= AFFORDABLE:
            return "the cheapest exact answer"
        return "as nothing cheaper can run"

    def __str__(self) -> str:
        if self.cost.operations is None:
            return f"engine {self.name}, {self.why}"
        return f"engine {self.name}, {self.why}: about {self.operations:.1e} operations"


@dataclass(frozen=True, eq=False)
class Choice(Offer):
    """An offer that can be taken up: ``begin`` gives the first state, ``settings`` are those that the engine
    uses."""

    engine: AnyEngine
    begin: Callable[[], Any]
    settings: Settings


@dataclass(frozen=True, eq=False)
class Refused:
    """An engine that cannot run, or should not unless it is named."""

    name: str
    refusal: Refusal


AnyOffer = TypeVar("AnyOffer", bound=Offer)


def choose(name: str, settings: Settings, program: Program, question: Question) -> Choice:
    """The engine of this name, unasked whether it can; for ``auto`` the best that says it can."""
    if program.uncertain:
        name = _for_choices(name, program, question)
    if name != "auto":
        engine = engine_named(name, settings)
        begin = partial(first_state, engine, readable_by(engine, program), question)
        return Choice(engine.name, Cost(), engine, begin, settings)
    return best(choices(settings, program, question, past_exact=False))


def _for_choices(name: str, program: Program, question: Question) -> str:
    """The engine of theories with ``::``, and for the most probable world under counts the one of integer
    programs; raises where another one is named."""
    whole_world = question.most_probable and not question.summed_out
    if whole_world and name in ("auto", BEST_WORLD) and only_count(program.uncertain):
        return BEST_WORLD
    if name not in ("auto", CHOICES):
        raise unusable_by(name, program.uncertain[0])
    return CHOICES


def readable_by(engine: AnyEngine, program: Program) -> Program:
    """The program, tables of networks as templates for an engine that does not read ``whole_tables``."""
    return program if getattr(engine, "whole_tables", False) else in_cells(program)


def best(offers: Iterable[AnyOffer | Refused]) -> AnyOffer:
    """What ``auto`` takes of these, in the order of the registry; a ``BudgetError`` if none can run."""
    refusals: list[Mistake] = []
    dear: list[AnyOffer] = []
    exact: list[AnyOffer] = []
    for offer in offers:
        if isinstance(offer, Refused):
            refusals.append(Mistake(f"{offer.name} cannot run it: {offer.refusal.why}"))
        elif not offer.exact and offer.cost.handed:
            continue  # the engine that does the work is asked as well
        elif not offer.exact:
            return min(exact, key=lambda other: other.operations) if exact else offer
        elif offer.operations <= AT_ONCE:
            return offer
        elif offer.operations <= AFFORDABLE:
            exact.append(offer)
        else:
            dear.append(offer)
    if not exact and not dear:
        raise BudgetError(refusals)
    return min(exact or dear, key=lambda offer: offer.operations)


def choices(
    settings: Settings, program: Program, question: Question, past_exact: bool = True
) -> Iterator[Choice | Refused]:
    """All engines, asked one after another, as an estimate may cost something; and none twice.

    Behind an exact engine that can read the whole tables of a network none is asked. Without ``past_exact``
    engines that only approximate are not asked once an exact answer is affordable: they ground everything
    to say what they cost, a matching pair by pair.
    """
    handed: list[HandedOver] = []
    is_affordable = False
    for name in (*WORLDS, *INFERENCE) if question.most_probable else INFERENCE:
        settings.budget.check()
        if is_affordable and not past_exact and name in APPROXIMATE:
            return
        own = used_settings("infer", name, settings)
        engine = installed(name, own)
        prepared = next((one.prepared for one in handed if one.engine == engine), None) or engine.prepare(
            readable_by(engine, program), question, _for_planning(own.budget)
        )
        if isinstance(prepared, HandedOver):
            handed.append(prepared)
        offer = _offer(engine, prepared, own)
        yield offer
        is_affordable |= isinstance(offer, Choice) and offer.exact and offer.operations <= AFFORDABLE
        if program.tables and is_affordable:
            return  # all others would read the tables cell by cell


def _offer(engine: AnyEngine, prepared: Prepared[Any] | Refusal, settings: Settings) -> Choice | Refused:
    if isinstance(prepared, Refusal):
        return Refused(engine.name, prepared)
    told = prepared.cost()
    if isinstance(told, Refusal):
        return Refused(engine.name, told)
    return Choice(engine.name, told, engine, prepared.begin, settings)


def _for_planning(budget: Budget) -> Budget:
    """A part of the time that is left: an estimate that takes longer is a refusal."""
    return budget.share(PLANNING_SHARE) if budget.seconds is not None else budget.at_most(PLANNING_SECONDS)


def with_alternatives(
    error: BudgetError, refused: str, settings: Settings, program: Program, question: Question
) -> HerbrandError:
    """The refusal, and which engines could run it instead."""
    if settings.clip is not None:
        return error  # no other engine has that model
    others = [
        offer.name
        for offer in choices(settings, program, question)
        if isinstance(offer, Choice) and offer.name != refused
    ]
    hint = f"engines that can run it: {', '.join(others)}" if others else ""
    return BudgetError((*error.mistakes, Mistake(hint)) if hint else error.mistakes)
