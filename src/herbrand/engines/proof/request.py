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
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.engines.engine import check_settings, described
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.errors import UnsupportedError
from herbrand.options.algebras import QUERY_ALGEBRAS
from herbrand.options.kinds import FIXPOINT

DEPTH = 10
PROBABILITY, INDEPENDENT = "probability", "independent"


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

    def arithmetic(self) -> Numbers:
        """What proofs are summed up in."""
        return Numbers.of("counting" if self.exact else QUERY_ALGEBRAS[self.algebra])

    @property
    def semiring(self) -> Algebra:
        """The same over relations, wherever they are; raises where there is no such form. Probabilities are
        those of independent events."""
        if self.algebra == PROBABILITY:
            return algebra_named(INDEPENDENT)
        if self.exact or not _is_over_relations(self.algebra):
            raise UnsupportedError(
                f"the {'exact' if self.exact else self.algebra} algebra does not run on a database",
                hint=f"one of {', '.join(filter(_is_over_relations, QUERY_ALGEBRAS))}",
            )
        return algebra_named(QUERY_ALGEBRAS[self.algebra])


def _is_over_relations(name: str) -> bool:
    """Whether weights of answers are the same in whatever order a database joins and adds up."""
    algebra = algebra_named(QUERY_ALGEBRAS[name])
    return name == PROBABILITY or (algebra.folds is not None and algebra.distributes)
