"""The contraction kernel beside torch.einsum, scipy.sparse and plain loops: ``python -m benchmarks.contraction``.

Sparse rows marked "again" repeat a contraction with other values; "first" has new supports, so that its index work
is measured too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from benchmarks.measurement import Measurement, race, table
from herbrand.contraction import Contraction, Dense, Sparse, Support, contract, plan

RANDOM = np.random.default_rng(7)
NODES, LINKS = 100_000, 1_000_000


def measure() -> list[Measurement]:
    """All rows, in under a minute."""
    torch.manual_seed(7)
    return [*_dense(), *_elimination(), *_sparse(), *_distinct()]


def _dense() -> Iterator[Measurement]:
    size = 700
    chain = [torch.randn(size, size, dtype=torch.float64) for _ in range(4)]
    sizes = dict.fromkeys("abcde", size)
    yield _row(
        "matrix chain of 4",
        f"n = {size}",
        Contraction.parse("a b, b c, c d, d e -> a e", sizes),
        chain,
        "torch.einsum",
        lambda: torch.einsum("ab,bc,cd,de->ae", *chain),
    )
    yield _row(
        "triangle, dense",
        f"n = {size}",
        Contraction.parse("a b, b c, a c ->", sizes),
        chain[:3],
        "torch.einsum",
        lambda: torch.einsum("ab,bc,ac->", *chain[:3]),
    )
    yield _row(
        "lone index: h k, k j, j i -> i",
        f"n = {size}",
        Contraction.parse("h k, k j, j i -> i", dict.fromkeys("hkji", size)),
        chain[:3],
        "torch.einsum",
        lambda: torch.einsum("hk,kj,ji->i", *chain[:3]),
    )


def _row(
    what: str,
    size: str,
    contraction: Contraction,
    tensors: list[Tensor],
    limit_name: str,
    limit: Callable[[], object],
) -> Measurement:
    relations = [Dense(tensor) for tensor in tensors]
    ours = race(lambda: contract(contraction, relations), limit)
    return Measurement(what, size, ours[0], limit_name, ours[1])


def _elimination() -> Iterator[Measurement]:
    """A ring of cliques; by hand, the same messages in the same order with torch.logsumexp on ready-made shapes."""
    width, length = 6, 2000
    axes = [f"x{place}" for place in range(length)]
    operands = [tuple(axes[place : place + width]) for place in range(length - width + 1)]
    network = Contraction(tuple(operands), (), dict.fromkeys(axes, 2), algebra="log")
    tables = torch.randn(len(operands), *[2] * width, dtype=torch.float64)

    def by_hand() -> Tensor:
        message = torch.zeros([2] * (width - 1), dtype=torch.float64)
        for one in tables:
            message = torch.logsumexp(message.unsqueeze(-1) + one, 0)
        return message.logsumexp(list(range(width - 1)))

    relations = [Dense(one) for one in tables]
    assert torch.allclose(contract(network, relations).to_dense(), by_hand())
    size = f"{length} axes, {length - width + 1} tables of 2^{width}"
    yield Measurement(
        "log elimination", size, *_named("loop by hand", race(lambda: contract(network, relations), by_hand))
    )
    weights = tables.clone().requires_grad_()

    def with_gradient() -> None:
        contract(network, [Dense(one) for one in weights.unbind()]).to_dense().backward()

    def by_hand_with_gradient() -> None:
        message = torch.zeros([2] * (width - 1), dtype=torch.float64)
        for one in weights.unbind():
            message = torch.logsumexp(message.unsqueeze(-1) + one, 0)
        message.logsumexp(list(range(width - 1))).backward()

    yield Measurement(
        "log elimination with all marginals",
        size,
        *_named("loop by hand", race(with_gradient, by_hand_with_gradient, 3)),
    )
    yield Measurement(
        "plan of that network, looked up",
        size,
        *_named("hash of its text", race(lambda: plan(network), lambda: hash(repr(operands)))),
    )


def _named(limit_name: str, seconds: tuple[float, float]) -> tuple[float, str, float]:
    return seconds[0], limit_name, seconds[1]


def _sparse() -> Iterator[Measurement]:
    keys = np.unique(RANDOM.integers(0, NODES * NODES, LINKS))
    indices = np.stack((keys // NODES, keys % NODES), axis=1)
    values, vector = RANDOM.random(len(keys)), RANDOM.random(NODES)
    matrix = scipy.sparse.csr_array((values, (indices[:, 0], indices[:, 1])), shape=(NODES, NODES))
    links = Sparse(Support(indices, (NODES, NODES)), torch.from_numpy(values))
    dense = Dense(torch.from_numpy(vector))
    size, shape = f"{NODES:.0e} nodes, {LINKS:.0e} links", dict.fromkeys("xyz", NODES)

    def pair(text: str) -> Contraction:
        axes = set(text) & set("xyz")
        return Contraction.parse(text, {axis: shape[axis] for axis in axes})

    forward, backward, chain = pair("x y, y -> x"), pair("x, x y -> y"), pair("x y, y z -> x z")
    cycle, vectorial = pair("x y, y z, x z ->"), pair("x, x y, y -> x y")
    yield Measurement(
        "message along links, again",
        size,
        *_named(
            "scipy CSR @ vector", race(lambda: contract(forward, [links, dense]), lambda: matrix @ vector)
        ),
    )
    yield Measurement(
        "message against links, again",
        size,
        *_named(
            "scipy CSR.T @ vector",
            race(lambda: contract(backward, [dense, links]), lambda: matrix.T @ vector),
        ),
    )
    learned, state = (
        links.with_values(links.values.clone().requires_grad_()),
        Dense(dense.tensor.clone().requires_grad_()),
    )
    rows, columns = torch.from_numpy(indices[:, 0].copy()), torch.from_numpy(indices[:, 1].copy())

    def with_autograd() -> None:
        messages = learned.values * state.tensor[rows]
        torch.zeros(NODES, dtype=torch.float64).index_add(0, columns, messages).sum().backward()

    yield Measurement(
        "the same with both gradients",
        size,
        *_named(
            "torch gather and index_add",
            race(lambda: contract(backward, [state, learned]).to_dense().sum().backward(), with_autograd),
        ),
    )
    yield Measurement(
        "elementwise x, x y, y -> x y",
        size,
        *_named(
            "scipy diagonal products",
            race(lambda: contract(vectorial, [dense, links, dense]), lambda: _diagonals(matrix, vector)),
        ),
    )
    yield Measurement(
        "chain, again",
        size,
        *_named("scipy CSR @ CSR", race(lambda: contract(chain, [links, links]), lambda: matrix @ matrix, 3)),
    )
    yield Measurement(
        "chain, first",
        size,
        *_named(
            "scipy CSR @ CSR, sorted",
            race(lambda: contract(chain, [links, _renewed(links)]), lambda: _sorted(matrix @ matrix), 3),
        ),
    )
    yield Measurement(
        "triangle, again",
        size,
        *_named(
            "scipy product, masked",
            race(lambda: contract(cycle, [links] * 3), lambda: (matrix @ matrix).multiply(matrix).sum(), 3),
        ),
    )


def _diagonals(matrix: scipy.sparse.csr_array, vector: np.ndarray) -> object:
    diagonal = scipy.sparse.dia_array((vector[None], [0]), shape=matrix.shape)
    return diagonal @ matrix @ diagonal


def _renewed(relation: Sparse) -> Sparse:
    return Sparse(Support(relation.indices, relation.shape), relation.values)


def _sorted(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    matrix.sort_indices()
    return matrix


def _distinct() -> Iterator[Measurement]:
    size = 1000
    one = Dense(torch.rand(size, size, dtype=torch.float64))
    sizes = dict.fromkeys("abc", size)
    for what, text, pairs in (
        ("chain, all three distinct", "a b, b c -> a c", list(combinations("abc", 2))),
        ("chain, ends distinct and summed", "a b, b c -> b", [("a", "c")]),
        ("triangle, all three distinct", "a b, b c, a c ->", list(combinations("abc", 2))),
    ):
        free, apart = Contraction.parse(text, sizes), Contraction.parse(text, sizes, distinct=pairs)
        relations = [one] * len(free.operands)
        seconds = race(lambda: contract(apart, relations), lambda: contract(free, relations))  # noqa: B023
        yield Measurement(what, f"n = {size}", *_named("not distinct", seconds))


if __name__ == "__main__":
    print(table(measure()))
