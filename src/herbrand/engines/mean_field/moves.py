"""Move one table towards the sum of its atoms' messages.

Large tables are moved block by block, so that the several operations of a move find their entries in the
cache, and into memory that is no longer needed: fresh pages cost more than the arithmetic.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from herbrand.contraction.blocks import FEWEST_IN_PARALLEL, one_thread
from herbrand.engines.mean_field.stride import Slope
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.extras import Tensor, torch

BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Move:
    """A moved table. ``slope``: of the bound along the previous move, at its end; ``far``: the largest change
    of a marginal."""

    logits: Tensor
    marginals: Tensor
    slope: Slope
    far: float


def moved(
    table: PredicateTable,
    logits: Tensor,
    target: Tensor,
    marginals: Tensor,
    before: Tensor,
    stride: float,
    free: Tensor | None,
) -> Move:
    """Move from ``logits`` and ``marginals`` towards ``target``; ``before``: the marginals a step earlier.

    ``free``: which atoms move, flattened; all if None. ``target`` and ``before`` may be overwritten.
    """
    shared = _shared(table, logits, target, marginals, before)
    plain = free is None and table.true_or_false and logits.numel() > 0
    if plain and logits.is_contiguous() and target.is_contiguous():
        move = _in_blocks(logits, target, marginals, before, stride)
    else:
        with one_thread():
            move = _whole(table, logits, target, marginals, before, stride, free)
    return replace(move, slope=move.slope + shared)


def _shared(
    table: PredicateTable, logits: Tensor, target: Tensor, marginals: Tensor, before: Tensor
) -> Slope:
    """The correction of the slope where the last entry, which represents many atoms, was counted once."""
    counts = table.counts()
    if counts is None:
        return Slope()
    last = slice(-1, None)
    one = slope_of(logits[last], target[last] - logits[last], marginals[last] - before[last])
    return one * (float(counts[-1]) - 1)


def _whole(
    table: PredicateTable,
    logits: Tensor,
    target: Tensor,
    marginals: Tensor,
    before: Tensor,
    stride: float,
    free: Tensor | None,
) -> Move:
    """Move a table with evidence, ties or many values, as a whole."""
    difference, came = target - logits, marginals - before
    after = torch.lerp(logits, target, stride)
    probabilities = table.probabilities(after)
    distance = (probabilities - marginals).abs()
    if free is not None:
        difference, came, logits, distance = (
            one.reshape(len(free), -1)[free] for one in (difference, came, logits, distance)
        )
    slope = slope_of(logits, difference, came)
    return Move(after, probabilities, slope, float(distance.max()) if distance.numel() else 0.0)


def slope_of(logits: Tensor, difference: Tensor, came: Tensor) -> Slope:
    """The slope of the bound; ``difference``: target minus logits, ``came``: last change of the marginals."""
    size = came.abs() * (1 + logits.abs() + difference.abs())
    return Slope(float((difference * came).sum()), float(size.sum()))


def _in_blocks(logits: Tensor, target: Tensor, marginals: Tensor, before: Tensor, stride: float) -> Move:
    """Move block by block; blocks are independent, so threads take them without waiting for each other."""
    pieces = list(
        zip(*(one.view(-1).split(BLOCK) for one in (logits, target, marginals, before)), strict=True)
    )
    threads = torch.get_num_threads()

    def work(piece: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Slope, float]:
        with torch.no_grad(), one_thread():
            return _block_moved(*piece, stride)

    if threads == 1 or len(pieces) < FEWEST_IN_PARALLEL:
        blocks = list(map(work, pieces))
    else:
        with ThreadPoolExecutor(threads) as pool:
            blocks = list(pool.map(work, pieces))
    return Move(
        target,
        before,
        sum((slope for slope, _ in blocks), Slope()),
        max((far for _, far in blocks), default=0.0),
    )


def _block_moved(
    old: Tensor, target: Tensor, now: Tensor, before: Tensor, stride: float
) -> tuple[Slope, float]:
    """Write the new logits into ``target`` and the new marginals into ``before``; return the slope and the
    largest move."""
    target.sub_(old)
    back = before.sub_(now)
    # By Cauchy-Schwarz this is at least the sum in ``slope_of``, and needs no further table.
    norms = math.sqrt(len(old)) + float(torch.linalg.vector_norm(old) + torch.linalg.vector_norm(target))
    slope = Slope(-float(torch.dot(back, target)), float(torch.linalg.vector_norm(back)) * norms)
    torch.add(old, target, alpha=stride, out=target)
    torch.sigmoid(target, out=before)
    least, most = torch.aminmax(before - now)
    return slope, max(-float(least), float(most))
