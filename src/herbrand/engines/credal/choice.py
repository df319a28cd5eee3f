"""Which engine answers a question of bounds: the one named, or by ``auto`` the surest that is affordable.

``auto`` takes the exact engine where its estimate is some minutes at most, else interval messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from herbrand.engines.credal.engine import BoundEngine, BoundSettings
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundQuestion
from herbrand.engines.engine import Refusal
from herbrand.engines.registry import BOUND, bound_engine_named

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
) -> BoundEngine:
    """The engine of this name, unasked whether it can; for ``auto`` the first that can at a fair cost."""
    if name != "auto":
        return bound_engine_named(name, settings)
    *preferred, last = BOUND
    for candidate in preferred:
        engine = bound_engine_named(candidate, settings)
        # an estimate that takes longer than this is a refusal: the last engine is to have time to run
        asked = replace(settings, budget=settings.budget.share(PLANNING_SHARE))
        told = bound_engine_named(candidate, asked).supports(network, question)
        if isinstance(told, Refusal):
            why = told.why
        elif (told.operations or 0.0) <= AFFORDABLE:
            _tell(note, f"engine {candidate}: about {told.operations or 0.0:.1e} operations")
            return engine
        else:
            why = f"it may take {told.operations or 0.0:.1e} operations"
        _tell(note, f"engine {last}, as {candidate} is too dear or cannot: {why}")
    return bound_engine_named(last, settings)


def _tell(note: Callable[[str], None] | None, text: str) -> None:
    if note is not None:
        note(text)
