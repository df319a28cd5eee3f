"""Which engine of ``infer`` runs a question: the one that was named, or by ``auto`` the best offer.

The estimate often had to prepare what a run needs; a choice goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from herbrand.answers.status import Status
from herbrand.budget import Budget
from herbrand.engines.engine import Settings
from herbrand.engines.fallback import HandedOver
from herbrand.engines.loop import Limits, settle, watching
from herbrand.engines.offers import AFFORDABLE, AnyEngine, Choice, Refused, best, offered, unasked
from herbrand.engines.registry import APPROXIMATE, INFERENCE, WORLDS, engine_named, installed, used_settings
from herbrand.errors import BudgetError, HerbrandError, Mistake, OutOfTimeError
from herbrand.program.choices import only_count, unusable_by
from herbrand.program.network_cells import in_cells
from herbrand.program.program import Program
from herbrand.program.question import Question

CHOICES = "circuit"
"""The one engine that draws choices (``::``)."""
BEST_WORLD = "integer"
"""The engine that finds the most probable world under counts and sums."""
MOST_KEPT = 2**26
"""Bytes of a run: what is larger is prepared again, as memory is worth more than the time."""
PLANNING_SHARE = 0.25
"""Of the time left, what one engine's estimate may take, so that others can still be asked, and run."""
PLANNING_SECONDS = 10.0
"""The same where there is no limit: an engine whose plan is not made by then is not the one to wait for."""


@dataclass(frozen=True, eq=False)
class Settled:
    """An engine at rest: its last state, and how it came there."""

    engine: AnyEngine
    state: Any
    status: Status

    def read(self) -> Any:
        """The engine's answer."""
        return self.engine.read(self.state, self.status)

    def explain(self) -> Any:
        """Why the answer is what it is."""
        return self.engine.explain(self.state, self.status)


@dataclass(eq=False)
class LatestChoice:
    """The choice for the latest question of a model, and its first state, where that lasts and is not large:
    who asks again begins at once."""

    _kept: tuple[tuple[Any, ...], Choice] | None = None

    def chosen(self, name: str, settings: Settings, program: Program, question: Question) -> Choice:
        """As :func:`choose`; the engine has the clock of this call."""
        key = name, settings, program, question
        kept, self._kept = self._kept, None  # where something else is asked it makes room
        if kept is None or kept[0] != key:
            choice = choose(*key)
            return replace(choice, begin=partial(self._begun, key, choice))
        self._kept = kept
        own = used_settings("infer", kept[1].name, settings)
        return replace(kept[1], engine=engine_named("infer", kept[1].name, own), settings=own)

    def settled(
        self,
        name: str,
        settings: Settings,
        program: Program,
        question: Question,
        note: Callable[[str], None] | None,
        progress: Callable[[str, float], None] | None,
    ) -> Settled:
        """The chosen engine at rest. ``note`` hears what ``auto`` chose, ``progress`` of each step; a refusal
        names engines that can run it instead."""
        choice = self.chosen(name, settings, program, question)
        if note is not None and name == "auto":
            note(str(choice))
        limits = Limits.of(choice.settings)
        try:
            found = settle(choice.engine, choice.begin, limits, watching(progress, limits))
        except OutOfTimeError:
            raise
        except BudgetError as error:
            raise with_alternatives(error, choice.name, settings, program, question) from None
        return Settled(choice.engine, *found)

    def _begun(self, key: tuple[Any, ...], choice: Choice) -> Any:
        state = choice.begin()
        needed = choice.cost.bytes
        if needed is not None and needed <= MOST_KEPT and getattr(state, "lasting", False):
            self._kept = key, replace(choice, begin=lambda: state)
        return state


def choose(name: str, settings: Settings, program: Program, question: Question) -> Choice:
    """The engine of this name, unasked whether it can; for ``auto`` the best that says it can."""
    if program.uncertain:
        name = _for_choices(name, program, question)
    if name == "auto":
        return best(choices(settings, program, question, past_exact=False))
    engine = engine_named("infer", name, settings)
    return unasked(engine, settings, readable_by(engine, program), question)


def _for_choices(name: str, program: Program, question: Question) -> str:
    """The engine of theories with ``::``, and for the most probable world under counts the one of integer
    programs; raises where another one is named."""
    whole_world = question.most_probable and not question.summed_out
    if whole_world and name in ("auto", BEST_WORLD) and only_count(program.uncertain):
        return BEST_WORLD
    if name not in ("auto", CHOICES):
        raise unusable_by(name, program.uncertain[0], program.signature)
    return CHOICES


def readable_by(engine: AnyEngine, program: Program) -> Program:
    """The program, tables of networks as templates for an engine that does not read ``whole_tables``."""
    return program if getattr(engine, "whole_tables", False) else in_cells(program)


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
        engine = installed("infer", name, own)
        prepared = next((one.prepared for one in handed if one.engine == engine), None) or engine.prepare(
            readable_by(engine, program), question, _for_planning(own.budget)
        )
        if isinstance(prepared, HandedOver):
            handed.append(prepared)
        offer = offered(engine, own, prepared)
        yield offer
        is_affordable |= isinstance(offer, Choice) and offer.exact and offer.operations <= AFFORDABLE
        if program.tables and is_affordable:
            return  # all others would read the tables cell by cell


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
