"""Random rule programs over three numbers, with facts, and what the oracle makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from tests.oracles.least_model import least_model
from tests.oracles.proofs import Facts, Proofs, Row

CONSTANTS = (1, 2, 3)
NAMES = ("x", "y", "z", "w")
STATED = {"e": 2, "f": 2, "u": 1, "t": 3, "c": 0}
DERIVED = {"p": 2, "q": 2, "a": 1, "k": 3}
ARITIES = STATED | DERIVED

constants = st.sampled_from(CONSTANTS).map(s.Constant)
variables = st.sampled_from(NAMES).map(s.Variable)
terms = st.one_of(variables, variables, variables, constants)
body_terms = st.one_of(terms, terms, terms, st.just(s.Variable("_")))


def atoms(*predicates: str) -> st.SearchStrategy[s.Atom]:
    return st.sampled_from(predicates).flatmap(
        lambda name: st.tuples(*[body_terms] * ARITIES[name]).map(lambda row: s.Atom(name, row))
    )


comparisons = st.builds(s.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), variables, terms)


@st.composite
def rules(
    draw: st.DrawFn, head: str, positive: tuple[str, ...], negative: tuple[str, ...], weights: list[float]
) -> s.Rule:
    """A safe rule: its head and its tests use what its atoms bind."""
    lookups = draw(st.lists(atoms(*positive), min_size=1, max_size=4))
    known = {t.name for a in lookups for t in a.arguments if isinstance(t, s.Variable) and not t.anonymous}
    body: list[s.Formula] = list(lookups)
    if known:
        tests = draw(st.lists(comparisons, max_size=1))
        body += [
            c for c in tests if {t.name for t in (c.left, c.right) if isinstance(t, s.Variable)} <= known
        ]
    body += map(s.Not, draw(st.lists(atoms(*negative), max_size=1)))
    of_head = st.one_of(st.sampled_from(sorted(known)).map(s.Variable), constants) if known else constants
    arguments = tuple(draw(of_head) for _ in range(ARITIES[head]))
    weight = draw(st.sampled_from([None, *weights]))
    return s.Rule(s.Atom(head, arguments), tuple(draw(st.permutations(body))), weight)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Program:
    """Two strata: ``lower`` derives p and a, ``upper`` q and k and may negate what lower derives."""

    lower: list[s.Rule]
    upper: list[s.Rule]
    facts: Facts

    @property
    def rules(self) -> list[s.Rule]:
        return [*self.lower, *self.upper]

    def model(self) -> hb.Model:
        declared: list[s.Statement] = [s.TypeDeclaration("n", tuple(map(s.Constant, CONSTANTS)))]
        declared += [s.PredicateDeclaration(name, ("n",) * arity) for name, arity in ARITIES.items()]
        for name, rows in self.facts.items():
            if rows:
                columns = tuple(zip(*rows, strict=True))
                declared.append(s.FactRows(name, columns, len(rows), "weighted", tuple(rows.values())))  # type: ignore[arg-type]
        return hb.Model(s.Theory((*declared, *self.upper, *self.lower)))

    def truths(self) -> dict[str, frozenset[Row]]:
        """Everything that has a proof of any depth."""
        stated = {(name, row) for name, rows in self.facts.items() for row in rows}
        spelled = [[_spelled(rule) for rule in stratum] for stratum in (self.lower, self.upper)]
        known = least_model(spelled, stated, CONSTANTS)
        return {name: frozenset(row for other, row in known if other == name) for name in ARITIES}

    def proofs(self, **options: object) -> Proofs:
        return Proofs(self.rules, self.facts, CONSTANTS, self.truths(), **options)  # type: ignore[arg-type]


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
    stated, lower, upper = tuple(STATED), ("p", "a"), ("q", "k")
    numbers = list(weights)
    some = [
        draw(rules(draw(st.sampled_from(lower)), (*stated, *lower), stated if negation else ("c",), numbers))
        for _ in range(draw(st.integers(1, 3)))
    ]
    others = [
        draw(
            rules(
                draw(st.sampled_from(upper)),
                (*stated, *lower, *upper),
                (*stated, *lower) if negation else ("c",),
                numbers,
            )
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    facts: dict[str, dict[Row, float]] = {}
    for name, arity in ARITIES.items():
        rows = st.tuples(*[st.sampled_from(CONSTANTS)] * arity)
        most = 5 if name in STATED else 1
        chosen = draw(st.sets(rows, max_size=0 if arity == 0 else most))
        facts[name] = {row: draw(st.sampled_from(numbers)) for row in sorted(chosen)}
    return Program(some, others, facts)


@st.composite
def goals(draw: st.DrawFn, program: Program) -> s.Atom:
    heads = sorted({rule.head.predicate for rule in program.rules})
    name = draw(st.sampled_from([*heads, *heads, *ARITIES]))
    return s.Atom(name, tuple(draw(body_terms) for _ in range(ARITIES[name])))
