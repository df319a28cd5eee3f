"""Train logarithms of weights by Adam, on all questions or in batches.

A step's gradient is accumulated over parts of its questions, so that the states of only one part are in
memory at a time. Everything that a step depends on is saved: a resumed run gives exactly the numbers of an
uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from herbrand.adam import Adam
from herbrand.budget import Budget
from herbrand.engines.proof.differentiable import scores
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.unrolled import FEWEST_ROWS, GRID_CACHE
from herbrand.learning.proof.losses import LOSSES, Scored, refuse_infinite
from herbrand.learning.proof.questions import Questions
from herbrand.learning.settings import LearningSettings
from herbrand.learning.steps import EarlyStopping, Options, resume
from herbrand.nn.rule_weights import RuleWeights
from herbrand.tensor_files import under, within

STEPS, RATE = 100, 0.1
SMOOTHING = 0.9
MOST_ROWS = 4096


@dataclass(eq=False)
class Training:
    """A training with its state: questions of one target each, with the proof engine over the world that they
    are about."""

    proofs: tuple[Proof, ...]
    weights: RuleWeights
    targets: tuple[Questions, ...]
    depth: int
    loss: str
    l2: float
    batch: int | None
    budget: Budget
    adam: Adam
    stopping: EarlyStopping
    seed: int
    rng: np.random.Generator
    mark: str
    steps: int = 0
    waiting: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    losses: list[float] = field(default_factory=list)

    @classmethod
    def of(
        cls, proofs: Sequence[Proof], weights: RuleWeights, targets: Sequence[Questions],
        settings: LearningSettings, depth: int, loss: str, mark: str,
    ) -> Training:  # fmt: skip
        """A training before its first step, or resumed from a saved state."""
        count = sum(map(len, targets))
        batch = None if settings.batch is None or settings.batch >= count else settings.batch
        training = cls(
            tuple(proofs), weights, tuple(targets), depth, loss, settings.l2 or 0.0, batch,
            settings.budget.without_end(),
            Adam.of(weights.parameters(), RATE if settings.rate is None else settings.rate),
            EarlyStopping(settings.patience, 0.0 if batch is None else SMOOTHING),
            settings.seed, np.random.default_rng(settings.seed), mark,
        )  # fmt: skip
        resume(training, settings)
        return training

    @property
    def count(self) -> int:
        return sum(map(len, self.targets))

    @property
    def options(self) -> Options:
        return {
            "depth": self.depth, "loss": self.loss, "l2": self.l2,
            "rate": self.adam.rate, "batch": self.batch, "seed": self.seed,
        }  # fmt: skip

    def step(self) -> float:
        """Train on one batch; return the loss before the update."""
        chosen = self._batch()
        self.steps += 1
        penalty = self._penalty()
        total = float(penalty.detach())
        if penalty.requires_grad:
            penalty.backward()
        for proof, questions in self._parts(chosen):
            loss = self._loss(self._scored(proof, questions, self.budget)) / len(chosen)
            if loss.requires_grad:
                loss.backward()
            total += float(loss.detach())
        self.adam.step()
        return total

    def _scored(self, proof: Proof, questions: Questions, budget: Budget) -> Scored:
        """Answers of the rules under the current weights."""
        goal = proof.read(questions.goal, questions.given)
        table = scores(
            proof, goal.shape, questions.inputs.tolist(), self.weights.facts(), self.weights.rules(),
            depth=self.depth, budget=budget,
        )  # fmt: skip
        refuse_infinite(table.values)
        return Scored.of(table, questions)

    @torch.no_grad()
    def measured(self, budget: Budget | None = None) -> dict[str, float | int]:
        """Mean loss and accuracy over all questions, and the number of those without a proof. Raise
        OutOfTimeError if the time of a ``budget`` ends."""
        losses, hits, answerable = 0.0, 0.0, 0
        for proof, part in self._parts(np.arange(self.count)):
            scored = self._scored(proof, part, budget or self.budget)
            losses += float(self._loss(scored))
            hits += float(scored.accuracy().sum())
            answerable += int(scored.answerable.sum())
        return {
            "loss": losses / max(1, answerable),
            "accuracy": hits / max(1, self.count),
            "questions": self.count,
            "without_proof": self.count - answerable,
        }

    def _loss(self, scored: Scored) -> Tensor:
        return LOSSES[self.loss](scored).sum()

    def _penalty(self) -> Tensor:
        squares = [parameter.square().sum() for parameter in self.weights.parameters() if self.l2]
        return self.l2 / 2 * torch.stack(squares).sum() if squares else torch.zeros((), dtype=torch.float64)

    def _batch(self) -> np.ndarray:
        """The next questions, in a new random order for each pass over all of them."""
        if self.batch is None:
            return np.arange(self.count)
        if not len(self.waiting):
            self.waiting = self.rng.permutation(self.count)
        chosen, self.waiting = self.waiting[: self.batch], self.waiting[self.batch :]
        return np.sort(chosen)

    def _parts(self, chosen: np.ndarray) -> Iterator[tuple[Proof, Questions]]:
        """Yield the chosen questions by target, in parts whose states have a moderate size."""
        before = 0
        for proof, target in zip(self.proofs, self.targets, strict=True):
            width = max(proof.program.sizes.values(), default=1)
            most = min(MOST_ROWS, max(FEWEST_ROWS, GRID_CACHE // max(1, width)))
            own = chosen[(chosen >= before) & (chosen < before + len(target))] - before
            for start in range(0, len(own), most):
                yield proof, target.part(own[start : start + most])
            before += len(target)

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State to save: the weights, Adam's running means, and the order of the next questions."""
        tensors = under("weights", self.weights.state_dict()) | self.adam.tensors()
        tensors["waiting"] = torch.from_numpy(self.waiting.copy())
        return tensors, {"random": self.rng.bit_generator.state}

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Restore what :meth:`kept` returned."""
        self.weights.load_state_dict(within("weights", tensors))
        self.adam.restore(tensors)
        self.waiting = tensors["waiting"].numpy()
        self.rng.bit_generator.state = about["random"]
