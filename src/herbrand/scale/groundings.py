"""The groundings of a conjunction that facts leave possible, as a query: one row each, its atoms as numbers.

As :mod:`herbrand.program.bindings` and :mod:`herbrand.program.ground`, over facts in a database. A literal
that facts make true is ``SATISFIED``; a grounding with one that they make false has no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from herbrand.program.ground import SATISFIED
from herbrand.program.template import Argument, Conjunction, Literal
from herbrand.scale.atoms import StoredAtoms


def groundings(conjunction: Conjunction, instance: Sequence[Argument], atoms: StoredAtoms) -> str:
    """A query with a column ``k0`` ... for each argument of the instance, and ``c0`` ... for each literal."""
    return _Joined(conjunction, atoms).query(instance)


def expected_groundings(conjunction: Conjunction, atoms: StoredAtoms) -> float:
    """About how many there are: a known relation bounds its variables together."""
    evidence = atoms.evidence
    free = {name: float(len(evidence.program.domain(kind))) for name, kind in conjunction.variables}
    rows = 1.0
    for literal in conjunction.literals:
        names = {a for a in literal.arguments if isinstance(a, str)} & set(free)
        ways = 1.0
        for name in names:
            ways *= free[name]
        listed = evidence.tables(literal.predicate).counts[0]
        if names and is_relation(literal, atoms) and listed < ways:
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


@dataclass
class _Joined:
    conjunction: Conjunction
    atoms: StoredAtoms
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    place: dict[str, str] = field(default_factory=dict)

    def query(self, instance: Sequence[Argument]) -> str:
        literals = self.conjunction.literals
        for literal in literals:
            if is_relation(literal, self.atoms):
                self._join(literal)
        for name, kind in self.conjunction.variables:
            if name not in self.place:
                size = len(self.atoms.evidence.program.domain(kind))
                numbers = self.atoms.evidence.database.dialect.numbers.format(count=size)
                alias = f"n{len(self.sources)}"
                self.sources.append(f"{numbers} {alias}")
                self.place[name] = f"{alias}.i"
        for left, right in sorted(self.conjunction.distinct, key=repr):
            self.conditions.append(f"{self._at(left)} <> {self._at(right)}")
        for literal in literals:
            if literal.predicate not in self.atoms.starts and not is_relation(literal, self.atoms):
                self._refuse_listed(literal)
        names = {name: f"x{number}" for number, name in enumerate(self.place)}
        chosen = [f"CAST({self.place[name]} AS INT) AS {column}" for name, column in names.items()]
        source = " CROSS JOIN ".join(self.sources) or "(SELECT 1 AS one) o"
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        bound = f"SELECT {', '.join(chosen) or '1 AS one'} FROM {source}{where}"
        self.place = {name: f"b.{column}" for name, column in names.items()}
        return self._with_atoms(bound, instance)

    def _at(self, argument: Argument) -> str:
        return self.place[argument] if isinstance(argument, str) else str(argument)

    def _join(self, literal: Literal) -> None:
        evidence, alias = self.atoms.evidence, f"r{len(self.sources)}"
        self.sources.append(f"{evidence.tables(literal.predicate).true} {alias}")
        for place, argument in enumerate(literal.arguments):
            column = f"{alias}.a{place}"
            if isinstance(argument, str) and argument not in self.place:
                self.place[argument] = column
            else:
                self.conditions.append(f"{column} = {self._at(argument)}")
        if evidence.is_valued(literal.predicate):
            values = ", ".join(map(str, literal.allowed)) or "NULL"
            self.conditions.append(f"{alias}.a{len(literal.arguments)} IN ({values})")

    def _refuse_listed(self, literal: Literal) -> None:
        """Of a closed predicate: what is listed is true."""
        if 1 in literal.allowed:
            return
        if 0 not in literal.allowed:
            self.conditions.append("FALSE")
            return
        table = self.atoms.evidence.tables(literal.predicate).true
        fits = [f"z.a{place} = {self._at(a)}" for place, a in enumerate(literal.arguments)]
        self.conditions.append(f"NOT EXISTS (SELECT 1 FROM {table} z WHERE {' AND '.join(fits) or 'TRUE'})")

    def _with_atoms(self, bound: str, instance: Sequence[Argument]) -> str:
        """What facts settle among the atoms of open predicates is looked up, row by row."""
        chosen = [f"{self._at(argument)} AS k{place}" for place, argument in enumerate(instance)]
        joins, conditions = [], []
        for place, literal in enumerate(self.conjunction.literals):
            if literal.predicate not in self.atoms.starts:
                chosen.append(f"CAST({SATISFIED} AS BIGINT) AS c{place}")
                continue
            number = self.atoms.number(literal.predicate, [self._at(a) for a in literal.arguments])
            settled = self.atoms.settled(literal.predicate)
            if settled is None:
                chosen.append(f"{number} AS c{place}")
                continue
            fits = [f"s{place}.a{i} = {self._at(a)}" for i, a in enumerate(literal.arguments)]
            joins.append(f" LEFT JOIN ({settled}) s{place} ON {' AND '.join(fits) or 'TRUE'}")
            allowed = ", ".join(map(str, literal.allowed)) or "NULL"
            conditions.append(f"(s{place}.f IS NULL OR s{place}.f IN ({allowed}))")
            chosen.append(f"CASE WHEN s{place}.f IS NULL THEN {number} ELSE {SATISFIED} END AS c{place}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {', '.join(chosen) or '1 AS one'} FROM ({bound}) b{''.join(joins)}{where}"
