"""Reduced constraints sum to the same as the whole ones, for the total and every variable that is kept."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.circuit.compile import compiled
from herbrand.engines.circuit.constraints import Constraints
from herbrand.engines.circuit.reduction import reduced


@pytest.mark.parametrize("seed", range(60))
def test_totals_and_shares_stay(seed: int) -> None:
    rng = random.Random(seed)
    net = Constraints()
    normal = {net.variable() for _ in range(rng.randint(3, 8))}
    literals = [2 * variable + rng.randint(0, 1) for variable in normal]
    if rng.random() < 0.5:  # evidence comes before the gates that a question makes
        net.require([rng.choice(literals)])
    for _ in range(rng.randint(2, 7)):
        inputs = rng.sample(literals, min(len(literals), rng.randint(2, 4)))
        weighted = [(rng.randint(1, 2), literal) for literal in inputs]
        gate = rng.choice([net.every, net.either, lambda _, w=weighted: net.at_least(w, 2)])(inputs)
        if gate >= 0 and rng.random() < 0.6:  # what stands in one gate alone is not used again
            literals = [literal for literal in literals if literal not in inputs]
        literals += [gate] if gate >= 0 else []
    if rng.random() < 0.5:
        net.require(rng.sample(literals, min(2, len(literals))))
    weights = np.zeros((len(net), 2))
    for variable in normal:
        chance = rng.choice([rng.random(), 1e-9, 1 - 1e-9])
        weights[variable] = np.log1p(-chance), np.log(chance)
    weighted = rng.choice(literals) >> 1
    if weighted not in normal:
        weights[weighted] = 0.0, 0.7
    kept = {literal >> 1 for literal in rng.sample(literals, min(2, len(literals)))} | {weighted}

    agree_when_reduced(net, net, weights, normal, kept)


def agree_when_reduced(
    net: Constraints, same: Constraints, weights: np.ndarray, normal: set[int], kept: set[int]
) -> None:
    """The total of constraints, and the shares of what is kept, are those of the ``same`` ones reduced."""
    whole = compiled(net, UNLIMITED, kept, normal - kept)
    found = reduced(same, weights, normal, kept)
    less = compiled(found.net, UNLIMITED, kept, found.normal - kept)
    before, after = whole.values(weights), less.values(found.log_weights)
    assert after[less.root] == pytest.approx(before[whole.root], abs=1e-12)
    if before[whole.root] > -np.inf:
        shares = whole.shares(weights, before), less.shares(found.log_weights, after)
        before, after = (each.reshape(-1, 2)[list(kept)] for each in shares)
        assert after == pytest.approx(before, abs=1e-12)


def test_a_series_parallel_program_needs_no_decision() -> None:
    """Two-hop paths of any number are one choice: 1 less the product of what fails."""
    edges = [(a, b) for i in range(300) for a, b in (("s", f"m{i}"), (f"m{i}", "t"))]
    text = "0.3 :: edge(x, y) :- road(x, y)\nhops(x, y) :- edge(x, z), edge(z, y)"
    found = hb.Model(hb.parse(text), {"road": edges}).infer('hops("s", "t")')
    assert found['hops("s", "t")'] == pytest.approx(1 - 0.91**300, abs=1e-12)


def test_what_evidence_fixes_stays_fixed() -> None:
    """Evidence on a choice that only the question's gate rests on: it is no free choice any more."""
    text = '0.4 :: r("a")\n0.4 :: r("b")\n0.4 :: r("c")\nd :- r(x)\nnot r("a")'
    assert hb.Model(hb.parse(text)).infer("d")["d"] == pytest.approx(1 - 0.6**2, abs=1e-12)


def test_a_weighed_choice_is_no_choice_of_its_own() -> None:
    """A weight on a choice that nothing else names changes the log-partition."""
    found = hb.Model(hb.parse("0.4 :: a\n0.5 :: b\n1.5: a")).infer("b")
    assert found["b"] == pytest.approx(0.5, abs=1e-12)
    assert found.log_partition == pytest.approx(math.log(0.4 * math.exp(1.5) + 0.6), abs=1e-12)
