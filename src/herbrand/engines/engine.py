"""What an engine is: frozen settings that start, step and read, and never print.

``supports`` tells, before any work, whether a program can be run and at what estimated cost; ``start``
gives the first state, ``step`` the next one, ``read`` the answer that a state holds. The loop in
:mod:`herbrand.engines.loop` does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status
from herbrand.program.program import Program
from herbrand.program.question import Question

State = TypeVar("State")


@dataclass(frozen=True)
class Support:
    """Whether an engine can run a program; ``operations`` and ``bytes`` estimate the cost.

    ``state`` is what the estimate had to prepare anyway; a run can go on from there.
    """

    possible: bool
    reason: str = ""
    operations: float | None = None
    bytes: float | None = None
    state: Any = None


@dataclass(frozen=True)
class Settings:
    """What every engine is told; it takes what it understands. ``None`` leaves the choice to the engine.

    ``schedule`` and ``damping`` say how a step replaces beliefs, ``starts`` how many runs (or chains) begin
    from different seeds, ``samples`` how many a sampler draws, ``cost`` how large a region may grow.
    """

    memory: int | None = None
    seconds: float | None = None
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    schedule: str | None = None
    damping: float | None = None
    starts: int | None = None
    samples: int | None = None
    cost: float | None = None


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
