"""Learning to play a game lesson by lesson: small worlds first, an exam before each larger size.

An exam plays fresh games of the latest sizes, by the best action; the games then go to one of two pools,
solved or failed, and training draws from both, so that failures are met again. The mark needed rises by
half a point a lesson up to 100 % for the last. A lesson is passed only when most of its games are also
solved by the policy's own probabilities: the best of nearly equal actions may be right by luck. Who passes
the last lesson graduates if nothing goes wrong in much larger worlds either.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from herbrand.errors import UnsupportedError
from herbrand.induction.checkpoint import restore_training, training_tensors
from herbrand.induction.journal import refuse_another
from herbrand.induction.machine import SPREAD
from herbrand.options.kinds import Flag, Kind, Number, Several, Whole, check_values
from herbrand.tasks.games import Games, together
from herbrand.tasks.policies import fresh_policy
from herbrand.tasks.reinforce import Reinforce
from herbrand.tasks.rollouts import Episodes, play
from herbrand.tensor_files import read_tensors, restoring, save_tensors, within

RECENT = 3
"""Exams and training take their sizes from so many latest lessons."""

POOL = 300
"""Games of a size and an outcome that are kept at most, the latest."""


class Method(Protocol):
    """How a policy learns from games: :class:`~herbrand.tasks.reinforce.Reinforce`, or one of one's own, a
    frozen dataclass. ``rate``: Adam's; ``entropy``: how much disorder is worth at the start."""

    @property
    def rate(self) -> float: ...

    @property
    def entropy(self) -> float: ...

    @property
    def rounds(self) -> int:
        """How often a game is learned from in a lesson."""
        ...

    def beside(self, policy: nn.Module, seed: int) -> dict[str, nn.Module]:
        """What is learned beside a policy, by names."""
        ...

    def lesson(
        self,
        learned: nn.ModuleDict,
        optimiser: torch.optim.Optimizer,
        games: Any,
        rng: np.random.Generator,
        entropy: float,
    ) -> Episodes:
        """Plays games and learns from how they went; ``learned`` holds the ``policy`` and what is beside."""
        ...


@dataclass(frozen=True)
class Curriculum:
    """Sizes of the first and last lesson; ``final``: sizes and numbers of games that must all be solved to
    graduate; ``solved_share``: of the games to learn from, those drawn from the solved pool; an epoch is an
    exam and so many lessons of so many games; ``sampled``: the share of exam games to be solved when actions
    are drawn by their probabilities; ``rate_decay`` and ``entropy_decay``: from lesson to lesson; ``settle``:
    what both fall by whenever the last lesson has taken ``patience`` more epochs; ``retake``: at each exam
    the pool of failed games is played again, and what is solved by now leaves it; ``ruined``: an epoch after
    which less than this share of what was solved before it is solved is undone; ``spread``: how far fresh
    weights lie from zero."""

    first: int
    last: int
    final: tuple[tuple[int, int], ...] = ()
    solved_share: float = 0.5
    epochs: int = 400
    lessons: int = 10
    games: int = 8
    exam_games: int = 200
    sampled: float = 0.9
    entropy_decay: float = 0.85
    rate_decay: float = 1.0
    settle: float = 1.0
    patience: int = 20
    retake: bool = False
    ruined: float = 0.5
    spread: float = SPREAD
    method: Method = field(default_factory=Reinforce)

    def __post_init__(self) -> None:
        check_values(_KINDS, vars(self))
        if not hasattr(self.method, "lesson"):
            raise UnsupportedError(
                f"a curriculum's method is no {type(self.method).__name__}", hint="such as tasks.Reinforce()"
            )
        if not 1 <= self.first <= self.last:
            raise UnsupportedError(
                f"lessons from {self.first} to {self.last} objects", hint="from at least 1, and upwards"
            )
        if min(self.lessons, self.games, self.exam_games, self.patience, self.method.rounds) < 1:
            raise UnsupportedError(
                "a curriculum without lessons, games, rollouts or patience", hint="at least 1 of each"
            )


_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("first", "last", "epochs", "lessons", "games", "exam_games", "patience"), Whole(0)),
    **dict.fromkeys(("solved_share", "sampled", "ruined"), Number(0, 1)),
    **dict.fromkeys(("entropy_decay", "rate_decay", "settle", "spread"), Number(0)),
    "final": Several(Several(Whole(0), 2)),
    "retake": Flag(),
}


@dataclass(frozen=True)
class Lesson:
    """What an epoch showed: its size; the shares solved in the exam, by the best action and by drawn ones;
    moves at this size; games played so far, rollouts counted; CPU seconds so far; whether all is passed."""

    epoch: int
    size: int
    success: float
    sampled: float
    moves: float
    episodes: int
    seconds: float
    graduated: bool

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch}, size {self.size}: {self.success:.1%} solved in {self.moves:.1f} moves, "
            f"{self.sampled:.1%} by drawn actions; {self.episodes:,} games"
        )


@dataclass
class _State:
    size: int
    entropy: float
    rate: float
    epoch: int = 0
    in_last: int = 0
    kept: float = 0.0
    episodes: int = 0
    seconds: float = 0.0
    graduated: bool = False


class Schooling:
    """A policy on its way through the lessons; equal seeds give equal runs, and a saved one goes on."""

    def __init__(
        self,
        kind: type[Games],
        curriculum: Curriculum,
        seed: int = 0,
        *,
        policy: nn.Module | None = None,
        name: str | None = None,
    ) -> None:
        """``policy``: a fresh one of another kind than :class:`ActionPolicy`; ``name``: the game's in saved
        runs, if not that of its class."""
        self.kind, self.curriculum, self.seed = kind, curriculum, seed
        self.name = kind.__name__ if name is None else name
        self.policy, method = policy or fresh_policy(kind, seed, curriculum.spread), curriculum.method
        self._learned = nn.ModuleDict({"policy": self.policy, **method.beside(self.policy, seed)})
        self._rng = np.random.default_rng([seed, 3])
        self._optimiser = torch.optim.Adam(self._learned.parameters(), lr=method.rate)
        self._pools: dict[tuple[int, bool], Any] = {}
        self._kept: dict[str, torch.Tensor] = {}
        self._state = _State(self.curriculum.first, method.entropy, method.rate)

    def run(self, seconds: float | None = None) -> Iterator[Lesson]:
        """Trains epoch by epoch until graduation, the last epoch or the end of the (wall-clock) time."""
        until = None if seconds is None else time.monotonic() + seconds
        state = self._state
        while not state.graduated and state.epoch < self.curriculum.epochs:
            began, size = time.process_time(), state.size
            success, sampled, moves = self._exam()
            self._undo_what_ruins(success)
            if success >= self._threshold() and sampled >= self.curriculum.sampled:
                self._advance()
            if not state.graduated:
                self._train(until)
                if size == self.curriculum.last:
                    self._settle()
            state.epoch += 1
            state.seconds += time.process_time() - began
            yield Lesson(
                state.epoch, size, success, sampled, moves, state.episodes, state.seconds, state.graduated
            )
            if until is not None and time.monotonic() >= until:
                return

    @property
    def about(self) -> dict[str, Any]:
        """Which school this is, and how it went so far."""
        state = self._state
        return {
            **self._run(),
            "epochs": state.epoch,
            "games": state.episodes,
            "cpu_seconds": round(state.seconds, 1),
            "graduated": state.graduated,
        }

    def _undo_what_ruins(self, success: float) -> None:
        """Goes back to before the last epoch where much fewer games are solved after it; or keeps it."""
        if success < self.curriculum.ruined * self._state.kept:
            self._take(self._kept)
        else:
            self._kept = {name: tensor.clone() for name, tensor in self._held().items()}
            self._state.kept = success

    def _threshold(self) -> float:
        return 1 - 0.005 * (self.curriculum.last - self._state.size)

    def _advance(self) -> None:
        """To the next lesson, or out of school if the games of the final exam are all solved."""
        if self._state.size == self.curriculum.last:
            self._state.graduated = all(self._all_solved(*sizes) for sizes in self.curriculum.final)
            return
        self._state.size += 1
        self._state.kept = 0.0
        self._slow_down(self.curriculum.rate_decay, self.curriculum.entropy_decay)

    def _settle(self) -> None:
        plan = self.curriculum
        self._state.in_last += 1
        if self._state.in_last % plan.patience == 0:
            self._slow_down(plan.settle, plan.settle)

    def _slow_down(self, rate: float, entropy: float) -> None:
        self._state.rate *= rate
        self._state.entropy *= entropy
        self._set_rate()

    def _set_rate(self) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = self._state.rate

    def _all_solved(self, size: int, games: int) -> bool:
        drawn = self.kind.draw(self._rng, games, size, **self.kind.final_exam)
        return play(self.policy, drawn).success == 1.0

    def _sizes(self) -> list[int]:
        return list(range(max(self.curriculum.first, self._state.size - RECENT + 1), self._state.size + 1))

    def _exam(self) -> tuple[float, float, float]:
        """Shares solved among games of recent sizes, by the best action and by drawn ones, and moves at the
        latest size. The games go into the pools."""
        sizes, best, drawn, moves = self._sizes(), [], [], 0.0
        for size in sizes:
            if self.curriculum.retake:
                self._retake(size)
            games = self.kind.draw(self._rng, max(1, self.curriculum.exam_games // len(sizes)), size)
            result = play(self.policy, games)
            best.append(result.solved)
            drawn.append(play(self.policy, games, self._rng).solved)
            moves = result.mean_moves
            for outcome in (True, False):
                self._keep(games.take(np.flatnonzero(result.solved == outcome)), outcome)
        return float(np.concatenate(best).mean()), float(np.concatenate(drawn).mean()), moves

    def _retake(self, size: int) -> None:
        """What was failed before and is solved now would fill the pool of failures, and teach little."""
        failed = self._pools.pop((size, False), None)
        if failed is not None:
            solved = play(self.policy, failed).solved
            for outcome in (True, False):
                self._keep(failed.take(np.flatnonzero(solved == outcome)), outcome)

    def _keep(self, games: Any, outcome: bool) -> None:
        if games.worlds:
            key = games.size, outcome
            known = [self._pools[key]] if key in self._pools else []
            every = together([*known, games])
            self._pools[key] = every.take(np.arange(max(0, every.worlds - POOL), every.worlds))

    def _train(self, until: float | None) -> None:
        plan, sizes, state = self.curriculum, self._sizes(), self._state
        for _ in range(plan.lessons):
            games = self._sampled(int(self._rng.choice(sizes)), plan.games)
            state.episodes += len(self._lesson(games).solved)
            if until is not None and time.monotonic() >= until:
                return

    def _lesson(self, games: Any) -> Episodes:
        method, entropy = self.curriculum.method, self._state.entropy
        return method.lesson(self._learned, self._optimiser, games, self._rng, entropy)

    def _sampled(self, size: int, count: int) -> Any:
        """Games of a size from both pools; where one is empty, all from the other; where both are, fresh."""
        solved, failed = self._pools.get((size, True)), self._pools.get((size, False))
        if solved is None and failed is None:
            return self.kind.draw(self._rng, count, size)
        share = (
            self.curriculum.solved_share if solved is not None and failed is not None else solved is not None
        )
        wanted = int(self._rng.binomial(count, share))
        pairs = ((solved, wanted), (failed, count - wanted))
        return together(
            [p.take(self._rng.integers(p.worlds, size=n)) for p, n in pairs if p is not None and n]
        )

    def save(self, path: str | Path) -> None:
        """Everything needed to go on."""
        tensors = self._held() | {f"kept.{name}": tensor for name, tensor in self._kept.items()}
        for (size, outcome), pool in self._pools.items():
            for part in fields(pool):
                tensors[f"pool.{size}.{int(outcome)}.{part.name}"] = torch.from_numpy(
                    getattr(pool, part.name)
                )
        about = {
            **self._run(),
            "state": asdict(self._state),
            "rng": json.dumps(self._rng.bit_generator.state),
        }
        save_tensors(path, tensors, about)

    def resume(self, path: str | Path) -> None:
        """Takes up a saved run of the same task, curriculum and seed."""
        tensors, about = read_tensors(path)
        refuse_another(path, about, self._run())
        with restoring(path):
            self._state = _State(**about["state"])
            self._rng.bit_generator.state = json.loads(about["rng"])
            self._take(tensors)
            self._kept = within("kept", tensors)
            self._pools = self._pools_in(tensors)

    def _held(self) -> dict[str, torch.Tensor]:
        """What is learned, and what the optimiser remembers of it."""
        return training_tensors("learned", self._learned, self._optimiser)

    def _take(self, held: dict[str, torch.Tensor]) -> None:
        restore_training("learned", self._learned, self._optimiser, held)
        self._set_rate()

    def _pools_in(self, tensors: dict[str, torch.Tensor]) -> dict[tuple[int, bool], Any]:
        parts: dict[tuple[int, bool], dict[str, np.ndarray]] = {}
        for name, tensor in within("pool", tensors).items():
            size, outcome, part = name.split(".")
            parts.setdefault((int(size), outcome == "1"), {})[part] = tensor.numpy()
        return {key: self.kind(**own) for key, own in parts.items()}

    def _run(self) -> dict[str, Any]:
        return {
            "task": self.name,
            "seed": self.seed,
            "curriculum": json.loads(json.dumps(asdict(self.curriculum))),
        }
