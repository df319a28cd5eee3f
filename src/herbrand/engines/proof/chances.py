"""The meaning of facts as probabilities: the probability of each base fact, and evidence.

A fact of a base predicate holds with its weight, or its soft evidence, as its probability. The probabilities
of a many-valued atom's values are its distribution: values without one share the rest to 1 equally, and a
value that is stated to be false is excluded. A fact of a derived predicate is evidence: true, false, or, with
a probability, an independent opinion; with a weight it is one more proof of that probability. Conditions of a
query are evidence too, except that a base atom without a probability becomes a fact.

>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("wet :- rain\\nwet :- not rain @ 0.1\\nrain @ 0.3\\nwet")
>>> program = HornProgram.of(theory.rules, *load_facts(theory.facts, check(theory)))
>>> facts, evidence = chances_of(program)
>>> facts.tables["rain"].weights.tolist(), [known.text for known in evidence]
([0.3], ['wet'])
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from herbrand.engines.proof.horn_program import HornProgram, rule_number
from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.graphs import reached
from herbrand.language.show import show_atom
from herbrand.language.signature import Predicate
from herbrand.language.syntax import FactRows, Rule
from herbrand.program.clauses import Clause
from herbrand.row_keys import row_keys

Row = tuple[int, ...]
ROUNDING = 1e-9
"""Largest difference from 1 of a sum of probabilities that counts as 1."""


@dataclass(frozen=True)
class ChanceEvidence:
    """Evidence on one atom: ``holds`` is 1 or 0 for certain evidence, else the probability of an opinion.

    ``text`` names the statement.
    """

    predicate: str
    row: Row
    holds: float
    text: str


def chances_of(
    program: HornProgram, given: Sequence[FactRows] = ()
) -> tuple[Facts, tuple[ChanceEvidence, ...]]:
    """Facts whose weights are their probabilities, and the evidence.

    ``given`` are the literals of a query's condition, true or false, over constants of the domains.
    """
    signature, facts = program.signature, program.facts
    tables, evidence = dict(facts.tables), list[ChanceEvidence]()
    stated: dict[str, list[tuple[Row, bool]]] = {}
    for rows in given:
        row = _indices(rows, signature.predicates[rows.predicate], facts)
        stated.setdefault(rows.predicate, []).append((row, rows.kind == "true"))
    for name, predicate in signature.predicates.items():
        reading = _Reading(predicate, facts, tables[name])
        if program.is_derived(name):
            tables[name] = reading.causes()
            evidence += reading.derived_evidence(stated.get(name, ()))
        else:
            tables[name] = reading.chances()
            if name in stated:
                tables[name], own_evidence = reading.with_given(tables[name], stated[name])
                evidence += own_evidence
    return Facts(facts.domains, tables), tuple(evidence)


def _indices(rows: FactRows, predicate: Predicate, facts: Facts) -> Row:
    indices = facts.indices(predicate.column_types, rows.row(0))
    assert None not in indices, "constants that are given are in their domains"
    return cast(Row, indices)


@dataclass(frozen=True, eq=False)
class _Reading:
    """The facts of one predicate, to be read as probabilities and evidence."""

    predicate: Predicate
    facts: Facts
    table: FactTable

    # Predicates that rules derive

    def causes(self) -> FactTable:
        """The facts of a derived predicate that are proofs: those with a weight other than 1."""
        table = self.table
        if table.weights is None:
            return FactTable.empty(table.columns, table.world)
        kept = table.weights != 1
        return _facts(table, table.true[kept], table.weights[kept])

    def derived_evidence(self, given: Sequence[tuple[Row, bool]]) -> Iterator[ChanceEvidence]:
        table = self.table
        certain = table.true[table.true_weights == 1]
        for rows, holds in ((certain, 1.0), (table.false, 0.0)):
            for row in rows.tolist():
                yield self._evidence(tuple(row), holds)
        doubted = self._unstated(table.soft)
        for row, chance in zip(
            table.soft[doubted].tolist(), table.probabilities[doubted].tolist(), strict=True
        ):
            yield self._evidence(tuple(row), chance)
        for row, holds in given:
            yield self._evidence(row, float(holds))

    # Base predicates

    def chances(self) -> FactTable:
        """All facts that may hold, with their probabilities as weights."""
        table = self.table
        if not len(table.soft) and (self.predicate.value_type is None or table.weights is None):
            return table
        doubted = self._unstated(table.soft)
        rows = np.concatenate([table.true, table.soft[doubted]])
        weights = np.concatenate([table.true_weights, table.probabilities[doubted]])
        if self.predicate.value_type is not None:
            rows, weights = self._distributions(rows, weights)
        return _facts(table, rows, weights)

    def with_given(
        self, chances: FactTable, given: Sequence[tuple[Row, bool]]
    ) -> tuple[FactTable, list[ChanceEvidence]]:
        """Add a condition: atoms without a probability become facts, on others it is evidence."""
        weights = chances.true_weights.tolist()
        known: dict[Row, float] = dict(zip(map(tuple, chances.true.tolist()), weights, strict=True))
        valued = {row[:-1] for row in known} if self.predicate.value_type is not None else set[Row]()
        denied = set(map(tuple, self.table.false.tolist()))
        evidence: list[ChanceEvidence] = []
        for row, holds in sorted(given, key=lambda pair: not pair[1]):  # true first: others may deny them
            if not holds and row in known:
                evidence.append(self._evidence(row, 0.0, known[row] == 1))
            elif holds and (row in denied or (row[:-1] in valued and row not in known)):
                evidence.append(self._evidence(row, 1.0, row in denied))
            elif holds and row in known:
                evidence += [self._evidence(row, 1.0)] if known[row] < 1 else []
            elif holds:
                known[row] = 1.0
                valued.add(row[:-1])
        if len(known) == len(chances.true):
            return chances, evidence
        rows = np.array(list(known), np.int32).reshape(len(known), chances.columns)
        return _facts(self.table, rows, np.array(list(known.values()))), evidence

    def _distributions(self, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distribution of each atom with stated values: rows with value, and their probabilities.

        Excluded values are left out and the rest is renormalised.
        """
        atoms: dict[Row, dict[int, float]] = {}
        for (*atom, value), weight in zip(rows.tolist(), weights.tolist(), strict=True):
            atoms.setdefault(tuple(atom), {})[value] = weight
        denied: dict[Row, set[int]] = {}
        for *atom, value in self.table.false.tolist():
            denied.setdefault(tuple(atom), set()).add(value)
        kind = self.predicate.value_type
        assert kind is not None
        count = len(self.facts.domains[kind])
        shares: dict[Row, float] = {}
        for atom, stated in atoms.items():
            values = _distribution(stated, count)
            left = {value: p for value, p in values.items() if value not in denied.get(atom, ())}
            whole = math.fsum(left.values()) if len(left) < len(values) else 1.0
            shares |= {(*atom, value): p / whole for value, p in left.items() if p}
        return np.array(list(shares), np.int32).reshape(len(shares), rows.shape[1]), np.array(
            [*shares.values()]
        )

    # Both

    def _unstated(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row is neither a true nor a false fact."""
        stated = np.concatenate([self.table.true, self.table.false])
        every = np.concatenate([stated, rows])
        sizes = [len(self.facts.domains[kind]) for kind in self.predicate.column_types]
        keys = row_keys(list(every.T), sizes, len(every))
        return ~np.isin(keys[len(stated) :], keys[: len(stated)])

    def _evidence(self, row: Row, holds: float, contradicted: bool = False) -> ChanceEvidence:
        text = self.facts.atom_text(self.predicate, row)
        if holds == 0:
            text = f"not {text}"
        elif holds < 1:
            text = f"{text} ~ {holds:g}"
        if contradicted:
            text += f", which is stated to be {'false' if holds else 'true'}"
        return ChanceEvidence(self.predicate.name, row, holds, text)


def _distribution(stated: Mapping[int, float], count: int) -> Mapping[int, float]:
    """Complete the stated probabilities of an atom with ``count`` values to a distribution.

    Probabilities that add up to more than 1, or cannot reach 1, stay unchanged: ``check_probabilities``
    refuses them when they are used.
    """
    certain = [value for value, weight in stated.items() if weight == 1]
    others = [value for value in range(count) if value not in stated]
    if certain:
        return {certain[0]: 1.0}
    left = 1 - math.fsum(stated.values())
    if left < ROUNDING or not others:
        return stated
    return {**stated, **dict.fromkeys(others, left / len(others))}


def refuse_wrong_sums(predicate: Predicate, facts: Facts) -> None:
    """Raise UnsupportedError if the probabilities of an atom's values do not add up to 1."""
    table = facts.tables[predicate.name]
    if predicate.value_type is None or table.weights is None:
        return
    totals: dict[Row, list[float]] = {}
    for (*atom, _), weight in zip(table.true.tolist(), table.weights.tolist(), strict=True):
        totals.setdefault(tuple(atom), []).append(weight)
    for atom, weights in totals.items():
        if abs(math.fsum(weights) - 1) > ROUNDING:
            values = facts.constants(predicate.types, atom)
            raise UnsupportedError(
                f"the probabilities of the values of {show_atom(predicate.name, values)} add up to "
                f"{math.fsum(weights):.10g}",
                hint="exactly one value holds, so they add up to 1; values without one share what is left",
            )


def _facts(table: FactTable, rows: np.ndarray, weights: np.ndarray) -> FactTable:
    """A table with these facts only, sorted by row."""
    order = np.lexsort(tuple(reversed(rows.T))) if rows.shape[1] else np.arange(len(rows))
    none = FactTable.empty(table.columns, table.world)
    return replace(none, true=np.asfortranarray(rows[order].astype(np.int32)), weights=weights[order])


def check_probabilities(program: HornProgram, predicates: Collection[str]) -> None:
    """Raise UnsupportedError if a weight of these predicates' facts or rules is no probability.

    Also if the probabilities of an atom's values do not add up to 1, or an aggregate is over a predicate that
    is uncertain.
    """
    for name in predicates:
        weights = program.relation(name).weights
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() <= 1):
            raise no_probability(name, weights[np.argmax(np.abs(weights - 0.5))])
        refuse_wrong_sums(program.signature.predicates[name], program.facts)
    check_rule_weights(program, predicates)
    refuse_uncertain_aggregates(program, predicates, _uncertain_facts(program))


ANY_WEIGHTS = "--algebra count takes any weights"


def no_probability(predicate: str, weight: float, hint: str = ANY_WEIGHTS) -> UnsupportedError:
    """The error that a fact's weight is no probability."""
    message = f"a fact of {predicate} weighs {weight:g}, which is no probability"
    return UnsupportedError(message, hint=hint)


def check_rule_weights(program: HornProgram, predicates: Collection[str]) -> None:
    """Raise UnsupportedError if a rule of these predicates has a weight that is no probability."""
    for rule in program.weighted:
        if rule.head.predicate in predicates and not 0 <= rule_number(rule) <= 1:
            raise UnsupportedError(
                f"this rule weighs {rule_number(rule):g}, which is no probability",
                span=rule.span,
                hint=ANY_WEIGHTS,
            )


def refuse_uncertain_absence(program: HornProgram, clauses: Sequence[Clause]) -> None:
    """Raise UnsupportedError if ``not`` is before an uncertain predicate in the clauses or below them."""
    uncertain = _uncertain(program, _uncertain_facts(program))
    for clause, predicate in program.absences(clauses):
        if predicate in uncertain:
            raise UnsupportedError(
                f"'not' stands before {predicate}, which is uncertain",
                span=clause.span,
                hint="--algebra probability takes it",
            )


def refuse_uncertain_aggregates(
    program: HornProgram, predicates: Iterable[str], uncertain_facts: Iterable[str]
) -> None:
    """Raise UnsupportedError if one of these predicates is computed from an uncertain one.

    ``uncertain_facts``: predicates with a fact of a probability other than 1.
    """
    counted = {statement.head.predicate for statement, _ in program.choices if isinstance(statement, Rule)}
    left = set(predicates) - counted
    aggregates = [part for name in sorted(left) for part in program.signature.predicates[name].aggregated]
    uncertain = _uncertain(program, uncertain_facts) if aggregates else set()
    for called, aggregate in aggregates:
        if called in uncertain:
            raise UnsupportedError(
                f"{aggregate.function} is over {called}, which is uncertain",
                span=aggregate.span,
                hint="state it by choices, such as 0.3 :: p(x), whose counts infer and query compare; "
                "--algebra count takes all facts as certain here",
            )


def _uncertain_facts(program: HornProgram) -> Iterator[str]:
    """The predicates with a fact of a probability other than 1."""
    for name in program.facts.tables:
        weights = program.relation(name).weights
        if weights is not None and (weights != 1).any():
            yield name


def _uncertain(program: HornProgram, facts: Iterable[str]) -> set[str]:
    """The predicates that depend on a choice, on such ``facts``, or on a rule with a probability other than
    1."""
    uncertain = set(facts)
    uncertain |= {rule.head.predicate for rule in program.weighted if rule_number(rule) != 1}
    uncertain |= {rule.head.predicate for _, rules in program.choices for rule in rules}
    callers: dict[str, list[str]] = defaultdict(list)
    for name, clauses in program.clauses.items():
        for called in {called for clause in clauses for called in clause.predicates()}:
            callers[called].append(name)
    return set(reached(uncertain, lambda name: callers.get(name, ())))
