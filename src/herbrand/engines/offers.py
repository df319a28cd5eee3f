"""What engines offer: each asked what its run would cost, and the best of these.

>>> cheap, sure = Cost(1e3, guarantee=Guarantee.APPROXIMATION), Cost(1e9, guarantee=Guarantee.EXACT)
>>> print(best([Offer("bp", cheap), Offer("exact", sure)]))
engine bp, the first approximation, as no exact answer is affordable: about 1.0e+03 operations
>>> print(best([Offer("exact", sure), Offer("bp", cheap)]))
engine exact, the cheapest exact answer: about 1.0e+09 operations
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from herbrand.answers.guarantee import Guarantee
from herbrand.engines.engine import Cost, Engine, Prepared, Refusal, first_state
from herbrand.errors import BudgetError, Mistake

AnyEngine = Engine[Any, Any, Any, Any, Any]

AT_ONCE = 1e7
"""Operations: nobody waits for them, so that no other engine need be asked."""
AFFORDABLE = 1e11
"""Operations: some minutes of work. Above it an approximation is the better first answer."""
WITHOUT_ESTIMATE = {
    "circuit": "the one that draws choices and counts what is uncertain",
    "integer": "the one that finds the best world under counts and sums",
}
"""Why these are taken, where nothing tells what they cost."""


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
        if self.cost.operations is None:
            return WITHOUT_ESTIMATE.get(self.name, "as it was named")
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
    settings: Any


@dataclass(frozen=True, eq=False)
class Refused:
    """An engine that cannot run, or should not unless it is named."""

    name: str
    refusal: Refusal


AnyOffer = TypeVar("AnyOffer", bound=Offer)


def unasked(engine: AnyEngine, settings: Any, program: Any, question: Any) -> Choice:
    """An engine that was named: it is not asked what it costs, and refuses when it begins."""
    return Choice(engine.name, Cost(), engine, partial(first_state, engine, program, question), settings)


def offered(engine: AnyEngine, settings: Any, prepared: Prepared[Any] | Refusal) -> Choice | Refused:
    """What an engine says of a program, once it has looked at it."""
    if isinstance(prepared, Refusal):
        return Refused(engine.name, prepared)
    told = prepared.cost()
    if isinstance(told, Refusal):
        return Refused(engine.name, told)
    return Choice(engine.name, told, engine, prepared.begin, settings)


def best(offers: Iterable[AnyOffer | Refused]) -> AnyOffer:
    """The first that answers exactly at once; else the cheapest that answers exactly and is affordable; else
    the first approximation; else the cheapest of all. A ``BudgetError`` where all refuse."""
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
