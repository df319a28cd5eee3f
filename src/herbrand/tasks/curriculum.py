"""Curriculum learning of a game: lessons of growing size, with an exam before each larger size.

An exam plays fresh games of the latest sizes, by the best action; the games then go to one of two pools,
solved or failed, and training draws from both, so that failures are met again. The mark needed rises by half
a point a lesson up to 100 % for the last. A lesson is passed only when most of its games are also solved with
actions drawn by the policy's probabilities: the best of nearly equal actions may be right by luck. A policy
that passes the last lesson graduates if it also solves all games of a final exam in larger worlds.
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

from herbrand.adam import Adam
from herbrand.errors import UnsupportedError
from herbrand.induction.journal import refuse_another
from herbrand.induction.machine import SPREAD
from herbrand.options.kinds import Flag, Kind, Number, Several, Whole, check_values
from herbrand.tasks.games import Games, together
from herbrand.tasks.policies import fresh_policy
from herbrand.tasks.reinforce import Reinforce
from herbrand.tasks.rollouts import Episodes, play
from herbrand.tensor_files import read_tensors, restoring, save_tensors, under, within

RECENT = 3
"""Number of latest lessons whose sizes are used in exams and training."""

POOL = 300
"""Largest number of games kept for each size and outcome; the latest are kept."""


class Method(Protocol):
    """A learning method of policies: :class:`~herbrand.tasks.reinforce.Reinforce`, or a frozen dataclass of
    the user. ``rate``: Adam's learning rate; ``entropy``: weight of the entropy bonus at the start."""

    @property
    def rate(self) -> float: ...

    @property
    def entropy(self) -> float: ...

    @property
    def rounds(self) -> int:
        """Number of times that a game is played in a lesson."""
        ...

    def beside(self, policy: nn.Module, seed: int) -> dict[str, nn.Module]:
        """Further modules that are trained with a policy, by name."""
        ...

    def lesson(
        self,
        learned: nn.ModuleDict,
        adam: Adam,
        games: Any,
        rng: np.random.Generator,
        entropy: float,
    ) -> Episodes:
        """Play games and train on the episodes; ``learned`` holds the ``policy`` and the further modules."""
        ...


@dataclass(frozen=True)
class Curriculum:
    """Settings of curriculum learning. ``first`` and ``last``: sizes of the first and last lesson; ``final``:
    sizes and numbers of games of the final exam, which must all be solved; ``solved_share``: share of
    training games drawn from the solved pool; ``epochs``, ``lessons``, ``games``: an epoch is an exam of
    ``exam_games`` and ``lessons`` lessons of ``games`` games each; ``sampled``: share of exam games to be
    solved with actions drawn by their probabilities; ``rate_decay`` and ``entropy_decay``: factors of
    learning rate and entropy weight from lesson to lesson; ``settle``: factor of both after every
    ``patience`` epochs of the last lesson; ``retake``: play the failed games again at each exam, and drop
    those solved; ``ruined``: undo an epoch after which less than this share of the games solved before is
    solved; ``spread``: scale of the initial weights."""

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
    """Results of an epoch: its size; the shares solved in the exam, by the best action and by drawn ones;
    moves at this size; games played so far, rollouts included; CPU seconds so far; whether all lessons are
    passed."""

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
    """Training of a policy by a curriculum; equal seeds give equal runs, and a saved run can be resumed."""

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
        self._adam = Adam.of(self._learned.parameters(), method.rate)
        self._pools: dict[tuple[int, bool], Any] = {}
        self._kept: dict[str, torch.Tensor] = {}
        self._state = _State(self.curriculum.first, method.entropy, method.rate)

    def run(self, seconds: float | None = None) -> Iterator[Lesson]:
        """Train epoch by epoch until graduation, the last epoch or the end of the (wall-clock) time."""
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
        """Description of the training and its results so far."""
        state = self._state
        return {
            **self._run(),
            "epochs": state.epoch,
            "games": state.episodes,
            "cpu_seconds": round(state.seconds, 1),
            "graduated": state.graduated,
        }

    def _undo_what_ruins(self, success: float) -> None:
        """Undo the last epoch if far fewer games are solved after it; otherwise keep it."""
        if success < self.curriculum.ruined * self._state.kept:
            self._take(self._kept)
        else:
            self._kept = {name: tensor.clone() for name, tensor in self._held().items()}
            self._state.kept = success

    def _threshold(self) -> float:
        return 1 - 0.005 * (self.curriculum.last - self._state.size)

    def _advance(self) -> None:
        """Go to the next lesson, or graduate if all games of the final exam are solved."""
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
        self._adam.rate = self._state.rate

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
        """Play the failed games of a size again and drop those solved now, which would teach little."""
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
        return method.lesson(self._learned, self._adam, games, self._rng, entropy)

    def _sampled(self, size: int, count: int) -> Any:
        """Games of a size from both pools; all from one if the other is empty; fresh ones if both are."""
        solved, failed = self._pools.get((size, True)), self._pools.get((size, False))
        if solved is None and failed is None:
            return self.kind.draw(self._rng, count, size)
        share = (
            self.curriculum.solved_share if solved is not None and failed is not None else solved is not None
        )
        draws = int(self._rng.binomial(count, share))
        pairs = ((solved, draws), (failed, count - draws))
        return together(
            [p.take(self._rng.integers(p.worlds, size=n)) for p, n in pairs if p is not None and n]
        )

    def save(self, path: str | Path) -> None:
        """Save everything that resuming needs."""
        tensors = self._held() | under("kept", self._kept)
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
        """Resume a saved run of the same task, curriculum and seed."""
        tensors, about = read_tensors(path)
        refuse_another(path, about, self._run())
        with restoring(path):
            self._state = _State(**about["state"])
            self._rng.bit_generator.state = json.loads(about["rng"])
            self._take(tensors)
            self._kept = within("kept", tensors)
            self._pools = self._pools_in(tensors)

    def _held(self) -> dict[str, torch.Tensor]:
        """Parameters of the modules and the state of Adam."""
        return under("learned", self._learned.state_dict()) | self._adam.tensors()

    def _take(self, held: dict[str, torch.Tensor]) -> None:
        self._learned.load_state_dict(within("learned", held))
        self._adam.restore(held)
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
