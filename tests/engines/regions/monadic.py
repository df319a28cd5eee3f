"""Random theories over unary predicates of several small types: what their regions can be walked through."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tests.oracles.worlds import Universe

Draw = st.DrawFn
CONNECTIVES = ["and", "or", "=>", "<=>", "xor"]
BENT = [
    "hard: {0}(x) => {1}(y)",
    "hard: {0}(x) or not {1}(y) or {2}(z)",
    "hard: {0}(x) <=> {1}(y)",
    "hard: {0}(x) or {0}(y) where x != y",
    "hard: exists x: {0}(x)",
    "0.7: (exists x: {0}(x)) => {1}(y)",
    '0.9: {0}("c0") or {1}(y) or {2}(z)',
    "-0.8: {0}(x) or {0}(y) or {1}(z) where x != y",
]
weights = st.integers(-8, 8).map(lambda tenths: tenths / 10)


@st.composite
def theories(
    draw: Draw,
    clauses: bool = False,
    facts: bool = False,
    predicates: int = 4,
    constants: int = 2,
    bent: bool = False,
) -> tuple[str, Universe]:
    """Each predicate has a type of its own, of at most so many ``constants``; formulas speak of two or three
    of them, or of one twice. Only ``clauses`` are one conjunction each, and so one factor for counting as for
    the oracle. ``bent``: with some statements that are no line along some count."""
    names = [f"r{number}" for number in range(predicates)]
    types = {name: f"t{name[1:]}" for name in names}
    domains = {types[name]: [f"c{i}" for i in range(draw(st.integers(1, constants)))] for name in names}
    universe = Universe(domains, {name: ((types[name],), None) for name in names})
    lines, connectives = [], st.sampled_from(["or"] if clauses else CONNECTIVES)
    for name in names:
        listed = ", ".join(f'"{constant}"' for constant in domains[types[name]])
        lines += [f"type {types[name]} = {{{listed}}}", f"predicate {name}({types[name]})"]
    for _ in range(draw(st.integers(2, 5))):
        text = ""
        about = draw(st.lists(st.sampled_from(names), min_size=2, max_size=3))
        for variable, name in zip("xyz", about, strict=False):
            atom = f"{draw(st.sampled_from(['', 'not ']))}{name}({variable})"
            text = f"({text} {draw(connectives)} {atom})" if text else atom
        lines.append(f"{draw(weights)}: {text}")
    lines += [f"{draw(weights)}: {name}(x)" for name in names]
    for text in draw(st.lists(st.sampled_from(BENT), max_size=2)) if bent else []:
        one, other, third = draw(st.permutations(names))[:3]
        lines.append(text.format(one, other, third))
    known, soft = {}, []
    for atom in universe.atoms() if facts else []:
        told = draw(st.sampled_from(["", "", "{}", "not {}", "{} ~ 0.3"]))
        text = f'{atom[0]}("{atom[1][0]}")'
        if told.endswith("0.3"):
            soft.append((atom, True, math.log(0.3 / 0.7)))
        elif told:
            known[atom] = told == "{}"
        lines.append(told.format(text))
    return "\n".join(lines) + "\n", Universe(domains, universe.predicates, known, frozenset(), soft)
