"""Train a task or a game to its end, saving after every exam; resume a saved run.

>>> from herbrand.tasks.worlds import worlds_task
>>> def ring(rng, worlds, size):
...     edge = np.roll(np.eye(size), rng.integers(1, size), axis=1)[None].repeat(worlds, 0)
...     return {"edge": edge, "two_steps": edge @ edge}
>>> plan = Plan(examples=32, batch=8, exam_every=16, exam_worlds=(2, 2))
>>> learned = train(worlds_task(ring, "two_steps", (5, 8), breadth=3), plan, seed=1)
>>> learned.examples, learned.graduated, learned.advice
(32, False, 'stopped after 32 examples; allow more by Plan(examples=...)')
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, overload

import numpy as np
from torch import nn

from herbrand.errors import UnsupportedError
from herbrand.induction.examination import examine
from herbrand.induction.task import Task
from herbrand.induction.training import Plan, Progress, Training
from herbrand.options.kinds import Number, Text, Whole, check_functions
from herbrand.tasks.curriculum import Curriculum, Lesson, Schooling
from herbrand.tasks.games import Games
from herbrand.tasks.learned import LearnedMachine, LearnedPolicy
from herbrand.tasks.policies import fresh_policy


@overload
def train(
    task: Task,
    plan: Plan | None = None,
    *,
    seed: int = 0,
    seconds: float | None = None,
    resume: str | Path | None = None,
    watch: Callable[[Progress], object] | None = None,
) -> LearnedMachine: ...
@overload
def train(
    task: type[Games],
    plan: Curriculum,
    *,
    seed: int = 0,
    seconds: float | None = None,
    resume: str | Path | None = None,
    watch: Callable[[Lesson], object] | None = None,
) -> LearnedPolicy: ...
def train(
    task: Task | type[Games],
    plan: Plan | Curriculum | None = None,
    *,
    seed: int = 0,
    seconds: float | None = None,
    resume: str | Path | None = None,
    watch: Callable[[Any], object] | None = None,
) -> LearnedMachine | LearnedPolicy:
    """Train a machine for a task, or a policy for a game, until it graduates or its plan or time is over.

    ``plan``: a ``Plan`` for a task, a ``Curriculum`` for a game; equal seeds and plans give equal results.
    ``seconds``: wall-clock limit, checked between two steps. ``resume``: a file that holds the run after
    every exam; if it exists, the run continues from it. ``watch`` is called with the results of each exam.
    Ctrl-C ends a training too, and the network of the last exam is returned."""
    for name, kind, value in (
        ("seed", Whole(0), seed),
        ("seconds", Number(0), seconds),
        ("resume", Text(), resume),
    ):
        if value is not None:
            kind.check(name, value)
    check_functions(watch=watch)
    if isinstance(task, Task):
        if not isinstance(plan, Plan | None):
            raise UnsupportedError("a task of worlds is trained by a Plan", hint="curricula are for games")
        training = Training(task, plan, seed)
        interrupted = _run(training, training.machine, seconds, resume, watch)
        end = training.progress()
        done = f"{end.examples:,} examples; allow more by Plan(examples=...)"
        advice = "" if end.graduated else _advice(interrupted, seconds, end.examples < training.budget, done)
        accuracy = _accuracy(training)
        return LearnedMachine(task, training.machine, end.graduated, end.examples, accuracy, advice)
    if not isinstance(plan, Curriculum):
        raise UnsupportedError(
            "a game is learned by a Curriculum", hint="such as Curriculum(first=3, last=8)"
        )
    _refuse_misfit(task, plan)
    policy = fresh_policy(task, seed, plan.spread)
    school = Schooling(task, plan, seed, policy=policy)
    interrupted = _run(school, policy, seconds, resume, watch)
    about = {**school.about, "curriculum": asdict(plan)}
    done = f"{about['epochs']:,} epochs; allow more by Curriculum(epochs=...)"
    advice = "" if about["graduated"] else _advice(interrupted, seconds, about["epochs"] < plan.epochs, done)
    return LearnedPolicy(task, policy, about, advice)


def _run(
    run: Training | Schooling,
    network: nn.Module,
    seconds: float | None,
    resume: str | Path | None,
    watch: Callable[[Any], object] | None,
) -> bool:
    """Finish a run. True if it was interrupted; the network is then restored to that of the last exam."""
    if resume is not None and Path(resume).exists():
        run.resume(resume)
    whole = copy.deepcopy(network.state_dict())
    try:
        for report in run.run(seconds):
            whole = copy.deepcopy(network.state_dict())
            if resume is not None:
                run.save(resume)
            if watch is not None:
                watch(report)
    except KeyboardInterrupt:
        network.load_state_dict(whole)
        return True
    return False


def _advice(interrupted: bool, seconds: float | None, early: bool, done: str) -> str:
    if interrupted:
        return "interrupted; with resume=FILE a training goes on from its last exam"
    if early and seconds is not None:
        return f"stopped after {seconds:g} s; allow more by seconds"
    return f"stopped after {done}"


def _accuracy(training: Training) -> float | None:
    """Share of right tuples in fresh worlds of the training size."""
    rng = np.random.default_rng([training.seed, 4])
    return examine(training.conclude, training.task, rng, 20, training.task.sizes[0]).accuracy


def _refuse_misfit(kind: type[Games], plan: Curriculum) -> None:
    """Raise an error if a game's declarations of objects and actions are missing or inconsistent."""
    lacking = sorted(kind.__abstractmethods__) + ["vocabulary"] * (not hasattr(kind, "vocabulary"))
    if lacking:
        raise UnsupportedError(f"{kind.__name__} does not define {', '.join(lacking)}")
    games = kind.draw(np.random.default_rng(0), 2, plan.first)
    seen = next((t.shape[1] for arity, t in games.predicates().items() if arity), games.objects)
    if seen != games.objects:
        raise UnsupportedError(
            f"{kind.__name__} has {games.objects} objects, and its relations are about {seen}",
            hint="define `objects` where there are not as many as the size says",
        )
    if games.size != plan.first or games.worlds != 2:
        raise UnsupportedError(
            f"{kind.__name__}.draw was asked for 2 games of size {plan.first} and gave {games.worlds} of "
            f"size {games.size}",
            hint="the fields of games are arrays [worlds, ...]",
        )
