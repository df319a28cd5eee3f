"""What an engine of ``bound`` is: frozen settings that run on a network and never print.

``supports`` says, before any work, whether a question can be answered and at what estimated cost; ``run``
answers it; ``explain`` names the sentences that an end of one interval rests on. All get the same network
and question; the engine takes the facts in ``network.facts`` as given in every query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import Explanation
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundQuestion
from herbrand.engines.described import check_settings
from herbrand.engines.engine import Cost, Refusal

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of all that is done, from 0 to 1."""


@dataclass(frozen=True)
class BoundSettings:
    """The settings of every engine of ``bound``. ``None`` leaves the choice to the engine.

    ``independence``: the Markov condition of the network, or no independence but what is stated. ``mode``:
    which independences messages use; ``paper`` repeats the published method, whose intervals may be too
    narrow. ``tolerance`` is how far a search may stop from the optimum.
    """

    budget: Budget = UNLIMITED
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    mode: Literal["sound", "paper"] = "sound"
    independence: Literal["markov", "none"] = "markov"

    def __post_init__(self) -> None:
        check_settings("bound", self)


class BoundEngine(Protocol):
    """One way to bound probabilities. Implementations are frozen dataclasses; their fields are settings.

    A class also has ``with_settings(settings: BoundSettings)``, which makes it.
    """

    name: str

    def supports(self, network: Network, question: BoundQuestion) -> Cost | Refusal: ...

    def run(self, network: Network, question: BoundQuestion, progress: Progress | None = None) -> Bounds:
        """An interval for each query, or for each atom; raises ``ContradictionError`` where there is none."""
        ...

    def explain(
        self, network: Network, question: BoundQuestion, progress: Progress | None = None
    ) -> tuple[Explanation, Explanation]:
        """Why the lower and the upper end of the one query asked are what they are."""
        ...
