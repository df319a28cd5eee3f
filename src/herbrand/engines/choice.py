"""Which engine runs a question: the one that was named, or by ``auto`` the surest that is affordable.

``auto`` takes the first engine that answers exactly at once; else the cheapest that answers exactly within
:data:`AFFORDABLE` operations; else the first approximation, in the order of the registry, that can run; else
whatever exact engine can. The estimate often had to prepare what a run needs; a choice hands it on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.engine import Engine, Settings, Support
from herbrand.engines.registry import APPROXIMATE, INFERENCE, WORLDS, engine_named, installed, used_settings
from herbrand.errors import BudgetError, HerbrandError, Mistake
from herbrand.program.choices import only_count, unusable_by
from herbrand.program.network_cells import in_cells
from herbrand.program.program import Program
from herbrand.program.question import Question

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
class Choice:
    """An engine and whether, and at what cost, it can run; ``settings`` are those that it uses."""

    engine: Engine[Any]
    support: Support
    settings: Settings = field(default_factory=Settings)

    @property
    def cost(self) -> float:
        return self.support.operations or 0.0

    @property
    def exact(self) -> bool:
        return self.support.guarantee is Guarantee.EXACT

    @property
    def why(self) -> str:
        """Why ``auto`` takes it, if it does."""
        if self.support.operations is None and self.engine.name == BEST_WORLD:
            return "the one that finds the best world under counts and sums"
        if self.support.operations is None:
            return "the one that draws choices and counts what is uncertain"
        if not self.exact:
            return f"the first {self.support.guarantee.value}, as no exact answer is affordable"
        if self.cost <= AT_ONCE:
            return "exact at once"
        if self.cost <= AFFORDABLE:
            return "the cheapest exact answer"
        return "as nothing cheaper can run"

    def __str__(self) -> str:
        if self.support.operations is None:
            return f"engine {self.engine.name}, {self.why}"
        return f"engine {self.engine.name}, {self.why}: about {self.cost:.1e} operations"


def choose(name: str, settings: Settings, program: Program, question: Question) -> Choice:
    """The engine of this name, unasked whether it can; for ``auto`` the best that says it can."""
    if program.uncertain:
        name = _for_choices(name, program, question)
    if name != "auto":
        return Choice(engine_named(name, settings), Support(True), settings)
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


def readable_by(engine: Engine[Any], program: Program) -> Program:
    """The program, tables of networks as templates for an engine that does not read ``whole_tables``."""
    return program if getattr(engine, "whole_tables", False) else in_cells(program)


def best(choices: Iterable[Choice]) -> Choice:
    """What ``auto`` takes of these, in the order of the registry; a ``BudgetError`` if none can run."""
    refusals: list[Mistake] = []
    dear: list[Choice] = []
    exact: list[Choice] = []
    for choice in choices:
        if not choice.support.possible:
            refusals.append(Mistake(f"{choice.engine.name} cannot run it: {choice.support.reason}"))
        elif not choice.exact and choice.support.reason:
            continue  # it would only hand over to an engine that is asked as well
        elif not choice.exact:
            return min(exact, key=lambda other: other.cost) if exact else choice
        elif choice.cost <= AT_ONCE:
            return choice
        elif choice.cost <= AFFORDABLE:
            exact.append(choice)
        else:
            dear.append(choice)
    if not exact and not dear:
        raise BudgetError(refusals)
    return min(exact or dear, key=lambda choice: choice.cost)


def choices(
    settings: Settings, program: Program, question: Question, past_exact: bool = True
) -> Iterator[Choice]:
    """All engines, asked one after another, as an estimate may cost something; and none twice.

    Behind an exact engine that can read the whole tables of a network none is asked. Without ``past_exact``
    engines that only approximate are not asked once an exact answer is affordable: they ground everything
    to say what they cost, a matching pair by pair.
    """
    told: dict[str, Support] = {}
    is_affordable = False
    for name in (*WORLDS, *INFERENCE) if question.most_probable else INFERENCE:
        settings.budget.check()
        if is_affordable and not past_exact and name in APPROXIMATE:
            return
        own = used_settings("infer", name, settings)
        asked = installed(name, replace(own, budget=_for_planning(own.budget)))
        support = told.get(asked.name) or asked.supports(readable_by(asked, program), question)
        if support.instead:
            told.update([support.instead])
        choice = Choice(installed(name, own), support, own)
        yield choice
        is_affordable |= choice.exact and support.possible and choice.cost <= AFFORDABLE
        if program.tables and is_affordable:
            return  # all others would read the tables cell by cell


def _for_planning(budget: Budget) -> Budget:
    """A part of the time that is left: an estimate that takes longer is a refusal."""
    return budget.share(PLANNING_SHARE) if budget.seconds is not None else budget.at_most(PLANNING_SECONDS)


def with_alternatives(
    error: BudgetError, refused: Engine[Any], settings: Settings, program: Program, question: Question
) -> HerbrandError:
    """The refusal, and which engines could run it instead."""
    if settings.clip is not None:
        return error  # no other engine has that model
    others = [
        choice.engine.name
        for choice in choices(settings, program, question)
        if choice.engine.name != refused.name and choice.support.possible
    ]
    hint = f"engines that can run it: {', '.join(others)}" if others else ""
    return BudgetError((*error.mistakes, Mistake(hint)) if hint else error.mistakes)
