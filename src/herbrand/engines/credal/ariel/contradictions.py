"""Which statements contradict each other, where messages have found that some do.

Only the neighbourhood of the factor that failed is looked at, widened until it contradicts itself on its own;
then one block of statements after another is left out. Independences stay those of the whole network.
"""

from __future__ import annotations

from collections.abc import Callable

from herbrand.engines.credal.ariel.incidence import Incidence
from herbrand.engines.credal.ariel.messages import FoundContradictionError
from herbrand.engines.credal.ariel.regions import growing, kept_only
from herbrand.engines.credal.conflict import contradiction_of, smallest
from herbrand.engines.credal.network import Network
from herbrand.errors import ContradictionError


def explained(
    incidence: Incidence,
    found: FoundContradictionError,
    contradicts: Callable[[Network], bool],
    markov: bool,
) -> ContradictionError:
    """The error that names statements that cannot hold together, none of which could be left out.

    ``markov``: with the independences of the network.
    """
    network = incidence.network
    region: list[int] = []
    for region in growing(incidence, found.sentences.tolist(), found.atoms.tolist()):
        if contradicts(kept_only(network, region)):
            break
    by_statement: dict[int, list[int]] = {}
    for sentence in region or found.sentences.tolist():
        group, row = incidence.source(sentence)
        by_statement.setdefault(int(network.groups[group].statement[row]), []).append(sentence)
    needed = smallest(
        sorted(by_statement),
        lambda kept: contradicts(kept_only(network, [s for number in kept for s in by_statement[number]])),
    )
    sources = [[incidence.source(s) for s in by_statement[number]] for number in needed]
    return contradiction_of(network, sources, markov)
