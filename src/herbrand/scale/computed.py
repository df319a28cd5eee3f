"""Definitions of a theory over facts in a database, as tables there with the rows that memory would list.

The definitions are evaluated by :mod:`herbrand.program.computed_rows`. New constants are appended to their
types, so that no table of facts has to be written again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from herbrand.budget import UNLIMITED
from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.computed import Definition
from herbrand.language.signature import Signature
from herbrand.language.theory import Theory
from herbrand.program.computed_rows import Computation
from herbrand.program.dependencies import Depth
from herbrand.program.growing_facts import GrowingFacts
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.derived import derived_table
from herbrand.scale.domain import stored_domain
from herbrand.scale.evidence import evidence_of_facts
from herbrand.scale.fact_relations import StoredFactRelations
from herbrand.scale.facts import StoredFacts


def with_computed(
    definitions: Sequence[Definition],
    theory: Theory,
    signature: Signature,
    stored: StoredFacts,
    listed: Collection[str],
    complete: bool = True,
    depth: Depth | None = None,
) -> StoredFacts:
    """Add a table for each definition to the facts. ``listed``: predicates over whose listed rows values are
    computed, also in open worlds; ``complete``: raise if a many-valued one has an atom without a value;
    ``depth``: where recursion ends that no rule bounds."""
    facts, database = stored.facts, stored.database
    with Scratch(database, "computed_rows") as scratch:
        stated = _closed(stored, listed)
        evidence = evidence_of_facts(signature, replace(stored, facts=stated)) if complete else None
        known = StoredFactRelations(stored, signature, scratch, evidence=evidence)
        source = GrowingFacts(known, signature, scratch.put, UNLIMITED)
        statements = (*theory.rules, *theory.choices)
        computation = Computation(definitions, statements, signature, stated, source, depth)
        rows = computation.rows()
        if computation.counting:
            raise UnsupportedError(
                "what is uncertain is counted in memory, not in a database",
                span=computation.counting[0].span,
                hint="leave out --on",
            )
        domains = dict(facts.domains)
        for name in filter(source.grows, facts.domains):
            known, table = source.numbers(name), stored.constants[name]
            assert isinstance(known, Stored)
            known.kept_as(table)
            kind = "text" if known.kinds["value"] == "text" else "number"
            domains[name] = stored_domain(name, database, table, kind)
        tables = {name: derived_table(name, own, signature, stored) for name, own in rows.items()}
    computed_tables = {
        name: FactTable.empty(len(signature.predicates[name].types), "closed") for name in rows
    }
    grown = Facts(domains, {**facts.tables, **computed_tables})
    return replace(stored, facts=grown, tables={**stored.tables, **tables})


def _closed(stored: StoredFacts, names: Collection[str]) -> Facts:
    """The facts with these predicates closed, except those with soft evidence."""
    known = {name for name in names if not stored.tables[name].counts[2]}
    tables = {
        name: replace(table, world="closed") if name in known else table
        for name, table in stored.facts.tables.items()
    }
    return replace(stored.facts, tables=tables)
