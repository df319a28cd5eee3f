"""The probability that nothing of many independent things happens, in log space.

>>> from herbrand.contraction import Dense
>>> none_of(Dense(torch.tensor([[0.5, 0.5], [1.0, 0.2]], dtype=torch.float64)), 1)
tensor([2.5000e-01, 7.9936e-16], dtype=torch.float64)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from herbrand.contraction import Relation, Sparse
from herbrand.contraction.relation import positions

ALMOST_ONE = {torch.float64: 1 - 1e-15, torch.float32: 1 - 1e-7}
"""Keeps log(1 - p) finite, so that a product with a factor of 0 still has derivatives."""


def none_of(table: Relation, kept: int) -> Tensor:
    """The product of 1 - p over all but the first ``kept`` axes."""
    if len(table.shape) == kept:
        return 1 - table.to_dense()
    if isinstance(table, Sparse) and not isinstance(table.default, Tensor) and table.default == 0:
        shape = table.shape[:kept]
        rows = torch.from_numpy(positions(table.indices[:, :kept], shape))
        logs = table.values.new_zeros(math.prod(shape)).index_add(0, rows, _log_of_none(table.values))
        return logs.exp().view(shape)
    logs = _log_of_none(table.to_dense())
    return logs.sum(tuple(range(kept, logs.dim()))).exp()


def _log_of_none(probabilities: Tensor) -> Tensor:
    return torch.log1p(-probabilities * ALMOST_ONE.get(probabilities.dtype, 1 - 1e-3))
