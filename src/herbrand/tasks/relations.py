"""Convert relations by name to the input tensors of a machine.

>>> edge = np.array([[[0, 1], [0, 0]]])  # one world of two objects
>>> arities({"edge": edge, "red": edge[0]})
{2: ('edge',), 1: ('red',)}
>>> channels({"edge": edge}, {2: ("edge",)})[2].shape
torch.Size([1, 2, 2, 1])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from herbrand.errors import UnsupportedError, nearest
from herbrand.induction.given_sample import Vocabulary, by_arity

Relations = Mapping[str, npt.NDArray[Any]]
"""Truth values of relations: ``[worlds, objects]`` for one argument, ``[worlds, objects, objects]`` for
two."""


def arities(relations: Relations) -> dict[int, tuple[str, ...]]:
    """Names of the relations, by arity."""
    return by_arity({name: np.ndim(table) - 1 for name, table in relations.items()})


def channels(relations: Relations, vocabulary: Vocabulary) -> dict[int, torch.Tensor]:
    """A tensor for each arity, ``[worlds, objects * arity, channels]``, in the vocabulary's order; raises an
    error for a relation that is missing or of another shape."""
    by_arity = {}
    for arity, names in vocabulary.items():
        tables = [_table(relations, name, arity) for name in names]
        shapes = {table.shape for table in tables}
        if len(shapes) > 1:
            raise UnsupportedError(
                f"{', '.join(names)} are tables of different shapes: {', '.join(map(str, sorted(shapes)))}",
                hint="each is [worlds, objects, ...], an axis of all objects for each argument",
            )
        by_arity[arity] = torch.from_numpy(np.stack(tables, -1).astype(np.float32))
    return by_arity


def _table(relations: Relations, name: str, arity: int) -> npt.NDArray[Any]:
    if name not in relations:
        raise UnsupportedError(
            f"the world has no table of '{name}', which is in the vocabulary",
            hint=nearest(name, relations) or f"it has {', '.join(relations)}",
        )
    table = np.asarray(relations[name])
    if table.ndim != arity + 1:
        raise UnsupportedError(
            f"'{name}' is a table of the shape {table.shape}, not of {arity} arguments",
            hint="[worlds], and an axis of all objects for each argument",
        )
    if not (np.issubdtype(table.dtype, np.number) or table.dtype == bool) or not np.isfinite(table).all():
        raise UnsupportedError(
            f"'{name}' is a table of {table.dtype}, and has values that are neither true nor false",
            hint="1 or True where it holds, 0 or False where it does not",
        )
    if len(set(table.shape[1:])) > 1:
        raise UnsupportedError(
            f"'{name}' is a table of the shape {table.shape}, with axes of different lengths",
            hint="[worlds], and an axis of all objects for each argument",
        )
    return table
