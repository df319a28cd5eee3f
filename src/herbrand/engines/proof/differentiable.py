"""Sums over proofs with gradients: sums of products over torch tensors, by the same plans and kernels.

A kernel runs on the tensors' numbers; its result is put into torch's graph together with the kernel of its
backward pass (:mod:`herbrand.engines.proof.kernels`). So gradients are a reverse pass over the plan: they
exist for the facts and rules that proofs use, and never for pairs that are no facts.

The weights of answers are a tensor with a gradient.

>>> import herbrand as hb
>>> import torch
>>> theory = hb.parse('p(x, y) :- e(x, z), e(z, y)\\ne("a", "b") @ 0.5\\ne("b", "c") @ 2')
>>> model = hb.Model(theory)
>>> proof = Proof.of(theory.rules, model.signature, model.stated_program.facts)
>>> goal = proof.read('p("a", y)')
>>> weights = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
>>> scores(proof, goal.shape, [goal.inputs], {"e": weights}).values.sum().backward()
>>> weights.grad.tolist()
[2.0, 0.5]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.algebra import algebra_named
from herbrand.engines.once_differentiable import differentiable_once
from herbrand.engines.proof.arithmetic import Arithmetic, Reverse
from herbrand.engines.proof.fixpoint import Provable
from herbrand.engines.proof.goals import Shape
from herbrand.engines.proof.horn_program import HornProgram, IndexedFacts, rule_number
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import DEPTH
from herbrand.engines.proof.steps import Runner
from herbrand.engines.proof.table import Table
from herbrand.engines.proof.unrolled import Unrolled
from herbrand.language.syntax import Rule

SECOND = "second derivatives of the weights of answers", "take gradients without create_graph=True"


class Differentiable(Arithmetic):
    """The arithmetic of torch tensors, with weights as parameters.

    ``facts``: a tensor [rows of the relation] for each predicate whose weights are parameters; ``rules``:
    a tensor [weighted rules], or ``None`` for their stated weights.

    Entries of value 0 are kept, so that they have a gradient. Grids, in which 0 means no entry, are used only
    if ``positive``: then all weights are above 0, so that no sum is 0.
    """

    plain = False

    def __init__(
        self, facts: Mapping[str, Tensor] | None = None, rules: Tensor | None = None, positive: bool = False
    ) -> None:
        super().__init__(algebra_named("real"))
        self._facts = {name: weights.double() for name, weights in (facts or {}).items()}
        self._rules = None if rules is None else rules.double()
        self.dense = positive

    @classmethod
    def of(
        cls, program: HornProgram, facts: Mapping[str, Tensor] | None = None, rules: Tensor | None = None
    ) -> Differentiable:
        """The arithmetic over a program's facts and rules, with these weights in place of stated ones."""
        facts = facts or {}
        given = [*facts.values(), *([] if rules is None else [rules])]
        stated = program.all_positive(set(facts), rules is None)
        return cls(facts, rules, stated and all(bool((weights > 0).all()) for weights in given))

    def ones(self, count: int) -> Tensor:
        return torch.ones(count, dtype=torch.float64)

    def fact_weights(self, predicate: str, relation: IndexedFacts) -> Tensor | None:
        if predicate in self._facts:
            return self._facts[predicate]
        return None if relation.weights is None else torch.tensor(relation.weights)

    def rule_weight(self, place: int, rule: Rule) -> Tensor | float:
        return rule_number(rule) if self._rules is None else self._rules[place]

    def take(self, values: Tensor, places: np.ndarray) -> Tensor:
        return values[_tensor(places)]

    def group(self, values: Tensor, groups: np.ndarray, count: int) -> Tensor:
        return self.algebra.segment_sum(values, _tensor(groups), count)

    def concatenate(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(parts))

    def nonzero(self, values: Tensor) -> np.ndarray:
        return np.ones(len(values), bool)

    def numbers(self, values: Tensor) -> np.ndarray:
        return values.detach().numpy()

    def made(self, numbers: np.ndarray, reverse: Reverse, *sources: Tensor | None) -> Tensor:
        return _Made.apply(numbers, reverse, *sources)  # type: ignore[no-any-return]

    def spread(self, values: Tensor, places: tuple[np.ndarray, ...], shape: tuple[int, int]) -> Tensor:
        return values.new_zeros(shape).index_put(_tensors(places), values)

    def added(
        self,
        matrix: Tensor,
        other: Tensor,
        rows: np.ndarray | None,
        other_rows: np.ndarray | None,
        owned: bool,
    ) -> Tensor:
        return self.algebra.plus(matrix, other)

    def added_at(self, matrix: Tensor, places: tuple[np.ndarray, ...], values: Tensor, owned: bool) -> Tensor:
        return matrix.index_put(_tensors(places), values, accumulate=True)


class _Made(torch.autograd.Function):
    """A torch operation whose numbers and backward pass are computed outside torch."""

    @staticmethod
    def forward(ctx: Any, numbers: np.ndarray, reverse: Reverse, *sources: Tensor | None) -> Tensor:
        ctx.reverse = reverse
        ctx.save_for_backward(*(source for source in sources if source is not None))
        return torch.from_numpy(numbers)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        gradients = ctx.reverse(slope.detach().contiguous().numpy(), ctx.needs_input_grad[2:])
        slopes = [None if part is None else torch.from_numpy(part) for part in gradients]
        return (None, None, *differentiable_once(slopes, [slope, *ctx.saved_tensors], *SECOND))


def _tensor(places: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(places, np.int64))


def _tensors(places: Sequence[np.ndarray]) -> tuple[Tensor, ...]:
    return tuple(map(_tensor, places))


def scores(
    proof: Proof,
    shape: Shape,
    inputs: Sequence[Sequence[int]],
    facts: Mapping[str, Tensor] | None = None,
    rules: Tensor | None = None,
    *,
    depth: int = DEPTH,
    budget: Budget = UNLIMITED,
) -> Table:
    """Answer goals of one shape; the table has a tensor of values, one for each row (goal, variables...).

    ``facts``: weights in place of stated ones, a tensor [facts in the relation's order] for each such
    predicate; ``rules``: the same for all weighted rules, in their order.
    """
    arithmetic = Differentiable.of(proof.program, facts, rules)
    runner = Runner(proof.plans, arithmetic, budget, Provable(proof.plans, budget))
    question = proof.question(shape, inputs, arithmetic)
    return Unrolled(runner).answers(question, depth + 1)
