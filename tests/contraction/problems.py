"""Random contractions with relations to match, for hypothesis; and the oracle's answer to one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from hypothesis import strategies as st

from herbrand.contraction import Contraction, Dense, Relation, Sparse
from tests.oracles import contraction as oracle

ALGEBRAS = ("real", "log", "maximum", "max_product", "boolean", "counting")
FLOATING = ("real", "log", "maximum", "max_product")
AXES = "vwxyz"
LARGEST_JOINT = 3**5

VALUES = {
    "real": (0.0, 0.3, 1.0, -0.7, 2.5),
    "log": (-math.inf, 0.0, 0.3, -1.7, 2.5),
    "maximum": (-math.inf, 0.0, 0.3, -1.7, 2.5),
    "max_product": (0.0, 0.3, 1.0, 0.7, 2.5),
    "boolean": (False, True),
    "counting": (0, 1, 2, 5, -3),
}
DEFAULTS = {name: values[:3] for name, values in VALUES.items()}
DTYPES = {"boolean": torch.bool, "counting": torch.int64}


@dataclass(frozen=True)
class Problem:
    contraction: Contraction
    relations: tuple[Relation, ...]

    @property
    def dense(self) -> list[Dense]:
        return [Dense(relation.to_dense()) for relation in self.relations]

    def truth(self) -> torch.Tensor:
        """What nested loops say."""
        asked = self.contraction
        tables = [relation.to_dense() for relation in self.relations]
        lookups = [lambda index, table=table: table[index].item() for table in tables]
        answer = oracle.contraction(
            asked.operands, lookups, asked.output, asked.sizes, asked.distinct, asked.algebra
        )
        dtype = DTYPES.get(asked.algebra, torch.float64)
        return torch.tensor(list(answer.values()), dtype=dtype).reshape(asked.shape(asked.output))


@st.composite
def problems(
    draw: st.DrawFn,
    algebras: Sequence[str] = ALGEBRAS,
    sparse: bool = True,
    least_size: int = 0,
    constraints: bool = True,
) -> Problem:
    """Up to four operands over up to five axes, with every oddity that the language of contractions has."""
    algebra = draw(st.sampled_from(algebras))
    axes = AXES[: draw(st.integers(0, len(AXES)))]
    common = draw(st.integers(least_size, 3))
    own_size = st.sampled_from([common, common, common, 1, 2, 3, least_size])
    sizes = {axis: draw(own_size) for axis in axes}
    some_axes = st.lists(st.sampled_from(axes), max_size=3).map(tuple) if axes else st.just(())
    operands = tuple(draw(st.lists(some_axes, max_size=4)))
    output = tuple(draw(st.permutations(axes)))[: draw(st.integers(0, len(axes)))]
    pairs = [(one, two) for one, two in product(axes, axes) if one < two and sizes[one] == sizes[two]]
    apart = draw(st.sets(st.sampled_from(pairs), max_size=4)) if pairs and constraints else set()
    contraction = Contraction(operands, output, sizes, frozenset(apart), algebra)
    relations = [draw(_relations(algebra, contraction.shape(names), sparse)) for names in operands]
    return Problem(contraction, tuple(relations))


@st.composite
def _relations(draw: st.DrawFn, algebra: str, shape: tuple[int, ...], sparse: bool) -> Relation:
    dtype, value = DTYPES.get(algebra, torch.float64), st.sampled_from(VALUES[algebra])
    entries = math.prod(shape)
    if not sparse or draw(st.booleans()):
        values = draw(st.lists(value, min_size=entries, max_size=entries))
        return Dense(torch.tensor(values, dtype=dtype).reshape(shape))
    cells = st.tuples(*(st.integers(0, max(0, size - 1)) for size in shape))
    rows = draw(st.lists(cells, max_size=6)) if entries else []
    values = torch.tensor(draw(st.lists(value, min_size=len(rows), max_size=len(rows))), dtype=dtype)
    indices = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    return Sparse.of(indices, values, shape, draw(st.sampled_from(DEFAULTS[algebra])), algebra)


def agree(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-9) -> None:
    """Equal up to rounding, infinities included."""
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=False)
