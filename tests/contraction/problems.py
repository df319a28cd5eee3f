"""Random contractions with relations to match, for hypothesis; and the oracle's answer to one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from hypothesis import strategies as st

from herbrand.arrays import Array, Tensor
from herbrand.contraction import Contraction, Dense, Relation, Sparse
from tests.oracles import contraction as oracle

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
"""Some numbers of each algebra that the laws are checked for, ordinary ones and its zero among them."""
ALGEBRAS = tuple(VALUES)
DEFAULTS = {name: values[:3] for name, values in VALUES.items()}
ZEROS = {name: oracle.OPERATIONS[name].zero for name in ALGEBRAS}
DTYPES = {"boolean": torch.bool, "counting": torch.int64}
FLOATING = tuple(name for name in ALGEBRAS if name not in DTYPES)


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
    cells = draw(st.lists(st.integers(0, max(0, entries - 1)), max_size=12)) if entries else []
    values = torch.tensor(draw(st.lists(value, min_size=len(cells), max_size=len(cells))), dtype=dtype)
    indices = np.array([np.unravel_index(cell, shape) for cell in cells], dtype=np.int64)
    default = draw(st.sampled_from((ZEROS[algebra], *DEFAULTS[algebra])))
    return Sparse.of(indices.reshape(len(cells), len(shape)), values, shape, default, algebra)


SHAPES = (
    "a b, b c -> a c",
    "a b, b c -> c a",
    "a b, b c, a c ->",
    "a b, b c, a c -> a c",
    "a b, b c, c a -> b",
    "a b, b c, c d -> a d",
    "a b, b c, c d, d a -> a",
    "g a b, g b c -> g a c",
    "g a b, b c g, a c -> g c",
    "a b c, c b d -> a d",
    "a b, c b, c a, b -> a d",
)
"""Joins and cycles, for the steps that random operands seldom need."""


@st.composite
def joins(draw: st.DrawFn, algebras: Sequence[str] = ALGEBRAS, constraints: bool = True) -> Problem:
    """Sparse operands that join and close cycles."""
    algebra, text = draw(st.sampled_from(algebras)), draw(st.sampled_from(SHAPES))
    axes = sorted(set(text) - set(" ,->"))
    size = draw(st.integers(2, 4))
    sizes = dict.fromkeys(axes, size) | draw(
        st.dictionaries(st.sampled_from(axes), st.integers(1, 4), max_size=1)
    )
    pairs = [(one, two) for one, two in product(axes, axes) if one < two and sizes[one] == sizes[two]]
    apart = (
        draw(st.sets(st.sampled_from(pairs), max_size=2))
        if constraints and pairs and draw(st.booleans())
        else ()
    )
    contraction = Contraction.parse(text, sizes, distinct=apart, algebra=algebra)
    tables = []
    for names in contraction.operands:
        shape = contraction.shape(names)
        listed = draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
        cells = np.flatnonzero(listed)
        values = draw(st.lists(st.sampled_from(VALUES[algebra]), min_size=len(cells), max_size=len(cells)))
        default = draw(st.sampled_from((ZEROS[algebra],) * 4 + DEFAULTS[algebra]))
        weights = torch.tensor(values, dtype=DTYPES.get(algebra, torch.float64))
        indices = np.stack(np.unravel_index(cells, shape), axis=1)
        tables.append(Sparse.of(indices, weights, shape, default, algebra))
    return Problem(contraction, tuple(tables))


def agree(found: Tensor, expected: torch.Tensor, tolerance: float = 1e-9) -> None:
    """Equal up to rounding, infinities included."""
    found = torch.tensor(found.data) if isinstance(found, Array) else found
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=False)
