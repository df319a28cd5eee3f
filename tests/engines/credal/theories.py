"""Random small theories of bounds that some distribution satisfies: one of independent atoms."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.credal import Network, holds

NAMES = ("a", "b", "c", "d")


def literals(names: tuple[str, ...]) -> st.SearchStrategy[s.Formula]:
    atoms = st.sampled_from(names).map(s.Atom)
    return st.one_of(atoms, atoms.map(s.Not))


def formulas(names: tuple[str, ...]) -> st.SearchStrategy[s.Formula]:
    pairs = st.lists(literals(names), min_size=2, max_size=2).map(tuple)
    return st.one_of(
        literals(names),
        literals(names),
        pairs.map(s.And),
        pairs.map(s.Or),
        pairs.map(s.Xor),
        pairs.map(lambda two: s.Implies(two[0], two[1])),
        pairs.map(lambda two: s.Iff(two[0], two[1])),
    )


@st.composite
def theories(draw: st.DrawFn, most_atoms: int = 4, most_bounds: int = 5) -> Theory:
    names = NAMES[: draw(st.integers(2, most_atoms))]
    hidden = {name: draw(st.integers(1, 9)) / 10 for name in names}
    every = Network((s.Bound(s.And(tuple(map(s.Atom, names))), None, 0, 1),))
    chance = [math.prod(hidden[n] if v else 1 - hidden[n] for n, v in c.items()) for c in every.cases()]
    bounds = [s.Bound(s.Atom(name), None, 0.0, 1.0) for name in names]
    for _ in range(draw(st.integers(1, most_bounds))):
        event, given = draw(formulas(names)), draw(st.one_of(st.none(), formulas(names)))
        condition = s.Truth(True) if given is None else given
        known = sum(x for x, c in zip(chance, every.cases(), strict=True) if holds(condition, c))
        if known < 1e-9:
            continue
        both = s.And((event, condition))
        value = sum(x for x, c in zip(chance, every.cases(), strict=True) if holds(both, c)) / known
        below, above = draw(st.integers(0, 30)) / 100, draw(st.integers(0, 30)) / 100
        lower, upper = max(0.0, round(value - below, 4) - 1e-4), min(1.0, round(value + above, 4) + 1e-4)
        bounds.append(s.Bound(event, given, round(lower, 4), round(upper, 4), draw(st.booleans())))
    return Theory(tuple(bounds))
