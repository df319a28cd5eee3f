"""Answers whose weights are a tensor with a gradient.

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

from torch import Tensor

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.proof.differentiable import Differentiable
from herbrand.engines.proof.fixpoint import runner_of
from herbrand.engines.proof.goals import Shape
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import DEPTH
from herbrand.engines.proof.table import Table
from herbrand.engines.proof.unrolled import Unrolled


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
    """The answers to goals of one shape, with a tensor of values, one for each row (goal, variables...).

    ``facts``: weights in place of those stated, a tensor [facts in the relation's order] for each such
    predicate; ``rules``: the same for all weighted rules, in their order.
    """
    arithmetic = Differentiable.of(proof.program, facts, rules)
    runner = runner_of(proof.plans, arithmetic, budget)
    question = proof.question(shape, inputs, arithmetic)
    return Unrolled(runner).answers(question, depth + 1)
