"""Random credal networks around a hidden Bayesian network, which satisfies every sentence.

So the hidden network's own probabilities must lie in every sound interval.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

import herbrand as hb
from herbrand.answers.bounds import Bounds
from tests.oracles.ariel import Sentence, holds


@dataclass(frozen=True)
class Hidden:
    """A distribution over all worlds of n atoms, and sentences that it satisfies."""

    masses: np.ndarray
    sentences: tuple[Sentence, ...]

    @property
    def count(self) -> int:
        return len(self.masses).bit_length() - 1

    def chance(self, event: str, given: str | None = None) -> float:
        atoms = range(self.count)
        told = self.masses * holds(given, atoms)
        return float((told * holds(event, atoms)).sum() / told.sum())

    @property
    def text(self) -> str:
        return "\n".join(sentence.statement for sentence in self.sentences)

    def bound(self, *queries: str, **settings: Any) -> Bounds:
        return hb.Model(hb.parse(self.text)).bound(list(queries), engine="ariel", **settings)


def conditionals(atom: int, parents: tuple[int, ...]) -> list[str | None]:
    """Every case of the parents as a condition."""
    if not parents:
        return [None]
    signs = itertools.product(("not ", ""), repeat=len(parents))
    return [" and ".join(f"{s}x{p}" for s, p in zip(case, parents, strict=True)) for case in signs]


def random_parents(rng: np.random.Generator, n: int, most: int, tree: bool) -> list[tuple[int, ...]]:
    """Parents among earlier atoms; with ``tree`` no two ways between any atoms."""
    group = list(range(n))
    found = []
    for atom in range(n):
        chosen: list[int] = []
        for parent in rng.permutation(atom)[: rng.integers(0, most + 1)].tolist():
            if tree and group[parent] == group[atom]:
                continue
            chosen.append(parent)
            group = [group[atom] if g == group[parent] else g for g in group]
        found.append(tuple(sorted(chosen)))
    return found


def masses_of(rng: np.random.Generator, parents: list[tuple[int, ...]]) -> np.ndarray:
    n = len(parents)
    found = np.ones(2**n)
    for atom, its in enumerate(parents):
        table = rng.uniform(0.05, 0.95, 2 ** len(its))
        for world, truths in enumerate(itertools.product((0, 1), repeat=n)):
            case = int("".join(str(truths[p]) for p in its) or "0", 2)
            found[world] *= table[case] if truths[atom] else 1 - table[case]
    return found


def widened(rng: np.random.Generator, value: float, width: float) -> tuple[float, float]:
    low, high = value - width * rng.random(), value + width * rng.random()
    return max(0.0, round(low - 1e-6, 6)), min(1.0, round(high + 1e-6, 6))


def bayesian(
    seed: int, n: int, most_parents: int = 2, tree: bool = False, extra: int = 2, width: float = 0.3
) -> Hidden:
    """Interval conditional tables around a hidden network, and ``extra`` bounds on single atoms."""
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, n, most_parents, tree)
    told = [(f"x{a}", given) for a, its in enumerate(parents) for given in conditionals(a, its)]
    told += [(f"x{a}", None) for a in rng.choice(n, min(extra, n), replace=False).tolist()]
    return _around(rng, masses_of(rng, parents), told, width)


def independent(seed: int, n: int, count: int, width: float = 0.3) -> Hidden:
    """Sentences of any shape, cycles too, around independent atoms, which satisfy every Markov condition."""
    rng = np.random.default_rng(seed)
    told = [_formulas(rng, n) for _ in range(count)]
    hidden = _around(rng, masses_of(rng, [()] * n), told, width)
    flags = rng.random(len(told)) < 0.4
    sentences = tuple(
        s._replace(independent=bool(flag and s.given))
        for s, flag in zip(hidden.sentences, flags, strict=True)
    )
    return Hidden(hidden.masses, sentences + tuple(Sentence(f"x{a}", None, 0.0, 1.0) for a in range(n)))


def _formulas(rng: np.random.Generator, n: int) -> tuple[str, str | None]:
    atoms = [f"(not x{a})" if rng.random() < 0.3 else f"x{a}" for a in rng.permutation(n)[:4].tolist()]
    joined = f"({atoms[0]} {rng.choice(['and', 'or', 'xor'])} {atoms[1]})"
    event = str(rng.choice([atoms[0], joined]))
    if rng.random() < 0.3:
        return event, None
    if rng.random() < 0.5 or n < 4:
        return event, atoms[2]
    return event, f"{atoms[2]} {rng.choice(['and', 'or'])} {atoms[3]}"


def _around(
    rng: np.random.Generator, masses: np.ndarray, told: list[tuple[str, str | None]], width: float
) -> Hidden:
    hidden = Hidden(masses, ())
    sentences = [Sentence(e, g, *widened(rng, hidden.chance(e, g), width)) for e, g in told]
    return Hidden(masses, tuple(sentences))
