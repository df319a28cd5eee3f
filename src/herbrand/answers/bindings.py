"""Answers of a query: constants for its variables and a weight, stored as columns; rows are made on access.

>>> answer = Bindings(
...     "proof", Guarantee.EXACT, Status(True, 1), ("y",), (("bob", "carl"),), np.array([2.0, 0.5])
... )
>>> answer["bob"], len(answer)
(2.0, 2)
>>> answer
proof answers (exact)
y       weight
"bob"   2.0000
"carl"  0.5000
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.lookup import Key, key_among
from herbrand.answers.sheet import Sheet, in_json
from herbrand.errors import UnsupportedError, nearest
from herbrand.facts.column import Constants
from herbrand.language.names import shown_constant
from herbrand.language.syntax import Value
from herbrand.row_keys import zipped

LARGE = 2.0**900
MOST_BITS = 1000
"""Bits of a whole number that surely fits into the range of float64."""
FAR_BELOW = -10_000
"""A number whose exponential is 0 in float64."""
NULL_SCORE = -10.0
"""Score of "no answer at all" in a softmax (as in TensorLog)."""

NORMALIZATIONS = ("none", "sum", "softmax")


@dataclass(frozen=True, slots=True)
class Binding:
    """An answer: constants by variable, and a weight."""

    bindings: dict[str, Value]
    weight: float

    def to_dict(self) -> dict[str, Any]:
        """JSON object of the answer; an infinite weight is written by its name."""
        return {"bindings": self.bindings, "weight": in_json(self.weight)}


@dataclass(frozen=True, eq=False, repr=False)
class Bindings(Sheet):
    """The answer of ``query``. ``columns[i]`` holds the constants of ``variables[i]``, heaviest answers
    first.

    ``truncated``: the depth limit cut a call, so that deeper proofs are not counted. ``null``: the share of
    "no answer" in a softmax.
    """

    engine: str
    guarantee: Guarantee
    status: Status
    variables: tuple[str, ...]
    columns: tuple[Sequence[Value], ...]
    weights: np.ndarray
    truncated: bool = False
    normalize: str = "none"
    null: float | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def without(self, names: Collection[str]) -> Bindings:
        """Drop variables whose constants are determined by the other variables."""
        kept = [place for place, name in enumerate(self.variables) if name not in names]
        return replace(
            self,
            variables=tuple(self.variables[place] for place in kept),
            columns=tuple(self.columns[place] for place in kept),
        )

    def rows(self) -> Iterator[Binding]:
        names = self.variables
        for *values, weight in zip(*self.columns, self.weights.tolist(), strict=True):
            yield Binding(dict(zip(names, values, strict=True)), weight)

    def __getitem__(self, values: Key) -> float:
        """Weight of the answer with these constants, in the order of :attr:`variables`; 0 if there is
        none."""
        row = values if isinstance(values, tuple) else (values,)
        if len(row) != len(self.variables):
            raise KeyError(f"an answer has {len(self.variables)} constants, not {len(row)}")
        key = key_among(row, self._weight_of)
        return 0.0 if key is None else self._weight_of[key]

    def __contains__(self, values: Key) -> bool:
        """Whether there is an answer with these constants."""
        return key_among(values, self._weight_of) is not None

    @property
    def weight(self) -> float:
        """Sum of all weights; for a query without variables, its weight."""
        weights = self.weights.tolist()
        return sum(weights) if self.weights.dtype == object else math.fsum(weights)

    @cached_property
    def _weight_of(self) -> dict[tuple[Value, ...], float]:
        return dict(zip(zipped(self.columns, len(self)), self.weights.tolist(), strict=True))

    def normalized(self, how: str) -> Bindings:
        """Normalize the weights: divide by their sum, or take the softmax with "no answer" as an option."""
        if how not in NORMALIZATIONS:
            raise UnsupportedError(
                f"there is no normalization '{how}'",
                hint=nearest(how, NORMALIZATIONS) or f"one of {', '.join(NORMALIZATIONS)}",
            )
        if how == "none":
            return self
        if how == "sum":
            weights = _in_floats(self.weights)
            if np.abs(weights).max(initial=0.0) > LARGE:  # their sum may be no float
                weights = weights / LARGE
            total = math.fsum(weights.tolist())
            if len(weights) and not total:
                raise UnsupportedError("the weights add up to 0, so they cannot be divided by their sum")
            return replace(self, weights=weights / total if len(weights) else weights, normalize=how)
        scores, null = _exponentials(self.weights)
        total = null + float(scores.sum())
        return replace(self, weights=scores / total, null=null / total, normalize=how)

    def top(self, count: int | None) -> Bindings:
        """Keep the ``count`` heaviest answers; all for None."""
        if count is None or count >= len(self):
            return self
        columns = tuple(column[:count] for column in self.columns)
        return replace(self, columns=columns, weights=self.weights[:count])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        fields = {
            "engine": self.engine,
            "guarantee": self.guarantee.value,
            "converged": self.status.converged,
            "truncated": self.truncated,
            "seconds": self.status.seconds,
        }
        if self.null is not None:
            fields["null"] = self.null
        return fields | {"answers": [row.to_dict() for row in self.rows()]}

    def to_arrow(self) -> pa.Table:
        """A column for each variable, and the weights; as text if whole numbers exceed 64 bits."""
        columns: dict[str, pa.Array] = {
            name: column.to_arrow()
            if isinstance(column, Constants)
            else pa.array(column, pa.string() if not len(column) else None)
            for name, column in zip(self.variables, self.columns, strict=True)
        }
        name = "weight"
        while name in columns:
            name += "_"
        return pa.table({**columns, name: _numbers(self.weights)})

    @property
    def title(self) -> str:
        summary = self.guarantee.of("answers", self.engine)
        if self.truncated:
            summary += ", cut by the depth"
        return summary if self.status.converged else f"{summary}, not converged: {self.status.advice}"

    @property
    def heads(self) -> tuple[str, ...]:
        return (*self.variables, "weight")

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Texts for a table."""
        for row in self.rows():
            yield (*map(shown_constant, row.bindings.values()), shown_weight(row.weight))

    @property
    def words(self) -> range:  # type: ignore[override]
        return range(len(self.variables))

    def spans(self) -> Iterator[tuple[float, float]] | None:
        """Bars of the weights as shares of the heaviest; None if they cannot be drawn."""
        weights = _in_floats(self.weights)
        heaviest = weights.max(initial=0.0)
        if not (np.isfinite(weights).all() and heaviest > 0 and (weights >= 0).all()):
            return None
        return ((0.0, share) for share in (weights / heaviest).tolist())

    def __repr__(self) -> str:
        return super().__repr__() if len(self) else f"{self.title}\nno answer"


def _in_floats(weights: np.ndarray) -> np.ndarray:
    """Weights as float64; whole numbers beyond its range as shares of the largest."""
    if weights.dtype != object:
        return weights
    whole = weights.tolist()
    largest = max(map(abs, whole), default=0)
    factor = largest if largest.bit_length() > MOST_BITS else 1
    return np.array([weight / factor for weight in whole], np.float64)


def _exponentials(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Exponentials of the weights and of the score of "no answer", divided by the largest."""
    whole = weights.dtype == object
    null = int(NULL_SCORE) if whole else NULL_SCORE
    highest = max([null, *weights.tolist()])
    below = [max(weight - highest, FAR_BELOW) for weight in (*weights.tolist(), null)]
    scores = np.exp(np.array(below, np.float64))
    return scores[:-1], float(scores[-1])


def _numbers(weights: np.ndarray) -> pa.Array:
    if weights.dtype != object:
        return pa.array(weights, pa.float64())
    whole = weights.tolist()
    fits = all(-(2**63) <= weight < 2**63 for weight in whole)
    return pa.array(whole, pa.int64()) if fits else pa.array(map(str, whole), pa.string())


def shown_weight(weight: float) -> str:
    """Text of a weight: four decimals, an exponent if it is very large or small; whole numbers beyond float64
    in full."""
    if isinstance(weight, int):
        return str(weight)
    return f"{weight:.4f}" if weight == 0 or 1e-3 <= abs(weight) < 1e12 else f"{weight:.4e}"
