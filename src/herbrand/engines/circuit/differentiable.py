"""Circuits over torch tensors: one pass up computes the roots' weights, one down the gradients of all leaves.

Rows are examples: all examples of one form are evaluated together, level by level, on whatever device they
are.

>>> from herbrand.engines.circuit.forms import Nodes
>>> nodes = Nodes()
>>> form = nodes.form([nodes.sum([nodes.product([nodes.leaf(0), nodes.leaf(2)]), nodes.leaf(1)])])
>>> leaves = Leaves.of(np.array([0, 1, 0]), np.array([False, False, True]), torch.device("cpu"))
>>> table = torch.tensor([[0.5, 0.5], [0.25, 1.0]], requires_grad=True)
>>> found = evaluated(form, table, leaves)
>>> found.sum().backward()
>>> found.tolist(), table.grad.tolist()
([[0.75], [1.0]], [[-0.5, 0.5], [0.0, 0.25]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from herbrand.engines.circuit.forms import ZERO, Form, downward, upward
from herbrand.engines.once_differentiable import differentiable_once
from herbrand.loops import often

SECOND = "second derivatives of probabilities", "take gradients without create_graph=True"
KEPT = 64
"""Number of pairs of a form and a device whose lists of kids are cached there."""
NEAR = 200_000
"""Numbers in one block of examples, few enough to stay in a processor's cache."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """The column of a table for each leaf (``places``); the leaf is 1 less that column where ``less``."""

    places: Tensor
    less: Tensor
    signs: Tensor
    distinct: bool

    @classmethod
    def of(cls, places: np.ndarray, less: np.ndarray, device: torch.device) -> Leaves:
        rows, signs = np.flatnonzero(less), np.where(less, -1, 1)[:, None]
        columns, ones, factors = (torch.from_numpy(part).to(device) for part in (places, rows, signs))
        return cls(columns, ones, factors, len(np.unique(places)) == len(places))

    @property
    def any_less(self) -> bool:
        return self.less.numel() > 0


def evaluated(form: Form, table: Tensor, leaves: Leaves | None = None) -> Tensor:
    """Compute the weight of each root [example, root] from a table [example, column]; without ``leaves`` the
    table has a column for each leaf."""
    return _Evaluated.apply(table, form, leaves)  # type: ignore[no-any-return]


class _Level(NamedTuple):
    """A level on a device. ``kids``: of products, all first ones and then all second ones; ``others``: for
    each kid of a product the other one, for each kid of a sum the place of that sum; ``starts``: where each
    sum's kids begin."""

    is_product: bool
    first: int
    last: int
    kids: Tensor
    others: Tensor
    starts: Tensor


@lru_cache(maxsize=KEPT)
def _levels_on(form: Form, device: torch.device) -> list[_Level]:
    return [_level(form, low, high, device) for low, high in form.levels]


def _level(form: Form, low: int, high: int, device: torch.device) -> _Level:
    starts = form.starts[low : high + 1]
    kids, is_product = form.kids[starts[0] : starts[-1]], bool(form.is_product[low])
    if is_product:
        kids, others = np.concatenate([kids[0::2], kids[1::2]]), np.concatenate([kids[1::2], kids[0::2]])
    else:
        others = np.repeat(np.arange(high - low), np.diff(starts))
    there = (torch.from_numpy(part).to(device) for part in (kids, others, starts[:-1] - starts[0]))
    return _Level(is_product, form.first + low, form.first + high, *there)


class _Roots(NamedTuple):
    """Nodes of the roots that are not constantly 0, and the places of these roots; ``None`` where none is
    0."""

    nodes: Tensor
    places: Tensor | None
    distinct: bool

    def of(self, values: Tensor, count: int) -> Tensor:
        """The weights of all ``count`` roots, from the values of nodes."""
        kept = values.index_select(0, self.nodes)
        if self.places is None:
            return kept
        return kept.new_zeros((count, kept.shape[1])).index_copy_(0, self.places, kept)

    def add_to(self, slopes: Tensor, slope: Tensor) -> None:
        """Add the slopes of the roots to those of nodes, which are 0."""
        known = slope if self.places is None else slope.index_select(0, self.places)
        _add_rows(slopes, self.nodes, known, self.distinct)


@lru_cache(maxsize=KEPT)
def _roots_on(form: Form, device: torch.device) -> _Roots:
    places = [place for place, node in enumerate(form.roots) if node != ZERO]
    nodes = [form.roots[place] for place in places]
    numbers, kept = (torch.tensor(part, dtype=torch.int64, device=device) for part in (nodes, places))
    every = len(places) == len(form.roots)
    return _Roots(numbers, None if every else kept, len(set(nodes)) == len(nodes))


def _add_rows(zeros: Tensor, rows: Tensor, values: Tensor, distinct: bool) -> None:
    """Add values to rows of zeros; where rows are ``distinct`` they are written, which is cheaper."""
    if distinct:
        zeros.index_copy_(0, rows, values)
    else:
        zeros.index_add_(0, rows, values)


class _Evaluated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, form: Form, leaves: Leaves | None) -> Tensor:
        ctx.form, ctx.leaves = form, leaves
        ctx.blocks = [_up(form, block, leaves) for block in _blocks(form, table.t())]
        ctx.save_for_backward(table)
        roots = _roots_on(form, table.device)
        blocks = [roots.of(values, len(form.roots)) for values in ctx.blocks]
        return (blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)).t()

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:  # type: ignore[override]
        (table,) = ctx.saved_tensors
        gradient = torch.zeros_like(table.t())
        into = _blocks(ctx.form, gradient)
        for values, own, part in zip(ctx.blocks, _blocks(ctx.form, slope.detach().t()), into, strict=True):
            _down(ctx.form, values, own, ctx.leaves, part)
        return *differentiable_once([gradient.t()], [slope, table], *SECOND), None, None


def _blocks(form: Form, table: Tensor) -> Sequence[Tensor]:
    """Blocks of examples that fit the processor's cache; on other devices all examples at once."""
    width = max(16, NEAR // form.size)
    if table.shape[1] <= width or not _is_near(table):
        return [table]
    return table.split(width, 1)


def _up(form: Form, table: Tensor, leaves: Leaves | None) -> Tensor:
    """Compute the values of all nodes."""
    values = table.new_empty((form.size, table.shape[1]))
    values[0] = 1.0
    own = values[1 : form.first]
    if leaves is None:
        own.copy_(table)
    else:
        torch.index_select(table, 0, leaves.places, out=own)
        if leaves.any_less:
            own.index_copy_(0, leaves.less, own.index_select(0, leaves.less).neg_().add_(1))
    if _is_near(table):
        up = often(upward, len(form.kids) * table.shape[1])
        up(form.is_product, form.starts, form.kids, form.first, form.largest, values.numpy())
        return values
    for is_product, first, last, kids, _, starts in _levels_on(form, table.device):
        if is_product:
            both = values.index_select(0, kids)
            torch.mul(both[: last - first], both[last - first :], out=values[first:last])
        else:
            how = "max" if form.largest else "sum"
            values[first:last] = embedding_bag(kids, values[:first], starts, mode=how)
    return values


def _is_near(table: Tensor) -> bool:
    """Whether the processor's own loops can read the table; other devices take whole levels at once."""
    return table.device.type == "cpu"


def _down(form: Form, values: Tensor, slope: Tensor, leaves: Leaves | None, into: Tensor) -> None:
    """Add the slopes of a table's columns to ``into``, from those of the roots."""
    slopes = torch.zeros_like(values)
    _roots_on(form, slope.device).add_to(slopes, slope)
    if _is_near(slope):
        down = often(downward, len(form.kids) * slope.shape[1])
        links = form.is_product, form.starts, form.kids, form.first, form.largest
        down(*links, values.numpy(), slopes.numpy())
    else:
        _down_levels(form, values, slopes)
    gradient = slopes[1 : form.first]
    if leaves is None:
        into.copy_(gradient)
    else:
        signed = gradient * leaves.signs if leaves.any_less else gradient
        _add_rows(into, leaves.places, signed, leaves.distinct)


def _down_levels(form: Form, values: Tensor, slopes: Tensor) -> None:
    for is_product, first, last, kids, others, _ in reversed(_levels_on(form, slopes.device)):
        own = slopes[first:last]
        if is_product:
            both = values.index_select(0, others).view(2, *own.shape)
            slopes.index_add_(0, kids, both.mul_(own).view(-1, own.shape[1]))
        elif form.largest:
            is_best = values.index_select(0, kids) == values[first:last].index_select(0, others)
            ties = torch.zeros_like(own).index_add_(0, others, is_best.to(own))
            slopes.index_add_(0, kids, (own / ties).index_select(0, others) * is_best)
        else:
            slopes.index_add_(0, kids, own.index_select(0, others))
