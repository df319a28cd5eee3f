"""A run of steps on a database: the note of the last step whose tables hold, and what the run may take.

A step makes new tables beside the old ones, then writes the note; so a run that is cut off at any time goes
on from the step before. The note is for one run only: other facts, another theory or other options have
another fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status, out_of_iterations
from herbrand.engines.engine import Settings
from herbrand.engines.loop import Limits, settle
from herbrand.errors import UnsupportedError
from herbrand.program.question import Question
from herbrand.relations.database import Database
from herbrand.scale.evidence import StoredEvidence

RUN = "run"


@dataclass(frozen=True)
class Run:
    """``room``: free bytes of disk, None if unknown; ``top`` and ``least`` leave out rows of the answer."""

    database: Database
    fingerprint: str = ""
    resume: bool = False
    room: int | None = None
    top: int | None = None
    least: float | None = None

    def begin(self) -> None:
        """From here on no step is kept."""
        self.database.drop(RUN)

    def keep(self, state: dict[str, Any]) -> None:
        """The one row that says which step's tables hold."""
        self.database.keep(RUN, json.dumps({"fingerprint": self.fingerprint, **state}))

    def kept(self) -> dict[str, Any]:
        """What was kept last; raises where another run kept it."""
        found = self.database.noted(RUN)
        if found.get("fingerprint") != self.fingerprint:
            raise nothing_to_resume(self.database)
        return found


class StoredState(Protocol):
    """``step``: how many were taken; ``moved``: how far the last one was from rest."""

    @property
    def evidence(self) -> StoredEvidence: ...
    @property
    def question(self) -> Question: ...
    @property
    def step(self) -> int: ...
    @property
    def moved(self) -> float: ...


class StoredEngine(Protocol):
    """An engine whose state is tables; as :class:`~herbrand.engines.engine.Engine`, begun from evidence."""

    @property
    def name(self) -> str: ...

    @classmethod
    def of(cls, run: Run, settings: Settings) -> Self:
        """Build the engine; refuse unsupported settings."""
        ...

    @staticmethod
    def estimate(evidence: StoredEvidence) -> tuple[float, float]:
        """Rows that a step joins, and bytes of disk; raises for what is not served."""
        ...

    def begun(self, evidence: StoredEvidence, question: Question) -> Any:
        """The first state, or, where the run is resumed, the last one that is kept."""
        ...

    def limits(self, state: Any, limits: Limits) -> Limits:
        """When to stop a run that is in this state."""
        ...

    def step(self, state: Any) -> Any: ...

    def residual(self, state: Any) -> float: ...

    def read(self, state: Any, status: Status) -> Marginals: ...


def settled(
    engine: Any, state: StoredState, limits: Limits, progress: Callable[[str, float], None] | None
) -> tuple[Any, Status]:
    """The state at rest, or where a limit is met; steps that an earlier call has taken count."""
    limits = engine.limits(state, limits)
    left = limits.iterations - state.step
    if state.moved <= limits.tolerance or left <= 0:
        converged = state.moved <= limits.tolerance
        advice = "" if converged else out_of_iterations(state.step)
        return state, Status(converged, state.step, advice=advice)

    def watch(step: int, residual: float) -> None:
        if progress is not None:
            progress(f"iteration {step:,}, residual {residual:.1e}", min(step / limits.iterations, 1.0))

    found, status = settle(engine, lambda: state, replace(limits, iterations=left), watch)
    advice = status.advice
    if advice == out_of_iterations(status.iterations):  # those of an earlier call count
        advice = out_of_iterations(found.step)
    return found, replace(status, iterations=found.step, advice=advice)


def nothing_to_resume(database: Database) -> UnsupportedError:
    return UnsupportedError(
        f"{database.name} keeps no run of this theory with these facts and options",
        hint="leave out --resume to begin anew",
    )


def refuse_foreign_settings(settings: Settings, engine: str) -> None:
    """Options that no engine on a database takes."""
    if settings.schedule not in (None, "parallel"):
        raise UnsupportedError(f"on a database {engine} is parallel, not {settings.schedule}")
    if settings.clip is not None:
        raise UnsupportedError("on a database messages are not clipped", hint="leave out --clip, or --on")
    if settings.starts not in (None, 1):
        raise UnsupportedError(f"on a database {engine} has one start")


def refuse_most_probable(question: Question) -> None:
    """Mean field finds a world atom by atom, and all atoms move at once here."""
    if question.most_probable:
        raise UnsupportedError(
            "the most probable world cannot be asked of a database", hint="leave out --map, or --on"
        )
