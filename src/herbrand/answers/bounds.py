"""Lower and upper probabilities, stored as columns; rows are made on access.

>>> answer = Bounds(
...     "exact", Guarantee.EXACT, Status(True, 2),
...     ("a", "b | a"), np.array([0.2, 0.6]), np.array([0.3, 0.7]), np.array([True, True]),
... )
>>> answer["b | a"]
Interval(query='b | a', lower=0.6, upper=0.7, certified=True, gap=0.0)
>>> answer
exact bounds
query   lower   upper
a      0.2000  0.3000
b | a  0.6000  0.7000
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from herbrand.answers.argument_columns import atom_columns
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.lookup import missing, probability_among
from herbrand.answers.sheet import PROBABILITIES, Sheet

SEEN = 1e-6
"""Share of an interval's upper end below which a gap is not mentioned in a table."""
SMALL = 1e-3


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of a query, the text inside ``P( )``.

    ``certified``: proved to contain every value that the theory allows. ``gap``: largest distance of an end
    from the tightest one; ``None`` if unknown. Both ends are NaN if the condition is proved impossible.
    """

    query: str
    lower: float
    upper: float
    certified: bool
    gap: float | None = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The interval in the JSON object of ``herbrand bound``."""
        return {
            "query": self.query,
            "lower": None if self.impossible else self.lower,
            "upper": None if self.impossible else self.upper,
            "certified": self.certified,
            "gap": self.gap,
        }

    def cells(self) -> tuple[str, str, str, str]:
        """Texts for a table, with a remark if the interval is not certified or not tight."""
        return self.query, shown(self.lower), shown(self.upper), self._remark

    @property
    def impossible(self) -> bool:
        """Whether the condition has probability 0, so that there is no interval."""
        return self.lower != self.lower

    @property
    def _remark(self) -> str:
        if self.impossible:
            return "what is given is impossible"
        if not self.certified:
            return "not certified"
        return f"within {self.gap:.1e}" if self.gap and self.gap > SEEN * self.upper else ""


def shown(end: float) -> str:
    """Text of an interval's end in a table; small numbers with an exponent.

    >>> shown(0.25), shown(0.0), shown(1.25e-12), shown(float("nan"))
    ('0.2500', '0.0000', '1.250e-12', '-')
    """
    if end != end:
        return "-"
    return f"{end:.3e}" if 0 < end < SMALL else f"{end:.4f}"


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Sheet):
    """The answer of ``bound``. ``gaps`` [query]: largest distance of an end from the tightest (NaN: unknown).

    ``lower`` and ``upper`` are NaN for a query whose condition is proved impossible. Without ``gaps`` the
    ends of an ``exact`` answer are tight, and the gaps of others are unknown.
    """

    engine: str
    guarantee: Guarantee
    status: Status
    queries: Sequence[str]
    lower: np.ndarray
    upper: np.ndarray
    certified: np.ndarray
    gaps: np.ndarray | None = None

    words: ClassVar[Sequence[int]] = (0, 3)
    ticks: ClassVar[Sequence[str]] = PROBABILITIES

    def rows(self) -> Iterator[Interval]:
        columns = (self.queries, self.lower.tolist(), self.upper.tolist(), self.certified.tolist())
        for query, lower, upper, certified, gap in zip(*columns, self._gaps(), strict=True):
            yield Interval(query, lower, upper, certified, gap)

    def _gaps(self) -> Sequence[float | None]:
        if self.gaps is not None:
            return [None if gap != gap else gap for gap in self.gaps.tolist()]
        return [0.0 if self.guarantee is Guarantee.EXACT else None] * len(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, query: str) -> Interval:
        """Interval of a query by its text, with or without ``P( )``, which need not be as it is printed."""
        text = probability_among(query, self._position)
        if text is None:
            raise missing(query, self._position)
        at = self._position[text]
        ends = float(self.lower[at]), float(self.upper[at])
        return Interval(text, *ends, bool(self.certified[at]), self._gaps()[at])

    def __contains__(self, query: object) -> bool:
        """Whether a query, with or without ``P( )``, is among the answers."""
        return probability_among(query, self._position) is not None

    @cached_property
    def _position(self) -> dict[str, int]:
        return {query: at for at, query in enumerate(self.queries)}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        return {
            "engine": self.engine,
            "guarantee": self.guarantee.value,
            "converged": self.status.converged,
            "iterations": self.status.iterations,
            "seconds": self.status.seconds,
            **({"where": self.status.where} if self.status.where else {}),
            "bounds": [row.to_dict() for row in self.rows()],
        }

    def to_arrow(self) -> pa.Table:
        """Columns query, predicate, argument_1 and so on, lower, upper, certified, gap.

        Predicate and arguments are those of the atom left of the bar; null for other formulas.
        """
        return pa.table(
            {
                "query": pa.array(list(self.queries), pa.string()),
                **atom_columns(self.queries),
                "lower": pa.array(self.lower, pa.float64(), from_pandas=True),  # NaN is null
                "upper": pa.array(self.upper, pa.float64(), from_pandas=True),
                "certified": pa.array(self.certified.tolist(), pa.bool_()),
                "gap": pa.array(self._gaps(), pa.float64()),
            }
        )

    @property
    def title(self) -> str:
        where = f" on {self.status.where}" if self.status.where else ""
        summary = self.guarantee.of("bounds", self.engine) + where
        return summary if self.status.converged else f"{summary}, not converged: {self.status.advice}"

    @property
    def heads(self) -> tuple[str, ...]:
        return ("query", "lower", "upper", "remark") if self._remarkable else ("query", "lower", "upper")

    @cached_property
    def _remarkable(self) -> bool:
        return not self.certified.all() or (
            self.gaps is not None and bool((self.gaps > SEEN * self.upper).any())
        )

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Each row as it is shown."""
        width = len(self.heads)
        return (row.cells()[:width] for row in self.rows())

    def spans(self) -> Iterator[tuple[float, float]]:
        return zip(self.lower.tolist(), self.upper.tolist(), strict=True)
