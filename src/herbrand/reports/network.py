"""Size of the credal network of a theory of bounds, and the engines that can bound it, for ``herbrand
check``.

>>> import herbrand as hb
>>> from herbrand.engines.credal.question import BoundSettings
>>> model = hb.Model(hb.parse("P(a) <= 0.3\\nP(b | a) >= 0.6\\nP(b | not a) <= 0.2"))
>>> size = network_size(model.program, BoundSettings())
>>> size.sentences, size.factors, size.widest, size.cyclic, size.engines["exact"].guarantee
(3, 2, 2, 0, <Guarantee.EXACT: 'exact'>)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from herbrand.engines.choice import Choice, offered
from herbrand.engines.credal.ariel.scopes import scopes_of
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.markov import graph_of
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundQuestion, BoundSettings, read_bound_question
from herbrand.engines.engine import Cost, Refusal
from herbrand.engines.registry import BOUND, engine_named
from herbrand.errors import HerbrandError
from herbrand.program.program import Program


@dataclass(frozen=True)
class NetworkSize:
    """Size of a credal network. ``sentences`` are ground; a factor has all sentences over the same atoms;
    ``widest``: the largest number of atoms of a factor.

    ``cyclic``: number of atoms on cycles of the graph or above them; 0 if it is acyclic. ``refused``: why
    there is no network.
    """

    atoms: int
    sentences: int
    factors: int
    widest: int
    cyclic: int
    engines: dict[str, Cost | Refusal]
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "atoms": self.atoms,
            "sentences": self.sentences,
            "factors": self.factors,
            "widest_factor": self.widest,
            "cyclic_atoms": self.cyclic,
            "refused": self.refused or None,
        }

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Rows of a table: item, size, detail."""
        if self.refused:
            yield "credal network", "none", self.refused
            return
        graph = f"{self.cyclic:,} on or above cycles" if self.cyclic else "no cycle"
        yield "credal network", f"{self.atoms:,}", f"open ground atoms, {graph}"
        yield (
            "ground bounds",
            f"{self.sentences:,}",
            f"in {self.factors:,} factors of up to {self.widest:,} atoms",
        )


def network_size(program: Program, settings: BoundSettings, queries: Sequence[str] = ()) -> NetworkSize:
    """Size of the network that ``bound`` would use for these queries, or for all atoms; nothing is solved."""
    try:
        lowering = Lowering.over(program, settings.budget)
        network = lowering.network()
    except HerbrandError as error:
        refusal = Refusal(error)
        return NetworkSize(0, 0, 0, 0, 0, dict.fromkeys(BOUND, refusal), refusal.why)
    scopes, question = scopes_of(network), read_bound_question(queries, lowering)
    return NetworkSize(
        len(network.atoms),
        len(network),
        sum(map(len, scopes)),
        max((scope.arity for scope in scopes), default=0),
        int(graph_of(network).is_core.sum()),
        {name: _estimated(name, settings, network, question) for name in BOUND},
    )


def _estimated(
    name: str, settings: BoundSettings, network: Network, question: BoundQuestion
) -> Cost | Refusal:
    engine = engine_named("bound", name, settings)
    offer = offered(engine, settings, engine.prepare(network, question, settings.budget))
    return offer.cost if isinstance(offer, Choice) else offer.refusal
