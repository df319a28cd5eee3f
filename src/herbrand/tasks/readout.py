"""What a machine or a policy does, as rules: searched for among what it does, then put to the test alone.

Not everything that is learned is a rule. The rules of a machine are evaluated on fresh worlds beside the
truth; those of a policy play fresh games by themselves, and win them or do not.
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
from herbrand.language.show import show
from herbrand.tasks.games import Games, distinct, together
from herbrand.tasks.policies import ActionPolicy
from herbrand.tasks.rollouts import Episodes, play

LEAST = 30.0
"""Log-odds count as no less: an action that a policy never takes has none."""

DRAWS = 50
"""Rounds of games at most, from which positions are taken."""


@dataclass(frozen=True)
class Rules(Extraction):
    """``relevance``: how much each relation matters to what was learned; ``agreement``: on how many tuples
    the rules differ from it in the worlds they were made from."""

    @property
    def text(self) -> str:
        """The theory, as a file of the language."""
        return show(self.theory)


@dataclass(frozen=True)
class MachineRules(Rules):
    """``checked``: the rules beside the truth, in fresh worlds of the larger size."""

    checked: Marks

    @property
    def perfect(self) -> bool:
        return self.checked.perfect


@dataclass(frozen=True)
class PolicyRules(Rules):
    """``played``: fresh games that the rules played alone, the first action that they derive each time."""

    played: Episodes

    @property
    def perfect(self) -> bool:
        return bool(self.played.solved.all())


def machine_rules(
    task: Task, conclude: Conclude, rng: np.random.Generator, worlds: int, checked: int, limits: Limits
) -> MachineRules:
    """Rules for what a machine concludes in worlds of the task's smaller size."""
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
    """Rules for what a policy does in positions that it meets in games of the first of ``sizes``, and how
    they play ``games`` of the second. An action counts as done where its probability is at least this
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
    """Worlds that are positions of games, as the policy meets them; the target is what it does."""

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
    """At most so many different positions of games of a size that are played by the policy's own
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
    """Rules that play: all actions that they derive are equally good, and all others equally bad."""

    task: Task
    clauses: Sequence[Clause]

    def __call__(self, games: Games) -> torch.Tensor:
        """``[worlds, actions]``: 0 where the rules derive the action."""
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
    """Limits of a search with so many steps of work."""
    return Limits(effort=Effort(most=steps))
