"""Results of training: machines and policies, which can be saved, applied, tested, and extracted as rules."""

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
from herbrand.language.theory import Theory
from herbrand.options.kinds import Whole, check_values
from herbrand.tasks.games import Games
from herbrand.tasks.policies import ActionPolicy
from herbrand.tasks.readout import MachineRules, PolicyRules, effort, machine_rules, policy_rules
from herbrand.tasks.rollouts import Episodes, play

STEPS = 4_000.0
"""Default steps of a search for rules; a few hundred take a second."""


@dataclass(frozen=True, eq=False)
class LearnedMachine:
    """A trained machine of a task. ``graduated``: it made no error in the exams; ``examples``: number of
    worlds of training; ``advice``: what to change if it did not graduate."""

    task: Task
    machine: TargetMachine
    graduated: bool = True
    examples: int = 0
    accuracy: float | None = None
    advice: str = ""

    def conclude(self, sample: Sample) -> torch.Tensor:
        """Log-odds of the target in the worlds of a sample."""
        with torch.no_grad():
            return self.machine(sample.predicates, sample.present)

    def examine(self, worlds: int, size: int, seed: int = 1) -> Marks:
        """Count the errors in fresh worlds of a size."""
        kinds = {"worlds": Whole(1), "size": Whole(1), "seed": Whole(0)}
        check_values(kinds, {"worlds": worlds, "size": size, "seed": seed})
        return examine(self.conclude, self.task, np.random.default_rng([seed, 5]), worlds, size)

    def rules(
        self, worlds: int = 30, *, checked: int = 100, steps: float = STEPS, seed: int = 0
    ) -> MachineRules:
        """Extract rules that agree with the machine's conclusions in ``worlds`` worlds, and compare them with
        the truth in ``checked`` worlds of the larger size; raises an error if ``steps`` do not suffice."""
        rng = np.random.default_rng([seed, 7])
        return machine_rules(self.task, self.conclude, rng, worlds, checked, effort(steps))

    def save(self, path: str | Path) -> None:
        """Save the machine, for :meth:`load`, :func:`herbrand.conclude` and ``herbrand infer``."""
        about = saved_machine.About(
            self.task.target, Theory(()), self.task.vocabulary, self.examples, self.accuracy
        )
        saved_machine.save(path, self.machine, about)

    @classmethod
    def load(cls, path: str | Path, task: Task) -> Self:
        """Load a saved machine; raises an error if it was of another task."""
        machine, about = saved_machine.load(path)
        if (about.target, dict(about.vocabulary)) != (task.target, dict(task.vocabulary)):
            raise UnsupportedError(
                f"'{path}' holds a machine for '{about.target}' from other relations",
                hint=f"this task is '{task.target}' from {task.vocabulary}",
            )
        return cls(task, machine, True, about.examples, about.accuracy)


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A trained policy of a game. ``about``: game, seed, curriculum and results of the training; ``advice``:
    what to change if it did not graduate."""

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
        """Sizes of the first and the last lesson."""
        return self.about["curriculum"]["first"], self.about["curriculum"]["last"]

    def play(
        self, games: Games, *, rng: np.random.Generator | None = None, repeat: bool = True, **options: Any
    ) -> Episodes:
        """Play games to their end; see :func:`~herbrand.tasks.rollouts.play`."""
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
        """Extract rules that agree with the policy in ``positions`` of games of a size (by default that of
        the last lesson), and let them play ``games`` of a ``larger`` size; raises an error if there are none.

        An action counts as chosen if its probability is at least this ``share`` of the best one's."""
        smaller = self.sizes[1] if size is None else size
        sizes, rng = (smaller, larger or smaller + 1), np.random.default_rng([seed, 7])
        return policy_rules(self.kind, self.policy, sizes, rng, positions, games, effort(steps), share)

    def save(self, path: str | Path) -> None:
        """Save the policy, for :meth:`load`."""
        self.policy.save(path, self.about)

    @classmethod
    def load(cls, path: str | Path, kind: type[Games]) -> Self:
        """Load a saved policy; raises an error if it was of another game."""
        policy, about = ActionPolicy.load(path)
        if (policy.vocabulary, policy.arity) != (dict(kind.vocabulary), kind.arity):
            raise UnsupportedError(
                f"'{path}' holds a policy that observes {policy.vocabulary}",
                hint=f"{kind.__name__} has {dict(kind.vocabulary)}",
            )
        return cls(kind, policy, about)
