"""An engine that never settles, to see what is told of a run that does not converge."""

from __future__ import annotations

from dataclasses import dataclass

from herbrand.engines.engine import Settings
from herbrand.engines.exact import Exact, ExactState


@dataclass(frozen=True)
class Restless(Exact):
    @classmethod
    def with_settings(cls, settings: Settings) -> Restless:
        return cls(settings.budget)

    def residual(self, state: ExactState) -> float:
        return 1.0
