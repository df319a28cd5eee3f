"""Without a penalty some weights have no top; whether they have is asked of a linear program over all worlds.

The likelihood has one only if, whichever way the weights go, some world comes to be more probable than the
labels (Barndorff-Nielsen 1978); the pseudo-likelihood, if that holds of worlds with one atom changed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from scipy.optimize import linprog

import herbrand as hb

World = dict[tuple[str, str], bool]
Count = Callable[[World, list[str]], int]
DECLARED = "predicate s(p): observed\npredicate f(p, p): observed\npredicate c(p)\npredicate d(p)\n"


def every(test: Callable[[World, str], bool]) -> Count:
    return lambda world, people: sum(test(world, x) for x in people)


def pairs(test: Callable[[World, str, str], bool]) -> Count:
    return lambda world, people: sum(test(world, x, y) for x, y in itertools.product(people, people))


COUNTS: dict[str, Count] = {
    "s(x) => c(x)": every(lambda w, x: not w["s", x] or w["c", x]),
    "not s(x) => c(x)": every(lambda w, x: w["s", x] or w["c", x]),
    "c(x)": every(lambda w, x: w["c", x]),
    "d(x) <=> c(x)": every(lambda w, x: w["d", x] == w["c", x]),
    "d(x) or s(x)": every(lambda w, x: w["d", x] or w["s", x]),
    "c(x) and d(x)": every(lambda w, x: w["c", x] and w["d", x]),
    "c(x) and c(y) => x = y": pairs(lambda w, x, y: not (w["c", x] and w["c", y]) or x == y),
    "c(x) and f(x, y) => c(y)": pairs(lambda w, x, y: not (w["c", x] and w[f"f{x}", y]) or w["c", y]),
}


def rises(differences: Iterable[np.ndarray]) -> bool:
    """Whether some way takes no difference below 0, and one above."""
    rows = np.array(list(differences))
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * rows.shape[1])
    return -found.fun > 1e-9


def drawn(seed: int) -> tuple[list[str], list[str], World]:
    rng = np.random.default_rng(seed)
    people = [f"p{i}" for i in range(rng.integers(2, 5))]
    world: World = {(name, x): bool(rng.random() < 0.5) for name in "scd" for x in people}
    world |= {(f"f{x}", y): bool(rng.random() < 0.3) for x in people for y in people}
    return rng.permutation(list(COUNTS))[: rng.integers(1, 4)].tolist(), people, world


def learned(method: str, formulas: list[str], people: list[str], world: World) -> hb.Learning:
    known = [
        (name[0], (name[1:], x) if name[0] == "f" else (x,), truth) for (name, x), truth in world.items()
    ]
    facts = (f"{'' if truth else 'not '}{name}{json.dumps(row)}" for name, row, truth in known)
    statements = [f"type p = {{{json.dumps(people)[1:-1]}}}", DECLARED, *(f"?: {one}" for one in formulas)]
    text = "\n".join((*statements, *facts)).replace('["', '("').replace('"]', '")')
    return hb.Model(hb.parse(text)).learn(method, l2=0.0, target=["c", "d"])


@pytest.mark.parametrize("method", ["likelihood", "pseudo-likelihood", "contrastive-divergence"])
@pytest.mark.parametrize("seed", range(25))
def test_it_is_told_where_weights_have_no_top(method: str, seed: int) -> None:
    formulas, people, world = drawn(seed)

    def statistics(of: World) -> np.ndarray:
        return np.array([COUNTS[one](of, people) for one in formulas])

    atoms = [(name, x) for name in "cd" for x in people]
    if method == "pseudo-likelihood":
        others: Iterable[World] = ({**world, atom: not world[atom]} for atom in atoms)
    else:
        others = (
            {**world, **dict(zip(atoms, values, strict=True))}
            for values in itertools.product([False, True], repeat=len(atoms))
        )
    endless = rises(statistics(world) - statistics(other) for other in others)
    status = learned(method, formulas, people, world).status
    assert status.converged == (not endless)
    assert not endless or "grows without end" in status.advice or "chains disagree" in status.advice
