"""Intervals of single atoms, found by sound messages, for a global search to start from.

They follow from what a network says, and are rounded outward, so they change no optimum; but a search whose
atoms are confined from the start needs a fraction of its nodes.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(a) <= 0.3\\nP(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]")
>>> seeds = Seeds(credal_network(hb.Model(theory).program))
>>> [round(end, 4) for end in seeds.interval(1)]
[0.1, 0.35]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import NetworkPart, Sentence
from herbrand.engines.credal.question import BoundQuery
from herbrand.extras import later

_outer_run = later("herbrand.engines.credal.ariel.engine:outer_run")
"""The messages of the other engine, which small parts need not."""
MOST_SENTENCES = 20_000
"""Messages over more than this would cost more than the searches of a few small parts."""


@dataclass(frozen=True, eq=False)
class Seeds:
    """``budget``: how long messages may run; stopped ones are sound, too."""

    network: Network
    markov: bool = True
    budget: Budget = UNLIMITED

    @cached_property
    def _intervals(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``None`` also where there is a contradiction: the search finds it, and names the statements."""
        if len(self.network) > MOST_SENTENCES:
            return None
        return self._run.outer_intervals()

    @cached_property
    def _run(self) -> Any:
        return _outer_run(self.network, self.markov, self.budget)

    @property
    def known(self) -> bool:
        """Whether messages have run."""
        return "_intervals" in vars(self)

    def interval(self, atom: int) -> tuple[float, float]:
        """Between these lies the probability of an atom of the network."""
        if self._intervals is None:
            return 0.0, 1.0
        lower, upper = self._intervals
        return float(lower[atom]), float(upper[atom])

    def interval_of(self, query: BoundQuery) -> tuple[float, float]:
        """Between these lies what is asked for, the facts given."""
        if self._intervals is None:
            return 0.0, 1.0
        return self._run.outer_interval(query, *self._intervals)

    def added_to(self, part: NetworkPart) -> NetworkPart:
        """The part with what is known of its atoms said."""
        if self._intervals is None:
            return part
        holds = np.array([False, True])
        observed = tuple(
            Sentence((atom,), holds, None, *self.interval(name)) for atom, name in enumerate(part.names)
        )
        return replace(part, sentences=part.sentences + observed)
