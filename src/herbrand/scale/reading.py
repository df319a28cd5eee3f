"""Read answers from tables of marginals: only the requested rows leave the database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from herbrand.answers.marginals import AtomTable
from herbrand.budget import allowed_bytes, readable
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.facts.column import Constants
from herbrand.program.bindings import fitting
from herbrand.program.question import AtomPattern, Question
from herbrand.relations.expression import column
from herbrand.relations.relation import Relation
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Beliefs, Marginals, query_of
from herbrand.scale.run import StoredProgram, StoredRun

BYTES_A_ROW = 400
"""Memory for a row of an answer, with what displaying it takes."""


def queried_tables(stored: StoredProgram, beliefs: Beliefs, question: Question) -> tuple[AtomTable, ...]:
    """A table for each predicate in the question; only latent atoms unless single atoms are named."""
    evidence, tables = stored.evidence, []
    for predicate, patterns in queried_patterns(beliefs, question).items():
        first, *others = (_matching(evidence, beliefs[predicate], pattern) for pattern in patterns)
        rows = first.stack(*others).distinct() if others else first
        tables.append(_table(evidence, predicate, rows, stored.run))
    return tuple(tables)


def queried_patterns(predicates: Iterable[str], question: Question) -> dict[str, list[AtomPattern]]:
    """Patterns of the question for each predicate."""
    if question.everything:
        return {name: [AtomPattern(name, (), latent=True)] for name in predicates}
    by_predicate: dict[str, list[AtomPattern]] = {}
    for pattern in question.atoms:
        by_predicate.setdefault(pattern.predicate, []).append(pattern)
    return by_predicate


def refuse_unanswerable(
    evidence: StoredEvidence, question: Question, top: int | None, memory: int | None
) -> None:
    """Raise unless every queried predicate has latent atoms, and the answer fits into memory or has a
    ``top``."""
    for pattern in question.atoms:
        if not evidence.known(pattern.predicate).latent_count():
            raise UnsupportedError(
                f"'{pattern.predicate}' has no latent atom, and a database is asked for marginals only"
            )
    if top is not None:
        return
    predicates = evidence.program.signature.predicates
    names = list(predicates) if question.everything else [p.predicate for p in question.atoms if p.latent]
    atoms = sum(evidence.known(name).latent_count() for name in names)
    refuse_long_answer(
        atoms, allowed_bytes(memory), "ask for the most probable by --top K, or for some atoms by --query"
    )


def refuse_long_answer(rows: int, allowed: int, hint: str) -> None:
    """Raise BudgetError if an answer of so many rows does not fit into memory."""
    if rows * BYTES_A_ROW > allowed:
        needed = readable(rows * BYTES_A_ROW)
        raise BudgetError(f"the answer would have {rows:,} rows, about {needed} in memory", hint=hint)


def _matching(evidence: StoredEvidence, marginals: Marginals, pattern: AtomPattern) -> Relation:
    """Rows of atoms that match a pattern, with arguments, values and ``q``."""
    columns = evidence.columns(pattern.predicate)
    named = zip(columns, () if pattern.latent else pattern.arguments, strict=False)
    fixed = {name: argument for name, argument in named if isinstance(argument, int)}
    rows = _with_others(evidence, pattern.predicate, marginals, fixed)
    if pattern.latent:
        return rows.where(column("latent")).only(*(name for name in rows.columns if name != "latent"))
    return fitting(rows, pattern.arguments)[0].only(*(name for name in rows.columns if name != "latent"))


def _with_others(
    evidence: StoredEvidence, predicate: str, marginals: Marginals, fixed: Mapping[str, int]
) -> Relation:
    """All atoms with these arguments, including those without a row, which share one probability."""
    if marginals.others is None:
        return marginals.rows
    columns, sizes = evidence.columns(predicate), evidence.sizes(predicate)
    wanted = math.prod(size for name, size in zip(columns, sizes, strict=True) if name not in fixed)
    if wanted * BYTES_A_ROW > allowed_bytes(None):
        raise BudgetError(f"{predicate} has {wanted:,} such atoms", hint="ask for some of them by --query")
    every = evidence.every_atom(predicate, fixed)
    return every.left_join(marginals.rows, columns, q=marginals.others, latent=True)


def _table(evidence: StoredEvidence, predicate: str, rows: Relation, run: StoredRun) -> AtomTable:
    """The rows as a table of the answer, limited to the ``top`` and ``least`` of the run."""
    columns, valued = evidence.columns(predicate), evidence.is_valued(predicate)
    limit = ""
    if not valued:
        rows = rows if run.least is None else rows.where(column("q") >= run.least)
        limit = "" if run.top is None else f" ORDER BY {', '.join(('q DESC', *columns))} LIMIT {run.top}"
    query = f"SELECT * FROM ({query_of(rows)}) w{limit}"
    types = dict(zip(columns, evidence.program.signature.predicates[predicate].types, strict=True))
    table = evidence.stored.named(query, types, [*columns, "val"] if valued else columns or ["q"])
    q = table["q"].to_numpy().astype(np.float64)
    constants = [Constants(table[f"{name}_value"]) for name in columns]
    if not valued:
        return AtomTable(predicate, tuple(constants), np.stack([1 - q, q], axis=1))
    return _valued(evidence, predicate, constants, table, q)


def _valued(
    evidence: StoredEvidence, predicate: str, constants: Sequence[Constants], table: pa.Table, q: np.ndarray
) -> AtomTable:
    """Group rows of values, sorted by atom, into one row for each atom; a value without a row is
    impossible."""
    program = evidence.program
    first = np.ones(len(q), bool)
    keys = [table[column].to_numpy() for column in evidence.columns(predicate)]
    first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0) if keys else False
    atom = np.cumsum(first) - 1
    shares = np.zeros((int(first.sum()), program.value_count(predicate)))
    shares[atom, table["val"].to_numpy()] = q
    starts = pa.array(np.flatnonzero(first))
    columns = tuple(Constants(one.values.take(starts)) for one in constants)
    value_type = program.signature.predicates[predicate].value_type
    assert value_type is not None
    return AtomTable(predicate, columns, shares, tuple(program.domain(value_type)))
