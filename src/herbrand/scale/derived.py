"""Least models of rules over facts in a database, stored as tables there.

As in :mod:`herbrand.program.derive`: every derived predicate is closed, and its table lists all that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom, statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import Rule
from herbrand.program.derive import derived_rows, refuse_open
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.evidence import evidence_of_facts
from herbrand.scale.fact_relations import StoredFactRelations
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables


def with_derived(rules: Sequence[Rule], signature: Signature, stored: StoredFacts) -> StoredFacts:
    """The facts and all that follows from them."""
    heads = list(dict.fromkeys(rule.head.predicate for rule in rules))
    for rule in rules:
        refuse_open(rule, heads, stored.facts)
        _refuse_opinions(rule, stored)
    with Scratch(stored.database, "derived_rows", temporary=True) as scratch:
        source = StoredFactRelations(
            stored, signature, scratch, evidence=evidence_of_facts(signature, stored)
        )
        tables = derived_rows(rules, signature, stored.facts, source)
        for name, rows in tables.items():
            own = [rule for rule in rules if rule.head.predicate == name]
            _refuse_contradiction(
                name, own, rows.matching(source.false(name), rows.columns), signature, stored
            )
        derived = {name: derived_table(name, rows, signature, stored) for name, rows in tables.items()}
    closed = {name: FactTable.empty(len(signature.predicates[name].column_types), "closed") for name in heads}
    facts = Facts(stored.facts.domains, {**stored.facts.tables, **closed})
    return replace(stored, facts=facts, tables={**stored.tables, **derived})


def derived_table(name: str, rows: Relation, signature: Signature, stored: StoredFacts) -> PredicateTables:
    """Tables of a predicate with these rows as its true atoms."""
    assert isinstance(rows, Stored)
    database, before = stored.database, stored.tables[name]
    table = f"derived_{list(signature.predicates).index(name)}"
    columns = [f"CAST({column} AS INT) AS {column}" for column in rows.columns]
    database.make(table, f"SELECT {', '.join(columns) or '1 AS one'} FROM ({rows.text}) d")
    count = database.number(f"SELECT COUNT(*) FROM {table}")
    return replace(before, true=table, weighted=False, counts=(count, *before.counts[1:]))


def _refuse_opinions(rule: Rule, stored: StoredFacts) -> None:
    if stored.tables[rule.head.predicate].counts[2]:
        raise UnsupportedError(
            f"{rule.head.predicate} is derived, and some of its facts have probabilities: "
            f"{statement_text(rule)}",
            span=rule.span,
            hint="on a database what rules derive is known: give it no probabilities, or leave out --on",
        )


def _refuse_contradiction(
    name: str, rules: Sequence[Rule], wrong: Relation, signature: Signature, stored: StoredFacts
) -> None:
    """Raise ContradictionError if rules derive an atom that is stated to be false."""
    if not stored.tables[name].counts[1]:
        return
    both = wrong.rows()
    if both:
        atom = stored.facts.constants(signature.predicates[name].types, both[0])
        which = "this rule derives" if len(rules) == 1 else "the rules derive"
        raise ContradictionError(
            f"{which} {show_atom(name, atom)}, which is stated to be false",
            span=rules[0].span if len(rules) == 1 else None,
        )
