"""Random theories of structures that hard statements define: choices, functions, matchings, orders, graphs.

Each comes as text and as the universe that the worlds oracle walks through. Some have no world: pigeons
without holes, odd sets to be paired, too few colours, and whatever random facts and clauses rule out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.theory import Theory
from tests.oracles.worlds import GroundAtom, Universe

Predicates = dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]]


@dataclass(frozen=True)
class Structure:
    """``domains``: how many constants each type has; ``lines``: the hard statements over ``predicates``."""

    name: str
    domains: dict[str, int]
    predicates: Predicates
    lines: tuple[str, ...]

    @property
    def atoms(self) -> int:
        return sum(math.prod(self.domains[t] for t in types) for types, _ in self.predicates.values())


def exactly_one(n: int, _: int) -> Structure:
    lines = ("exists x: p(x)", "p(x) and p(y) => x = y")
    return Structure("exactly one", {"a": n}, {"p": (("a",), None)}, lines)


def at_most_one(n: int, _: int) -> Structure:
    return Structure("at most one", {"a": n}, {"p": (("a",), None)}, ("p(x) and p(y) => x = y",))


def exactly_two(n: int, _: int) -> Structure:
    lines = ("exists x, y: x != y and p(x) and p(y)", "p(x) and p(y) and p(z) => x = y or x = z or y = z")
    return Structure("exactly two", {"a": n}, {"p": (("a",), None)}, lines)


TOTAL = "exists y: f(x, y)"
SINGLE = "f(x, y) and f(x, z) => y = z"
INJECTIVE = "f(x, z) and f(y, z) => x = y"
ONTO = "exists x: f(x, y)"
PAIRS: Predicates = {"f": (("a", "b"), None)}
WITHIN: Predicates = {"f": (("a", "a"), None)}


def function(n: int, m: int) -> Structure:
    return Structure("function", {"a": n, "b": m}, PAIRS, (TOTAL, SINGLE))


def partial_matching(n: int, m: int) -> Structure:
    return Structure("matching", {"a": n, "b": m}, PAIRS, (SINGLE, INJECTIVE))


def injection(n: int, m: int) -> Structure:
    return Structure("injection", {"a": n, "b": m}, PAIRS, (TOTAL, SINGLE, INJECTIVE))


def one_to_one(n: int, m: int) -> Structure:
    return Structure("one to one", {"a": n, "b": m}, PAIRS, (TOTAL, SINGLE, INJECTIVE, ONTO))


def derangement(n: int, _: int) -> Structure:
    lines = ("not f(x, x)", TOTAL, SINGLE, INJECTIVE)
    return Structure("derangement", {"a": n}, WITHIN, lines)


def total_order(n: int, _: int) -> Structure:
    lines = ("not f(x, x)", "x != y => (f(x, y) xor f(y, x))", "f(x, y) and f(y, z) => f(x, z)")
    return Structure("order", {"a": n}, WITHIN, lines)


def partial_order(n: int, _: int) -> Structure:
    lines = ("not f(x, x)", "f(x, y) and f(y, z) => f(x, z)")
    return Structure("partial order", {"a": n}, WITHIN, lines)


def equivalence(n: int, _: int) -> Structure:
    lines = ("f(x, x)", "f(x, y) => f(y, x)", "f(x, y) and f(y, z) => f(x, z)")
    return Structure("equivalence", {"a": n}, WITHIN, lines)


def pairing(n: int, _: int) -> Structure:
    lines = ("not f(x, x)", "f(x, y) => f(y, x)", TOTAL, SINGLE)
    return Structure("1-regular", {"a": n}, WITHIN, lines)


def regular(n: int, _: int) -> Structure:
    lines = (
        "not f(x, x)",
        "f(x, y) <=> f(y, x)",
        "exists y, z: y != z and f(x, y) and f(x, z)",
        "f(x, y) and f(x, z) and f(x, w) => y = z or y = w or z = w",
    )
    return Structure("2-regular", {"a": n}, WITHIN, lines)


def colouring(n: int, m: int) -> Structure:
    """A cycle in n colours and a complete graph take turns."""
    edges = [(i, (i + 1) % n) for i in range(n)] if m % 2 else [(i, j) for i in range(n) for j in range(i)]
    lines = tuple(
        f'not (g("a{i}") = "{c}" and g("a{j}") = "{c}")' for i, j in edges if i != j for c in "rgb"[: 1 + m]
    )
    return Structure("colouring", {"a": n}, {"g": (("a",), tuple("rgb"[: 1 + m]))}, lines)


def parity(n: int, _: int) -> Structure:
    literals = " xor ".join(f'p("a{i}")' for i in range(n))
    lines = (literals, *(f'p("a{i}") <=> not p("a{i + 1}")' for i in range(0, n - 1, 2)))
    return Structure("parity", {"a": n}, {"p": (("a",), None)}, lines)


def in_propositions(n: int, _: int) -> Structure:
    """Exactly one, without a variable."""
    some = " or ".join(f"h{i}" for i in range(n))
    lines = (some, *(f"not (h{i} and h{j})" for i in range(n) for j in range(i)))
    return Structure("propositions", {}, {f"h{i}": ((), None) for i in range(n)}, lines)


KINDS: tuple[tuple[Callable[[int, int], Structure], int, int], ...] = (
    (exactly_one, 5, 1),
    (at_most_one, 5, 1),
    (exactly_two, 5, 1),
    (function, 3, 3),
    (partial_matching, 3, 3),
    (injection, 3, 3),
    (one_to_one, 3, 3),
    (derangement, 3, 1),
    (total_order, 3, 1),
    (partial_order, 3, 1),
    (equivalence, 3, 1),
    (pairing, 3, 1),
    (regular, 3, 1),
    (colouring, 4, 2),
    (parity, 5, 1),
    (in_propositions, 5, 1),
)
"""With the largest sizes that are walked through quickly."""

WEIGHTS = (-2.0, -0.7, 0.4, 1.3, 3.0)


@st.composite
def structures(draw: st.DrawFn, most: int = 9, extra: int = 0) -> tuple[str, Theory, Universe]:
    """What it is called, the theory, and its universe; ``most`` atoms, sizes up to ``extra`` beyond usual."""
    make, n, m = draw(st.sampled_from(KINDS))
    made = make(draw(st.integers(1, n + extra)), draw(st.integers(1, m + extra)))
    while made.atoms > most:
        made = make(*(max(1, size - 1) for size in (*made.domains.values(), 1, 1)[:2]))
    lines = [f"hard: {line}" for line in made.lines]
    domains = {name: [f"{name}{i}" for i in range(size)] for name, size in made.domains.items()}
    declared = [f"type {name} = {{{_listed(values)}}}" for name, values in domains.items()]
    for name, (types, values) in made.predicates.items():
        arguments = f"({', '.join(types)})" if types else ""
        declared.append(f"predicate {name}{arguments}" + (f" in {{{_listed(values)}}}" if values else ""))
    empty = Universe(domains, made.predicates)
    soft, known, facts = [], dict[GroundAtom, object](), list[str]()
    chance = draw(st.sampled_from([0, 1, 3]))
    for atom in empty.atoms():
        text = _text(atom)
        values = made.predicates[atom[0]][1]
        said = draw(st.integers(0, 11)) if chance else 11
        if said < chance and values is None:
            known[atom] = draw(st.booleans())
            facts.append(text if known[atom] else f"not {text}")
        elif said >= 6 and draw(st.booleans()):
            weight = draw(st.sampled_from(WEIGHTS))
            value = True if values is None else draw(st.sampled_from(values))
            soft.append(f"{weight}: {text}" if values is None else f'{weight}: {text} = "{value}"')
    two = draw(st.lists(st.sampled_from(empty.atoms()), min_size=0, max_size=3))
    if two and all(made.predicates[name][1] is None for name, _ in two):
        clause = " or ".join(("not " if draw(st.booleans()) else "") + _text(atom) for atom in two)
        lines.append(f"{draw(st.sampled_from(['hard', '0.8', '-1.1']))}: {clause}")
    theory = hb.parse("\n".join([*declared, *facts, *lines, *soft]))
    return made.name, theory, Universe(domains, made.predicates, known)


def _listed(values: object) -> str:
    return ", ".join(f'"{value}"' for value in values)  # type: ignore[attr-defined]


def _text(atom: GroundAtom) -> str:
    arguments = ", ".join(f'"{argument}"' for argument in atom[1])
    return f"{atom[0]}({arguments})" if arguments else atom[0]
