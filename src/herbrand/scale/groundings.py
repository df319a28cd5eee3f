"""The groundings of a conjunction that facts leave possible, as a query: one row each, its atoms as numbers.

As :mod:`herbrand.program.bindings` and :mod:`herbrand.program.ground`, over facts in a database, by the joins
of :mod:`herbrand.program.bindings`. A literal that facts make true is ``SATISFIED``; a grounding with
one that they make false has no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from herbrand.program.bindings import BodyRelation, Listed, Variables, possible_rows
from herbrand.program.ground import SATISFIED, expected_rows
from herbrand.program.program import Argument, Conjunction, Literal
from herbrand.relations.expression import column, literal
from herbrand.relations.relation import Relation
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.operands import among, query_of


def groundings(conjunction: Conjunction, instance: Sequence[Argument], atoms: StoredAtoms) -> str:
    """A query with a column ``k0`` ... for each argument of the instance, and ``c0`` ... for each literal."""
    names = {name: f"x{number}" for number, (name, _) in enumerate(conjunction.variables)}
    bound = query_of(_bound(conjunction, atoms, names))
    return _with_atoms(conjunction, atoms, bound, names, instance)


def expected_groundings(conjunction: Conjunction, atoms: StoredAtoms) -> float:
    """About how many there are: a known relation bounds its variables together."""
    evidence = atoms.evidence

    def listed(atom: Literal) -> int | None:
        return evidence.tables(atom.predicate).counts[0] if is_relation(atom, atoms) else None

    return expected_rows(conjunction, lambda kind: len(evidence.program.domain(kind)), listed)


def is_relation(literal: Literal, atoms: StoredAtoms) -> bool:
    """Whether the rows that make a literal true are all listed."""
    if literal.predicate in atoms.starts:
        return False
    return atoms.evidence.is_valued(literal.predicate) or (1 in literal.allowed and 0 not in literal.allowed)


def _bound(conjunction: Conjunction, atoms: StoredAtoms, names: Mapping[str, str]) -> Relation:
    """A column for each variable: the assignments that no known predicate rules out."""
    evidence = atoms.evidence
    numbers = evidence.queries.numbers
    sizes = {names[name]: len(evidence.program.domain(kind)) for name, kind in conjunction.variables}
    begun = BodyRelation(numbers("one", 1).only(), 1)
    return possible_rows(
        conjunction, lambda atom: _listed(atom, atoms), Variables(names, sizes, numbers), begun
    )


def _listed(atom: Literal, atoms: StoredAtoms) -> Listed | None:
    """What is known of a literal's atoms, where no atom of the predicate is latent."""
    if atom.predicate in atoms.starts:
        return None
    evidence, tables = atoms.evidence, atoms.evidence.tables(atom.predicate)
    rows = evidence.relation(tables.true, atom.predicate)
    if evidence.is_valued(atom.predicate):
        rows = rows.where(among(column(f"a{len(atom.arguments)}"), atom.allowed))
    elif not atom.allowed:
        rows = rows.where(literal(False))
    elif 0 in atom.allowed:
        return None if 1 in atom.allowed else Listed(rows, tables.counts[0], needed=False)
    return Listed(rows, tables.counts[0], needed=True)


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
