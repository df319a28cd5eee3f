"""One start of messages and how it goes on: which message after which, and how much of the old ones stays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.belief.pace import Pace
from herbrand.engines.loop import Patience, Schedule
from herbrand.engines.regions.expected import Beliefs
from herbrand.engines.regions.graph import choices
from herbrand.engines.regions.lower_bound import lower_bound
from herbrand.engines.regions.messages import Messages, Propagation
from herbrand.engines.regions.tables import along, times

PATIENCE = Patience(rounds=20, least_step=0.01)
DAMPING = 0.5
HIGHEST_ODDS = 4.0
"""Starts lean to log-odds of at most so much for one element."""


@dataclass(frozen=True, eq=False)
class RegionRun:
    """``pace``: how far parents and children disagreed before the last round, and whether that falls."""

    propagation: Propagation
    messages: Messages
    pace: Pace
    rounds: int = 0

    @cached_property
    def bound(self) -> float:
        """The lower bound on the log-partition that its beliefs give; minus infinity where they give none."""
        counts, beliefs = self.propagation.counts, Beliefs(self.propagation, self.messages)
        if counts.layout is None:
            return -math.inf
        log_beliefs = [beliefs.of((variable,)) for variable in range(len(counts.variables))]
        return lower_bound(counts, [belief for belief in log_beliefs if belief is not None])


Leanings = Sequence[np.ndarray]
"""For each variable what its elements lean to: log-weights of profiles."""


def drawn_leanings(propagation: Propagation, dice: np.random.Generator) -> Leanings:
    """Random ones."""
    return [dice.uniform(-HIGHEST_ODDS, HIGHEST_ODDS, v.all_profiles) for v in propagation.counts.variables]


def first_messages(propagation: Propagation, lean: Leanings | None) -> Messages:
    """Messages that say nothing, or lean."""
    if lean is None:
        return propagation.no_messages
    graph, counts = propagation.graph, propagation.counts
    parents = np.zeros(len(graph.regions))
    for parent, child in graph.edges:
        parents[child] += choices(graph.regions[child], graph.regions[parent], graph.elements)
    messages = []
    for _, child in graph.edges:
        region = graph.regions[child]
        message = np.zeros(counts.shape(region))
        for v, number in region.taken:
            message += along(times(counts.variables[v].counts(number), lean[v]), (v,), region.scope)
        messages.append((message - message.max()) / parents[child])
    return tuple(messages)


def begun(propagation: Propagation, damping: float | None, lean: Leanings | None = None) -> RegionRun:
    """A run from first messages. On two levels damping only slows down what comes to rest anyway, and is
    raised where it does not; on more, undamped messages may swing for ever, be clusters a tree or not."""
    if damping is None:
        damping = 0.0 if propagation.graph.flat else DAMPING
    return RegionRun(propagation, first_messages(propagation, lean), Pace(damping))


def stepped(run: RegionRun, schedule: Schedule, free: bool) -> RegionRun:
    """A round more; ``free``: damping is raised by itself where rounds do not help."""
    update = run.propagation.sweep if schedule is Schedule.sequential else run.propagation.round
    messages, moved = update(run.messages, run.pace.damping)
    pace, _ = run.pace.after(moved, None if free else run.pace.damping, patience=PATIENCE)
    return replace(run, messages=messages, pace=pace, rounds=run.rounds + 1)
