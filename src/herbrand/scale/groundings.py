"""The groundings of a conjunction that facts leave possible, as a query: one row each, its atoms as numbers.

As :mod:`herbrand.program.bindings` and :mod:`herbrand.program.ground`, over facts in a database, by the joins
of :mod:`herbrand.program.body_rows`. A literal that facts make true is ``SATISFIED``; a grounding with one
that they make false has no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from herbrand.program.body_rows import Body, Condition, Part
from herbrand.program.ground import SATISFIED
from herbrand.program.template import Argument, Conjunction, Literal
from herbrand.relations.expression import Expression, column, literal
from herbrand.relations.relation import Relation
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.operands import fitting, query_of


def groundings(conjunction: Conjunction, instance: Sequence[Argument], atoms: StoredAtoms) -> str:
    """A query with a column ``k0`` ... for each argument of the instance, and ``c0`` ... for each literal."""
    names = {name: f"x{number}" for number, (name, _) in enumerate(conjunction.variables)}
    bound = query_of(_bound(conjunction, atoms, names))
    return _with_atoms(conjunction, atoms, bound, names, instance)


def expected_groundings(conjunction: Conjunction, atoms: StoredAtoms) -> float:
    """About how many there are: a known relation bounds its variables together."""
    evidence = atoms.evidence
    free = {name: float(len(evidence.program.domain(kind))) for name, kind in conjunction.variables}
    rows = 1.0
    for atom in conjunction.literals:
        names = {a for a in atom.arguments if isinstance(a, str)} & set(free)
        ways = 1.0
        for name in names:
            ways *= free[name]
        listed = evidence.tables(atom.predicate).counts[0]
        if names and is_relation(atom, atoms) and listed < ways:
            rows *= max(1, listed)
            for name in names:
                del free[name]
    for size in free.values():
        rows *= size
    return rows


def is_relation(literal: Literal, atoms: StoredAtoms) -> bool:
    """Whether the rows that make a literal true are all listed."""
    if literal.predicate in atoms.starts:
        return False
    return atoms.evidence.is_valued(literal.predicate) or (1 in literal.allowed and 0 not in literal.allowed)


def _bound(conjunction: Conjunction, atoms: StoredAtoms, names: Mapping[str, str]) -> Relation:
    """A column for each variable: the assignments that no known predicate rules out."""
    evidence, types = atoms.evidence, dict(conjunction.variables)
    sizes = {names[name]: len(evidence.program.domain(kind)) for name, kind in types.items()}
    parts, conditions = [Part(evidence.queries.numbers("one", 1).only(), 1)], []
    for left, right in sorted(conjunction.distinct, key=repr):
        ends = [column(names[a]) if isinstance(a, str) else literal(a) for a in (left, right)]
        needed = frozenset(names[a] for a in (left, right) if isinstance(a, str))
        conditions.append(Condition(needed, partial(_kept, ends[0] != ends[1])))
    for atom in conjunction.literals:
        if atom.predicate in atoms.starts:
            continue
        related = is_relation(atom, atoms)
        if related or (1 not in atom.allowed and 0 in atom.allowed):
            axes = tuple(dict.fromkeys(a for a in atom.arguments if isinstance(a, str)))
            tables = evidence.tables(atom.predicate)
            rows, columns = fitting(atom, tables.true, axes, evidence)
            place_of = dict(zip((names[axis] for axis in axes), map(column, columns), strict=True))
            listed = rows.select(**place_of)
            if related:
                parts.append(Part(listed, max(1, tables.counts[0])))
            else:
                conditions.append(Condition(frozenset(place_of), partial(_without, listed, list(place_of))))
        elif not atom.allowed:
            conditions.append(Condition(frozenset(), partial(_kept, literal(False))))
    domain = {name: evidence.queries.numbers(name, size) for name, size in sizes.items()}
    return Body(parts, conditions, domain.__getitem__, sizes.__getitem__, list(sizes)).rows()


def _kept(condition: Expression, rows: Relation) -> Relation:
    return rows.where(condition)


def _without(listed: Relation, on: Sequence[str], rows: Relation) -> Relation:
    """Of a closed predicate: what is listed is true."""
    return rows.without(listed, on)


def _with_atoms(
    conjunction: Conjunction,
    atoms: StoredAtoms,
    bound: str,
    place_of: Mapping[str, str],
    instance: Sequence[Argument],
) -> str:
    """What facts settle among the atoms of open predicates is looked up, row by row."""

    def at(argument: Argument) -> str:
        return f"b.{place_of[argument]}" if isinstance(argument, str) else str(argument)

    chosen = [f"{at(argument)} AS k{place}" for place, argument in enumerate(instance)]
    joins, conditions = [], []
    for place, atom in enumerate(conjunction.literals):
        if atom.predicate not in atoms.starts:
            chosen.append(f"CAST({SATISFIED} AS BIGINT) AS c{place}")
            continue
        number = atoms.number(atom.predicate, [at(a) for a in atom.arguments])
        settled = atoms.settled(atom.predicate)
        if settled is None:
            chosen.append(f"{number} AS c{place}")
            continue
        fits = [f"s{place}.a{i} = {at(a)}" for i, a in enumerate(atom.arguments)]
        joins.append(f" LEFT JOIN ({settled}) s{place} ON {' AND '.join(fits) or 'TRUE'}")
        allowed = ", ".join(map(str, atom.allowed)) or "NULL"
        conditions.append(f"(s{place}.f IS NULL OR s{place}.f IN ({allowed}))")
        chosen.append(f"CASE WHEN s{place}.f IS NULL THEN {number} ELSE {SATISFIED} END AS c{place}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(chosen) or '1 AS one'} FROM ({bound}) b{''.join(joins)}{where}"
