"""What facts say of single atoms: soft evidence, and values that atoms are known not to have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Array
from herbrand.program.evidence import LATENT
from herbrand.program.ground import Ground


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """``worths[i]`` is added to the log-weight of worlds in which atom ``atoms[i]`` has value ``values[i]``;
    the same atom may come again. ``constant``: of what is said of known atoms."""

    atoms: Array
    values: Array
    worths: Array
    constant: float

    def items(self) -> Iterator[tuple[int, int, float]]:
        """Atoms, values and what is added."""
        return zip(self.atoms.tolist(), self.values.tolist(), self.worths.tolist(), strict=True)


def own_weights(ground: Ground) -> OwnWeights:
    """Those of all latent atoms."""
    atoms, values, worths = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    constant = 0.0
    for predicate in ground.program.signature.predicates:
        codes, about, added = ground.evidence.weights(predicate)
        if not len(codes):
            continue
        settled = ground.evidence.known(predicate).lookup(codes)
        constant += float(added[settled == about].sum())
        latent = settled == LATENT
        if latent.any():
            atoms.append(ground.atoms.numbers(predicate, codes[latent]))
            values.append(about[latent])
            worths.append(added[latent])
    return OwnWeights(np.concatenate(atoms), np.concatenate(values), np.concatenate(worths), constant)
