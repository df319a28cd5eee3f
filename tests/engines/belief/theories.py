"""Random theories for belief propagation: clauses that plain loops can ground, and symmetric theories."""

from __future__ import annotations

import math

from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.theory import Theory
from tests.oracles.worlds import Universe

PREDICATES = {"p": 1, "q": 1, "f": 2, "g": 2}
weights = st.floats(-1.5, 1.5).map(lambda x: round(x, 2))


@st.composite
def literals(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(sorted(PREDICATES)))
    arguments = [draw(st.sampled_from("xyz")) for _ in range(PREDICATES[name])]
    return f"{draw(st.sampled_from(['', 'not ']))}{name}({', '.join(arguments)})"


@st.composite
def clauses(draw: st.DrawFn) -> str:
    """A clause, or an equivalence, of few literals: every way to make it false names all its atoms."""
    count = draw(st.integers(1, 3))
    parts = [draw(literals()) for _ in range(count)]
    names = {c for part in parts for c in part.split("(")[1] if c in "xyz"}
    where = " where x != y" if {"x", "y"} <= names and draw(st.booleans()) else ""
    joined = " <=> ".join(parts) if count == 2 and draw(st.booleans()) else " or ".join(parts)
    return f"{draw(weights)}: {joined}{where}"


@st.composite
def grounded(draw: st.DrawFn) -> tuple[Theory, Universe]:
    """Clauses over a few constants with facts, and the universe for the plain loops."""
    constants = tuple(f"c{i}" for i in range(draw(st.integers(1, 3))))
    universe = Universe({"t": constants}, {n: (("t",) * k, None) for n, k in PREDICATES.items()})
    known, soft, lines = {}, [], []
    for name, arguments in universe.atoms():
        said = draw(st.sampled_from(["no", "no", "no", "true", "false", "soft"]))
        quoted = ", ".join(f'"{a}"' for a in arguments)
        text = f"{name}({quoted})"
        if said == "soft":
            soft.append(((name, arguments), True, math.log(0.8) - math.log(0.2)))
            lines.append(f"{text} ~ 0.8")
        elif said != "no":
            known[name, arguments] = said == "true"
            lines.append(text if said == "true" else f"not {text}")
    lines += draw(st.lists(clauses(), min_size=1, max_size=4))
    universe = Universe(universe.domains, universe.predicates, known, frozenset(), soft)
    return hb.parse("\n".join([*declarations(constants), *lines])), universe


def declarations(constants: tuple[str, ...]) -> list[str]:
    listed = ", ".join(f'"{c}"' for c in constants)
    predicates = [f"predicate {name}({', '.join(['t'] * k)})" for name, k in PREDICATES.items()]
    return [f"type t = {{{listed}}}", *predicates, 'predicate area(t) in {"a", "b", "c"}']


SENTENCES = [
    "f(x, y) <=> f(y, x)",
    "f(x, y) and f(y, z) => f(x, z)",
    "p(x) and f(x, y) => p(y)",
    "p(x) <=> exists y: f(x, y) and q(y)",
    "exists x: p(x) and not q(x)",
    "exists x, y: f(x, y) and f(y, x) and x != y",
    "q(x) or exists y: forall z: f(x, y) or g(y, z)",
    "p(x) and (q(x) or g(x, y))",
    "(p(x) or q(x)) and (g(x, y) or not f(y, x))",
    'area(x) = "a" and f(x, y) => area(y) in {"a", "b"}',
    "area(x) = v and g(x, y) => area(y) = v",
    "p(x) xor q(x) xor f(x, x)",
    'p("c1") => q(x)',
    "f(x, y) and g(x, y) => x = y",
    "exists y: f(x, y) or g(y, x)",
    "p(x) and p(y) and f(x, y) and f(y, x) and g(x, y) and g(y, x)",
]
FACTS = [
    'p("c1")',
    'not q("c2")',
    'f("c1", "c2")',
    'q("c0") ~ 0.7',
    'area("c3") = "b"',
    'not area("c1") = "a"',
]


@st.composite
def symmetric(draw: st.DrawFn, hard: bool = False) -> Theory:
    """Sentences over interchangeable constants, with a few facts that tell some of them apart."""
    constants = tuple(f"c{i}" for i in range(draw(st.integers(4, 5))))
    chosen = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3, unique=True))
    lines = [f"{draw(weights)}: {text}" for text in chosen]
    if hard and draw(st.booleans()):
        lines.append(f"hard: {draw(st.sampled_from(SENTENCES))}")
    lines += draw(st.lists(st.sampled_from(FACTS), max_size=3, unique=True))
    return hb.parse("\n".join([*declarations(constants), *lines]))
