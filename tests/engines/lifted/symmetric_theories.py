"""Random theories that counting can take, over domains of a few constants, with some evidence.

Formulas speak of one element, of two that a binary atom links, or of several that nothing links; larger ones
than the worlds oracle could walk through are compared with ground elimination.
"""

from __future__ import annotations

import re

from hypothesis import strategies as st

SIZES = {"t": 4, "u": 2}
DECLARED = {
    "p": ("t", None),
    "q": ("t", None),
    "color": ("t", ("a", "b", "c")),
    "r": ("u", None),
    "f": ("t, t", None),
    "g": ("t, t", None),
    "e": ("t, u", None),
    "h": ("u, t", None),
    "tie": ("t, t", ("weak", "strong", "none")),
    "rain": ("", None),
    "link": ("t, t", None),
}
UNARY_T = ["p({})", "q({})", 'color({}) = "a"', 'color({}) in {{"b", "c"}}', "f({0}, {0})", "link({0}, {0})"]
BINARY_T = ["f({}, {})", "g({}, {})", 'tie({}, {}) = "weak"', "link({}, {})"]
BINARY_TU = ["e({0}, {1})", "h({1}, {0})"]
WEIGHTS = st.floats(-1.5, 1.5).map(lambda x: round(x, 3))

Draw = st.DrawFn


def connected(draw: Draw, atoms: list[str]) -> str:
    """The atoms, some of them negated, under random connectives."""
    text = ""
    for atom in atoms:
        literal = f"not {atom}" if draw(st.booleans()) else atom
        text = (
            f"({text} {draw(st.sampled_from(['and', 'or', '=>', '<=>', 'xor']))} {literal})"
            if text
            else literal
        )
    return text


def own(draw: Draw, variable: str) -> str:
    return draw(st.sampled_from(UNARY_T)).format(variable)


@st.composite
def formulas(draw: Draw) -> str:
    """A weighted or hard formula, perhaps with a condition."""
    kind = draw(
        st.sampled_from(["own", "pair", "pair", "pair", "between", "between", "counts", "mixed", "named"])
    )
    x, y = ("x", "y") if kind != "named" else ("x", '"t1"')
    atoms: list[str] = []
    if kind == "own":
        atoms = [own(draw, "x") for _ in range(draw(st.integers(1, 3)))]
    elif kind in ("pair", "named"):
        atoms = [draw(st.sampled_from(BINARY_T)).format(*draw(st.sampled_from([(x, y), (y, x)])))]
        if draw(st.booleans()):
            atoms.append(draw(st.sampled_from(BINARY_T)).format(*draw(st.sampled_from([(x, y), (y, x)]))))
        atoms += [own(draw, draw(st.sampled_from([x, y]))) for _ in range(draw(st.integers(0, 2)))]
    elif kind == "between":
        atoms = [draw(st.sampled_from(BINARY_TU)).format("x", "w") for _ in range(draw(st.integers(1, 2)))]
        atoms += [own(draw, "x")] * draw(st.integers(0, 1)) + ["r(w)"] * draw(st.integers(0, 1))
    elif kind == "counts":
        atoms = [
            own(draw, "x"),
            own(draw, draw(st.sampled_from(["x", "y"]))),
            draw(st.sampled_from(["r(w)", "rain", own(draw, "z")])),
        ]
    else:
        atoms = ["rain", draw(st.sampled_from(BINARY_T)).format("x", "y"), own(draw, "x")]
    draw_order = draw(st.permutations(atoms))
    formula = connected(draw, list(dict.fromkeys(draw_order)))
    if "x" in formula and draw(st.integers(0, 9)) == 0:
        formula = f"exists x: {own(draw, 'x')}" if kind == "own" else formula
    if draw(st.integers(0, 7)) == 0:
        return f"hard: {formula}"
    return f"{draw(WEIGHTS)}: {formula}{draw(conditions(formula))}"


@st.composite
def conditions(draw: Draw, formula: str) -> str:
    """What ``where`` may say of the formula's free variables."""
    if "exists" in formula:
        return ""
    free = set(re.findall(r"\b[xy]\b", formula))
    told = ["", "", ' where x != "t2"' if "x" in free else "", " where x != y" if free == {"x", "y"} else ""]
    return draw(st.sampled_from(told))


@st.composite
def evidence(draw: Draw) -> list[str]:
    """Facts: true, false, or opinions."""
    found = []
    for _ in range(draw(st.integers(0, 5))):
        name = draw(st.sampled_from(sorted(set(DECLARED) - {"link"})))
        types, values = DECLARED[name]
        arguments = [f'"{t}{draw(st.integers(1, SIZES[t]))}"' for t in types.split(", ") if t]
        atom = f"{name}({', '.join(arguments)})" if arguments else name
        if any(atom in fact for fact in found):
            continue
        if values is not None:
            atom = f'{atom} = "{draw(st.sampled_from(values))}"'
        found.append(draw(st.sampled_from([atom, f"not {atom}", f"{atom} ~ 0.3"])))
    return found


def predicates_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+(?=\()|rain", text))


@st.composite
def theories(draw: Draw) -> str:
    lines = [
        f"type {name} = {{{', '.join(f'{chr(34)}{name}{i + 1}{chr(34)}' for i in range(size))}}}"
        for name, size in SIZES.items()
    ]
    stated = draw(st.lists(formulas(), min_size=1, max_size=4))
    mentioned = set().union(*map(predicates_in, stated))
    facts = [fact for fact in draw(evidence()) if predicates_in(fact) <= mentioned]
    for name in sorted(mentioned):
        types, values = DECLARED[name]
        told = f"({types})" if types else ""
        told += f" in {{{', '.join(chr(34) + v + chr(34) for v in values)}}}" if values else ""
        lines.append(f"predicate {name}{told}{': observed' if name == 'link' else ''}")
    if "link" in mentioned:
        pairs = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=14, unique=True))
        facts += [f'link("t{a}", "t{b}")' for a, b in pairs]
    return "\n".join([*lines, *facts, *stated]) + "\n"


MANY_CELLS = """\
type t = {"t1", "t2", "t3", "t4"}
predicate color(t) in {"a", "b", "c"}
predicate g(t, t)
predicate link(t, t): observed
predicate q(t)
predicate tie(t, t) in {"weak", "strong", "none"}
predicate rain
not g("t4", "t2")
link("t1", "t1")
link("t3", "t2")
link("t3", "t3")
link("t1", "t2")
link("t2", "t4")
0.6: ((not g(x, y) => not color(x) in {"b", "c"}) and rain)
0.5: ((q(y) <=> not link(y, x)) => g(x, y)) where x != "t2"
0.3: (((link(x, x) and not tie("t1", x) = "weak") and link("t1", x)) xor q("t1"))
0.1: not tie(y, x) = "weak" where x != y
"""
"""Thirty cells: tables over counts of them are as large as a machine, with four constants."""
