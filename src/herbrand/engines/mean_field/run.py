"""One run of updates from one start: its state and its steps.

The parallel update moves all atoms at once by a stride; the sequential one moves class after class of atoms
that share no grounding, each to exactly the sum of its messages, so that the bound on log Z never falls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from herbrand.engines.mean_field.colouring import AtomClass
from herbrand.engines.mean_field.moves import Move, moved
from herbrand.engines.mean_field.problem import Problem
from herbrand.engines.mean_field.stride import Slope, after_slope
from herbrand.extras import Tensor, later, torch

Tables = Mapping[str, Tensor]
_spare = later("herbrand.contraction.reused_memory:spare")

LARGE = 1 << 18
"""Entries from which tables are kept to be overwritten: smaller ones cost nothing to make."""


@dataclass(frozen=True, eq=False)
class MeanFieldRun:
    """State of a run: logits and marginals by predicate; ``before``: the marginals a step earlier.

    ``moved``: the largest change of a marginal, divided by the stride: near a fixed point that of a whole
    step. ``spare``: large tables of earlier runs that nothing reads any more. A step may overwrite these and
    the tables of the run it starts from.
    """

    logits: Tables
    marginals: Tables
    before: Tables
    stride: float
    moved: float = math.inf
    spare: Sequence[Tensor] = ()


def started(problem: Problem, stride: float, seed: int | None = None) -> MeanFieldRun:
    """Start from the soft evidence alone, or from random logits added to it if there is a seed."""
    logits = {}
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    for name, table in problem.unknowns.tables.items():
        unary = problem.unknowns.unary.get(name)
        logits[name] = torch.zeros(table.shape, dtype=torch.float64) if unary is None else unary.clone()
        if generator is not None:
            logits[name] += 2 * torch.randn(table.shape, generator=generator, dtype=torch.float64)
    marginals = problem.unknowns.marginals(logits)
    return MeanFieldRun(logits, marginals, {name: table.clone() for name, table in marginals.items()}, stride)


def updated(problem: Problem, marginals: Tables, over: Sequence[Tensor] = ()) -> dict[str, Tensor]:
    """The logits that follow from the marginals; ``over``: tables that results may overwrite."""
    with _spare(over):
        messages = problem.sent(marginals)
    for name, unary in problem.unknowns.unary.items():
        messages[name] = messages[name] + unary
    return problem.unknowns.gathered(messages)


def in_parallel(problem: Problem, run: MeanFieldRun, adaptive: bool, sharpness: float = 1.0) -> MeanFieldRun:
    """Move all atoms at once; ``sharpness`` multiplies their messages."""
    targets = updated(problem, run.marginals, run.spare)
    if sharpness != 1:
        targets = {name: target * sharpness for name, target in targets.items()}
    moves = [(names, _moved(problem, run, names, targets)) for names in problem.unknowns.alike]
    slope = sum((move.slope for _, move in moves), Slope())
    far = max((move.far for _, move in moves), default=0.0)
    stride = after_slope(run.stride, slope) if adaptive else run.stride
    logits = dict(one for names, move in moves for one in _apart(names, move.logits))
    marginals = dict(one for names, move in moves for one in _apart(names, move.marginals))
    marginals = problem.unknowns.followed(marginals)
    left = [table for table in run.logits.values() if table.numel() >= LARGE]
    return MeanFieldRun(logits, marginals, run.marginals, stride, min(1.0, far / run.stride), left)


def _moved(problem: Problem, run: MeanFieldRun, names: Sequence[str], targets: Tables) -> Move:
    """Move one table, or several of one form as one stacked table."""
    name = names[0]

    def together(tables: Tables) -> Tensor:
        return tables[name] if len(names) == 1 else torch.stack([tables[one] for one in names])

    return moved(
        problem.unknowns.tables[name],
        together(run.logits),
        together(targets),
        together(run.marginals),
        together(run.before),
        run.stride,
        problem.unknowns.free(name),
    )


def _apart(names: Sequence[str], moved: Tensor) -> Iterable[tuple[str, Tensor]]:
    """The table of each name."""
    return zip(names, [moved] if len(names) == 1 else moved.unbind(), strict=True)


def in_turn(
    problem: Problem, run: MeanFieldRun, classes: Sequence[AtomClass], sharpness: float = 1.0
) -> MeanFieldRun:
    """Move class after class to the sum of its messages; an infinite ``sharpness`` takes the best value of
    each atom."""
    logits = {name: table.clone() for name, table in run.logits.items()}
    marginals: Tables = run.marginals
    for one in classes:
        target = updated(problem, marginals)[one.predicate]
        table = problem.unknowns.tables[one.predicate]
        target = target * sharpness if math.isfinite(sharpness) else table.certain(target)
        if one.positions is None:
            logits[one.predicate] = target
        else:
            rows = (-1,) if table.true_or_false else (-1, table.shape[-1])
            logits[one.predicate].view(rows)[one.positions] = target.reshape(rows)[one.positions]
        marginals = problem.unknowns.marginals(logits)
    far = [float((marginals[n] - run.marginals[n]).abs().max()) for n in marginals if marginals[n].numel()]
    return MeanFieldRun(logits, marginals, run.marginals, 1.0, max(far, default=0.0))
