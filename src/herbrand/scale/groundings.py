"""The possible groundings of a conjunction: one row each, with the numbers of its atoms.

As :mod:`herbrand.program.bindings` and :mod:`herbrand.program.ground`, but over facts in a database, with the
joins of :mod:`herbrand.program.bindings`. A literal that facts make true is ``SATISFIED``; a grounding with a
literal that they make false has no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from herbrand.engines.mean_field.products import is_relation
from herbrand.program.bindings import BodyRelation, Listed, Variables, possible_rows
from herbrand.program.evidence import LATENT
from herbrand.program.ground import SATISFIED
from herbrand.program.program import Argument, Conjunction, Literal, expected_rows
from herbrand.relations.expression import Expression, choose, column, literal
from herbrand.relations.relation import Relation
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.evidence import among


def groundings(conjunction: Conjunction, instance: Sequence[Argument], atoms: StoredAtoms) -> Relation:
    """Columns ``k0`` ... for the arguments of the instance, and ``c0`` ... for the literals' atoms."""
    names = {name: f"x{number}" for number, (name, _) in enumerate(conjunction.variables)}
    return _with_atoms(conjunction, atoms, _bound(conjunction, atoms, names), names, instance)


def expected_groundings(conjunction: Conjunction, atoms: StoredAtoms) -> float:
    """Estimated number of groundings: a known relation bounds its variables jointly."""
    evidence = atoms.evidence

    def listed(atom: Literal) -> int | None:
        return evidence.tables(atom.predicate).counts[0] if is_relation(atom, evidence) else None

    return expected_rows(conjunction, lambda kind: len(evidence.program.domain(kind)), listed)


def _bound(conjunction: Conjunction, atoms: StoredAtoms, names: Mapping[str, str]) -> Relation:
    """Assignments that no known predicate rules out, a column for each variable."""
    evidence = atoms.evidence
    numbers = evidence.queries.numbers
    sizes = {names[name]: len(evidence.program.domain(kind)) for name, kind in conjunction.variables}
    begun = BodyRelation(numbers("one", 1).only(), 1)

    def listed(atom: Literal) -> Listed | None:
        return None if atom.predicate in atoms.starts else evidence.listed_atoms(atom)

    return possible_rows(conjunction, listed, Variables(names, sizes, numbers), begun)


def _with_atoms(
    conjunction: Conjunction,
    atoms: StoredAtoms,
    rows: Relation,
    place_of: Mapping[str, str],
    instance: Sequence[Argument],
) -> Relation:
    """Add the atoms' numbers; settled atoms of open predicates are looked up row by row."""

    def at(argument: Argument) -> Expression:
        return column(place_of[argument]) if isinstance(argument, str) else literal(argument)

    chosen = {f"k{place}": at(argument) for place, argument in enumerate(instance)}
    for place, atom in enumerate(conjunction.literals):
        chosen[f"c{place}"] = literal(SATISFIED)
        if atom.predicate in atoms.starts:
            value, arguments = f"value{place}", list(map(at, atom.arguments))
            keys = {f"s{place}_{i}": argument for i, argument in enumerate(arguments)}
            names = {f"s{place}_{i}": f"a{i}" for i in range(len(arguments))}
            known = atoms.evidence.settled(atom.predicate).renamed(**names, **{value: "value"})
            rows = rows.let(**keys).left_join(known, list(keys), **{value: LATENT})
            rows = rows.where(among(column(value), (LATENT, *atom.allowed)))
            number = atoms.number(atom.predicate, arguments)
            chosen[f"c{place}"] = choose(column(value) == LATENT, number, SATISFIED)
    return rows.select(**chosen)
