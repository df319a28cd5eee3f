"""From tables of marginals to the tables of an answer: only rows that are asked for leave the database."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from herbrand.answers.marginals import AtomTable
from herbrand.budget import allowed_bytes, readable
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.facts.column import Constants
from herbrand.program.question import AtomPattern, Question
from herbrand.scale.beliefs import BeliefLayout
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Beliefs

BYTES_A_ROW = 400
"""Of an answer in memory, once somebody looks at it."""


def tables_asked_for(
    evidence: StoredEvidence,
    layouts: Mapping[str, BeliefLayout],
    beliefs: Beliefs,
    question: Question,
    top: int | None = None,
    least: float | None = None,
) -> Iterator[AtomTable]:
    """A table for each predicate asked for; of latent atoms, unless some are named."""
    for predicate, patterns in asked_patterns(layouts, question).items():
        layout, marginals = layouts[predicate], beliefs[predicate]
        query = " UNION ".join(
            _matching(evidence, layout, marginals.table, marginals.others, pattern) for pattern in patterns
        )
        yield _table(evidence, layout, query, top, least)


def asked_patterns(layouts: Mapping[str, BeliefLayout], question: Question) -> dict[str, list[AtomPattern]]:
    """What is asked of each predicate."""
    if question.everything:
        return {name: [AtomPattern(name, (), latent=True)] for name in layouts}
    found: dict[str, list[AtomPattern]] = {}
    for pattern in question.atoms:
        found.setdefault(pattern.predicate, []).append(pattern)
    return found


def refuse_unanswerable(
    evidence: StoredEvidence, question: Question, top: int | None, memory: int | None
) -> None:
    """Before any work: an answer is about latent atoms, and fits into memory or is cut by ``top``."""
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
    """Raise where so many rows of an answer do not fit into memory."""
    if rows * BYTES_A_ROW > allowed:
        needed = readable(rows * BYTES_A_ROW)
        raise BudgetError(f"the answer would have {rows:,} rows, about {needed} in memory", hint=hint)


def _matching(
    evidence: StoredEvidence, layout: BeliefLayout, table: str, others: float | None, pattern: AtomPattern
) -> str:
    """The rows of atoms that fit a pattern."""
    columns = (*layout.columns, "val") if layout.valued else layout.columns
    chosen = ", ".join((*columns, "q", "f"))
    if pattern.latent:
        if others is not None:
            return _with_others(evidence, layout, table, others, {})
        return f"SELECT {chosen} FROM {table} WHERE f IS NULL"
    fixed, conditions, first = {}, [], {}
    for column, argument in zip(layout.columns, pattern.arguments, strict=True):
        if isinstance(argument, int):
            conditions.append(f"{column} = {argument}")
            fixed[column] = argument
        elif argument in first:
            conditions.append(f"{column} = {first[argument]}")
        else:
            first[argument] = column
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if others is None:
        return f"SELECT {chosen} FROM {table}{where}"
    return f"SELECT * FROM ({_with_others(evidence, layout, table, others, fixed, False)}) w{where}"


def _with_others(
    evidence: StoredEvidence,
    layout: BeliefLayout,
    table: str,
    others: float,
    fixed: Mapping[str, int],
    latent: bool = True,
) -> str:
    """All atoms with these arguments, those without a row included."""
    dialect, sizes = evidence.database.dialect, evidence.sizes(layout.predicate)
    wanted = math.prod(s for c, s in zip(layout.columns, sizes, strict=True) if c not in fixed)
    if wanted * BYTES_A_ROW > allowed_bytes(None):
        raise BudgetError(
            f"{layout.predicate} has {wanted:,} such atoms", hint="ask for some of them by --query"
        )
    numbers = [
        f"(SELECT {fixed[column]} AS i) n{place}"
        if column in fixed
        else f"{dialect.numbers.format(count=size)} n{place}"
        for place, (column, size) in enumerate(zip(layout.columns, sizes, strict=True))
    ]
    on = " AND ".join(f"t.{column} = n{place}.i" for place, column in enumerate(layout.columns)) or "TRUE"
    chosen = [f"CAST(n{place}.i AS INT) AS {column}" for place, column in enumerate(layout.columns)]
    value = f"COALESCE(t.q, CAST('{others!r}' AS DOUBLE)) AS q"
    where = " WHERE t.f IS NULL" if latent else ""
    source = " CROSS JOIN ".join(numbers)
    return f"SELECT {', '.join((*chosen, value, 't.f'))} FROM {source} LEFT JOIN {table} t ON {on}{where}"


def _table(
    evidence: StoredEvidence, layout: BeliefLayout, query: str, top: int | None, least: float | None
) -> AtomTable:
    columns = layout.columns
    limits = "" if least is None else f" WHERE q >= {least!r}"
    order = ", ".join(columns) or "q"
    if top is not None and not layout.valued:
        limits += f" ORDER BY q DESC, {order} LIMIT {top}"
        query = f"SELECT * FROM ({query}) w{limits}"
    elif least is not None and not layout.valued:
        query = f"SELECT * FROM ({query}) w{limits}"
    found = evidence.database.arrow(_with_constants(evidence, layout, query))
    q = found["q"].to_numpy().astype(np.float64)
    constants = [Constants(found[f"c{place}"]) for place in range(len(columns))]
    if not layout.valued:
        return AtomTable(layout.predicate, tuple(constants), np.stack([1 - q, q], axis=1))
    return _valued(evidence, layout, constants, found, q)


def _with_constants(evidence: StoredEvidence, layout: BeliefLayout, query: str) -> str:
    """The rows and their constants, in the order of the constants' numbers."""
    types = evidence.program.signature.predicates[layout.predicate].types
    names = (*layout.columns, "val") if layout.valued else layout.columns
    tables = [evidence.stored.constants[name] for name in types]
    joins = [
        f"JOIN {table} d{place} ON d{place}.id = r.{column}"
        for place, (table, column) in enumerate(zip(tables, layout.columns, strict=True))
    ]
    chosen = [f"r.{name} AS {name}" for name in names]
    chosen += [f"d{place}.value AS c{place}" for place in range(len(tables))]
    order = ", ".join(f"r.{name}" for name in names) or "r.q"
    return f"SELECT {', '.join((*chosen, 'r.q AS q'))} FROM ({query}) r {' '.join(joins)} ORDER BY {order}"


def _valued(
    evidence: StoredEvidence,
    layout: BeliefLayout,
    constants: Sequence[Constants],
    found: pa.Table,
    q: np.ndarray,
) -> AtomTable:
    """Rows of values, sorted by atom, gathered; a value without a row is impossible."""
    program = evidence.program
    first = np.ones(len(q), bool)
    keys = [found[column].to_numpy() for column in layout.columns]
    first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0) if keys else False
    atom = np.cumsum(first) - 1
    shares = np.zeros((int(first.sum()), program.value_count(layout.predicate)))
    shares[atom, found["val"].to_numpy()] = q
    starts = pa.array(np.flatnonzero(first))
    columns = tuple(Constants(one.values.take(starts)) for one in constants)
    value_type = program.signature.predicates[layout.predicate].value_type
    assert value_type is not None
    return AtomTable(layout.predicate, columns, shares, tuple(program.domain(value_type)))
