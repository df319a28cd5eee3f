"""Least models of rules over facts, so that derived predicates can be used in weighted formulas.

Takes rules and facts; returns facts in which every predicate that a rule derives is closed and lists all rows
that follow. Rows are only true or false: weights of rules are for the engines that count proofs. Strata, in
which predicates negate only those of earlier strata, are each evaluated to their fixpoint.

>>> import herbrand as hb
>>> theory = hb.parse('path(x, y) :- edge(x, y)\\npath(x, z) :- path(x, y), edge(y, z)')
>>> model = hb.Model(theory, {"edge": [("a", "b"), ("b", "c")]})
>>> [row.atom for row in model.infer("path(x, y)").rows() if row.probability == 1]
['path("a", "b")', 'path("a", "c")', 'path("b", "c")']
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from herbrand.budget import Budget
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.language.names import is_made
from herbrand.language.show import show_atom, statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import Rule
from herbrand.program.bindings import WEIGHT, columns_of
from herbrand.program.clause_rows import (
    ClauseRows,
    Refuse,
    Source,
    accept,
    complete_rows,
    least_model,
)
from herbrand.program.clauses import Clause
from herbrand.program.dependencies import body_predicates, strata
from herbrand.program.evidence import Evidence
from herbrand.program.few_rows import Derivation, FewRows, NotFewError
from herbrand.program.lower_rules import rule_clause
from herbrand.program.program import Program
from herbrand.relations.expression import DTYPES
from herbrand.relations.memory import Allowance, Memory
from herbrand.relations.relation import Relation
from herbrand.row_keys import ascend, row_keys, stable_order


def derived(rules: Sequence[Rule], signature: Signature, facts: Facts, budget: Budget) -> Facts:
    """The facts and all that follows from them."""
    few = _few(rules, signature, facts, budget)
    if few is not None:
        arrays = {name: few.array(name) for name in _heads(rules)}
    else:
        source = FactRelations(signature, facts, budget)
        rows = derived_rows(rules, signature, facts, source, source.refuse_false)
        arrays = {name: source.table_rows(name, own) for name, own in rows.items()}
    closed = {
        name: replace(facts.tables[name], true=true, weights=None, world="closed")
        for name, true in arrays.items()
    }
    return replace(facts, tables={**facts.tables, **closed})


def _few(rules: Sequence[Rule], signature: Signature, facts: Facts, budget: Budget) -> FewRows | None:
    """Evaluate by plain loops; ``None`` if there are too many rows or a derived predicate has false facts."""
    if any(len(facts.tables[name].false) for name in _heads(rules)):
        return None
    few = FewRows(signature, facts, budget)
    try:
        for clauses in _by_stratum(rules, signature, facts):
            few.complete([Derivation(clause) for own in clauses.values() for clause in own])
    except NotFewError:
        return None
    return few


def _heads(rules: Sequence[Rule]) -> dict[str, None]:
    return dict.fromkeys(rule.head.predicate for rule in rules)


def _by_stratum(
    rules: Sequence[Rule], signature: Signature, facts: Facts
) -> Iterator[dict[str, list[Clause]]]:
    """Yield the clauses of each stratum by predicate, negated predicates before those that negate them."""
    heads = _heads(rules)
    for rule in rules:
        refuse_open(rule, heads, facts)
    for stratum in strata(rules):
        clauses: dict[str, list[Clause]] = {rule.head.predicate: [] for rule in stratum}
        for rule in stratum:
            clause = rule_clause(rule, signature, facts)
            if clause is not None:
                clauses[rule.head.predicate].append(clause)
        yield clauses


def derived_rows(
    rules: Sequence[Rule], signature: Signature, facts: Facts, source: Source, refuse: Refuse = accept
) -> dict[str, Relation]:
    """All rows of each predicate that rules derive; worlds are those of ``facts``, rows come from
    ``source``."""
    every: dict[str, Relation] = {name: source.facts(name) for name in _heads(rules)}
    rows = ClauseRows(source, partial(complete_rows, source, every))
    for clauses in _by_stratum(rules, signature, facts):
        every |= least_model(clauses, rows, every, refuse).tables
    return every


class FactRelations:
    """Facts in memory as relations, each built on first use.

    ``complete``: refuse an observed many-valued predicate with atoms that have no value; ``weighted``:
    include the weights of rows where facts have them."""

    def __init__(
        self,
        signature: Signature,
        facts: Facts,
        budget: Allowance,
        complete: bool = True,
        weighted: bool = False,
    ) -> None:
        self._complete, self._weighted = complete, weighted
        self._evidence = Evidence(Program(signature, facts, (), (), ()))
        self._signature, self._facts, self._budget = signature, facts, budget
        self._made: dict[str, Memory] = {}

    def facts(self, predicate: str) -> Memory:
        if predicate not in self._made:
            if self._complete and self._evidence.is_valued(predicate):
                self._evidence.known(predicate)
            table = self._facts.tables[predicate]
            rows = self._rows(table.true)
            if self._weighted and table.weights is not None:
                rows = Memory({**rows.data, WEIGHT: table.weights}, rows.length, self._budget)
            self._made[predicate] = rows
        return self._made[predicate]

    def rows(self, predicate: str) -> int:
        return len(self._facts.tables[predicate].true)

    def domain(self, type_name: str) -> Memory:
        return Memory.of(self._budget, id=np.arange(self.size(type_name)))

    def numbers(self, type_name: str) -> Memory:
        domain = self._facts.domains[type_name]
        kind = "text" if self._signature.types[type_name].kind == "text" else "float"
        none = np.empty(0, DTYPES[kind])
        values = domain.values.to_numpy(zero_copy_only=False) if len(domain) else none
        return Memory.of(self._budget, id=np.arange(len(domain)), value=values)

    def size(self, type_name: str) -> int:
        return len(self._facts.domains[type_name])

    def unit(self) -> Memory:
        return Memory({}, 1, self._budget)

    def table_rows(self, predicate: str, relation: Relation) -> np.ndarray:
        """Rows of a relation in the form of a fact table: sorted, stored column by column."""
        arrays = list(relation.arrays().values())
        sizes = [1 + int(values.max(initial=0)) for values in arrays]
        keys = row_keys(arrays, sizes, relation.count())
        order = slice(None) if ascend(keys) else stable_order(keys, math.prod(sizes))
        # Columns are contiguous, so that they pass to Arrow, torch and DuckDB without a copy.
        rows = np.empty((len(keys), len(arrays)), self._facts.tables[predicate].true.dtype, order="F")
        for place, values in enumerate(arrays):
            rows[:, place] = values[order]
        return rows

    def refuse_false(self, clause: Clause, heads: Relation) -> None:
        """Raise ContradictionError if a rule derives a row that is stated to be false."""
        name = clause.predicate
        false = self._facts.tables[name].false
        if not len(false):
            return
        wrong = self.table_rows(name, heads.matching(self._rows(false), columns_of(false.shape[1])))
        if len(wrong):
            (values,) = self._facts.rows(self._signature.predicates[name], wrong[:1])
            raise ContradictionError(
                f"this rule derives {show_atom(name, values)}, which is stated to be false",
                span=clause.span,
            )

    def _rows(self, rows: np.ndarray) -> Memory:
        return Memory.of_indices(rows, columns_of(rows.shape[1]), self._budget)


def refuse_open(rule: Rule, heads: Iterable[str], facts: Facts) -> None:
    """Raise UnsupportedError if a rule derives from an open predicate."""
    for name, _ in body_predicates(rule):
        if name not in heads and facts.tables[name].world == "open":
            text = "" if is_made(rule.head.predicate) else f": {statement_text(rule)}"
            raise UnsupportedError(
                f"this rule derives from {name}, which is open{text}",
                span=rule.span,
                hint=f"rules derive from what is known: declare {name} observed, or --closed {name}",
            )
