"""An independent check: pyAgrum's L2U on polytrees of interval tables, where it is exact and so are we."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import herbrand as hb
from tests.engines.credal.ariel.networks import conditionals, random_parents
from tests.oracles.ariel import Sentence

REASON = "an independent check: pip install 'herbrand[check]'"
gum = pytest.importorskip("pyagrum", reason=REASON)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its SWIG types
ATOMS = 7


def polytree(seed: int) -> tuple[hb.Model, Any]:
    """A random polytree of interval tables: as a model of ours, and as pyAgrum's propagation."""
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, ATOMS, 2, tree=True)
    nets = [gum.BayesNet(), gum.BayesNet()]
    sentences = []
    for net in nets:
        for atom in range(ATOMS):
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
    text = "\n".join(sentence.statement for sentence in sentences)
    propagation = gum.CNLoopyPropagation(credal)
    propagation.kept = credal, nets  # it refers to them without holding them
    return hb.Model(hb.parse(text)), propagation


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("seed", range(5))
def test_polytrees_agree_with_loopy_2u(seed: int, engine: str) -> None:
    model, propagation = polytree(seed)
    propagation.makeInference()
    found = model.bound(engine=engine)
    for atom in range(ATOMS):
        row = found[f"x{atom}"]
        ends = propagation.marginalMin(f"x{atom}")[1], propagation.marginalMax(f"x{atom}")[1]
        assert (row.lower, row.upper) == pytest.approx(ends, abs=1e-5)
