"""Reuse of memory for large results of a backward pass.

At 25 million entries an outer product into fresh pages takes ten times as long as one into old ones. A caller
that repeats a pass can lend the tables of the last one; the derivatives of vector-matrix products by their
matrices are then written there.

>>> old, vector = torch.zeros(2, 2), torch.tensor([1.0, 2.0])
>>> table = torch.eye(2, requires_grad=True)
>>> with spare([old]):
...     times_table(vector, table).sum().backward()
>>> old
tensor([[1., 1.],
        [2., 2.]])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

_LENT: ContextVar[tuple[list[Tensor], ...]] = ContextVar("lent", default=())


@contextmanager
def spare(tables: Iterable[Tensor]) -> Iterator[None]:
    """Context in which results may be written over these tables."""
    token = _LENT.set((list(tables),))
    try:
        yield
    finally:
        _LENT.reset(token)


def is_lent() -> bool:
    """Whether there is a table to overwrite."""
    return any(_LENT.get())


def times_table(vector: Tensor, table: Tensor) -> Tensor:
    """``vector`` [rows] times ``table`` [rows, columns]; differentiable once."""
    return _TimesTable.apply(_LENT.get()[0], vector, table)


class _TimesTable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, lent: list[Tensor], vector: Tensor, table: Tensor) -> Tensor:
        ctx.lent = lent
        ctx.save_for_backward(vector, table)
        return vector @ table

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vector, table = ctx.saved_tensors
        _, for_vector, for_table = ctx.needs_input_grad
        outer = None
        if for_table:
            outer = torch.outer(vector, gradients[0], out=_taken(ctx.lent, table))
        return None, table @ gradients[0] if for_vector else None, outer


def _taken(lent: list[Tensor], like: Tensor) -> Tensor:
    """Uninitialised table shaped like another: a lent one if any fits, else a new one."""
    for place, one in enumerate(lent):
        if one.numel() == like.numel() and one.dtype == like.dtype and one.is_contiguous():
            return lent.pop(place).view(like.shape)
    return like.new_empty(like.shape)
