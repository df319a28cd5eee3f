"""What proofs are counted in: how the weights of facts multiply along a proof and add up over proofs.

One small class a member. Plans touch values through these alone, so the same plan counts, finds the best
proof, or carries gradients: :class:`Differentiable` is the seam for learning, with a tensor of weights for
each predicate and one for the rules.

>>> counting = Real()
>>> counting.group(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2).tolist()
[3.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from herbrand.engines.proof.relation import Relation
from herbrand.errors import UnsupportedError
from herbrand.language.syntax import Learned, Rule

Values = Any
"""An array or tensor with one number a row."""


class Arithmetic(Protocol):
    """``compiled``: values are float64 arrays and the kernels may run; ``best``: ⊕ is the larger one;
    ``linear``: ⊗ distributes over ⊕, so that a weight may be carried into a call."""

    name: str
    compiled: bool
    best: bool
    linear: bool

    def ones(self, count: int) -> Values: ...

    def fact_weights(self, predicate: str, relation: Relation) -> Values | None:
        """The weight of each row; ``None``: all 1."""
        ...

    def rule_weight(self, place: int, rule: Rule) -> Any: ...

    def take(self, values: Values, places: np.ndarray) -> Values: ...

    def multiply(self, left: Values, right: Values) -> Values: ...

    def group(self, values: Values, groups: np.ndarray, count: int) -> Values:
        """⊕ of the values of each of ``count`` groups, none of them empty; ``groups`` ascend."""
        ...

    def concatenate(self, parts: Sequence[Values]) -> Values: ...

    def nonzero(self, values: Values) -> np.ndarray:
        """Which values are not 0, as truth values."""
        ...

    def numbers(self, values: Values) -> np.ndarray:
        """The values as they are told: float64, or Python integers."""
        ...


def rule_number(rule: Rule) -> float:
    """The weight a rule states; one that is to be learned counts 1 until it is."""
    assert rule.weight is not None
    return 1.0 if isinstance(rule.weight, Learned) else float(rule.weight)


class Real:
    """Sums of products in float64: the number of proofs, or their weighted sum."""

    name: str = "count"
    compiled: bool = True
    best: bool = False
    linear: bool = True

    def ones(self, count: int) -> np.ndarray:
        return np.ones(count)

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        return relation.weights

    def rule_weight(self, place: int, rule: Rule) -> float:
        return rule_number(rule)

    def take(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return values[places]

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left * right

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(groups, values, count) if len(groups) else np.zeros(count)

    def concatenate(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def nonzero(self, values: np.ndarray) -> np.ndarray:
        return values != 0

    def numbers(self, values: np.ndarray) -> np.ndarray:
        return values


class Best(Real):
    """The weight of the heaviest proof. Weights may not be negative: a product of two would be a gain."""

    name: str = "max"
    best: bool = True

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        weights = relation.weights
        if weights is not None and len(weights) and weights.min() < 0:
            raise UnsupportedError(
                f"max takes weights of 0 or more, and a fact of {predicate} weighs {weights.min():g}",
                hint="--algebra count takes negative weights",
            )
        return weights

    def rule_weight(self, place: int, rule: Rule) -> float:
        weight = rule_number(rule)
        if weight < 0:
            raise UnsupportedError(
                f"max takes weights of 0 or more, and this rule weighs {weight:g}", span=rule.span
            )
        return weight

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        found = np.zeros(count)
        if len(groups):
            found[groups[_starts(groups)]] = np.maximum.reduceat(values, _starts(groups))
        return found


class Truth(Best):
    """1 where there is a proof, whatever it weighs."""

    name: str = "boolean"

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        return None

    def rule_weight(self, place: int, rule: Rule) -> float:
        return 1.0


class Integers(Real):
    """Exact integers of any size; weights must be whole."""

    name: str = "exact count"
    compiled: bool = False

    def ones(self, count: int) -> np.ndarray:
        return np.full(count, 1, dtype=object)

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        weights = relation.weights
        if weights is None:
            return None
        if not np.array_equal(weights, np.rint(weights)):
            raise UnsupportedError(f"exact counts need whole weights, and facts of {predicate} have others")
        return np.array([int(weight) for weight in weights], dtype=object)

    def rule_weight(self, place: int, rule: Rule) -> int:
        weight = rule_number(rule)
        if not weight.is_integer():
            raise UnsupportedError(f"exact counts need whole weights, not {weight:g}", span=rule.span)
        return int(weight)

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        found = np.full(count, 0, dtype=object)
        if len(groups):
            found[groups[_starts(groups)]] = np.add.reduceat(values, _starts(groups))
        return found

    def nonzero(self, values: np.ndarray) -> np.ndarray:
        return (values != 0).astype(bool)


class Independent(Real):
    """The probability that a term holds if all that are added were independent: an approximation."""

    name: str = "independent"
    compiled: bool = False
    linear: bool = False

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        with np.errstate(divide="ignore"):
            failing = np.bincount(groups, np.log1p(-values), count) if len(groups) else np.zeros(count)
        return -np.expm1(failing)


class Differentiable:
    """Sums of products over torch tensors. ``facts``: a tensor [rows of the relation] for each predicate
    whose weights are parameters; ``rules``: a tensor [weighted rules], or ``None`` for those stated.

    Entries whose value happens to be 0 are kept, so that they have a gradient.
    """

    name: str = "count"
    compiled: bool = False
    best: bool = False
    linear: bool = True

    def __init__(
        self, facts: Mapping[str, torch.Tensor] | None = None, rules: torch.Tensor | None = None
    ) -> None:
        self._facts, self._rules = dict(facts or {}), rules

    def ones(self, count: int) -> torch.Tensor:
        return torch.ones(count, dtype=torch.float64)

    def fact_weights(self, predicate: str, relation: Relation) -> torch.Tensor | None:
        if predicate in self._facts:
            return self._facts[predicate]
        return None if relation.weights is None else torch.tensor(relation.weights)

    def rule_weight(self, place: int, rule: Rule) -> torch.Tensor | float:
        return rule_number(rule) if self._rules is None else self._rules[place]

    def take(self, values: torch.Tensor, places: np.ndarray) -> torch.Tensor:
        return values[torch.from_numpy(np.ascontiguousarray(places))]

    def multiply(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left * right

    def group(self, values: torch.Tensor, groups: np.ndarray, count: int) -> torch.Tensor:
        return values.new_zeros(count).index_add(0, torch.from_numpy(np.ascontiguousarray(groups)), values)

    def concatenate(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat(list(parts))

    def nonzero(self, values: torch.Tensor) -> np.ndarray:
        return np.ones(len(values), bool)

    def numbers(self, values: torch.Tensor) -> np.ndarray:
        return values.detach().numpy()


def _starts(groups: np.ndarray) -> np.ndarray:
    """Where each run of equal, ascending group numbers begins."""
    return np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
