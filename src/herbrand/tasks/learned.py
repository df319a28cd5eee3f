"""What a training gives: a machine or a policy that can be kept, applied, examined, and read out as rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from herbrand.errors import UnsupportedError
from herbrand.induction import saved_machine
from herbrand.induction.examination import Marks, examine
from herbrand.induction.target import TargetMachine
from herbrand.induction.task import Sample, Task
from herbrand.language.syntax import Theory
from herbrand.options.kinds import Whole, check_values
from herbrand.tasks.games import Games
from herbrand.tasks.policies import ActionPolicy
from herbrand.tasks.readout import MachineRules, PolicyRules, effort, machine_rules, policy_rules
from herbrand.tasks.rollouts import Episodes, play

STEPS = 4_000.0
"""Steps of work for a search for rules, of which a machine of today does a few hundred a second."""


@dataclass(frozen=True, eq=False)
class LearnedMachine:
    """``graduated``: it made no error in the exams; ``examples``: worlds that it learned from; ``advice``:
    what to do where it did not graduate."""

    task: Task
    machine: TargetMachine
    graduated: bool = True
    examples: int = 0
    accuracy: float | None = None
    advice: str = ""

    def conclude(self, sample: Sample) -> torch.Tensor:
        """The log-odds of the target in worlds that were drawn."""
        with torch.no_grad():
            return self.machine(sample.predicates, sample.present)

    def examine(self, worlds: int, size: int, seed: int = 1) -> Marks:
        """Its errors in fresh worlds of a size."""
        kinds = {"worlds": Whole(1), "size": Whole(1), "seed": Whole(0)}
        check_values(kinds, {"worlds": worlds, "size": size, "seed": seed})
        return examine(self.conclude, self.task, np.random.default_rng([seed, 5]), worlds, size)

    def rules(
        self, worlds: int = 30, *, checked: int = 100, steps: float = STEPS, seed: int = 0
    ) -> MachineRules:
        """Rules for what it concludes in so many worlds, ``checked`` beside the truth in others of the larger
        size; raises where none is found within so many ``steps`` of work."""
        rng = np.random.default_rng([seed, 7])
        return machine_rules(self.task, self.conclude, rng, worlds, checked, effort(steps))

    def save(self, path: str | Path) -> None:
        """Keeps it, for :meth:`load`, :func:`herbrand.conclude` and ``herbrand infer``."""
        about = saved_machine.About(
            self.task.target, Theory(()), self.task.vocabulary, self.examples, self.accuracy
        )
        saved_machine.save(path, self.machine, about)

    @classmethod
    def load(cls, path: str | Path, task: Task) -> Self:
        """One that was kept; raises where it was of another task."""
        machine, about = saved_machine.load(path)
        if (about.target, dict(about.vocabulary)) != (task.target, dict(task.vocabulary)):
            raise UnsupportedError(
                f"'{path}' holds a machine for '{about.target}' from other relations",
                hint=f"this task is '{task.target}' from {task.vocabulary}",
            )
        return cls(task, machine, True, about.examples, about.accuracy)


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """``about``: the game, the seed and the curriculum, and how the school went; ``advice``: what to do where
    it did not graduate."""

    kind: type[Games]
    policy: ActionPolicy
    about: dict[str, Any] = field(repr=False)
    advice: str = ""

    @property
    def graduated(self) -> bool:
        """Whether the last exam was passed."""
        return bool(self.about["graduated"])

    @property
    def sizes(self) -> tuple[int, int]:
        """Those of the first and the last lesson."""
        return self.about["curriculum"]["first"], self.about["curriculum"]["last"]

    def play(
        self, games: Games, *, rng: np.random.Generator | None = None, repeat: bool = True, **options: Any
    ) -> Episodes:
        """Games played to their end; see :func:`~herbrand.tasks.rollouts.play`."""
        return play(self.policy, games, rng, repeat=repeat, **options)

    def rules(
        self,
        size: int | None = None,
        *,
        larger: int | None = None,
        positions: int = 100,
        games: int = 100,
        share: float = 0.5,
        steps: float = STEPS,
        seed: int = 0,
    ) -> PolicyRules:
        """Rules for what it does in so many positions of games of a size (that of the last lesson), which
        then play ``games`` of a ``larger`` size by themselves; raises where none is found.

        An action counts as done where its probability is at least this ``share`` of the best one's."""
        smaller = self.sizes[1] if size is None else size
        sizes, rng = (smaller, larger or smaller + 1), np.random.default_rng([seed, 7])
        return policy_rules(self.kind, self.policy, sizes, rng, positions, games, effort(steps), share)

    def save(self, path: str | Path) -> None:
        """Keeps it, for :meth:`load`."""
        self.policy.save(path, self.about)

    @classmethod
    def load(cls, path: str | Path, kind: type[Games]) -> Self:
        """One that was kept; raises where it was of another game."""
        policy, about = ActionPolicy.load(path)
        if (policy.vocabulary, policy.arity) != (dict(kind.vocabulary), kind.arity):
            raise UnsupportedError(
                f"'{path}' holds a policy that observes {policy.vocabulary}",
                hint=f"{kind.__name__} has {dict(kind.vocabulary)}",
            )
        return cls(kind, policy, about)
