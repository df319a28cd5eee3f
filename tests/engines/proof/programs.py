"""Random rule programs over three numbers and two letters, with facts, and what the oracle makes of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.least_model import least_model
from tests.oracles.proofs import Facts, Proofs, Row

EXAMPLES = int(os.environ.get("HERBRAND_TEST_EXAMPLES", tries(48)))
"""How many programs a test draws; thousands take minutes."""
TYPES: dict[str, tuple[s.Value, ...]] = {"n": (1, 2, 3), "m": ("a", "b")}
CONSTANTS = tuple(value for values in TYPES.values() for value in values)
NAMES = {"n": ("x", "y", "z", "w"), "m": ("r", "s")}
STATED = {"e": "nn", "f": "nm", "u": "n", "v": "m", "t": "nmn", "c": ""}
DERIVED = {"p": "nn", "a": "n", "b": "", "q": "mn", "k": "nmn"}
COLUMNS = STATED | DERIVED
LOWER, UPPER = ("p", "a", "b"), ("q", "k")
PLACES = {name: [TYPES[kind] for kind in kinds] for name, kinds in COLUMNS.items()}

variables = {kind: st.sampled_from(names).map(s.Variable) for kind, names in NAMES.items()}
constants = {kind: st.sampled_from(values).map(s.Constant) for kind, values in TYPES.items()}
terms = {kind: st.one_of(*[variables[kind]] * 3, constants[kind]) for kind in TYPES}
body_terms = {kind: st.one_of(*[terms[kind]] * 3, st.just(s.Variable("_"))) for kind in TYPES}
comparisons = st.one_of(
    st.builds(s.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), variables["n"], terms["n"]),
    st.builds(s.Comparison, st.sampled_from(["=", "!="]), variables["m"], terms["m"]),
)


@functools.cache  # a strategy is checked when it is first drawn from: each is made once
def atoms(*predicates: str) -> st.SearchStrategy[s.Atom]:
    return st.sampled_from(predicates).flatmap(
        lambda name: st.tuples(*(body_terms[kind] for kind in COLUMNS[name])).map(
            lambda row: s.Atom(name, row)
        )
    )


def names_of(part: s.Atom | s.Comparison) -> set[str]:
    given = part.arguments if isinstance(part, s.Atom) else (part.left, part.right)
    return {term.name for term in given if isinstance(term, s.Variable) and not term.anonymous}


@functools.cache
def rows(name: str, most: int) -> st.SearchStrategy[set[Row]]:
    """Some rows of a predicate."""
    kinds = COLUMNS[name]
    return st.sets(
        st.tuples(*(st.sampled_from(TYPES[kind]) for kind in kinds)), max_size=most if kinds else 0
    )


@functools.cache
def one_of(values: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@functools.cache
@st.composite
def rules(
    draw: st.DrawFn,
    head: str,
    positive: tuple[str, ...],
    negative: tuple[str, ...],
    weights: tuple[float, ...],
) -> s.Rule:
    """A safe rule: its head and its tests use what its atoms bind, or what an equation makes of that."""
    lookups = draw(st.lists(atoms(*positive), min_size=1, max_size=4))
    known = set().union(*map(names_of, lookups))
    body: list[s.Formula] = list(lookups)
    for test in draw(st.lists(comparisons, max_size=2)):
        if test.operator == "=" and names_of(test) & known:
            known |= names_of(test)
        if names_of(test) <= known:
            body.append(test)
    body += map(s.Not, draw(st.lists(atoms(*negative), max_size=1)))
    arguments = []
    for kind in COLUMNS[head]:
        bound = sorted(known & set(NAMES[kind]))
        of_head = [st.sampled_from(bound).map(s.Variable)] if bound else []
        arguments.append(draw(st.one_of(*of_head * 3, constants[kind])))
    weight = draw(st.sampled_from([None, *weights]))
    return s.Rule(s.Atom(head, tuple(arguments)), tuple(draw(st.permutations(body))), weight)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Program:
    """Two strata: ``lower`` derives p, a and b, ``upper`` q and k and may negate what lower derives."""

    lower: list[s.Rule]
    upper: list[s.Rule]
    facts: Facts

    @property
    def rules(self) -> list[s.Rule]:
        return [*self.lower, *self.upper]

    def model(self, stated: Callable[[float], float] = float, on: str | None = None) -> hb.Model:
        """``stated``: what stands in the theory in place of each weight."""
        declared: list[s.Statement] = [
            s.TypeDeclaration(kind, tuple(map(s.Constant, values))) for kind, values in TYPES.items()
        ]
        declared += [s.PredicateDeclaration(name, tuple(kinds)) for name, kinds in COLUMNS.items()]
        for name, rows in self.facts.items():
            if rows:
                columns = tuple(zip(*rows, strict=True))
                declared.append(
                    s.FactRows(name, columns, len(rows), "weighted", tuple(map(stated, rows.values())))
                )  # type: ignore[arg-type]
        rules = [
            rule if rule.weight is None else replace(rule, weight=stated(rule.weight))  # type: ignore[arg-type]
            for rule in (*self.upper, *self.lower)
        ]
        return hb.Model(Theory((*declared, *rules)), on=on)

    def truths(self) -> dict[str, frozenset[Row]]:
        """Everything that has a proof of any depth."""
        stated = {(name, row) for name, rows in self.facts.items() for row in rows}
        spelled = [[_spelled(rule) for rule in stratum] for stratum in (self.lower, self.upper)]
        known = least_model(spelled, stated, CONSTANTS, PLACES)
        return {name: frozenset(row for other, row in known if other == name) for name in COLUMNS}

    def proofs(self, **options: object) -> Proofs:
        return Proofs(self.rules, self.facts, CONSTANTS, self.truths(), places=PLACES, **options)  # type: ignore[arg-type]


def _spelled(rule: s.Rule) -> s.Rule:
    """Every ``_`` with a name of its own, since the least model's loops know no anonymous variables."""
    made = iter(range(100))

    def spelled(atom: s.Atom) -> s.Atom:
        terms = (s.Variable(f"anonymous{next(made)}") if t == s.Variable("_") else t for t in atom.arguments)
        return s.Atom(atom.predicate, tuple(terms))

    body = [
        spelled(p) if isinstance(p, s.Atom) else s.Not(spelled(p.operand)) if isinstance(p, s.Not) else p  # type: ignore[arg-type]
        for p in rule.body
    ]
    return s.Rule(rule.head, tuple(body))


@st.composite
def programs(draw: st.DrawFn, weights: tuple[float, ...] = (0.5, 2.0, 3.0), negation: bool = True) -> Program:
    stated = tuple(STATED)
    some = [
        draw(rules(draw(st.sampled_from(LOWER)), (*stated, *LOWER), stated if negation else ("c",), weights))
        for _ in range(draw(st.integers(1, 3)))
    ]
    others = [
        draw(
            rules(
                draw(st.sampled_from(UPPER)),
                (*stated, *LOWER, *UPPER),
                (*stated, *LOWER) if negation else ("c",),
                weights,
            )
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    facts: dict[str, dict[Row, float]] = {}
    for name in COLUMNS:
        chosen = draw(rows(name, 5 if name in STATED else 1))
        facts[name] = {row: draw(one_of(weights)) for row in sorted(chosen)}  # type: ignore[type-var]
    return Program(some, others, facts)


@st.composite
def goals(draw: st.DrawFn, program: Program) -> s.Atom:
    heads = sorted({rule.head.predicate for rule in program.rules})
    name = draw(st.sampled_from([*heads, *heads, *COLUMNS]))
    return s.Atom(name, tuple(draw(body_terms[kind]) for kind in COLUMNS[name]))
