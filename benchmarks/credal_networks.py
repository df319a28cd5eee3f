"""Random logical credal networks that a hidden distribution satisfies, so that none contradicts itself.

Three classes as in the ARIEL paper's section 4.1, each sentence once for every case of its parents:
``polytree`` (no cycle even without directions), ``dag`` (no directed cycle) and ``random`` (any links). The
hidden distribution is a Bayesian network over the links; for ``random`` its atoms are independent, since no
other distribution is sure to satisfy the Markov condition of a cyclic network.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

WIDEST = 0.6
MOST_ENUMERATED = 20


@dataclass(frozen=True)
class Hidden:
    """Parents of each atom, in an order in which parents come first, and P(atom | case of its parents)."""

    parents: dict[int, tuple[int, ...]]
    tables: dict[int, list[float]]
    tree: bool

    def marginals(self) -> np.ndarray:
        """Of every atom: along a polytree, whose parents are independent; else from all cases."""
        n = len(self.parents)
        if self.tree:
            found = np.zeros(n)
            for atom, parents in self.parents.items():
                chance = np.array(self.tables[atom])
                for parent in reversed(parents):
                    pairs = chance.reshape(-1, 2)
                    chance = pairs[:, 0] * (1 - found[parent]) + pairs[:, 1] * found[parent]
                found[atom] = chance[0]
            return found
        joint = np.ones((2,) * n)
        for atom, parents in self.parents.items():
            table = np.array(self.tables[atom]).reshape((2,) * len(parents))
            both = np.stack([1 - table, table], axis=-1)
            axes = (*parents, atom)
            order = np.argsort(axes)
            shape = [2 if a in axes else 1 for a in range(n)]
            joint = joint * both.transpose(order).reshape(shape)
        return np.array([joint.take(1, axis=a).sum() for a in range(n)])


def polytree(n: int, seed: int, extra: int = 2) -> str:
    """An ``.lcn`` text; ``extra`` more sentences bound the probability of an atom."""
    return _said(*_hidden_polytree(n, seed), extra)


def dag(n: int, seed: int, extra: int = 2) -> str:
    """An ``.lcn`` text."""
    return _said(*_hidden_dag(n, seed), extra)


def hidden_marginals(kind: str, n: int, seed: int) -> np.ndarray:
    """The probability of each atom under the distribution that ``polytree`` or ``dag`` was made around."""
    hidden, _ = {"polytree": _hidden_polytree, "dag": _hidden_dag}[kind](n, seed)
    return hidden.marginals()


def _hidden_polytree(n: int, seed: int) -> tuple[Hidden, random.Random]:
    rng = random.Random(f"polytree {n} {seed}")
    group = list(range(n))
    parents: dict[int, tuple[int, ...]] = {}
    for atom in range(n):
        chosen: list[int] = []
        for _ in range(rng.randrange(3)):
            candidates = [a for a in range(n) if _root(group, a) != _root(group, atom)]
            if candidates:
                chosen.append(rng.choice(candidates))
                group[_root(group, chosen[-1])] = _root(group, atom)
        parents[atom] = tuple(sorted(chosen))
    return _hidden(_ordered(parents), rng, True), rng


def _hidden_dag(n: int, seed: int) -> tuple[Hidden, random.Random]:
    rng = random.Random(f"dag {n} {seed}")
    order = rng.sample(range(n), n)
    parents = {
        atom: tuple(sorted(rng.sample(order[:place], min(place, rng.randrange(3)))))
        for place, atom in enumerate(order)
    }
    return _hidden(parents, rng, False), rng


def cyclic(n: int, seed: int, extra: int = 2) -> str:
    """The paper's ``random`` class."""
    rng = random.Random(f"random {n} {seed}")
    alone = [rng.uniform(0.1, 0.9) for _ in range(n)]
    lines = list(_cyclic_lines(n, rng, alone, extra))
    return _numbered(lines)


def _cyclic_lines(n: int, rng: random.Random, alone: list[float], extra: int) -> Iterator[str]:
    for atom in range(n):
        parents: list[int] = []
        count = rng.randrange(3)
        while len(parents) < min(count, n - 1):
            other = rng.randrange(n)
            if other != atom and other not in parents:
                parents.append(other)
        yield from _conditionals(atom, sorted(parents), [alone[atom]] * 2 ** len(parents), rng)
    for atom in rng.sample(range(n), min(extra, n)):
        yield _sentence(f"x{atom}", alone[atom], rng)


def _root(group: list[int], atom: int) -> int:
    while group[atom] != atom:
        atom = group[atom]
    return atom


def _ordered(parents: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    done: dict[int, tuple[int, ...]] = {}
    while len(done) < len(parents):
        for atom, above in parents.items():
            if atom not in done and all(parent in done for parent in above):
                done[atom] = above
    return done


def _hidden(parents: dict[int, tuple[int, ...]], rng: random.Random, tree: bool) -> Hidden:
    tables = {a: [rng.uniform(0.05, 0.95) for _ in range(2 ** len(p))] for a, p in parents.items()}
    return Hidden(parents, tables, tree)


def _said(hidden: Hidden, rng: random.Random, extra: int) -> str:
    lines = [
        line
        for atom in range(len(hidden.parents))
        for line in _conditionals(atom, hidden.parents[atom], hidden.tables[atom], rng)
    ]
    if extra and (hidden.tree or len(hidden.parents) <= MOST_ENUMERATED):
        marginals = hidden.marginals()
        chosen = rng.sample(range(len(marginals)), min(extra, len(marginals)))
        lines += [_sentence(f"x{atom}", float(marginals[atom]), rng) for atom in chosen]
    return _numbered(lines)


def _conditionals(atom: int, parents: object, table: list[float], rng: random.Random) -> Iterator[str]:
    names = [f"x{parent}" for parent in parents]  # type: ignore[attr-defined]
    for case, value in zip(itertools.product((False, True), repeat=len(names)), table, strict=True):
        given = " and ".join(name if holds else f"!{name}" for name, holds in zip(names, case, strict=True))
        yield _sentence(f"x{atom} | {given}" if given else f"x{atom}", value, rng)


def _sentence(inside: str, value: float, rng: random.Random) -> str:
    width = rng.uniform(0.05, WIDEST)
    lower = value - rng.random() * width
    return f"{max(0.0, lower):.4f} <= P({inside}) <= {min(1.0, lower + width):.4f}"


def _numbered(lines: list[str]) -> str:
    return "".join(f"s{number}: {line}\n" for number, line in enumerate(lines, 1))
