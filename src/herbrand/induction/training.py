"""Training until graduation: no errors on fresh worlds of two sizes.

The loss is taken on log-odds, weights do not decay, and a run without progress starts again with other
weights, all within one budget of examples and seconds. Equal seeds give equal runs; a saved run resumes as if
it had not been stopped.

>>> def graphs(rng, worlds, nodes):
...     edge = torch.from_numpy(rng.random((worlds, nodes, nodes)) < 0.2).float()
...     return Sample({2: edge[..., None]}, edge.amax(2))
>>> task = Task("has-edge", "has_edge", 1, {2: ("edge",)}, graphs, (5, 8), 10, 1_000)
>>> plan = Plan(examples=32, batch=8, exam_every=16, exam_worlds=(2, 2))
>>> training = Training(task, plan, seed=1)
>>> [(progress.examples, progress.graduated) for progress in training.run()]
[(16, False), (32, False)]
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from herbrand.adam import Adam
from herbrand.errors import counted
from herbrand.induction.examination import Marks, examine, failed_worlds
from herbrand.induction.failures import Failures
from herbrand.induction.journal import refuse_another
from herbrand.induction.machine import draw_weights
from herbrand.induction.target import TargetMachine
from herbrand.induction.task import Sample, Task, joined
from herbrand.options.kinds import Flag, Kind, Number, Several, Whole, check_values
from herbrand.tensor_files import read_tensors, restoring, save_tensors, under, within

NEARLY = 0.999
"""Accuracy of an exam above which the learning rate decays."""

COMPARED = 64
"""Worlds, the same for each draw of weights, on which starts are compared."""


@dataclass(frozen=True)
class Plan:
    """Settings of a training. ``examples``: most worlds to learn from (``None``: as many as the paper);
    ``exam_every``: examples between exams; ``exam_worlds``: worlds of the training size and of the larger in
    an exam; ``patience``: share of the budget without a better loss after which weights are drawn anew;
    ``margin``: log-odds of the true labels above which a training graduates; ``most_balance``: most weight of
    a positive; ``spread``: range of fresh weights, see :func:`draw_weights`; ``again``: share of a batch that
    are failed worlds, not all right by ``again_margin``, while there are any; ``rate_decay``: factor of the
    learning rate at each exam with an accuracy above ``NEARLY``; ``starts``: draws of weights, each trained
    on ``start_examples``, of which the one with the least loss goes on."""

    examples: int | None = None
    batch: int = 16
    rate: float = 0.01
    exam_every: int = 1_600
    exam_worlds: tuple[int, int] = (200, 20)
    patience: float = 0.1
    margin: float = 2.0
    most_balance: float = 10.0
    spread: float = 1.0
    again: float = 0.0
    again_margin: float = 2.0
    rate_decay: float = 1.0
    starts: int = 1
    start_examples: int = 1_600
    width: int = 8
    hidden: tuple[int, ...] = ()
    rebuild_widest: bool = False

    def __post_init__(self) -> None:
        check_values(_KINDS if self.examples is None else {"examples": Whole(1), **_KINDS}, vars(self))


_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("batch", "exam_every", "starts", "start_examples", "width"), Whole(1)),
    **dict.fromkeys(("patience", "most_balance", "spread", "rate_decay"), Number(above=0)),
    **dict.fromkeys(("margin", "again_margin"), Number(above=-math.inf)),
    "rate": Number(0),
    "again": Number(0, 1),
    "exam_worlds": Several(Whole(1), 2),
    "hidden": Several(Whole(1)),
    "rebuild_widest": Flag(),
}


@dataclass(frozen=True)
class Progress:
    """State of a training. ``seconds``: CPU time of this process so far; ``restarts``: how often weights were
    drawn anew; ``marks``: the exam at the training size and, if that had no errors, at the larger."""

    examples: int
    loss: float
    accuracy: float
    restarts: int
    seconds: float
    marks: tuple[Marks, ...]
    graduated: bool

    def __str__(self) -> str:
        errors = ", ".join(
            f"{counted(marks.errors, 'error')} in {counted(marks.worlds, 'world')}" for marks in self.marks
        )
        return f"{self.examples:,} examples: loss {self.loss:.4f}, accuracy {self.accuracy:.4f}; {errors}"


class Training:
    """A training run: a machine, its Adam and its position in the stream of random worlds."""

    def __init__(self, task: Task, plan: Plan | None = None, seed: int = 0) -> None:
        self.task, self.plan, self.seed = task, plan or Plan(), seed
        self.budget = task.examples if self.plan.examples is None else self.plan.examples
        self.machine = TargetMachine(
            task.inputs,
            task.target_arity,
            depth=task.depth,
            breadth=task.breadth,
            width=self.plan.width,
            hidden=self.plan.hidden,
            rebuild_widest=self.plan.rebuild_widest,
        )
        self._worlds = np.random.default_rng([seed, 0])
        self._failures = Failures()
        self._leader: dict[str, torch.Tensor] = {}
        self._state = _State()
        self._begin()

    def run(self, seconds: float | None = None) -> Iterator[Progress]:
        """Train and yield the progress at each exam, until graduation or the end of the budget.

        ``seconds``: wall-clock time allowed; the run stops soon after and can be saved and resumed.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while not self._state.graduated and self._state.examples < self.budget:
            began = time.process_time()
            self._restart_if_still()
            starting = self._starting()
            losses, rights = self._lesson(until)
            exam = self._exam() if not starting and not _past(until) else ()
            self._note(float(np.mean(losses)), exam)
            self._slow_down(exam)
            self._compare_starts()
            self._state.seconds += time.process_time() - began
            yield self._progress(float(np.mean(losses)), float(np.mean(rights)), exam)
            if _past(until):
                return

    def _lesson(self, until: float | None) -> tuple[list[float], list[float]]:
        """Train for one stretch; return the loss of each batch, and its share of right tuples."""
        losses, rights = [], []
        state, size = self._state, self.task.sizes[0]
        for _ in range(max(1, self._stretch() // self.plan.batch)):
            sample = self._batch(size)
            log_odds = self.machine(sample.predicates, sample.present)
            loss = balanced_loss(log_odds, sample, self.plan.most_balance)
            self._adam.forget()
            loss.backward()
            self._adam.step()
            self._keep_failures(sample, log_odds)
            state.examples += sample.worlds
            losses.append(float(loss.detach()))
            rights.append(float(((log_odds > 0) == (sample.target > 0.5)).float().mean()))
            if state.examples >= self.budget or _past(until):
                break
        return losses, rights

    def _stretch(self) -> int:
        """Number of examples until the next exam, or until starts are compared."""
        if self._starting():
            return self._state.start_at + self.plan.start_examples - self._state.examples
        return self.plan.exam_every

    def _starting(self) -> bool:
        return self.plan.starts > 1 and self._state.start < self.plan.starts

    def _compare_starts(self) -> None:
        """After the stretch of a start, draw the next start, or go on with the best one."""
        state = self._state
        if not self._starting() or self._stretch() >= self.plan.batch:
            return
        rng = np.random.default_rng([self.seed, 3, state.restarts])
        sample = self.task.draw_for_training(rng, COMPARED, self.task.sizes[0])
        with torch.no_grad():
            loss = float(balanced_loss(self.conclude(sample), sample, self.plan.most_balance))
        if loss < state.leading or not self._leader:
            state.leading = loss
            self._leader = {name: tensor.clone() for name, tensor in self._learned().items()}
        state.start += 1
        if self._starting():
            self._draw()
        else:
            self._take_up(self._leader)
            self._leader = {}
            state.best, state.best_at = float("inf"), state.examples

    def _batch(self, size: int) -> Sample:
        """Draw a batch of fresh worlds, with some that failed before."""
        batch = self.plan.batch
        again = self._failures.taken(self._worlds, round(self.plan.again * batch))
        fresh = batch - sum(part.worlds for part in again)
        return joined([*again, self.task.draw_for_training(self._worlds, fresh, size)])

    def _keep_failures(self, sample: Sample, log_odds: torch.Tensor) -> None:
        if self.plan.again:
            failed = failed_worlds(log_odds.detach(), sample, self.plan.again_margin)
            if len(failed):
                self._failures.keep(sample.take(failed))

    def _exam(self) -> tuple[Marks, ...]:
        # Worlds, exams, weights and comparisons have a stream each, so that an exam does not change later
        # worlds.
        rng = np.random.default_rng([self.seed, 1, self._state.examples])
        marks: list[Marks] = []
        for worlds, objects in zip(self.plan.exam_worlds, self.task.sizes, strict=True):
            marks.append(examine(self.conclude, self.task, rng, worlds, objects))
            if not marks[-1].perfect:
                break
        return tuple(marks)

    def conclude(self, sample: Sample) -> torch.Tensor:
        return self.machine(sample.predicates, sample.present)

    def _note(self, loss: float, exam: tuple[Marks, ...]) -> None:
        state = self._state
        passed = len(exam) == 2 and all(m.margin > self.plan.margin for m in exam)
        state.graduated = passed
        if loss < 0.95 * state.best or (exam and exam[0].perfect):
            state.best, state.best_at = min(loss, state.best), state.examples

    def _restart_if_still(self) -> None:
        """Draw weights anew if the loss is not better after ``patience``. This is done before a lesson, not
        after the exam, so that a run saved between them resumes as if not stopped."""
        state = self._state
        still = state.examples - state.best_at >= self.plan.patience * self.budget
        if still and not self._starting():
            state.restarts += 1
            self._begin()

    def _slow_down(self, exam: tuple[Marks, ...]) -> None:
        if exam and exam[0].accuracy > NEARLY:
            self._state.slowed += 1
            self._set_rate()

    def _set_rate(self) -> None:
        self._adam.rate = self.plan.rate * self.plan.rate_decay**self._state.slowed

    def _begin(self) -> None:
        state = self._state
        state.slowed = state.start = 0
        state.best, state.leading = float("inf"), float("inf")
        state.best_at = state.examples
        self._draw()

    def _draw(self) -> None:
        state = self._state
        state.start_at = state.examples
        drawn = int(np.random.default_rng([self.seed, 2, state.restarts, state.start]).integers(2**31))
        draw_weights(self.machine, drawn, self.plan.spread)
        self._adam = Adam.of(self.machine.parameters(), self.plan.rate)

    def progress(self) -> Progress:
        """Progress of the run, without another exam."""
        return self._progress(self._state.best, float("nan"), ())

    def _progress(self, loss: float, accuracy: float, exam: tuple[Marks, ...]) -> Progress:
        state = self._state
        return Progress(state.examples, loss, accuracy, state.restarts, state.seconds, exam, state.graduated)

    def save(self, path: str | Path) -> None:
        """Save everything needed to resume."""
        tensors = self._learned() | under("leader", self._leader)
        about = {
            **self._run(),
            "state": asdict(self._state),
            "worlds": json.dumps(self._worlds.bit_generator.state),
        }
        tensors |= under("failures", self._failures.tensors())
        save_tensors(path, tensors, about)

    def resume(self, path: str | Path) -> None:
        """Resume a saved run of the same task, plan and seed."""
        tensors, about = read_tensors(path)
        refuse_another(path, about, self._run())
        with restoring(path):
            self._state = _State(**about["state"])
            self._worlds.bit_generator.state = json.loads(about["worlds"])
            self._take_up(tensors)
            self._leader = within("leader", tensors)
            self._failures = Failures.of(within("failures", tensors))

    def _run(self) -> dict[str, Any]:
        """Task, seed and plan, which identify a run, as JSON holds them."""
        task = {each.name: getattr(self.task, each.name) for each in fields(self.task) if each.repr}
        name = task.pop("name")
        return json.loads(json.dumps({"task": name, **task, "seed": self.seed, "plan": asdict(self.plan)}))

    def _learned(self) -> dict[str, torch.Tensor]:
        """Named tensors of the weights and of Adam's state, for a file."""
        return under("machine", self.machine.state_dict()) | self._adam.tensors()

    def _take_up(self, tensors: dict[str, torch.Tensor]) -> None:
        self.machine.load_state_dict(within("machine", tensors))
        self._adam.restore(tensors)
        self._set_rate()


@dataclass
class _State:
    """State of a run beside weights."""

    examples: int = 0
    best: float = float("inf")
    best_at: int = 0
    restarts: int = 0
    slowed: int = 0
    start: int = 0
    start_at: int = 0
    leading: float = float("inf")
    seconds: float = 0.0
    graduated: bool = False


def balanced_loss(log_odds: torch.Tensor, sample: Sample, most: float) -> torch.Tensor:
    """Cross-entropy from log-odds; a positive weighs the root of the number of negatives for each positive,
    at least 1 and at most ``most``."""
    target = sample.target
    if sample.known is not None:
        log_odds, target = log_odds[sample.known], target[sample.known]
    positives = float(target.sum())
    rarer = (target.numel() - positives) / max(positives, 1.0)
    weight = log_odds.new_tensor(min(max(rarer**0.5, 1.0), most))
    return functional.binary_cross_entropy_with_logits(log_odds, target, pos_weight=weight)


def _past(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until
