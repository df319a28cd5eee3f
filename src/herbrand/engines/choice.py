"""Choice of the engine of ``infer``: the one that is named, or by ``auto`` the best offer.

The estimate often had to prepare what a run needs; a choice goes on from there.

Each engine is asked what its run would cost; the best of these offers is taken.

>>> cheap, sure = Cost(1e3, guarantee=Guarantee.APPROXIMATION), Cost(1e9, guarantee=Guarantee.EXACT)
>>> print(best([Offer("bp", cheap), Offer("exact", sure)]))
engine bp, the first quick approximation, as no exact answer is affordable: about 1.0e+03 operations
>>> print(best([Offer("exact", sure), Offer("bp", cheap)]))
engine exact, the cheapest exact answer: about 1.0e+09 operations
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import Budget
from herbrand.engines.engine import Cost, Engine, Prepared, Refusal, Settings, first_state
from herbrand.engines.fallback import Fallback, HandedOver
from herbrand.engines.loop import Limits, settle, watching
from herbrand.engines.registry import APPROXIMATE, INFERENCE, WORLDS, engine_named, installed, used_settings
from herbrand.errors import BudgetError, Mistake, OutOfTimeError, UnsupportedError
from herbrand.program.dependencies import only_count, unusable_by
from herbrand.program.expansion import ManyInstancesError
from herbrand.program.lower import in_cells
from herbrand.program.program import Program
from herbrand.program.question import Question

AnyEngine = Engine[Any, Any, Any, Any, Any]

AT_ONCE = 1e7
"""Operations that take no noticeable time, so that no other engine need be asked."""
AFFORDABLE = 1e11
"""Operations of some minutes. Above, an approximation is the better first answer."""
PATIENT = 5e9
"""Operations of a minute. An approximation above gives way to a later one below."""
WITHOUT_ESTIMATE = {
    "circuit": "the one that draws choices, counts what is uncertain and takes formulas of many cases",
    "integer": "the one that finds the best world under counts and sums",
}
"""Reason to choose an engine that gives no estimate of its operations."""


@dataclass(frozen=True, eq=False)
class Offer:
    """An engine that can run, and its cost."""

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
        """Reason for which ``auto`` takes this offer, if it does."""
        if self.cost.operations is None:
            return WITHOUT_ESTIMATE.get(self.name, "as it was named")
        if not self.exact:
            quick = "quick " if self.operations <= PATIENT else ""
            return f"the first {quick}{self.cost.guarantee.value}, as no exact answer is affordable"
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
    """An offer that can be run: ``begin`` makes the first state, ``settings`` are those that
    the engine uses."""

    engine: AnyEngine
    begin: Callable[[], Any]
    settings: Any


@dataclass(frozen=True, eq=False)
class Refused:
    """An engine that refuses, or advises against itself unless it is named."""

    name: str
    refusal: Refusal


AnyOffer = TypeVar("AnyOffer", bound=Offer)


def chosen_by_name(engine: AnyEngine, settings: Any, program: Any, question: Any) -> Choice:
    """Choice of an engine by name: its cost is not estimated, and it refuses when it begins."""
    return Choice(engine.name, Cost(), engine, partial(first_state, engine, program, question), settings)


def offered(engine: AnyEngine, settings: Any, prepared: Prepared[Any] | Refusal) -> Choice | Refused:
    """Offer or refusal of an engine, from what it prepared."""
    if isinstance(prepared, Refusal):
        return Refused(engine.name, prepared)
    estimate = prepared.cost()
    if isinstance(estimate, Refusal):
        return Refused(engine.name, estimate)
    return Choice(engine.name, estimate, engine, prepared.begin, settings)


def best(offers: Iterable[AnyOffer | Refused]) -> AnyOffer:
    """Choose the first offer that is exact at once; else the cheapest exact and affordable one; else the
    first quick approximation; else the first approximation; else the cheapest of all. Raise ``BudgetError``
    if all refuse."""
    refusals: list[Mistake] = []
    slow: list[AnyOffer] = []
    dear: list[AnyOffer] = []
    exact: list[AnyOffer] = []
    for offer in offers:
        if isinstance(offer, Refused):
            told = any(each.hint == offer.refusal.instead for each in refusals)
            hint = "" if told else offer.refusal.instead
            refusals.append(Mistake(f"{offer.name} cannot run it: {offer.refusal.why}", hint=hint))
        elif not offer.exact and offer.cost.handed:
            continue  # the engine that does the work is asked as well
        elif not offer.exact and exact:
            break
        elif not offer.exact and offer.operations <= PATIENT:
            return offer
        elif not offer.exact:
            slow.append(offer)
        elif offer.operations <= AT_ONCE:
            return offer
        elif offer.operations <= AFFORDABLE:
            exact.append(offer)
        else:
            dear.append(offer)
    if not exact and slow:
        return slow[0]
    if not exact and not dear:
        raise BudgetError(refusals)
    return min(exact or dear, key=lambda offer: offer.operations)


CHOICES = "circuit"
"""The only engine that draws choices (``::``)."""
BEST_WORLD = "integer"
"""The engine that finds the most probable world under counts and sums."""
MOST_KEPT = 2**26
"""Bytes of a run up to which its first state is kept; larger ones are prepared again, as memory is worth more
than the time."""
PLANNING_SHARE = 0.25
"""Share of the remaining time that one engine's estimate may take, so that others can still be
asked, and run."""
PLANNING_SECONDS = 10.0
"""Seconds that an estimate may take if there is no time limit: a slower plan is not worth waiting for."""


@dataclass(frozen=True, eq=False)
class Settled:
    """A finished run: the engine, its last state, and its status."""

    engine: AnyEngine
    state: Any
    status: Status

    def read(self) -> Any:
        """Answer of the engine."""
        return self.engine.read(self.state, self.status)

    def explain(self, proofs: int | None = None) -> Any:
        """Explanation of the answer; with ``proofs``, that many proofs if the engine lists them,
        else an error."""
        if proofs is None:
            return self.engine.explain(self.state, self.status)
        listing = getattr(self.engine, "proofs", None)
        if listing is None:
            raise UnsupportedError(
                f"{self.engine.name} does not use --proofs",
                hint="proofs are listed of what rests on choices (::)",
            )
        return replace(self.engine.explain(self.state, self.status), proofs=listing(self.state, proofs))


@dataclass(eq=False)
class LatestChoice:
    """Cache of the choice for the latest question of a model, with its first state if that is lasting and not
    large, so that the same question begins at once."""

    _kept: tuple[tuple[Any, ...], Choice] | None = None

    def __reduce__(self) -> tuple[type[LatestChoice], tuple[()]]:
        """Copy without the cached choice, which is cheaper to make again than to copy."""
        return LatestChoice, ()

    def chosen(self, name: str, settings: Settings, program: Program, question: Question) -> Choice:
        """:func:`choose` with the cache; a cached engine gets the budget of this call."""
        key = name, settings, program, question
        kept, self._kept = self._kept, None  # frees the old state before another is made
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
        """Run the chosen engine to rest. ``note`` is called with the choice of ``auto``, ``progress`` at each
        step. Where a run turns out too large, ``auto`` takes another engine; a refusal names one."""
        choice, refused = self.chosen(name, settings, program, question), list[str]()
        while True:
            if note is not None and name == "auto":
                note(str(choice))
            limits = Limits.of(choice.settings)
            try:
                end = settle(choice.engine, choice.begin, limits, watching(progress, limits))
                return Settled(choice.engine, *end)
            except OutOfTimeError:
                raise
            except BudgetError as error:
                refused.append(choice.name)
                other = alternative(error, refused, settings, program, question)
                if other is None:
                    raise
                if name != "auto":
                    raise BudgetError((*error.mistakes, Mistake(f"what can run it: {other}"))) from None
            choice = other

    def _begun(self, key: tuple[Any, ...], choice: Choice) -> Any:
        state = choice.begin()
        needed = choice.cost.bytes
        if needed is not None and needed <= MOST_KEPT and getattr(state, "lasting", False):
            self._kept = key, replace(choice, begin=lambda: state)
        return state


def choose(name: str, settings: Settings, program: Program, question: Question) -> Choice:
    """The engine of this name, without an estimate; for ``auto`` the best offer."""
    if program.uncertain:
        if name != "auto":
            engine_named("infer", name, settings)  # refuses a name that no engine has
        name = _for_choices(name, program, question)
        if name == "auto":
            return _best_world(settings, program, question)
    if name == "auto":
        return best(choices(settings, program, question, past_exact=False))
    engine = engine_named("infer", name, settings)
    return chosen_by_name(engine, settings, readable_by(engine, program), question)


def _best_world(settings: Settings, program: Program, question: Question) -> Choice:
    """The engine of integer programs, or that of choices if a solver cannot represent the amounts."""
    engine = engine_named("infer", BEST_WORLD, settings)
    offer = offered(engine, settings, engine.prepare(program, question, settings.budget))
    if isinstance(offer, Choice):
        return offer
    return chosen_by_name(engine_named("infer", CHOICES, settings), settings, program, question)


def _for_choices(name: str, program: Program, question: Question) -> str:
    """Name of the engine for theories with ``::``; ``auto`` for the most probable world under counts, which
    integer programs may find. Raises if another engine is named."""
    whole_world = question.most_probable and not question.summed_out
    if whole_world and name in ("auto", BEST_WORLD) and only_count(program.uncertain):
        return name
    if name not in ("auto", CHOICES):
        raise unusable_by(name, program.uncertain[0], program.signature)
    return CHOICES


def readable_by(engine: AnyEngine, program: Program) -> Program:
    """The program, with tables of networks lowered to templates unless the engine reads whole tables."""
    return program if reads_whole_tables(engine) else in_cells(program)


def reads_whole_tables(engine: AnyEngine) -> bool:
    return getattr(engine, "whole_tables", False)


def choices(
    settings: Settings,
    program: Program,
    question: Question,
    past_exact: bool = True,
    without: Collection[str] = (),
) -> Iterator[Choice | Refused]:
    """Ask all engines but ``without`` one after another, each once, lazily as estimates cost time.

    Without ``past_exact``, engines that only approximate are not asked once an exact answer is affordable, as
    they ground everything for their estimate. For a network then no engine is asked, as some read its tables
    cell by cell.
    """
    prepared_engines: list[tuple[AnyEngine, Program, Prepared[Any] | Refusal]] = []
    in_cells_once = cache(partial(in_cells, program))

    def known(engine: AnyEngine, read: Program) -> Prepared[Any] | Refusal | None:
        return next(
            (answer for other, same, answer in prepared_engines if other == engine and same is read), None
        )

    is_affordable = False
    for name in _in_turn(program, question):
        settings.budget.check()
        if name in without:
            continue
        if is_affordable and not past_exact and (program.tables or name in APPROXIMATE):
            return
        own = used_settings("infer", name, settings)
        engine = installed("infer", name, own)
        try:
            read = program if reads_whole_tables(engine) else in_cells_once()
        except BudgetError as error:
            yield Refused(name, Refusal(error))
            continue
        if isinstance(engine, Fallback):
            engine = replace(engine, known=known(engine.second, read))
        prepared = known(engine, read) or engine.prepare(read, question, _for_planning(own.budget))
        prepared_engines.append((engine, read, prepared))
        if isinstance(prepared, HandedOver):
            if prepared.engine.name in without:
                continue
            prepared_engines.append((prepared.engine, read, prepared.prepared))
        offer = offered(engine, own, prepared)
        yield offer
        is_affordable |= isinstance(offer, Choice) and offer.exact and offer.operations <= AFFORDABLE


def _in_turn(program: Program, question: Question) -> tuple[str, ...]:
    """Names of the engines in the order in which they are asked. Engines for worlds alone read the tables of
    a network cell by cell, so that elimination is asked before them."""
    if not question.most_probable:
        return tuple(INFERENCE)
    first, *others = INFERENCE
    return (first, *WORLDS, *others) if program.tables else (*WORLDS, *INFERENCE)


def _for_planning(budget: Budget) -> Budget:
    """Part of the remaining time for an estimate; one that takes longer is a refusal."""
    return budget.share(PLANNING_SHARE) if budget.seconds is not None else budget.at_most(PLANNING_SECONDS)


def alternative(
    error: BudgetError, refused: Collection[str], settings: Settings, program: Program, question: Question
) -> Choice | None:
    """What ``auto`` takes instead of the engines ``refused``, if the remaining time suffices to find it."""
    if settings.clip is not None or program.uncertain or isinstance(error, ManyInstancesError):
        return None  # no other engine computes that model, or answers so many instances
    settings = replace(settings, budget=settings.budget.share(0.5))
    try:
        return best(choices(settings, program, question, past_exact=False, without=refused))
    except BudgetError:
        return None
