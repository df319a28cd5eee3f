"""Small theories that several tests use."""

from __future__ import annotations

import herbrand as hb
from herbrand.language.theory import Theory
from tests.oracles.worlds import Universe


def people(count: int) -> str:
    names = ", ".join(f'"p{i}"' for i in range(count))
    return f"type t = {{{names}}}\npredicate s(t)\npredicate c(t)\npredicate f(t, t)\n"


def universe_of(theory: Theory) -> Universe:
    """The universe of a theory that declares everything and states no facts."""
    domains = {d.name: [c.value for c in d.values or ()] for d in theory.types}
    predicates = {}
    for p in theory.predicates:
        assert not isinstance(p.values, str)
        values = None if p.values is None else tuple(c.value for c in p.values)
        predicates[p.name] = (p.types, values)
        if values is not None:
            domains[f"{p.name} value"] = values
    return Universe(domains, predicates)


def smokers(count: int, weight: float) -> Theory:
    return hb.parse(f"{people(count)}{weight}: s(x) and f(x, y) => s(y)\n0.2: s(x)")
