"""The options of ``query``, checked when they are given.

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
"""Depth where none is given."""
PROBABILITY, INDEPENDENT = "probability", "independent"


@dataclass(frozen=True)
class Request:
    """The options of a query. ``depth`` is a number of nested calls or ``"fixpoint"``.

    ``exact``: whether to count in integers of up to 4,200 digits. Nothing is random, so a seed has no effect.
    """

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
        """Build a request from the keywords of ``query``."""
        return described(cls, "query", options, budget)

    def guarantee(self, truncated: bool) -> Guarantee:
        """The guarantee of an answer's weight.

        Counts are defined within the depth. A probability is defined over all proofs, so a truncated one is a
        lower bound.
        """
        if self.algebra == INDEPENDENT:
            return Guarantee.APPROXIMATION
        return Guarantee.BOUND if self.algebra == PROBABILITY and truncated else Guarantee.EXACT

    def arithmetic(self) -> Numbers:
        """The arithmetic in which proofs are summed."""
        return Numbers.of("counting" if self.exact else QUERY_ALGEBRAS[self.algebra])

    @property
    def semiring(self) -> Algebra:
        """The algebra over relations, in memory or in a database; probabilities are of independent events.

        Raises UnsupportedError where there is no such form.
        """
        if self.algebra == PROBABILITY:
            return algebra_named(INDEPENDENT)
        if self.exact:
            hint = "leave out --exact, or --on"
            raise UnsupportedError("the exact algebra does not run on a database", hint=hint)
        if not _is_over_relations(self.algebra):
            raise UnsupportedError(
                f"the {self.algebra} algebra does not run on a database",
                hint=f"one of {', '.join(filter(_is_over_relations, QUERY_ALGEBRAS))}",
            )
        return algebra_named(QUERY_ALGEBRAS[self.algebra])


def _is_over_relations(name: str) -> bool:
    """Whether a database may evaluate an algebra, in any order of joins and sums."""
    algebra = algebra_named(QUERY_ALGEBRAS[name])
    return name == PROBABILITY or (algebra.folds is not None and algebra.distributes)
