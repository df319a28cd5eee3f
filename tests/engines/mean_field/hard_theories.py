"""Random small theories with hard statements, some of them quantified, and facts that settle a few atoms."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tests.oracles.worlds import Universe

VALUES = ("u", "v", "w")
HARD = [
    "forall y: s(y)",
    "exists y: s(y)",
    "not (exists y: c(y))",
    "not (forall y: s(y))",
    "exists y: f(x, y)",
    "not (exists y: f(y, x))",
    "s(x) => (forall y: f(x, y))",
    "s(x) => (exists y: f(x, y) and c(y))",
    "s(x) <=> (exists y: f(x, y))",
    "s(x) <=> (forall y: c(y))",
    "(exists y: f(y, x) and x != y) => c(x)",
    "forall x: s(x) <=> c(x)",
    "forall x: exists y: f(x, y)",
    "exists x: forall y: f(x, y)",
    "exists x, y: f(x, y) and x != y",
    "exists x: s(x) and c(x)",
    "exists x: s(x) xor c(x)",
    '(exists y: m(y) = "u") => s(x)',
    'forall y: m(y) = "u" or s(y)',
    'exists y: m(y) in {"v", "w"}',
    'm(x) = "u" => s(x)',
    'm(x) in {"u", "v"}',
    "s(x) <=> c(x)",
    "s(x) xor c(x)",
    "s(x) => c(x)",
    "c(x) => s(x)",
    "s(x) => s(y)",
    "f(x, y) <=> f(y, x)",
    "f(x, y) => f(y, x)",
    "f(x, y) xor f(y, x) where x != y",
    "not f(x, x)",
    "s(x) or rain",
    "rain <=> (exists x: s(x))",
    "rain <=> (forall x: s(x) or c(x))",
    "rain => not s(x)",
]
WEIGHTED = [
    "s(x) and f(x, y) => s(y)",
    "s(x) and c(x)",
    "f(x, y) and f(y, x)",
    "exists y: f(x, y) and c(y)",
    "forall y: f(x, y) => s(y)",
    's(x) => m(x) = "u"',
    "m(x) = v and m(y) = v where x != y",
    "rain or s(x)",
    "f(x, y) xor s(x)",
    "exists x: s(x) and c(x)",
    "c(x)",
]


@st.composite
def theories(draw: st.DrawFn, most: int = 2) -> tuple[str, Universe]:
    """The text of a theory over ``most`` people at most, and its universe."""
    people = tuple(f"p{number}" for number in range(draw(st.integers(1, most))))
    predicates = {"s": ("t",), "c": ("t",), "f": ("t", "t"), "m": ("t",), "rain": ()}
    listed = ", ".join(f'"{name}"' for name in people)
    lines = [f"type t = {{{listed}}}", "predicate s(t)", "predicate c(t)", "predicate f(t, t)"]
    lines += ['predicate m(t) in {"u", "v", "w"}', "predicate rain"]
    domains = {"t": people, "m value": VALUES}
    whole = Universe(domains, {n: (types, VALUES if n == "m" else None) for n, types in predicates.items()})
    known: dict = {}
    soft: list = []
    for atom in whole.atoms():
        told = draw(st.sampled_from(["nothing", "nothing", "fact", "soft"]))
        shown = f"{atom[0]}({', '.join(f'{a!r}' for a in atom[1])})".replace("'", '"').replace("()", "")
        if told == "soft":
            value: object = draw(st.sampled_from(VALUES)) if atom[0] == "m" else True
            soft.append((atom, value, math.log(0.7 / 0.3) + (math.log(2) if atom[0] == "m" else 0.0)))
            lines.append(f'{shown} = "{value}" ~ 0.7' if atom[0] == "m" else f"{shown} ~ 0.7")
        elif told == "fact":
            known[atom] = draw(st.sampled_from(VALUES if atom[0] == "m" else (False, True)))
            lines.append(
                f'{shown} = "{known[atom]}"' if atom[0] == "m" else f"{'' if known[atom] else 'not '}{shown}"
            )
    lines += [f"hard: {text}" for text in draw(st.lists(st.sampled_from(HARD), min_size=1, max_size=3))]
    for text in draw(st.lists(st.sampled_from(WEIGHTED), min_size=1, max_size=3)):
        lines.append(f"{draw(st.integers(-15, 15)) / 10}: {text}")
    return "\n".join(lines) + "\n", Universe(domains, whole.predicates, known, frozenset(), soft)
