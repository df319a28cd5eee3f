"""Intervals of single atoms from sound messages, from which a global search starts.

They follow from the network's sentences, and are rounded outward, so they change no optimum; but a search
whose atoms are confined from the start needs a fraction of its nodes.

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
"""The messages of the ``ariel`` engine, imported only when a search needs them."""
MOST_SENTENCES = 20_000
"""Most sentences of a network over which messages run: more would cost more than searches of small parts."""


@dataclass(frozen=True, eq=False)
class Seeds:
    """The atoms' intervals by messages that run when first needed, within ``budget``.

    Messages that are stopped early are sound, too.
    """

    network: Network
    markov: bool = True
    budget: Budget = UNLIMITED

    @cached_property
    def _intervals(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper ends [atoms]; ``None`` where the network is too large or contradicts itself.

        A contradiction is left to the search, which names the statements.
        """
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
        """The interval of an atom's probability."""
        if self._intervals is None:
            return 0.0, 1.0
        lower, upper = self._intervals
        return float(lower[atom]), float(upper[atom])

    def interval_of(self, query: BoundQuery) -> tuple[float, float]:
        """The interval of a query's probability given the facts."""
        if self._intervals is None:
            return 0.0, 1.0
        return self._run.outer_interval(query, *self._intervals)

    def added_to(self, part: NetworkPart) -> NetworkPart:
        """The part with the intervals of its atoms as further sentences."""
        if self._intervals is None:
            return part
        holds = np.array([False, True])
        observed = tuple(
            Sentence((atom,), holds, np.full(2, True), *self.interval(name))
            for atom, name in enumerate(part.names)
        )
        return replace(part, sentences=part.sentences + observed)
