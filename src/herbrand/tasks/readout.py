"""Rule extraction: search for rules that agree with a machine or a policy, then test the rules alone.

A learned network need not be expressible by rules. The rules of a machine are compared with the truth on
fresh worlds; those of a policy play fresh games.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch

from herbrand.errors import HerbrandError
from herbrand.induction.database import Database, worlds_of
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.examination import Conclude, Marks
from herbrand.induction.extraction import Extraction, extract, verify
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.task import Sample, Task
from herbrand.tasks.games import Games, distinct, together
from herbrand.tasks.policies import ActionPolicy
from herbrand.tasks.rollouts import Episodes, play

LEAST = 30.0
"""Log-odds are at least minus this; those of an action that a policy never takes would be infinite."""

DRAWS = 50
"""Largest number of batches of games that positions are taken from."""


@dataclass(frozen=True)
class MachineRules(Extraction):
    """Rules of a machine. ``checked``: comparison with the truth in fresh worlds of the larger size."""

    checked: Marks

    @property
    def perfect(self) -> bool:
        """Whether the rules agree with the truth in all fresh worlds."""
        return self.checked.perfect


@dataclass(frozen=True)
class PolicyRules(Extraction):
    """Rules of a policy. ``played``: fresh games that the rules played, by the first action derived each
    time."""

    played: Episodes

    @property
    def perfect(self) -> bool:
        """Whether the rules solved all fresh games."""
        return bool(self.played.solved.all())


def machine_rules(
    task: Task, conclude: Conclude, rng: np.random.Generator, worlds: int, checked: int, limits: Limits
) -> MachineRules:
    """Extract rules from a machine's conclusions in worlds of the task's smaller size."""
    extraction = _extracted(task, conclude, rng, worlds, limits)
    marks = verify(task, extraction.clauses, rng, checked, task.sizes[1])
    return MachineRules(extraction.clauses, extraction.relevance, extraction.agreement, marks)


def policy_rules(
    kind: type[Games],
    policy: ActionPolicy,
    sizes: tuple[int, int],
    rng: np.random.Generator,
    positions: int,
    games: int,
    limits: Limits,
    share: float,
) -> PolicyRules:
    """Extract rules from a policy's actions in positions that it meets in games of the first of ``sizes``,
    and let them play ``games`` of the second. An action counts as chosen if its probability is at least this
    ``share`` of the best one's."""
    task = _positions_task(kind, policy, sizes[0])

    def conclude(sample: Sample) -> torch.Tensor:
        scores = policy.scores(sample.predicates)
        near = (scores - scores.amax(1, keepdim=True) - log(share)).clamp(min=-LEAST)
        return near.view(sample.target.shape)

    extraction = _extracted(task, conclude, rng, positions, limits)
    played = play(RulePolicy(task, extraction.clauses), kind.draw(rng, games, sizes[1]))
    return PolicyRules(extraction.clauses, extraction.relevance, extraction.agreement, played)


def _extracted(
    task: Task, conclude: Conclude, rng: np.random.Generator, worlds: int, limits: Limits
) -> Extraction:
    extraction = extract(task, conclude, rng, worlds, limits)
    if not extraction.clauses:
        raise HerbrandError(
            f"no rule was found for '{task.target}'",
            hint="not all that is learned is a rule; allow more steps, or show it more worlds",
        )
    return extraction


def _positions_task(kind: type[Games], policy: ActionPolicy, size: int) -> Task:
    """Task whose worlds are positions that the policy meets, and whose target is its choice of action."""

    def draw(rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        met = positions_met(kind, policy, rng, worlds, objects)
        predicates = met.predicates()
        count = next(tensor.shape[1] for arity, tensor in predicates.items() if arity)
        return Sample(predicates, torch.zeros((met.worlds, *[count] * kind.arity)))

    sizes = (size, size)
    return Task(kind.action, kind.action, kind.arity, kind.vocabulary, draw, sizes, size, 1)


def positions_met(
    kind: type[Games], policy: ActionPolicy, rng: np.random.Generator, count: int, size: int
) -> Games:
    """At most ``count`` distinct positions of games of a size, played with actions drawn by the policy's
    probabilities."""
    met: list[Games] = []
    for _ in range(DRAWS):
        met += [step.games for step in play(policy, kind.draw(rng, count, size), rng, keep_steps=True).steps]
        if not met:
            continue
        every = together(met)
        met = [every.take(distinct(every)[0])]
        if met[0].worlds >= count:
            break
    if not met:
        raise HerbrandError(f"games of size {size} are solved before they begin", hint="draw larger ones")
    return met[0].take(rng.permutation(met[0].worlds)[:count])


@dataclass(frozen=True)
class RulePolicy:
    """A policy that plays by rules: all derived actions are equally good, all others equally bad."""

    task: Task
    clauses: Sequence[Clause]

    def __call__(self, games: Games) -> torch.Tensor:
        """Scores ``[worlds, actions]``: 0 for actions that the rules derive."""
        predicates = games.predicates()
        count = next(tensor.shape[1] for arity, tensor in predicates.items() if arity)
        sample = Sample(predicates, torch.zeros((games.worlds, *[count] * self.task.target_arity)))
        database = Database.of(worlds_of(self.task, sample)).without(self.task.target)
        rows = evaluated(self.clauses, database).tables.get(self.task.target)
        scores = torch.full((games.worlds, *[count] * self.task.target_arity), -LEAST)
        if rows is not None and len(rows):
            world = database.world_of[rows[:, 0]]
            own = rows - database.starts[world][:, None]
            scores[(torch.from_numpy(world), *(torch.from_numpy(column) for column in own.T))] = 0.0
        return scores.flatten(1)


def effort(steps: float) -> Limits:
    """Limits of a search by a number of steps."""
    return Limits(effort=Effort(most=steps))
