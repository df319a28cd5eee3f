"""Random theories of every kind of statement, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from herbrand.language.names import RESERVED
from herbrand.language.syntax import (
    Alternative,
    And,
    Atom,
    Bound,
    Choice,
    Comparison,
    Constant,
    Exists,
    FactRows,
    Forall,
    Hard,
    Iff,
    Implies,
    Learned,
    Not,
    Or,
    PredicateDeclaration,
    Rule,
    Truth,
    TypeDeclaration,
    ValueIn,
    ValueIs,
    Variable,
    WeightedFormula,
    Xor,
)
from herbrand.language.theory import Theory

ODD_NAMES = [
    "has-word",
    "a b",
    "x#1",
    "名前 (二)",
    '"q"',
    "3d",
    "a.b",
    " ",
    "\t",
    "e\u0301tude",
    "~",
    "# no",
]
ODD_TEXTS = [
    "",
    'say "hi"',
    "a # b",
    "line\nline",
    "tab\t",
    "back\\slash",
    "\u2028",
    "\x00",
    "1",
    "名前",
    "`",
    "\r",
]

names = st.one_of(
    st.sampled_from(
        ["smokes", "friends", "p", "q2", "x", "naïve", "名前", "Größe", "observed", "number", "min", "abs"]
    ),
    st.sampled_from(sorted(RESERVED)),
    st.sampled_from(ODD_NAMES),
)
constants = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
).map(Constant)
numbers = st.floats(allow_nan=False, allow_infinity=False)
probabilities = st.floats(0, 1)
variables = st.one_of(names, st.just("_")).map(Variable)
bound_variables = st.lists(names.map(Variable), min_size=1, max_size=2).map(tuple)
terms = st.one_of(variables, constants)
constant_sets = st.lists(constants, min_size=1, max_size=3, unique=True).map(tuple)
atoms = st.builds(Atom, names, st.lists(terms, max_size=3).map(tuple))
atoms_with_arguments = st.builds(Atom, names, st.lists(terms, min_size=1, max_size=3).map(tuple))
comparisons = st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms, terms)
equalities = st.builds(Comparison, st.sampled_from(["=", "!="]), terms, terms)
leaves = st.one_of(
    atoms,
    st.builds(ValueIs, atoms_with_arguments, terms),
    st.builds(ValueIn, atoms, constant_sets),
    comparisons,
    st.builds(Truth, st.booleans()),
)


def _connected(parts: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Not, parts),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(Xor, several),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
        st.builds(Exists, bound_variables, parts),
        st.builds(Forall, bound_variables, parts),
    )


formulas = st.recursive(leaves, _connected, max_leaves=8)
labels = st.one_of(st.none(), st.none(), names, st.sampled_from(ODD_TEXTS), st.just("3"))
weights = st.one_of(
    numbers, st.just(Hard()), st.builds(Learned, st.lists(names.map(Variable), max_size=2).map(tuple))
)


@st.composite
def fact_rows(draw: st.DrawFn) -> FactRows:
    label = draw(labels)
    count = 1 if label is not None else draw(st.integers(1, 4))
    valued = draw(st.booleans())
    width = draw(st.integers(1 if valued else 0, 3))
    kind = draw(st.sampled_from(["true", "false", "soft", "weighted"]))
    number = {"soft": probabilities, "weighted": numbers}.get(kind)
    columns = [tuple(draw(constants).value for _ in range(count)) for _ in range(width)]
    return FactRows(
        draw(names),
        tuple(columns),
        count,
        kind,
        tuple(draw(number) for _ in range(count)) if number is not None else (),
        valued,
        label,
    )


@st.composite
def bounds(draw: st.DrawFn) -> Bound:
    lower, upper = sorted((draw(probabilities), draw(probabilities)))
    if draw(st.booleans()):
        lower = upper
    given = draw(st.one_of(st.none(), formulas))
    return Bound(draw(formulas), given, lower, upper, draw(st.booleans()), draw(labels))


@st.composite
def types(draw: st.DrawFn) -> TypeDeclaration:
    first, last = sorted((draw(st.integers(-50, 50)), draw(st.integers(-50, 50))))
    what = draw(
        st.sampled_from([{}, {"numeric": True}, {"bounds": (first, last)}, {"values": draw(constant_sets)}])
    )
    return TypeDeclaration(draw(names), **what, label=draw(labels))


predicates = st.builds(
    PredicateDeclaration,
    names,
    st.lists(names, max_size=3).map(tuple),
    st.one_of(st.none(), names, constant_sets),
    st.sampled_from([None, "observed", "learned"]),
    st.none(),
    label=labels,
)
views = st.builds(
    PredicateDeclaration,
    names,
    st.lists(names, max_size=3).map(tuple),
    st.none(),
    st.just("observed"),
    st.sampled_from(["SELECT 1", 'SELECT "a" FROM t']),
    label=labels,
)
weighted_formulas = st.builds(
    WeightedFormula, weights, formulas, st.lists(equalities, max_size=2).map(tuple), labels
)
body_literals = st.one_of(
    leaves,
    st.builds(Not, st.one_of(atoms, st.builds(ValueIn, atoms, constant_sets))),
)
rules = st.builds(
    Rule,
    atoms,
    st.lists(body_literals, min_size=1, max_size=3).map(tuple),
    st.one_of(st.none(), numbers, st.builds(Learned)),
    labels,
)
heads = st.one_of(atoms, st.builds(ValueIs, st.builds(Atom, names), constants))
heads_with_values = st.one_of(heads, st.builds(ValueIs, atoms_with_arguments, terms))


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    rest, alternatives = 1.0, []
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.floats(0, rest))
        rest -= number
        chance = st.one_of(st.just(number), variables, st.builds(Learned, bound_variables | st.just(())))
        alternatives.append(Alternative(draw(chance), draw(heads_with_values)))
    return Choice(tuple(alternatives), tuple(draw(st.lists(body_literals, max_size=3))), draw(labels))


statements = st.one_of(types(), predicates, views, fact_rows(), weighted_formulas, bounds(), rules, choices())
theories = st.lists(statements, max_size=6).map(lambda parts: Theory(tuple(parts)))
