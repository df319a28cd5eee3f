"""Random formulas, rules and facts, and printers of our own for each dialect.

The printers share nothing with the writers under test: they bracket by a table of strengths written here from
the dialects' documents, so that a reader is checked against those and not against our other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from hypothesis import strategies as st

from herbrand.language.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
    Term,
    Truth,
    Variable,
    WeightedFormula,
    Xor,
    children,
)

VARIABLES = ["x", "y", "v", "_z", "x1"]
CONSTANTS = [
    "Anna",
    "B",
    "7",
    "-2.5",
    "New York",
    'say "hi"',
    "lower",
    "O'Brien-2",
    "",
    "v",
    "Forall",
    "a\\b\n",
]


def either(pair: Callable[..., Formula], parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.builds(pair, parts, parts)


def chain(kind: Callable[..., Formula], parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.builds(kind, st.lists(parts, min_size=2, max_size=3).map(tuple))


# Alchemy

alchemy_terms: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(VARIABLES).map(Variable), st.sampled_from(CONSTANTS).map(Constant)
)
alchemy_leaves: st.SearchStrategy[Formula] = st.one_of(
    st.just(Atom("Alarm")),
    st.builds(lambda t: Atom("Smokes", (t,)), alchemy_terms),
    st.builds(lambda a, b: Atom("in-Group", (a, b)), alchemy_terms, alchemy_terms),
    st.builds(Comparison, st.sampled_from(["=", "!="]), alchemy_terms, alchemy_terms),
)


def _alchemy_larger(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    bound = st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True).map(
        lambda names: tuple(map(Variable, names))
    )
    return st.one_of(
        st.builds(Not, parts),
        chain(And, parts),
        chain(Or, parts),
        either(Implies, parts),
        either(Iff, parts),
        st.builds(Exists, bound, parts),
        st.builds(Forall, bound, parts),
    )


alchemy_formulas = st.recursive(alchemy_leaves, _alchemy_larger, max_leaves=8)

ALCHEMY_STRENGTHS = {Exists: 0, Forall: 0, Iff: 1, Implies: 2, Or: 3, And: 4, Not: 5}
ALCHEMY_SIGNS = {Iff: "<=>", Implies: "=>", Or: " v ", And: " ^ "}


def alchemy_term(term: Term) -> str:
    if isinstance(term, Variable):
        return term.name
    text = str(term.value)
    if text in ("Anna", "B", "7", "-2.5", "O'Brien-2"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def alchemy_text(formula: Formula, above: int = 0) -> str:
    match formula:
        case Atom(predicate=predicate, arguments=()):
            return predicate
        case Atom(predicate=predicate, arguments=arguments):
            return f"{predicate}({','.join(map(alchemy_term, arguments))})"
        case Comparison(operator=operator, left=left, right=right):
            return f"{alchemy_term(left)} {operator} {alchemy_term(right)}"
    strength = ALCHEMY_STRENGTHS[type(formula)]
    match formula:
        case Not(operand=operand):
            text = "!" + alchemy_text(operand, strength)
        case Exists(variables=variables, body=body) | Forall(variables=variables, body=body):
            word = "EXIST" if isinstance(formula, Exists) else "forall"
            text = f"{word} {','.join(v.name for v in variables)} {alchemy_text(body)}"
        case Implies(premise=first, conclusion=second) | Iff(left=first, right=second):
            # these group to the left: only the right operand needs brackets where it is of the same kind
            sign = ALCHEMY_SIGNS[type(formula)]
            text = f"{alchemy_text(first, strength)}{sign}{alchemy_text(second, strength + 1)}"
        case _:
            text = ALCHEMY_SIGNS[type(formula)].join(
                alchemy_text(part, strength + 1) for part in children(formula)
            )
    return f"({text})" if strength < above else text


# Logical credal networks

LCN_SIGNS = {Or: ["or", "∨"], Xor: ["xor", "^", "⊕"], And: ["and", "&", "∧"], Iff: ["xnor", "=", "↔"]}
LCN_STRENGTHS = {Iff: 2, Or: 4, Xor: 5, And: 6, Not: 7}
lcn_leaves: st.SearchStrategy[Formula] = st.one_of(
    st.sampled_from(["a", "x1", "_b", "1x", "and_", "Ä", "nota"]).map(Atom), st.booleans().map(Truth)
)


def _lcn_larger(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.one_of(
        st.builds(Not, parts), chain(And, parts), chain(Or, parts), chain(Xor, parts), either(Iff, parts)
    )


lcn_formulas = st.recursive(lcn_leaves, _lcn_larger, max_leaves=8)


def lcn_text(formula: Formula, pick: Callable[[list[str]], str], above: int = 0) -> str:
    """``pick`` chooses among the spellings of a sign."""
    match formula:
        case Atom(predicate=predicate):
            return predicate
        case Truth(value=value):
            return pick(["1", "true", "⊤"] if value else ["0", "false", "⊥"])
        case Not(operand=operand):
            return pick(["!", "not ", "¬", "! "]) + lcn_text(operand, pick, LCN_STRENGTHS[Not])
    strength, signs = LCN_STRENGTHS[type(formula)], LCN_SIGNS[type(formula)]
    parts = [lcn_text(part, pick, strength + 1) for part in children(formula)]
    if pick(["infix", "prefix"]) == "prefix":
        inner = [lcn_text(part, pick, LCN_STRENGTHS[Not]) for part in children(formula)]
        return f"({pick(signs)} {' '.join(inner)})"
    text = parts[0]
    for part in parts[1:]:
        text += f" {pick(signs)} {part}"
    return f"({text})" if strength < above else text


# TensorLog

_tensorlog_terms: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(["X", "Y", "Z1", "_W"]).map(Variable),
    st.sampled_from(["a", "7up", "Big One"]).map(Constant),
)
_tensorlog_atoms = st.builds(
    Atom, st.sampled_from(["p", "hasWord", "q$1", "Upper"]), st.lists(_tensorlog_terms, max_size=3).map(tuple)
)
tensorlog_rules = st.builds(
    Rule, _tensorlog_atoms, st.lists(_tensorlog_atoms, min_size=1, max_size=3).map(tuple)
)


def tensorlog_text(rule: Rule, implied_by: str, joined: str, end: str) -> str:
    body = joined.join(_tensorlog_atom(part) for part in rule.body if isinstance(part, Atom))
    return f"{_tensorlog_atom(rule.head)}{implied_by}{body}{end}"


def _tensorlog_atom(atom: Atom) -> str:
    terms = [t.name if isinstance(t, Variable) else _tensorlog_constant(str(t.value)) for t in atom.arguments]
    return f"{atom.predicate}({','.join(terms)})" if terms else atom.predicate


def _tensorlog_constant(text: str) -> str:
    return f"'{text}'" if " " in text else text


# Truth, by trying everything


def leaves_of(formula: Formula) -> set[Formula]:
    parts = children(formula)
    return {leaf for part in parts for leaf in leaves_of(part)} if parts else {formula}


def holds(formula: Formula, world: Mapping[Formula, bool]) -> bool:
    match formula:
        case Not(operand=operand):
            return not holds(operand, world)
        case And(operands=operands):
            return all(holds(part, world) for part in operands)
        case Or(operands=operands):
            return any(holds(part, world) for part in operands)
        case Xor(operands=operands):
            return sum(holds(part, world) for part in operands) % 2 == 1
        case Implies(premise=premise, conclusion=conclusion):
            return not holds(premise, world) or holds(conclusion, world)
        case Iff(left=left, right=right):
            return holds(left, world) == holds(right, world)
        case Truth(value=value):
            return value
    return world[formula]


def same_truth(left: Formula, right: Formula) -> bool:
    """Whether two propositional formulas agree in every world."""
    atoms = sorted(leaves_of(left) | leaves_of(right), key=repr)
    worlds = (dict(zip(atoms, values, strict=True)) for values in product([True, False], repeat=len(atoms)))
    return all(holds(left, world) == holds(right, world) for world in worlds)


def weighted(formula: Formula, weight: float = 1.5) -> WeightedFormula:
    return WeightedFormula(weight, formula)
