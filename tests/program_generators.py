"""Random small theories with their universes, for tests against the worlds oracle."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.worlds import Universe

PREDICATES = {
    "p": (("t",), None),
    "q": (("t",), None),
    "f": (("t", "t"), None),
    "g": (("t", "u"), None),
    "rain": ((), None),
    "area": (("u",), ("a", "b", "c")),
}
DOMAINS = {"t": ("c1", "c2"), "u": ("d1",), "area value": ("a", "b", "c")}
T_NAMES, U_NAMES = ("x", "y"), ("w",)


def terms(names: tuple[str, ...], constants: tuple[str, ...]) -> st.SearchStrategy[s.Term]:
    return st.one_of(st.sampled_from(names).map(s.Variable), st.sampled_from(constants).map(s.Constant))


t_terms = terms(T_NAMES, DOMAINS["t"])
u_terms = terms(U_NAMES, DOMAINS["u"])


@st.composite
def atoms(draw: st.DrawFn) -> s.Formula:
    name = draw(st.sampled_from(sorted(PREDICATES)))
    types, values = PREDICATES[name]
    atom = s.Atom(name, tuple(draw(t_terms if t == "t" else u_terms) for t in types))
    if values is None:
        return atom
    if draw(st.booleans()):
        return s.ValueIs(atom, s.Constant(draw(st.sampled_from(values))))
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
    return s.ValueIn(atom, tuple(map(s.Constant, chosen)))


comparisons = st.builds(s.Comparison, st.sampled_from(["=", "!="]), t_terms, t_terms)
leaves = st.one_of(atoms(), atoms(), atoms(), comparisons, st.booleans().map(s.Truth))


def connected(parts: st.SearchStrategy[s.Formula]) -> st.SearchStrategy[s.Formula]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    some = st.lists(st.sampled_from(T_NAMES), min_size=1, max_size=2, unique=True)
    variables = some.map(lambda names: tuple(map(s.Variable, names)))
    return st.one_of(
        parts.map(s.Not),
        several.map(s.And),
        several.map(s.Or),
        several.map(s.Xor),
        st.builds(s.Implies, parts, parts),
        st.builds(s.Iff, parts, parts),
        st.builds(s.Exists, variables, parts),
        st.builds(s.Forall, variables, parts),
    )


formulas = st.recursive(leaves, connected, max_leaves=6)


def _anchored(formula: s.Formula) -> s.Formula:
    """Every variable stands in an atom, so that it has a type: vacuous atoms are added where it does not."""

    def anchor(names: list[str], body: s.Formula) -> s.Formula:
        vacuous = [
            s.Or((s.Atom("p", (s.Variable(n),)), s.Not(s.Atom("p", (s.Variable(n),)))))
            if n in T_NAMES
            else s.Or((s.Atom("g", (s.Constant("c1"), s.Variable(n))), s.Truth(True)))
            for n in names
        ]
        return s.And((*vacuous, body)) if vacuous else body

    def inside(part: s.Formula) -> s.Formula:
        parts = [inside(p) for p in s.children(part)]
        rebuilt = s.with_children(part, parts) if parts else part
        if isinstance(rebuilt, s.Exists | s.Forall):
            names = [v.name for v in rebuilt.variables]
            body = s.And((anchor(names, s.Truth(True)), rebuilt.body))
            return type(rebuilt)(rebuilt.variables, body)
        return rebuilt

    names = {t.name for part in s.walk(formula) for t in s.leaf_terms(part) if isinstance(t, s.Variable)}
    return anchor(sorted(names), inside(formula))


anchored = formulas.map(_anchored)
numbers = st.floats(-2, 2).map(lambda x: round(x, 3))


@functools.cache  # a strategy is checked when it is first drawn from: each is made once
@st.composite
def statements(draw: st.DrawFn, hard: bool = False) -> s.WeightedFormula:
    formula = draw(anchored)
    weight = s.Hard() if hard else draw(numbers)
    where = []
    free = sorted(set(_free(formula)) & set(T_NAMES))
    if free and draw(st.booleans()):
        left = s.Variable(draw(st.sampled_from(free)))
        right = draw(st.one_of(st.sampled_from(free).map(s.Variable), st.just(s.Constant("c1"))))
        where.append(s.Comparison(draw(st.sampled_from(["=", "!="])), left, right))
    return s.WeightedFormula(weight, formula, tuple(where))


def _free(formula: s.Formula) -> list[str]:
    from tests.oracles.worlds import free_names

    return list(free_names(formula))


@st.composite
def models(draw: st.DrawFn, hard: bool = False) -> tuple[Theory, Universe]:
    """A theory with declarations, facts and weighted formulas, and the same universe for the oracle."""
    weighted = draw(st.lists(statements(), min_size=1, max_size=3))
    if hard and draw(st.booleans()):
        weighted.append(draw(statements(hard=True)))
    universe = Universe(DOMAINS, PREDICATES)
    known, soft, excluded, facts = {}, [], [], []
    closed = frozenset(draw(st.sets(st.sampled_from(["f", "g"]))))
    for atom in universe.atoms():
        name, arguments = atom
        values = PREDICATES[name][1]
        said = draw(st.sampled_from(["no", "no", "no", "true", "false", "soft"]))
        columns = tuple((a,) for a in arguments)
        if values is None and said == "true":
            known[atom] = True
            facts.append(s.FactRows(name, columns, 1))
        elif values is None and said == "false":
            known[atom] = False
            facts.append(s.FactRows(name, columns, 1, "false"))
        elif said == "soft" and name not in closed:
            p = draw(st.floats(0.05, 0.95))
            value = True if values is None else draw(st.sampled_from(values))
            import math

            k = 2 if values is None else len(values)
            soft.append((atom, value, math.log(p) - math.log((1 - p) / (k - 1))))
            columns = columns if values is None else (*columns, (value,))
            facts.append(s.FactRows(name, columns, 1, "soft", (p,), values is not None))
        elif values is not None and said in ("true", "false"):
            value = draw(st.sampled_from(values))
            if said == "true":
                known[atom] = value
            else:
                excluded.append((atom, value))
            facts.append(s.FactRows(name, (*columns, (value,)), 1, said, (), True))
    universe = Universe(DOMAINS, PREDICATES, known, closed, soft, excluded)
    declared = (
        *(s.TypeDeclaration(n, tuple(map(s.Constant, v))) for n, v in DOMAINS.items() if " " not in n),
        *(
            s.PredicateDeclaration(
                n,
                types,
                None if values is None else tuple(map(s.Constant, values)),
                "observed" if n in closed else None,
            )
            for n, (types, values) in PREDICATES.items()
        ),
    )
    return Theory((*declared, *facts, *weighted)), universe
