"""A function that works on the numbers of its tensors, under the transforms of ``torch.func``.

Such a function cannot run on the tensors that ``vmap`` and ``grad`` hand out, which have no numbers of their
own. So ``vmap`` calls it once for each example, and its gradients come from a graph of its own.

>>> def doubled(table: Tensor) -> Tensor:
...     return torch.tensor((2 * table.detach().numpy()).tolist()) + 0 * table
>>> torch.func.vmap(lambda table: called(doubled, [table]))(torch.tensor([[1.0], [2.0]]))
tensor([[2.],
        [4.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from herbrand.errors import UnsupportedError

Function = Callable[..., Tensor]


def called(function: Function, tables: Sequence[Tensor]) -> Tensor:
    """Call the function on tables that ``torch.func`` may have wrapped."""
    if any(map(is_functorch_wrapped_tensor, tables)):
        return _Called.apply(function, *tables)  # type: ignore[no-any-return]
    return function(*tables)


class _Called(torch.autograd.Function):
    @staticmethod
    def forward(function: Function, *tables: Tensor) -> Tensor:
        return function(*tables)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.function = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        return (None, *_Slopes.apply(ctx.function, slope, *ctx.saved_tensors))

    @staticmethod
    def jvp(ctx: Any, *slopes: Tensor) -> Tensor:  # type: ignore[override]
        raise UnsupportedError(
            "forward-mode derivatives of a query layer are not supported", hint="torch.func.jacrev or grad"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], *given: Any) -> Any:
        function, *tables = given
        each = _examples(info.batch_size, in_dims[1:], tables)
        return torch.stack([_Called.apply(function, *one) for one in each]), 0


class _Slopes(torch.autograd.Function):
    """The gradients of what the function makes, for a cotangent."""

    @staticmethod
    def forward(function: Function, slope: Tensor, *tables: Tensor) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            leaves = [table.detach().requires_grad_() for table in tables]
            output = function(*leaves)
            gradients = torch.autograd.grad(output, leaves, slope, allow_unused=True)
        return tuple(
            torch.zeros_like(table) if one is None else one
            for one, table in zip(gradients, tables, strict=True)
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        raise UnsupportedError(
            "second derivatives of a query layer by torch.func are not supported",
            hint="call the layer without torch.func",
        )

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], *given: Any) -> Any:
        function, slope, *tables = given
        each = _examples(info.batch_size, in_dims[1:], (slope, *tables))
        rows = [_Slopes.apply(function, *one) for one in each]
        return tuple(map(torch.stack, zip(*rows, strict=True))), (0,) * len(tables)


def _examples(count: int, in_dims: Sequence[int | None], tables: Sequence[Tensor]) -> list[list[Tensor]]:
    """The tables of each example; those without an axis for examples are the same in all."""
    return [
        [
            table if axis is None else table.select(axis, number)
            for table, axis in zip(tables, in_dims, strict=True)
        ]
        for number in range(count)
    ]
