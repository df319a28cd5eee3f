"""Rules over known facts: their least model, so that derived predicates can stand in weighted formulas.

Takes rules and facts; gives facts in which every predicate that a rule derives is closed and lists what
follows from the others. All of it is true or false: weights of rules are for the engines that count proofs.
Strata of predicates that negate only earlier ones are each run to their fixpoint.

>>> import herbrand as hb
>>> theory = hb.parse('path(x, y) :- edge(x, y)\\npath(x, z) :- path(x, y), edge(y, z)')
>>> model = hb.Model(theory, {"edge": [("a", "b"), ("b", "c")]})
>>> [row.atom for row in model.infer("path(x, y)").rows() if row.probability == 1]
['path("a", "b")', 'path("a", "c")', 'path("b", "c")']
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from herbrand.errors import ContradictionError, LanguageError, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.language.scope import Renaming, free_variables, variable_types
from herbrand.language.show import show_atom, show_statement
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Exists,
    Formula,
    Not,
    Rule,
    ValueIs,
    walk,
)
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.evidence import Evidence, arguments_of, codes_of
from herbrand.program.lower import body_conjunction
from herbrand.program.program import Program
from herbrand.program.strata import body_predicates, strata
from herbrand.program.template import Argument, Conjunction

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True, eq=False)
class Ordered:
    """The constants of two arguments stand in this order; a test of bindings."""

    arguments: tuple[Argument, Argument]
    compare: Any
    values: np.ndarray

    def kept(self, rows: Bindings, evidence: Evidence) -> np.ndarray:
        left, right = (self.values[rows.column(argument)] for argument in self.arguments)
        return self.compare(left, right)


@dataclass(frozen=True, eq=False)
class Derivation:
    """A rule as a conjunction over known predicates; ``head`` are the arguments of what it derives."""

    rule: Rule
    head: tuple[Argument, ...]
    body: Conjunction
    orders: tuple[Ordered, ...]


def derived(rules: Sequence[Rule], signature: Signature, facts: Facts, memory: float) -> Facts:
    """The facts and all that follows from them."""
    heads = dict.fromkeys(rule.head.predicate for rule in rules)
    for rule in rules:
        refuse_open(rule, heads, facts)
    facts = _with_tables(facts, {name: replace(facts.tables[name], world="closed") for name in heads})
    for stratum in strata(rules):
        derivations = [d for rule in stratum if (d := _derivation(rule, signature, facts)) is not None]
        facts = _fixpoint(derivations, signature, facts, memory)
    return facts


def _fixpoint(derivations: Sequence[Derivation], signature: Signature, facts: Facts, memory: float) -> Facts:
    while True:
        evidence = Evidence(Program(signature, facts, (), (), ()))
        found = facts
        for derivation in derivations:
            found = _with_conclusions(found, derivation, _conclusions(derivation, evidence, memory), evidence)
        heads = {derivation.rule.head.predicate for derivation in derivations}
        if all(len(found.tables[name].true) == len(facts.tables[name].true) for name in heads):
            return facts
        facts = found


def _conclusions(derivation: Derivation, evidence: Evidence, memory: float) -> np.ndarray:
    """The codes of the atoms that one application of a rule gives."""
    limit = Limit(memory, span=derivation.rule.span)
    rows = enumerate_bindings(derivation.body, Bindings.nothing(), evidence, limit, derivation.orders)
    for block in derivation.body.blocks:
        found = np.zeros(len(rows), dtype=bool)
        for piece in block.pieces:
            start = Bindings(rows.columns, np.arange(len(rows)))
            found[enumerate_bindings(piece, start, evidence, limit).origin] = True
        rows = rows.take(np.flatnonzero(found == block.some))
    return np.unique(rows.codes(derivation.head, evidence.sizes(derivation.rule.head.predicate)))


def _with_conclusions(facts: Facts, derivation: Derivation, codes: np.ndarray, evidence: Evidence) -> Facts:
    name = derivation.rule.head.predicate
    table, sizes = facts.tables[name], evidence.sizes(name)
    wrong = np.intersect1d(codes, codes_of(table.false, sizes))
    if len(wrong):
        values = tuple(column[0] for column in evidence.atom_arguments(name, wrong))
        raise ContradictionError(
            f"this rule derives {show_atom(name, values)}, which is stated to be false",
            span=derivation.rule.span,
        )
    every = np.union1d(codes, codes_of(table.true, sizes))
    columns = arguments_of(every, sizes)
    true = np.stack(columns, axis=1) if columns else np.empty((len(every), 0))
    return _with_tables(
        facts, {name: replace(table, true=np.asfortranarray(true, dtype=table.true.dtype), weights=None)}
    )


def _with_tables(facts: Facts, tables: dict[str, Any]) -> Facts:
    return replace(facts, tables={**facts.tables, **tables})


def _derivation(rule: Rule, signature: Signature, facts: Facts) -> Derivation | None:
    """``None`` where the body cannot hold: two constants that should be equal, or in order, are not."""
    renaming = Renaming()
    head = renaming.atom(rule.head)
    body = [renaming.formula(literal) for literal in rule.body]
    types = variable_types([head, *body], signature)
    orders = [part for part in body if isinstance(part, Comparison) and part.operator in _ORDERS]
    positive = [head, *(part for part in body if not isinstance(part, Not))]
    bound = {name: types[name] for part in positive for name in free_variables(part)}
    parts = [_negation(part, bound) if isinstance(part, Not) else part for part in body if part not in orders]
    if not all(_in_order(order) for order in orders if not free_variables(order)):
        return None
    orders = [order for order in orders if free_variables(order)]
    terms = [(head.arguments, signature.predicates[head.predicate].types)]
    for order in orders:
        name = next(types[v] for v in free_variables(order))
        _refuse_texts(order, name, facts)
        terms.append(((order.left, order.right), (name, name)))
    found = body_conjunction(parts, tuple(bound.items()), types, terms, signature, facts)
    if found is None:
        return None
    conjunction, (arguments, *compared) = found
    tests = tuple(
        Ordered((pair[0], pair[1]), _ORDERS[order.operator], np.array(list(facts.domains[names[0]])))
        for order, pair, (_, names) in zip(orders, compared, terms[1:], strict=True)
    )
    return Derivation(rule, arguments, conjunction, tests)


def _refuse_texts(order: Comparison, type_name: str, facts: Facts) -> None:
    domain = facts.domains[type_name]
    if len(domain) and domain.kind == "text":
        raise LanguageError(
            f"{order.operator} compares numbers, and {type_name} holds text",
            span=order.span,
            hint=f"declare the type of numbers: type {type_name} = number",
        )


def _in_order(order: Comparison) -> bool:
    """Of two constants; a number and a text are in no order."""
    assert isinstance(order.left, Constant) and isinstance(order.right, Constant)
    left, right = order.left.value, order.right.value
    return isinstance(left, str) == isinstance(right, str) and _ORDERS[order.operator](left, right)


def _negation(part: Not, bound: Iterable[str]) -> Formula:
    """``not r(x, _)``: nothing makes it true, whatever stands for the variables of its own."""
    own = tuple(v for name, v in free_variables(part).items() if name not in set(bound))
    return Not(Exists(own, part.operand)) if own else part


def refuse_open(rule: Rule, heads: Iterable[str], facts: Facts) -> None:
    """Rules derive from what is known; raises where one would derive from an open predicate."""
    for name, _ in body_predicates(rule):
        if name not in heads and facts.tables[name].world == "open":
            raise UnsupportedError(
                f"this rule derives from {name}, which is open: {next(show_statement(rule))}",
                span=rule.span,
                hint=f"rules derive from what is known: declare {name} observed, or --closed {name}",
            )
    for literal in rule.body:
        if any(
            isinstance(part, ValueIs) and free_variables(Atom("", (part.value,))) for part in walk(literal)
        ):
            raise UnsupportedError("a rule's body names values by constants", span=literal.span)
