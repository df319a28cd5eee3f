"""The contraction kernel beside torch.einsum, scipy.sparse and plain loops.

    python -m benchmarks.contraction

Sparse rows marked "again" repeat a contraction with other values; "first" has new supports, so that its index
work is measured too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, cast

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from benchmarks.measurement import Measurement, race, table
from herbrand.contraction import Contraction, Dense, Sparse, Support, contract

RANDOM = np.random.default_rng(7)
NODES, LINKS = 100_000, 1_000_000


def measure() -> list[Measurement]:
    """All rows, in under a minute."""
    torch.manual_seed(7)
    return [*_dense(), *_elimination(), *_messages(), *_joins(), *_distinct()]


def _dense() -> Iterator[Measurement]:
    size = 700
    tensors = [torch.randn(size, size, dtype=torch.float64) for _ in range(4)]
    for what, text, equation in (
        ("matrix chain of 4", "a b, b c, c d, d e -> a e", "ab,bc,cd,de->ae"),
        ("triangle, dense", "a b, b c, a c ->", "ab,bc,ac->"),
        ("lone index: h k, k j, j i -> i", "h k, k j, j i -> i", "hk,kj,ji->i"),
    ):
        asked = Contraction.parse(text, dict.fromkeys(set(text) & set("abcdehkji"), size))
        own = tensors[: len(asked.operands)]
        relations = list(map(Dense, own))

        def ours(asked: Contraction = asked, relations: list[Dense] = relations) -> object:
            return contract(asked, relations)

        def limit(equation: str = equation, own: list[Tensor] = own) -> object:
            return torch.einsum(equation, *own)

        yield race(what, f"n = {size}", ours, "torch.einsum", limit)


def _elimination() -> Iterator[Measurement]:
    """A band of overlapping tables; by hand, the same messages in the same order with torch.logsumexp."""
    width, length = 6, 2000
    axes = [f"x{place}" for place in range(length)]
    operands = tuple(tuple(axes[place : place + width]) for place in range(length - width + 1))
    network = Contraction(operands, (), dict.fromkeys(axes, 2), algebra="log")
    tables = torch.randn(len(operands), *[2] * width, dtype=torch.float64, requires_grad=True)

    def by_hand() -> Tensor:
        message = torch.zeros([2] * (width - 1), dtype=torch.float64)
        for one in tables.unbind():
            message = torch.logsumexp(message.unsqueeze(-1) + one, 0)
        return message.logsumexp(list(range(width - 1)))

    def ours() -> Tensor:
        return contract(network, list(map(Dense, tables.unbind()))).to_dense()

    assert torch.allclose(ours(), by_hand())
    size = f"{length} axes, {len(operands)} tables of 2^{width}"
    with torch.no_grad():
        yield race("log elimination", size, ours, "loop by hand", by_hand)
    yield race(
        "log elimination and all marginals",
        size,
        lambda: ours().backward(),
        "loop by hand, autograd",
        lambda: by_hand().backward(),
    )


class _Graph:
    """Random links as a relation and as a scipy matrix, and a value for every node."""

    def __init__(self) -> None:
        keys = np.unique(RANDOM.integers(0, NODES * NODES, LINKS))
        self.indices = np.stack((keys // NODES, keys % NODES), axis=1)
        self.vector, values = RANDOM.random(NODES), RANDOM.random(len(keys))
        self.matrix = scipy.sparse.csr_array((values, tuple(self.indices.T)), shape=(NODES, NODES))
        self.links = Sparse(Support(self.indices, (NODES, NODES)), torch.from_numpy(values))
        self.nodes = Dense(torch.from_numpy(self.vector))
        self.size = f"{NODES:.0e} nodes, {LINKS:.0e} links"

    def asked(self, text: str) -> Contraction:
        return Contraction.parse(text, dict.fromkeys(set(text) & set("xyz"), NODES))


def _messages() -> Iterator[Measurement]:
    graph = _Graph()
    links, nodes, matrix, vector = graph.links, graph.nodes, graph.matrix, graph.vector
    forward, backward = graph.asked("x y, y -> x"), graph.asked("x, x y -> y")
    yield race(
        "message along links",
        graph.size,
        lambda: contract(forward, [links, nodes]),
        "scipy CSR @ vector",
        lambda: matrix @ vector,
    )
    yield race(
        "message against links",
        graph.size,
        lambda: contract(backward, [nodes, links]),
        "scipy CSR.T @ vector",
        lambda: matrix.T @ vector,
    )
    weights, state = (one.clone().requires_grad_() for one in (links.values, nodes.tensor))
    rows, columns = (torch.from_numpy(column.copy()) for column in graph.indices.T)

    def ours() -> None:
        contract(backward, [Dense(state), links.with_values(weights)]).to_dense().sum().backward()

    def by_index_add() -> None:
        torch.zeros(NODES, dtype=torch.float64).index_add(0, columns, weights * state[rows]).sum().backward()

    yield race("the same and both gradients", graph.size, ours, "torch index_add", by_index_add)
    both = graph.asked("x, x y, y -> x y")
    diagonal = scipy.sparse.dia_array((vector[None], [0]), shape=matrix.shape)
    yield race(
        "elementwise: x, x y, y -> x y",
        graph.size,
        lambda: contract(both, [nodes, links, nodes]),
        "scipy products with diagonals",
        lambda: diagonal @ matrix @ diagonal,
    )
    heaviest = Contraction(backward.operands, backward.output, backward.sizes, algebra="max_product")
    yield race(
        "heaviest message against links",
        graph.size,
        lambda: contract(heaviest, [nodes, links]),
        "numpy.maximum.at",
        lambda: np.maximum.at(
            np.zeros(NODES), graph.indices[:, 1], matrix.data * vector[graph.indices[:, 0]]
        ),
    )


def _joins() -> Iterator[Measurement]:
    graph = _Graph()
    links, matrix = graph.links, cast(Any, graph.matrix)
    chain, cycle = graph.asked("x y, y z -> x z"), graph.asked("x y, y z, x z ->")
    yield race(
        "chain, again",
        graph.size,
        lambda: contract(chain, [links, links]),
        "scipy CSR @ CSR",
        lambda: matrix @ matrix,
        3,
    )
    yield race(
        "chain, first",
        graph.size,
        lambda: contract(chain, [links, Sparse(Support(links.indices, links.shape), links.values)]),
        "scipy CSR @ CSR, rows sorted",
        lambda: (matrix @ matrix).sort_indices(),
        3,
    )
    yield race(
        "triangle, again",
        graph.size,
        lambda: contract(cycle, [links, links, links]),
        "scipy product times mask",
        lambda: (matrix @ matrix).multiply(matrix).sum(),
        3,
    )


def _distinct() -> Iterator[Measurement]:
    size = 1000
    one = Dense(torch.rand(size, size, dtype=torch.float64))
    for what, text, pairs in (
        ("chain, all three distinct", "a b, b c -> a c", list(combinations("abc", 2))),
        ("triangle, all three distinct", "a b, b c, a c ->", list(combinations("abc", 2))),
        ("chain summed, ends distinct", "a b, b c -> b", [("a", "c")]),
    ):
        sizes = dict.fromkeys("abc", size)
        free, apart = Contraction.parse(text, sizes), Contraction.parse(text, sizes, distinct=pairs)
        relations = [one] * len(free.operands)

        def ours(apart: Contraction = apart, relations: list[Dense] = relations) -> object:
            return contract(apart, relations)

        def limit(free: Contraction = free, relations: list[Dense] = relations) -> object:
            return contract(free, relations)

        yield race(what, f"n = {size}", ours, "not distinct", limit)


if __name__ == "__main__":
    print(table(measure()))
