"""What rules derive from facts in a database, as tables there: their least model, as in memory.

As :mod:`herbrand.program.derive`: every predicate that a rule derives is closed, and lists what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from herbrand.engines.proof.request import FIXPOINT
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.facts.table import FactTable
from herbrand.language.show import show_atom, show_statement
from herbrand.language.signature import Signature
from herbrand.language.syntax import Rule
from herbrand.program.derive import refuse_open
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables
from herbrand.scale.proof.proofs import Rounds, StoredRules


def with_derived(rules: Sequence[Rule], signature: Signature, stored: StoredFacts) -> StoredFacts:
    """The facts and all that follows from them."""
    heads = list(dict.fromkeys(rule.head.predicate for rule in rules))
    for rule in rules:
        refuse_open(rule, heads, stored.facts)
        _refuse_opinions(rule, stored)
    rounds = Rounds(StoredRules.of(rules, signature, stored), "boolean", heads)
    try:
        found, _ = rounds.run(FIXPOINT)
        derived = {name: _table(name, found[name], signature, stored) for name in heads}
    finally:
        rounds.clear()
    for name, known in derived.items():
        _refuse_contradiction(name, [r for r in rules if r.head.predicate == name], known, signature, stored)
    closed = {name: FactTable.empty(len(signature.predicates[name].column_types), "closed") for name in heads}
    facts = Facts(stored.facts.domains, {**stored.facts.tables, **closed})
    return replace(stored, facts=facts, tables={**stored.tables, **derived})


def _table(name: str, source: str, signature: Signature, stored: StoredFacts) -> PredicateTables:
    database, before = stored.database, stored.tables[name]
    table = f"derived_{list(signature.predicates).index(name)}"
    columns = [f"a{place}" for place in range(len(signature.predicates[name].column_types))]
    database.make(table, f"SELECT {', '.join(columns) or '1 AS one'} FROM {source}")
    count = database.number(f"SELECT COUNT(*) FROM {table}")
    return replace(before, true=table, weighted=False, counts=(count, *before.counts[1:]))


def _refuse_opinions(rule: Rule, stored: StoredFacts) -> None:
    if stored.tables[rule.head.predicate].counts[2]:
        raise UnsupportedError(
            f"{rule.head.predicate} is derived, and some of its facts have probabilities: "
            f"{next(iter(show_statement(rule)))}",
            span=rule.span,
            hint="on a database what rules derive is known: give it no probabilities, or leave out --on",
        )


def _refuse_contradiction(
    name: str, rules: Sequence[Rule], derived: PredicateTables, signature: Signature, stored: StoredFacts
) -> None:
    """Nothing that is stated to be false may follow."""
    if not derived.counts[1]:
        return
    predicate = signature.predicates[name]
    columns = [f"a{place}" for place in range(len(predicate.column_types))]
    on = " AND ".join(f"t.{column} = f.{column}" for column in columns) or "TRUE"
    both = stored.database.rows(
        f"SELECT {', '.join(f't.{column}' for column in columns) or '1'} FROM {derived.true} t "
        f"JOIN {derived.false} f ON {on} LIMIT 1"
    )
    if both:
        domains = [stored.facts.domains[kind] for kind in predicate.types]
        atom = tuple(domain.value(int(i)) for domain, i in zip(domains, both[0], strict=False))
        which = "this rule derives" if len(rules) == 1 else "the rules derive"
        raise ContradictionError(
            f"{which} {show_atom(name, atom)}, which is stated to be false",
            span=rules[0].span if len(rules) == 1 else None,
        )
