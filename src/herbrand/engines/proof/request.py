"""How goals are to be answered, checked when said.

>>> Request.of({"algebra": "max", "depth": "3"}).depth
3
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.described import check_settings, described
from herbrand.engines.proof.arithmetic import Arithmetic, Best, Independent, Integers, Real, Truth
from herbrand.errors import UnsupportedError
from herbrand.options.kinds import FIXPOINT

DEPTH = 10
PROBABILITY, INDEPENDENT = "probability", "independent"


@dataclass(frozen=True)
class QueryAlgebra:
    """A semiring of queries: ``proofs`` is its form over arrays, ``rows`` the name of the algebra of
    :mod:`herbrand.contraction` that is its form over relations and in SQL; ``None``: it has none."""

    proofs: type[Real]
    rows: str | None = None


ALGEBRAS: dict[str, QueryAlgebra] = {
    "count": QueryAlgebra(Real, "real"),
    "boolean": QueryAlgebra(Truth, "boolean"),
    "max": QueryAlgebra(Best, "max_product"),
    PROBABILITY: QueryAlgebra(Truth),
    INDEPENDENT: QueryAlgebra(Independent),
}


@dataclass(frozen=True)
class Request:
    """How goals are to be answered. ``depth`` is a number of calls or ``"fixpoint"``; ``exact``
    counts in integers of up to 4,200 digits. Nothing is drawn by chance, so a seed changes nothing."""

    algebra: str = "count"
    depth: int | str = DEPTH
    normalize: str = "none"
    top: int | None = None
    exact: bool = False
    budget: Budget = UNLIMITED
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings("query", self)
        if self.exact and self.algebra != "count":
            raise UnsupportedError("exact integers are for the count algebra")
        if self.depth != FIXPOINT:
            object.__setattr__(self, "depth", int(self.depth))

    @classmethod
    def of(cls, options: Mapping[str, Any], budget: Budget | None = None) -> Request:
        """The request that keywords of ``query`` describe."""
        return described(cls, "query", options, budget)

    def guarantee(self, truncated: bool) -> Guarantee:
        """What a weight is to what was asked. Counts are asked within the depth; a probability is meant over
        all proofs, so that without some of them it is too low."""
        if self.algebra == INDEPENDENT:
            return Guarantee.APPROXIMATION
        return Guarantee.BOUND if self.algebra == PROBABILITY and truncated else Guarantee.EXACT

    def arithmetic(self) -> Arithmetic:
        return Integers() if self.exact else ALGEBRAS[self.algebra].proofs()
