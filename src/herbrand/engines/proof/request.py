"""How goals are to be answered, checked when said.

>>> Request.of({"algebra": "max", "depth": "3"}).depth
3
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from herbrand.answers.guarantee import Guarantee
from herbrand.contraction.memory import bytes_of
from herbrand.engines.proof.arithmetic import Arithmetic, Best, Independent, Integers, Real, Truth
from herbrand.errors import UnsupportedError, nearest
from herbrand.option_values import check_values

DEPTH = 10
FIXPOINT = "fixpoint"
PROBABILITY, INDEPENDENT = "probability", "independent"
ALGEBRAS: dict[str, type[Any]] = {
    "count": Real,
    "boolean": Truth,
    "max": Best,
    PROBABILITY: Truth,
    INDEPENDENT: Independent,
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
    memory: int | None = None
    seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algebra not in ALGEBRAS:
            raise UnsupportedError(
                f"there is no algebra '{self.algebra}'",
                hint=nearest(self.algebra, ALGEBRAS) or f"one of {', '.join(ALGEBRAS)}",
            )
        if self.exact and self.algebra != "count":
            raise UnsupportedError("exact integers are for the count algebra")
        if isinstance(self.depth, str) and self.depth.strip().lstrip("-").isdecimal():
            object.__setattr__(self, "depth", int(self.depth))
        if self.depth != FIXPOINT and not (isinstance(self.depth, int) and self.depth >= 0):
            raise UnsupportedError(
                f"'{self.depth}' is no depth", hint="a whole number from 0 on, or 'fixpoint'"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Request:
        """The request that keyword arguments describe; ``time_limit`` stands for ``seconds``."""
        named = {"seconds" if name == "time_limit" else name: value for name, value in options.items()}
        known = ["time_limit" if field.name == "seconds" else field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UnsupportedError(
                    f"query has no option '{name}'",
                    hint=nearest(name, known) or f"options: {', '.join(known)}",
                )
        check_values(named)
        if named.get("memory") is not None:
            named["memory"] = bytes_of(named["memory"])
        return cls(**{name: value for name, value in named.items() if value is not None})

    def guarantee(self, truncated: bool) -> Guarantee:
        """What a weight is to what was asked. Counts are asked within the depth; a probability is meant over
        all proofs, so that without some of them it is too low."""
        if self.algebra == INDEPENDENT:
            return Guarantee.APPROXIMATION
        return Guarantee.BOUND if self.algebra == PROBABILITY and truncated else Guarantee.EXACT

    def arithmetic(self) -> Arithmetic:
        return Integers() if self.exact else ALGEBRAS[self.algebra]()
