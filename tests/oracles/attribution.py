"""What each statement adds to an atom's log-odds, by walking through all worlds at many scales."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from herbrand.language import syntax as s
from herbrand.language.show import show_statement
from tests.oracles.worlds import GroundAtom, Universe

SOFT = "soft evidence"


def attributions(
    universe: Universe,
    statements: Sequence[s.WeightedFormula],
    atom: GroundAtom,
    value: object,
    whole: Sequence[s.WeightedFormula] | None = None,
) -> tuple[float, float, dict[str, float]]:
    """The log-odds at scale 0 and at scale 1, and the integral of each statement's part of the slope.

    Where statements are named that count ``whole`` at every scale, soft evidence does so as well.
    """
    hard = [statement for statement in statements if isinstance(statement.weight, s.Hard)]
    texts = {next(iter(show_statement(statement))) for statement in statements if statement not in hard}
    alone = _without_soft(universe)
    added = [
        (next(iter(show_statement(statement))), alone.weight_of_worlds([statement]))
        for statement in statements
        if statement not in hard
    ]
    added.append((SOFT, universe.weight_of_worlds([])))
    possible = alone.weight_of_worlds(hard)
    rows = []
    for world in universe.worlds():
        if possible(world) == -math.inf:
            continue
        parts = dict.fromkeys([*texts, SOFT], 0.0)
        for text, log_weight in added:
            parts[text] += log_weight(world)
        rows.append((world[atom] == value, parts))
    unscaled = [next(iter(show_statement(statement))) for statement in whole or ()]
    unscaled += [SOFT] if whole is not None else []
    holds = np.array([row[0] for row in rows])
    names = [*texts, SOFT]
    table = np.array([[parts[name] for name in names] for _, parts in rows])
    fixed = table[:, [names.index(name) for name in unscaled]].sum(axis=1)
    table[:, [names.index(name) for name in unscaled]] = 0.0
    weights = table.sum(axis=1)

    def log_sum(scale: float, among: np.ndarray) -> float:
        return float(np.logaddexp.reduce(fixed[among] + scale * weights[among])) if among.any() else -math.inf

    def expected(scale: float, among: np.ndarray) -> np.ndarray:
        shares = np.exp(fixed[among] + scale * weights[among] - log_sum(scale, among))
        return shares @ table[among]

    ends = [log_sum(scale, holds) - log_sum(scale, ~holds) for scale in (0.0, 1.0)]
    if not all(map(math.isfinite, ends)):
        return ends[0], ends[1], {}
    nodes, shares = np.polynomial.legendre.leggauss(100)
    total = sum(
        share / 2 * (expected((node + 1) / 2, holds) - expected((node + 1) / 2, ~holds))
        for node, share in zip(nodes, shares, strict=True)
    )
    return ends[0], ends[1], dict(zip(names, np.asarray(total).tolist(), strict=True))


def _without_soft(universe: Universe) -> Universe:
    return Universe(
        universe.domains, universe.predicates, universe.known, universe.closed, (), universe.excluded
    )
