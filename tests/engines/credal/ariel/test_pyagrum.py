"""An independent check: pyAgrum's L2U on polytrees of interval tables, where both are exact."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from tests.engines.credal.ariel.networks import conditionals, random_parents
from tests.oracles.ariel import Sentence

gum = pytest.importorskip("pyagrum", reason="an independent check, where pyagrum is installed")


@pytest.mark.parametrize("seed", range(5))
def test_polytrees_agree_with_loopy_2u(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    parents = random_parents(rng, n, 2, tree=True)
    nets = [gum.BayesNet(), gum.BayesNet()]
    sentences = []
    for net in nets:
        for atom in range(n):
            net.add(gum.LabelizedVariable(f"x{atom}", "", 2))
        for atom, its in enumerate(parents):
            for parent in its:
                net.addArc(f"x{parent}", f"x{atom}")
    for atom, its in enumerate(parents):
        for case, condition in enumerate(conditionals(atom, its)):
            low, high = sorted(rng.uniform(0.05, 0.95, 2).tolist())
            sentences.append(Sentence(f"x{atom}", condition, low, high))
            values = {f"x{p}": case >> (len(its) - 1 - i) & 1 for i, p in enumerate(its)}
            for net, row in zip(nets, ([1 - high, low], [1 - low, high]), strict=True):
                net.cpt(f"x{atom}")[values or slice(None)] = row
    credal = gum.CredalNet(*nets)
    credal.intervalToCredal()
    credal.computeBinaryCPTMinMax()
    inference = gum.CNLoopyPropagation(credal)
    inference.makeInference()
    text = "\n".join(sentence.statement for sentence in sentences)
    found = hb.Model(hb.parse(text)).bound(engine="ariel")
    for atom in range(n):
        row = found[f"x{atom}"]
        ends = inference.marginalMin(f"x{atom}")[1], inference.marginalMax(f"x{atom}")[1]
        assert (row.lower, row.upper) == pytest.approx(ends, abs=1e-5)
