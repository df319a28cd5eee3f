"""One run of messages between regions: its start, its schedule, and its damping."""

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
"""Largest log-odds of one element to which a start leans."""


@dataclass(frozen=True, eq=False)
class RegionRun:
    """State of one run. ``pace``: disagreement of parents and children before the last round, and damping."""

    propagation: Propagation
    messages: Messages
    pace: Pace
    rounds: int = 0

    @cached_property
    def bound(self) -> float:
        """Lower bound on the log-partition from its beliefs; minus infinity if they give none."""
        counts, beliefs = self.propagation.counts, Beliefs(self.propagation, self.messages)
        if counts.layout is None:
            return -math.inf
        log_beliefs = [beliefs.of((variable,)) for variable in range(len(counts.variables))]
        return lower_bound(counts, [belief for belief in log_beliefs if belief is not None])


Leanings = Sequence[np.ndarray]
"""For each variable the log-weights of profiles to which the start leans."""


def drawn_leanings(propagation: Propagation, dice: np.random.Generator) -> Leanings:
    """Random leanings."""
    return [dice.uniform(-HIGHEST_ODDS, HIGHEST_ODDS, v.all_profiles) for v in propagation.counts.variables]


def first_messages(propagation: Propagation, lean: Leanings | None) -> Messages:
    """First messages: zero, or those of the leanings."""
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
    """A run from its first messages. On two levels damping only slows down runs that come to rest
    anyway, and is raised for others; on more levels undamped messages may oscillate forever, even on a
    tree of clusters."""
    if damping is None:
        damping = 0.0 if propagation.graph.flat else DAMPING
    return RegionRun(propagation, first_messages(propagation, lean), Pace(damping))


def stepped(run: RegionRun, schedule: Schedule, free: bool) -> RegionRun:
    """The run after one more round; ``free``: damping is raised automatically if rounds do not help."""
    update = run.propagation.sweep if schedule is Schedule.sequential else run.propagation.round
    messages, moved = update(run.messages, run.pace.damping)
    pace, _ = run.pace.after(moved, None if free else run.pace.damping, patience=PATIENCE)
    return replace(run, messages=messages, pace=pace, rounds=run.rounds + 1)
