"""When training has learned what it will: no better value for some time.

>>> stopping = EarlyStopping(patience=2)
>>> for value in (3.0, 1.0, 1.5, 1.2):
...     stopping = stopping.after(value)
>>> stopping.over, stopping.best
(True, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from herbrand.tensor_files import whole_number


@dataclass(frozen=True)
class EarlyStopping:
    """``patience`` steps without a smaller smoothed value end training; ``None``: never.

    ``smoothing`` is the share of the old mean that a step keeps, as single steps are noisy.
    """

    patience: int | None = None
    smoothing: float = 0.0
    mean: float = math.nan
    best: float = math.inf
    waited: int = 0

    def restored(self, saved: Sequence[Any]) -> EarlyStopping:
        """This one where a training was saved: the mean, the best and how long it has waited."""
        mean, best, waited = saved
        return replace(self, mean=float(mean), best=float(best), waited=whole_number(waited))

    def after(self, value: float) -> EarlyStopping:
        """The state after one more step."""
        kept = value if math.isnan(self.mean) else self.smoothing * self.mean + (1 - self.smoothing) * value
        if kept < self.best:
            return replace(self, mean=kept, best=kept, waited=0)
        return replace(self, mean=kept, waited=self.waited + 1)

    @property
    def over(self) -> bool:
        return self.patience is not None and self.waited >= self.patience
