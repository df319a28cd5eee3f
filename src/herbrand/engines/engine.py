"""What an engine is: frozen settings that start, step and read, and never print.

``supports`` says, before any work, whether a program can be run and at what estimated cost; ``start``
gives the first state, ``step`` the next one, ``read`` the answer that a state holds. The loop in
:mod:`herbrand.engines.loop` does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.described import check_settings, described
from herbrand.program.program import Program
from herbrand.program.question import Question

State = TypeVar("State")


@dataclass(frozen=True)
class Support:
    """Whether an engine can run a program; ``operations`` and ``bytes`` estimate the cost.

    ``reason``: why not; where it is possible, why another engine's method would do the work. ``state``
    is what the estimate had to prepare anyway; a run can go on from there. ``guarantee`` is what its answer
    would have, ``detail`` what else the estimate found out. Where all the work is that of another engine with
    the same settings, ``instead`` is its name and what it says, so that nobody need ask it again.
    """

    possible: bool
    reason: str = ""
    operations: float | None = None
    bytes: float | None = None
    state: Any = None
    guarantee: Guarantee = Guarantee.APPROXIMATION
    detail: str = ""
    instead: tuple[str, Support] | None = None


@dataclass(frozen=True)
class Settings:
    """The settings of every engine; each takes those it has. ``None`` leaves the choice to the engine.

    ``schedule`` and ``damping`` say how a step replaces beliefs, ``starts`` how many runs (or chains) begin
    from different seeds, ``samples`` how many a sampler draws, ``cost`` how large a region may grow,
    ``structure`` which regions there are, ``clip`` how far one statement may move an atom (mean-field only:
    another model, which no engine takes in silence).
    """

    budget: Budget = UNLIMITED
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    schedule: str | None = None
    damping: float | None = None
    starts: int | None = None
    samples: int | None = None
    cost: float | None = None
    structure: str | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        check_settings("infer", self)


def settings_from(given: Mapping[str, Any], budget: Budget | None = None) -> Settings:
    """The settings that keywords of ``infer`` describe."""
    return described(Settings, "infer", given, budget)


class Engine(Protocol[State]):
    """One inference method. Implementations are frozen dataclasses; their fields are their settings."""

    name: str

    def supports(self, program: Program, question: Question) -> Support: ...

    def start(self, program: Program, question: Question) -> State: ...

    def step(self, state: State) -> State:
        """The next state."""
        ...

    def residual(self, state: State) -> float:
        """How far the last step moved; 0 where there is nothing left to do."""
        ...

    def read(self, state: State, status: Status) -> Marginals: ...

    def explain(self, state: State, status: Status) -> Explanation:
        """Why the one atom that was asked for has its probability: its log-odds as a sum of reasons."""
        ...
