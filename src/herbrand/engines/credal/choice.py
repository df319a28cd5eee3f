"""Which engine answers a question of bounds: the one named, or by ``auto`` the surest that is affordable.

``auto`` takes the exact engine where its estimate is some minutes at most, else interval messages.
"""

from __future__ import annotations

from collections.abc import Callable

from herbrand.engines.credal.engine import BoundSettings
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundQuestion
from herbrand.engines.offers import Choice, Refused, offered, unasked
from herbrand.engines.registry import BOUND, engine_named

AFFORDABLE = 1.2e10
"""Operations: some two minutes of work."""
PLANNING_SHARE = 0.25
"""Of the time left, what the estimate of one engine may take."""


def chosen(
    name: str,
    settings: BoundSettings,
    network: Network,
    question: BoundQuestion,
    note: Callable[[str], None] | None = None,
) -> Choice:
    """The engine of this name, unasked whether it can; for ``auto`` the first that can at a fair cost."""
    *preferred, last = BOUND
    for candidate in preferred if name == "auto" else ():
        engine = engine_named("bound", candidate, settings)
        # an estimate that takes longer than this is a refusal: the last engine is to have time to run
        prepared = engine.prepare(network, question, settings.budget.share(PLANNING_SHARE))
        offer = offered(engine, settings, prepared)
        if isinstance(offer, Choice) and offer.operations <= AFFORDABLE:
            _tell(note, f"engine {candidate}: about {offer.operations:.1e} operations")
            return offer
        _tell(note, f"engine {last}, as {candidate} is too dear or cannot: {_why_not(offer)}")
    engine = engine_named("bound", last if name == "auto" else name, settings)
    return unasked(engine, settings, network, question)


def _why_not(offer: Choice | Refused) -> str:
    return (
        offer.refusal.why if isinstance(offer, Refused) else f"it may take {offer.operations:.1e} operations"
    )


def _tell(note: Callable[[str], None] | None, text: str) -> None:
    if note is not None:
        note(text)
