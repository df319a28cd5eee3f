"""Lower bound on the log-partition from beliefs about counts, by which to choose among fixed points.

Region free energies bound nothing. Independent beliefs about each variable do: the mean log-weight under
their product, plus its entropy, is at most the log-partition (Jensen), and maximising it variable by variable
from the beliefs of a fixed point stays in that fixed point's mode. A spurious mode has a small bound,
whatever its free energy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Scope
from herbrand.engines.regions.tables import normalised

SWEEPS = 30
RISE = 1e-6
MOST_ENTRIES = 3e8
"""Number of entries read in all sweeps at most: fewer sweeps are a bound as well."""


def lower_bound(counts: CountGraph, beliefs: Sequence[np.ndarray]) -> float:
    """Bound from log-probabilities of each variable's counts, if everything is counted; minus infinity if
    these allow something impossible."""
    scopes = [*(part.scope for part in counts.factors), *counts.wide]
    chances = [np.exp(belief) for belief in beliefs]
    every = sum(counts.entries(counts.all_of(scope)) * len(scope) for scope in scopes) + 1.0
    best = -np.inf
    for _ in range(int(np.clip(MOST_ENTRIES / every, 1, SWEEPS))):
        for variable, own in enumerate(counts.variables):
            field = own.all_ways.copy()
            for scope in scopes:
                if variable in scope:
                    field += _mean(counts, scope, chances, variable)
            if not (field > -np.inf).any():
                return best
            chances[variable] = np.exp(normalised(field))
        value = _bound(counts, scopes, chances)
        if value <= best + RISE:
            break
        best = value
    return best


def _bound(counts: CountGraph, scopes: Sequence[Scope], chances: Sequence[np.ndarray]) -> float:
    """Mean log-weight plus entropy of independent variables."""
    total = counts.constant
    for own, chance in zip(counts.variables, chances, strict=True):
        here = chance > 0
        total += float((chance[here] * (own.all_ways[here] - np.log(chance[here]))).sum())
    for scope in scopes:
        first = _mean(counts, scope, chances, scope[0])
        here = chances[scope[0]] > 0
        total += float((chances[scope[0]][here] * first[here]).sum())
    return total


def _mean(counts: CountGraph, scope: Scope, chances: Sequence[np.ndarray], keep: int) -> np.ndarray:
    """Mean of a factor over all its variables but ``keep`` [row of that]."""
    if scope not in counts.wide:
        return _averaged(counts.table(scope), scope, chances, keep)
    out = next(variable for variable in sorted(counts.linear[scope]) if variable != keep)
    base, slope = counts.line(scope, out)
    count = float(chances[out] @ counts.variables[out].all_counts[:, 1])
    rest = tuple(variable for variable in scope if variable != out)
    return _averaged(base + count * slope, rest, chances, keep)


def _averaged(table: np.ndarray, scope: Scope, chances: Sequence[np.ndarray], keep: int) -> np.ndarray:
    """Mean of a table under independent variables, minus infinity where an impossible entry
    has positive probability."""
    impossible = table == -np.inf
    if impossible.any():
        finite = _averaged(np.where(impossible, 0.0, table), scope, chances, keep)
        barred = _averaged(impossible.astype(float), scope, chances, keep)
        return np.where(barred > 0, -np.inf, finite)
    for place in range(len(scope) - 1, -1, -1):
        if scope[place] != keep:
            table = np.tensordot(table, chances[scope[place]], (place, 0))
    return table
