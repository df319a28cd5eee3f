"""Rules of every kind of recursion, over worlds of every shape, with what the plain loops make of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.least_model import least_model
from tests.oracles.proofs import Proofs, Row, Weights

NODES = ("a", "b", "c")
PLACES: dict[str, list[tuple[s.Value, ...]]] = {"n": [NODES], "k": [("s", "t")]}
DECLARED = """\
type n = {"a", "b", "c"}
type k = {"s", "t"}
predicate e(n, n): observed
predicate f(n, n): observed
predicate h(n, k): observed
predicate u(n): observed
"""
KINDS: dict[str, tuple[str, str]] = {
    "ends in the call": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y) @ 0.5"),
    "begins with the call": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- p(x, z), e(z, y) @ 0.5"),
    "calls twice": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- p(x, z), p(z, y) @ 0.25"),
    "calls in the middle": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, w), f(w, y)"),
    "calls under a filter": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), u(z), p(z, y) @ 2"),
    "calls of two": (
        "p(n, n) q(n, n)",
        "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), q(z, y)\nq(x, y) :- f(x, z), p(z, y)",
    ),
    "calls of three": (
        "p(n, n) q(n, n) r(n, n)",
        "p(x, y) :- q(x, z), e(z, y)\n"
        "q(x, y) :- r(x, y)\n"
        "q(x, y) :- f(x, y)\n"
        "r(x, y) :- e(x, z), p(z, y) @ 0.5",
    ),
    "one more relation": (
        "p(n, n)",
        "p(x, y) :- e(x, y)\np(x, y) :- f(x, y) @ 3\np(x, y) :- e(x, z), f(z, w), p(w, y)",
    ),
    "a constant inside": (
        "p(n, n)",
        'p(x, y) :- e(x, y)\np(x, y) :- e(x, "b"), p("b", y)\np("c", y) :- f(y, _)',
    ),
    "through another type": (
        "p(n, n)",
        "p(x, y) :- h(x, r), h(y, r)\np(x, y) :- h(x, r), h(z, r), p(z, y), e(x, z)",
    ),
    "one argument": ("p(n)", "p(x) :- u(x)\np(x) :- e(x, y), p(y) @ 0.5"),
    "the other way around": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- e(y, z), p(z, x)"),
    "a call turned around": ("p(n, n)", "p(x, y) :- e(x, y)\np(x, y) :- p(y, x), f(x, y)"),
    "unequal ends": ("p(n, n)", "p(x, y) :- e(x, y), x != y\np(x, y) :- e(x, z), p(z, y), x != y"),
    "a loop kept": ("p(n, n)", "p(x, x) :- u(x)\np(x, y) :- e(x, z), p(z, y)"),
    "three arguments": (
        "p(n, n, k)",
        "p(x, y, r) :- e(x, y), h(y, r)\np(x, y, r) :- e(x, z), p(z, y, r), h(x, r)",
    ),
    "no argument": ("p", "p :- e(x, y), f(y, x)\np :- p, u(_)"),
    "nothing but itself": ("p(n, n)", "p(x, y) :- p(y, x)\np(x, y) :- e(x, z), p(z, y)"),
    "absent before": (
        "q(n) p(n, n)",
        "q(x) :- e(x, _)\np(x, y) :- f(x, y), not q(y)\np(x, y) :- f(x, z), not e(x, z), p(z, y)",
    ),
    "absent of a recursion": (
        "q(n, n) p(n, n)",
        "q(x, y) :- e(x, y)\n"
        "q(x, y) :- e(x, z), q(z, y)\n"
        "p(x, y) :- f(x, y), not q(y, x)\n"
        "p(x, y) :- f(x, z), p(z, y), not q(x, x)",
    ),
}
"""What is derived, with the types of its places, and the rules; ``p`` is asked for."""

SHAPES: dict[str, dict[str, dict[Row, float]]] = {
    "nothing": {},
    "a chain": {
        "e": {("a", "b"): 2, ("b", "c"): 3},
        "f": {("a", "b"): 1, ("c", "b"): 2},
        "h": {("a", "s"): 1, ("b", "s"): 2},
        "u": {("b",): 1, ("c",): 2},
    },
    "a ring": {
        "e": {("a", "b"): 1, ("b", "c"): 1, ("c", "a"): 1},
        "f": {("b", "a"): 1, ("a", "c"): 1},
        "h": {("a", "s"): 1, ("b", "t"): 1, ("c", "s"): 1},
        "u": {("a",): 1},
    },
    "loops": {
        "e": {("a", "a"): 0.5, ("b", "b"): 1, ("a", "b"): 2},
        "f": {("a", "a"): 1, ("b", "a"): 1},
        "h": {("a", "s"): 1, ("a", "t"): 1, ("b", "s"): 1},
        "u": {("a",): 2, ("b",): 1},
    },
    "everything": {
        "e": dict.fromkeys([(x, y) for x in "abc" for y in "abc"], 1.0),
        "f": dict.fromkeys([(x, y) for x in "abc" for y in "abc"], 0.5),
        "h": dict.fromkeys([(x, r) for x in "abc" for r in "st"], 1.0),
        "u": dict.fromkeys([(x,) for x in "abc"], 1.0),
    },
    "only the other": {"f": {("a", "b"): 1, ("b", "a"): 1}, "u": {("a",): 1}},
}


@dataclass(frozen=True)
class Case:
    kind: str
    shape: str

    @property
    def heads(self) -> list[tuple[str, list[str]]]:
        found = []
        for head in KINDS[self.kind][0].replace(", ", ",").split():
            name, _, rest = head.partition("(")
            found.append((name, rest.rstrip(")").split(",") if rest else []))
        return found

    @property
    def facts(self) -> Mapping[str, Weights]:
        return SHAPES[self.shape]

    @property
    def text(self) -> str:
        heads = (f"predicate {n}({', '.join(k)})" if k else f"predicate {n}" for n, k in self.heads)
        rows = (
            f"{name}({', '.join(map(quoted, row))}) @ {weight}"
            for name, known in self.facts.items()
            for row, weight in known.items()
        )
        return "\n".join([DECLARED, *heads, KINDS[self.kind][1], *rows])

    @cached_property
    def theory(self) -> Theory:
        return hb.parse(self.text)

    @cached_property
    def places(self) -> dict[str, list[tuple[s.Value, ...]]]:
        kinds = {"e": "nn", "f": "nn", "h": "nk", "u": "n", **{name: "".join(k) for name, k in self.heads}}
        return {name: [PLACES[kind][0] for kind in some] for name, some in kinds.items()}

    @cached_property
    def truths(self) -> dict[str, frozenset[Row]]:
        """Everything that has a proof; strata in the order in which they are written."""
        known = {(name, row) for name, rows in self.facts.items() for row in rows}
        order = [name for name, _ in self.heads]
        rules = [spelled(rule) for rule in self.theory.rules]
        strata = [rules] if "absent" not in self.kind else [
            [rule for rule in rules if rule.head.predicate == name] for name in order
        ]  # fmt: skip
        found = least_model(strata, known, (*NODES, "s", "t"), self.places)
        return {name: frozenset(row for other, row in found if other == name) for name in self.places}

    def answers(self, depth: int, best: bool = False) -> Weights:
        add = max if best else lambda one, other: one + other
        proofs = Proofs(self.theory.rules, self.facts, NODES, self.truths, add, self.places)
        return proofs.answers("p", depth + 1)


def quoted(value: object) -> str:
    return f'"{value}"'


def spelled(rule: s.Rule) -> s.Rule:
    """Every ``_`` under a name of its own."""
    made = iter(range(100))

    def named(part: s.BodyLiteral) -> s.BodyLiteral:
        match part:
            case s.Atom():
                terms = (
                    s.Variable(f"some{next(made)}") if t == s.Variable("_") else t for t in part.arguments
                )
                return s.Atom(part.predicate, tuple(terms))
            case s.Not(operand=s.Atom() as atom):
                return s.Not(named(atom))
        return part

    return s.Rule(rule.head, tuple(map(named, rule.body)))


CASES = [Case(kind, shape) for kind in KINDS for shape in SHAPES]
