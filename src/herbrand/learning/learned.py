"""Results of learning: the theory with its weights, their standard errors, and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.answers.sheet import Sheet, in_json
from herbrand.language.names import shown_where
from herbrand.language.parse import parse_theory
from herbrand.language.show import statement_text
from herbrand.language.syntax import Learned, Value
from herbrand.language.theory import Theory, show
from herbrand.language.written_weights import Key, weight_statements
from herbrand.learning.curve import picture
from herbrand.learning.settings import Progress


@dataclass(frozen=True)
class LearnedWeight:
    """A learned number and how far the data support it.

    ``effect``: decrease of the objective if it were 0 and all others unchanged.
    """

    statement: str
    constants: Mapping[str, Value]
    weight: float
    standard_error: float | None = None
    effect: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "statement": self.statement,
            "constants": dict(self.constants),
            "weight": in_json(self.weight),
            "standard_error": in_json(self.standard_error),
            "effect": in_json(self.effect),
        }

    @property
    def where(self) -> str:
        return shown_where(self.constants.items())

    def cells(self) -> tuple[str, str, str, str, str]:
        error, effect = ("" if n is None else f"{n:.4f}" for n in (self.standard_error, self.effect))
        return f"{self.weight:+.4f}", error, effect, self.statement, self.where


@dataclass(frozen=True, eq=False, repr=False)
class Learning(Sheet):
    """The result of learning. ``theory`` has numbers in place of question marks; ``metrics``: measured values
    by name.

    ``predictions``: marginals of the latent atoms by a trained predictor, if there is one. ``curve``:
    progress, step by step. ``engine`` and ``guarantee``: the engine that computed value and gradient, with
    its guarantee, if the method uses inference. ``reason``: why it was not the likelihood, if the method was
    chosen automatically.
    """

    method: str
    theory: Theory
    status: Status
    weights: tuple[LearnedWeight, ...]
    metrics: Mapping[str, Any] = field(default_factory=dict)
    predictions: Marginals | None = None
    curve: tuple[Progress, ...] = ()
    engine: str | None = None
    guarantee: Guarantee | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """The learned theory as the text of a file."""
        return show(self.theory)

    @property
    def as_written(self) -> Learning:
        """The same, with computations in its theory as they were written, and not as atoms."""
        return replace(self, theory=parse_theory(self.text))

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand learn``."""
        return {
            "method": self.method,
            **({"engine": self.engine} if self.engine else {}),
            **({"guarantee": self.guarantee.value} if self.guarantee else {}),
            **({"reason": self.reason} if self.reason else {}),
            "converged": self.status.converged,
            "seconds": self.status.seconds,
            "iterations": self.status.iterations,
            **({"where": self.status.where} if self.status.where else {}),
            "metrics": {name: in_json(value) for name, value in self.metrics.items()},
            "weights": [weight.to_dict() for weight in self.weights],
            "theory": self.text,
        }

    def to_arrow(self) -> pa.Table:
        """Columns statement, constants (as text), weight, standard_error, effect."""
        return pa.table(
            {
                "statement": pa.array([w.statement for w in self.weights], pa.string()),
                "constants": pa.array([w.where for w in self.weights], pa.string()),
                "weight": pa.array([w.weight for w in self.weights], pa.float64()),
                "standard_error": pa.array([w.standard_error for w in self.weights], pa.float64()),
                "effect": pa.array([w.effect for w in self.weights], pa.float64()),
            }
        )

    words: ClassVar[Sequence[int]] = (3, 4)

    @property
    def heads(self) -> tuple[str, ...]:
        return "weight", "standard error", "effect", "statement", "where"

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def title(self) -> str:
        metrics = ", ".join(f"{name} {_shown(value)}" for name, value in self.metrics.items())
        ended = "" if self.status.converged else f", not converged: {self.status.advice}"
        where = f" on {self.status.where}" if self.status.where else ""
        sure = f" ({self.guarantee.value}, {self.engine})" if self.guarantee else ""
        why = f"; no likelihood: {self.reason}" if self.reason else ""
        return f"{self.method}{sure}{where}: {metrics}{ended}{why}"

    def cells(self) -> Iterator[tuple[str, str, str, str, str]]:
        return (weight.cells() for weight in self.weights)

    def spans(self) -> Iterator[tuple[float, float]]:
        """Bars of the weights: positive ones to the right of the middle, negative ones to the left."""
        largest = max((abs(w.weight) for w in self.weights), default=0.0) or 1.0
        ends = (0.5 + 0.5 * w.weight / largest for w in self.weights)
        return ((min(0.5, end), max(0.5, end)) for end in ends)

    def _repr_html_(self) -> str:
        return super()._repr_html_() + picture(self.curve)


def learned_weights(
    theory: Theory,
    keys: Sequence[Key],
    weights: Sequence[float],
    errors: Sequence[float | None] | None,
    effects: Sequence[float] | None,
) -> tuple[LearnedWeight, ...]:
    """Every learned number with its statement."""
    statements = weight_statements(theory)
    learned = []
    for place, ((number, constants), weight) in enumerate(zip(keys, weights, strict=True)):
        statement = statements[number]
        assert isinstance(statement.weight, Learned)
        names = [variable.name for variable in statement.weight.by]
        learned.append(
            LearnedWeight(
                statement_text(statement),
                dict(zip(names, constants, strict=True)),
                float(weight),
                None if errors is None else errors[place],
                None if effects is None else float(effects[place]),
            )
        )
    return tuple(learned)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
