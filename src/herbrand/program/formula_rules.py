"""Rewrite weighted formulas as rules, choices and evidence, for engines that sample worlds by choices only.

A grounding that violates a formula of weight ``w`` multiplies the weight of a world by ``exp(-w)``. The same
distribution results from rejecting the world unless the grounding is *spared*, by a separate choice with this
probability: among the worlds without a violation each keeps its share.

    1.5: r(x) => s(x)           broken(x) :- r(x), not s(x)
                                exp(-1.5) :: spared(x)
                                violation :- broken(x), not spared(x)
                                not violation

For a negative weight the groundings that hold are broken; of a hard formula none is spared. An atom that
nothing derives is open: a choice among its values, all equally likely.

>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> from herbrand.language.show import statement_text
>>> from herbrand.program.lower import lower
>>> theory = parse_theory("0.5: r(x) => exists y: s(x, y)")
>>> conditioned = with_formulas_as_rules(lower(theory, *load_facts((), check(theory))), scored=["r", "s"])
>>> for rule in conditioned.statements[-4:]:
...     print(statement_text(rule))
`some 2`(x, `y`1`) :- s(x, `y`1`)
`exists 3`(x) :- `some 2`(x, `y`1`)
`broken 1`(x) :- r(x), not `exists 3`(x)
`violation of 0.5: r(x) => (exists y: s(x, y))` :- `broken 1`(x), not `spared 5`(x)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.formulas import Atom, Constant, Exists, Formula, Not, Term, ValueIs, Variable
from herbrand.language.scope import Renaming, free_names, free_variables, variable_types
from herbrand.language.show import statement_text
from herbrand.language.signature import Predicate
from herbrand.language.syntax import (
    Alternative,
    BodyLiteral,
    Choice,
    Hard,
    Learned,
    Rule,
    Statement,
    WeightedFormula,
)
from herbrand.program.dependencies import derived_by
from herbrand.program.evidence import Evidence
from herbrand.program.normal_form import Case, cases
from herbrand.program.program import Program


def with_formulas_as_rules(program: Program, scored: Collection[str]) -> Program:
    """Rewrite to the same distribution over worlds, without weighted formulas; ``scored`` predicates get
    their probabilities elsewhere."""
    if not any(isinstance(s, WeightedFormula | Choice) for s in program.statements):
        return program
    writer, kept = _Writer(program), list[Statement]()
    for statement in program.statements:
        if isinstance(statement, WeightedFormula):
            writer.add(statement)
        else:
            kept.append(statement)
    for predicate in _open_predicates(program, scored):
        writer.open(predicate)
    predicates = {**program.signature.predicates, **writer.predicates}
    return replace(
        program,
        statements=(*kept, *writer.choices, *writer.rules),
        signature=replace(program.signature, predicates=predicates),
        facts=Facts(program.facts.domains, {**program.facts.tables, **writer.tables}),
    )


def _open_predicates(program: Program, scored: Collection[str]) -> Iterator[Predicate]:
    """Yield the open predicates that nothing derives."""
    settled = {*derived_by(s for s in program.statements if isinstance(s, Rule | Choice)), *scored}
    for name, predicate in program.signature.predicates.items():
        if name not in settled and predicate.role != "learned" and program.is_open(name):
            yield predicate


@dataclass
class _Writer:
    """Collects the rules, choices, predicates and facts that formulas become; ``add`` is called for each
    formula."""

    program: Program
    rules: list[Rule] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    tables: dict[str, FactTable] = field(default_factory=dict)

    def add(self, statement: WeightedFormula) -> None:
        weight = _number(statement)
        if weight == 0:
            return
        formula = Renaming().formula(statement.formula)
        parts = (formula, *statement.where)
        types, free = variable_types(parts, self.program.signature), free_names(parts)
        broken_cases = [
            (*((one, True) for one in statement.where), *case) for case in cases(formula, weight < 0)
        ]
        broken = self._defined("broken", free, types, broken_cases, statement)
        violation = self._atom(f"violation of {statement_text(statement)}", (), types)
        body: tuple[BodyLiteral, ...] = (broken,)
        if abs(weight) < math.inf:
            spared = self._numbered("spared", free, types)
            self.choices.append(Choice((Alternative(math.exp(-abs(weight)), spared),), span=statement.span))
            body = (broken, Not(spared))
        self.rules.append(Rule(violation, body, span=statement.span))
        self.tables[violation.predicate] = replace(
            FactTable.empty(0, "open"), false=np.empty((1, 0), np.int32)
        )

    def open(self, predicate: Predicate) -> None:
        """Add a choice among equally likely values for each atom; soft evidence on it becomes formulas."""
        evidence = Evidence(self.program)
        evidence.known(predicate.name)  # refuses atoms that can have no value
        count = self.program.value_count(predicate.name)
        variables = tuple(Variable(f"x{place}") for place in range(predicate.arity))
        heads: list[tuple[Term, ...]] = [variables]
        if predicate.value_type is not None:
            domain = self.program.domain(predicate.value_type)
            heads = [(*variables, Constant(value)) for value in domain.values_at(range(count))]
        chosen = tuple(Alternative(1 / count, _literal_of(predicate, terms)) for terms in heads)
        self.choices += [Choice(chosen)] if chosen else []
        table = self.program.table(predicate.name)
        _, _, weights = evidence.opinions(predicate.name)
        for row, weight in zip(table.soft.tolist(), weights.tolist(), strict=True):
            constants = map(Constant, self.program.facts.constants(predicate.column_types, row))
            self.add(WeightedFormula(weight, _literal_of(predicate, tuple(constants))))
        none = FactTable.empty(table.columns, table.world)
        self.tables[predicate.name] = replace(
            table, soft=none.soft, probabilities=none.probabilities, log_odds=none.log_odds
        )

    def _defined(
        self,
        what: str,
        free: Sequence[str],
        types: Mapping[str, str],
        cases: Sequence[Case],
        statement: WeightedFormula,
    ) -> Atom:
        """Atom of a new predicate over the free variables, with rules by which it holds if one of the cases
        does."""
        head = self._numbered(what, free, types)
        for case in cases:
            body = tuple(self._literal(leaf, holds, types, statement) for leaf, holds in case)
            self.rules.append(Rule(head, body, span=statement.span))
        return head

    def _literal(
        self, leaf: Formula, holds: bool, types: Mapping[str, str], statement: WeightedFormula
    ) -> BodyLiteral:
        if isinstance(leaf, Exists):
            free, bound = [*free_variables(leaf)], [variable.name for variable in leaf.variables]
            some = self._defined("some", [*free, *bound], types, cases(leaf.body, True), statement)
            leaf = self._defined("exists", free, types, [((some, True),)], statement)
        return cast(BodyLiteral, leaf if holds else Not(leaf))

    def _numbered(self, what: str, free: Sequence[str], types: Mapping[str, str]) -> Atom:
        return self._atom(f"{what} {len(self.predicates) + 1}", free, types)

    def _atom(self, name: str, free: Sequence[str], types: Mapping[str, str]) -> Atom:
        kinds = tuple(types[variable] for variable in free)
        self.predicates[name] = Predicate(name, kinds, computed=True)
        self.tables.setdefault(name, FactTable.empty(len(kinds), "open"))
        return Atom(name, tuple(map(Variable, free)))


def _literal_of(predicate: Predicate, terms: tuple[Term, ...]) -> Atom | ValueIs:
    """Literal of a row of terms, the last of which is the value of a many-valued atom."""
    if predicate.value_type is None:
        return Atom(predicate.name, terms)
    return ValueIs(Atom(predicate.name, terms[:-1]), terms[-1])


def _number(statement: WeightedFormula) -> float:
    """The weight; infinite for a hard formula. Raise UnsupportedError if it is learned or multiplied."""
    if isinstance(statement.weight, Hard):
        return math.inf
    if isinstance(statement.weight, Learned):
        raise UnsupportedError(
            "the weight of this formula is to be learned, and has no value yet",
            span=statement.span,
            hint="learn the theory first, or put a number in its place",
        )
    if statement.times is not None:
        raise UnsupportedError(
            "the weight of this formula counts as many times as a variable says, and here formulas have one "
            "weight each",
            span=statement.span,
            hint="write a formula for each number",
        )
    return float(statement.weight)
