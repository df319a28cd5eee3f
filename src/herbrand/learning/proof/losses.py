"""Losses of the weights of a question's answers, computed in log space.

Each loss takes :class:`Scored` and returns a number for each question with a right answer that has a proof.
Logarithms are taken of whole sums of proofs, so that answers whose weights differ by a hundred orders of
magnitude still have gradients, where a softmax over the weights themselves is flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from herbrand.engines.proof.table import Table
from herbrand.errors import UnsupportedError
from herbrand.learning.proof.questions import Questions
from herbrand.row_keys import row_keys

NO_ANSWER = -10.0
"""Score of "no answer" in TensorLog's softmax."""
MARGIN = 1.0


@dataclass(frozen=True, eq=False)
class Scored:
    """The proved answers of ``count`` questions, and which of them are right.

    ``rights`` are indices of ``weights``; ``missing`` [question] is the share of right answers without a
    proof.
    """

    weights: Tensor  # [answer]
    questions: Tensor  # [answer]
    rights: Tensor  # [right]
    shares: Tensor  # [right]
    missing: Tensor  # [question]
    count: int

    @classmethod
    def of(cls, table: Table, questions: Questions) -> Scored:
        sizes = [max(1, len(questions)), *questions.sizes]
        keys = row_keys([np.asarray(column, np.int64) for column in table.columns], sizes)
        order = np.argsort(keys, kind="stable")
        numbers = np.repeat(np.arange(len(questions)), np.diff(questions.pointers))
        row_numbers = row_keys([numbers, *questions.answers.T], sizes)
        at = np.minimum(np.searchsorted(keys[order], row_numbers), max(0, len(keys) - 1))
        proved = keys[order][at] == row_numbers if len(keys) else np.zeros(len(row_numbers), bool)
        missing = np.bincount(numbers[~proved], questions.shares[~proved], len(questions))
        return cls(
            table.values,
            torch.from_numpy(np.ascontiguousarray(table.columns[0], np.int64)),
            torch.from_numpy(order[at[proved]]) if len(keys) else torch.empty(0, dtype=torch.int64),
            torch.from_numpy(questions.shares[proved]),
            torch.from_numpy(missing),
            len(questions),
        )

    @property
    def answerable(self) -> Tensor:
        """Mask of the questions with a right answer that has a proof."""
        return self.missing < 1 - 1e-12

    def right_sums(self, values: Tensor) -> Tensor:
        """Mean over each question's right answers that have a proof, weighted by their shares."""
        owners = self.questions[self.rights]
        sums = values.new_zeros(self.count).index_add(0, owners, self.shares * values[self.rights])
        return (sums / (1 - self.missing).clamp_min(1e-12))[self.answerable]

    def accuracy(self) -> Tensor:
        """For each question the share of right ones among its heaviest answers; 0 if none has a proof."""
        weights = self.weights.detach()
        right = torch.zeros(len(weights), dtype=torch.float64)
        right[self.rights] = 1.0
        best = _largest(weights, self.questions, self.count)[self.questions] == weights
        tops = torch.zeros(self.count, dtype=torch.float64).index_add(0, self.questions, best.double())
        hits = torch.zeros(self.count, dtype=torch.float64).index_add(0, self.questions, best * right)
        return hits / tops.clamp_min(1)


def cross_entropy(scored: Scored) -> Tensor:
    """−log of each right answer's share of the weight of all answers."""
    logs = _logs(scored.weights)
    totals = _log_sums(logs, scored.questions, scored.count)
    return -scored.right_sums(logs - totals[scored.questions])


def softmax(scored: Scored) -> Tensor:
    """Cross-entropy of a softmax over the weights themselves and "no answer": TensorLog's loss."""
    own = torch.full((scored.count,), NO_ANSWER, dtype=torch.float64)
    scores = torch.cat([scored.weights, own])
    numbers = torch.cat([scored.questions, torch.arange(scored.count)])
    totals = _log_sums(scores, numbers, scored.count)
    return -scored.right_sums(scored.weights - totals[scored.questions])


def margin(scored: Scored) -> Tensor:
    """Hinge loss in log space: how much each right answer's weight is below e times that of the heaviest
    wrong answer."""
    logs = _logs(scored.weights)
    wrong = torch.ones(len(logs), dtype=torch.bool)
    wrong[scored.rights] = False
    highest = _largest(logs[wrong], scored.questions[wrong], scored.count)
    return scored.right_sums((MARGIN + highest[scored.questions] - logs).clamp_min(0))


LOSSES: dict[str, Callable[[Scored], Tensor]] = {
    "cross-entropy": cross_entropy,
    "softmax": softmax,
    "margin": margin,
}


def refuse_infinite(weights: Tensor) -> None:
    """Raise UnsupportedError if a sum of proofs exceeds the range of floats."""
    if not bool(torch.isfinite(weights).all()):
        raise UnsupportedError(
            "the weight of an answer is larger than any float",
            hint="start with smaller weights of facts (edge(...) @ 0.2), or take a smaller --depth or --rate "
            "(beside --method proof)",
        )


def _logs(weights: Tensor) -> Tensor:
    """Logarithms of weights; raise UnsupportedError if one is not positive."""
    if bool((weights <= 0).any()):
        raise UnsupportedError(
            f"the weight of an answer is {float(weights.min()):g}, and this loss takes weights above 0",
            hint="give the facts and rules of its proofs weights above 0, or take --method proof "
            "--loss softmax",
        )
    return weights.log()


def _largest(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """Largest value of each group, -inf of an empty one; gradients go to the largest."""
    start = torch.full((count,), -torch.inf, dtype=values.dtype)
    return start.scatter_reduce(0, groups, values, "amax", include_self=True)


def _log_sums(logs: Tensor, groups: Tensor, count: int) -> Tensor:
    """log Σ exp of each group that has values; 0 for an empty one."""
    # The shift cancels in the result, so gradients need not flow through it.
    tops = _largest(logs.detach(), groups, count)
    tops = torch.where(torch.isfinite(tops), tops, 0.0)
    sums = logs.new_zeros(count).index_add(0, groups, (logs - tops[groups]).exp())
    return torch.where(sums > 0, sums, 1.0).log() + tops
