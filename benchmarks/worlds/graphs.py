"""Random graphs, and properties of their nodes and pairs.

Erdős–Rényi graphs have each edge with a probability drawn for the graph; nearest-neighbour graphs link each
of the points scattered in a square to its nearest. Both are undirected and without loops.

>>> edges = erdos_renyi(np.random.default_rng(0), graphs=2, nodes=10)
>>> bool((edges == edges.transpose(0, 2, 1)).all()), edges.shape
(True, (2, 10, 10))
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from herbrand.induction.task import Sample

Truth = npt.NDArray[np.float32]
Edges = Callable[[np.random.Generator, int, int], Truth]
COLOURS = ("red", "green", "blue", "yellow")


def erdos_renyi(
    rng: np.random.Generator, graphs: int, nodes: int, low: float = 0.0, high: float = 0.3
) -> Truth:
    share = rng.uniform(low, high, size=(graphs, 1, 1))
    upper = np.triu(rng.random((graphs, nodes, nodes)) < share, 1)
    return (upper | upper.transpose(0, 2, 1)).astype(np.float32)


def nearest_neighbours(rng: np.random.Generator, graphs: int, nodes: int, most: float = 0.3) -> Truth:
    """Each node is linked to its ``k`` nearest, where every node has a ``k`` of its own, from 1 to a share of
    the nodes (the paper's appendix B.4)."""
    degree = rng.integers(1, max(1, int(most * nodes)) + 1, size=(graphs, nodes))
    return _linked(_ranks(rng, graphs, nodes) < degree[:, :, None])


def _ranks(rng: np.random.Generator, graphs: int, nodes: int) -> npt.NDArray[np.int64]:
    """``[graphs, nodes, nodes]``: the how-manieth nearest the second is to the first, itself the last, among
    points scattered in a square."""
    places = rng.random((graphs, nodes, 2))
    apart = ((places[:, :, None] - places[:, None]) ** 2).sum(-1)
    apart[:, np.arange(nodes), np.arange(nodes)] = np.inf
    return np.argsort(np.argsort(apart, -1), -1)


def _linked(near: npt.NDArray[np.bool_]) -> Truth:
    nodes = near.shape[1]
    either = near | near.transpose(0, 2, 1)
    return (either & ~np.eye(nodes, dtype=bool)).astype(np.float32)


def connected(edges: Truth, steps: int) -> Truth:
    """Pairs of different nodes with a path of at most so many edges."""
    nodes = edges.shape[1]
    near = np.maximum(edges, np.eye(nodes, dtype=np.float32))
    reach = near
    for _ in range(steps - 1):
        reach = (reach @ near > 0).astype(np.float32)
    return reach * (1 - np.eye(nodes, dtype=np.float32))


def degree_is(edges: Truth, degree: int) -> Truth:
    return (edges.sum(2) == degree).astype(np.float32)


def shortest(edges: Truth, most: int) -> npt.NDArray[np.int64]:
    """The length of the shortest path between each pair, ``most + 1`` where it is longer or there is none."""
    nodes = edges.shape[1]
    near = np.maximum(edges, np.eye(nodes, dtype=np.float32))
    reach = np.broadcast_to(np.eye(nodes, dtype=np.float32), edges.shape)
    length = np.where(reach > 0, 0, most + 1)
    for step in range(1, most + 1):
        reach = (reach @ near > 0).astype(np.float32)
        length = np.where((reach > 0) & (length > step), step, length)
    return length


def graph_sample(
    label: Callable[[Truth], Truth], make: Edges, rng: np.random.Generator, graphs: int, nodes: int
) -> Sample:
    edges = make(rng, graphs, nodes)
    return Sample({2: torch.from_numpy(edges[..., None])}, torch.from_numpy(label(edges)))


def coloured_sample(rng: np.random.Generator, graphs: int, nodes: int) -> Sample:
    """Nodes have one of four colours; the target: some neighbour is red."""
    edges = erdos_renyi(rng, graphs, nodes)
    colours = rng.integers(len(COLOURS), size=(graphs, nodes))
    unary = np.eye(len(COLOURS), dtype=np.float32)[colours]
    target = (edges @ unary[..., :1])[..., 0] > 0
    return Sample(
        {1: torch.from_numpy(unary), 2: torch.from_numpy(edges[..., None])},
        torch.from_numpy(target.astype(np.float32)),
    )
