"""Clauses over facts in a database, as SQL: what one round of a predicate's proofs is.

A body of atoms alone is a contraction, whose sums are taken early; one with tests is joined as a whole. What
stands for the derived predicates in it, a table or a subquery, is given with each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from herbrand.contraction.expression import Contraction, Sizes
from herbrand.contraction.relational import Stored, planned, rendered
from herbrand.contraction.relational_algebras import Meaning, meaning_of
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.language.syntax import Learned
from herbrand.program.clauses import Absence, Clause, Compared, Lookup, Measured, Never, OneOf
from herbrand.scale.facts import StoredFacts

Tables = Mapping[str, str]
"""What stands for each derived predicate: a table's name, or a query in brackets with an alias."""


@dataclass(frozen=True, eq=False)
class ClauseQueries:
    """``complete`` names a table of all atoms of a predicate that have a proof, for ``not``."""

    program: HornProgram
    stored: StoredFacts
    algebra: str
    complete: Callable[[str], str]

    @property
    def meaning(self) -> Meaning:
        return meaning_of(self.algebra)

    def predicate_query(self, name: str, tables: Tables) -> str:
        """One round of a predicate: its clauses added up."""
        columns = self.columns(name)
        parts = [self.clause_query(clause, tables) for clause in self.program.clauses[name]]
        if not parts:
            return self.empty(name)
        union = " UNION ALL ".join(f"SELECT {listed(columns, 'v')} FROM ({part}) p" for part in parts)
        total = f"{self.meaning.total('v')} AS v"
        groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
        summed = f"SELECT {listed(columns, total)} FROM ({union}) u{groups}"
        return f"SELECT * FROM ({summed}) s WHERE {self.meaning.present('v')}"

    def clause_query(
        self, clause: Clause, tables: Tables, instead: Mapping[int, Tables] | None = None
    ) -> str:
        """The weight of each head: the ⊕ over all other variables of the ⊗ of the body.

        ``instead``: other tables for derived atoms at these places.
        """
        lookups = [
            (part, (instead or {}).get(place, tables))
            for place, part in enumerate(clause.body)
            if isinstance(part, Lookup)
        ]
        tests = [part for part in clause.body if not isinstance(part, Lookup)]
        weight = self._weight(clause)
        if tests:
            return self._joined(clause, lookups, tests, weight)
        return self._contracted(clause, lookups, weight)

    def _contracted(
        self, clause: Clause, lookups: Sequence[tuple[Lookup, Tables]], weight: str | None
    ) -> str:
        """A body of atoms alone: a contraction, so that sums are taken early."""
        variables = clause.variables()
        sizes = Sizes({name: self.program.sizes[clause.types[name]] for name in variables})
        operands, stored = [], []
        for part, tables in lookups:
            source, columns, value, rows = self._source(part, clause, tables)
            operands.append(tuple(columns))
            stored.append(Stored(source, tuple(columns.values()), value, None, rows))
        output = tuple(dict.fromkeys(name for name in clause.head if name not in clause.constants))
        contraction = Contraction(tuple(operands), output, sizes, algebra=self.algebra)
        query = rendered(planned(contraction, stored), stored, self.stored.database.dialect)
        places = dict(zip(output, query.columns, strict=True))
        chosen = [
            f"{clause.constants[name] if name in clause.constants else places[name]} AS a{place}"
            for place, name in enumerate(clause.head)
        ]
        if query.rows is None:
            value = query.background or self.meaning.number(self.meaning.zero)
            inner = f"(SELECT {value} AS v{''.join(f', n{i}.i AS {places[n]}' for i, n in enumerate(output))}"
            sources = [self._numbers(name, clause, i) for i, name in enumerate(output)]
            inner += f"{' FROM ' + ' CROSS JOIN '.join(sources) if sources else ''}) q"
        else:
            inner = f"({query.rows}) q"
        value = "v" if weight is None else self.meaning.product(["v", weight])
        return f"SELECT {listed(chosen, f'{value} AS v')} FROM {inner} WHERE {self.meaning.present('v')}"

    def _joined(
        self,
        clause: Clause,
        lookups: Sequence[tuple[Lookup, Tables]],
        tests: Sequence[object],
        weight: str | None,
    ) -> str:
        """A body with tests: joined as a whole, filtered, and then added up."""
        place: dict[str, str] = {}
        sources, conditions, factors = [], [], [] if weight is None else [weight]
        for number, (part, tables) in enumerate(lookups):
            source, columns, value, _ = self._source(part, clause, tables)
            given = value or self.meaning.number(self.meaning.one)
            inner = listed(
                [f"{column} AS x{i}" for i, column in enumerate(columns.values())], f"{given} AS v"
            )
            sources.append(f"(SELECT {inner} FROM {source}) l{number}")
            factors.append(f"l{number}.v")
            for i, name in enumerate(columns):
                if name in place:
                    conditions.append(f"l{number}.x{i} = {place[name]}")
                place.setdefault(name, f"l{number}.x{i}")
        for number, name in enumerate(name for name in clause.variables() if name not in place):
            sources.append(self._numbers(name, clause, number))
            place[name] = f"n{number}.i"
        place |= {name: str(index) for name, index in clause.constants.items()}
        conditions += [self._test(test, clause, place) for test in tests]
        chosen = [f"{place[name]} AS a{number}" for number, name in enumerate(clause.head)]
        body = (
            f"FROM {' CROSS JOIN '.join(sources) or '(SELECT 1 AS one) o'} WHERE {' AND '.join(conditions)}"
        )
        product = self.meaning.product(factors)
        columns = [f"a{number}" for number in range(len(clause.head))]
        rows = f"SELECT {listed(chosen, f'{product} AS v')} {body}"
        groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
        total = f"{self.meaning.total('v')} AS v"
        return f"SELECT {listed(columns, total)} FROM ({rows}) j{groups}"

    def _test(self, test: object, clause: Clause, place: Mapping[str, str]) -> str:
        match test:
            case Never():
                return "FALSE"
            case OneOf(variable=name, allowed=allowed):
                return f"{place[name]} IN ({', '.join(map(str, allowed)) or 'NULL'})"
            case Compared(operator="!=", left=left, right=right):
                return f"{place[left]} <> {place[right]}"
            case Compared(operator=sign, left=left, right=right):
                values = [self._constant(name, clause, place) for name in (left, right)]
                return f"{values[0]} {sign} {values[1]}"
            case Measured(variable=name, operator=sign, number=number):
                shown = {"!=": "<>"}.get(sign, sign)
                return f"{self._constant(name, clause, place)} {shown} CAST('{number!r}' AS DOUBLE)"
            case Absence(predicate=predicate, arguments=arguments):
                return self._absent(predicate, arguments, place)
        raise AssertionError(test)

    def _constant(self, name: str, clause: Clause, place: Mapping[str, str]) -> str:
        table = self.stored.constants[clause.types[name]]
        return f"(SELECT value FROM {table} z WHERE z.id = {place[name]})"

    def _absent(self, predicate: str, arguments: Sequence[str], place: Mapping[str, str]) -> str:
        """No proof, at any depth, whatever stands for variables that stand nowhere else."""
        table = self.complete(predicate)
        first: dict[str, str] = {}
        fits = []
        for number, name in enumerate(arguments):
            if name in place:
                fits.append(f"z.a{number} = {place[name]}")
            elif name in first:
                fits.append(f"z.a{number} = {first[name]}")
            else:
                first[name] = f"z.a{number}"
        return f"NOT EXISTS (SELECT 1 FROM {table} z WHERE {' AND '.join(fits) or 'TRUE'})"

    def _source(
        self, part: Lookup, clause: Clause, tables: Tables
    ) -> tuple[str, dict[str, str], str | None, int]:
        """The rows that fit an atom's constants and repeated variables: columns by variable, value, size."""
        derived = not part.stated and self.program.is_derived(part.predicate)
        facts = self.stored.tables[part.predicate]
        rows = sum(facts.counts)
        table, value = (tables[part.predicate], "v") if derived else self._facts(part.predicate)
        columns: dict[str, str] = {}
        conditions = []
        for number, name in enumerate(part.arguments):
            if name in clause.constants:
                conditions.append(f"a{number} = {clause.constants[name]}")
            elif name in columns:
                conditions.append(f"a{number} = {columns[name]}")
            else:
                columns[name] = f"a{number}"
        if self.algebra == "boolean" and not derived:
            value = None
        if conditions:
            kept = listed(columns.values(), *([value] if value else []))
            table = f"(SELECT {kept or '1 AS one'} FROM {table} WHERE {' AND '.join(conditions)}) o"
        return table, columns, value, max(rows, 1)

    def _facts(self, predicate: str) -> tuple[str, str | None]:
        """The facts that hold, and soft ones with their probability as their weight."""
        tables, columns = self.stored.tables[predicate], self.columns(predicate)
        value = "w" if tables.weighted else None
        if not tables.counts[2]:
            return tables.true, value
        known = " AND ".join(f"t.{column} = s.{column}" for column in columns) or "TRUE"
        weight = "w" if tables.weighted else "CAST(1 AS DOUBLE) AS w"
        return (
            f"(SELECT {listed(columns, weight)} FROM {tables.true} UNION ALL "
            f"SELECT {listed([f's.{column}' for column in columns], 's.p AS w')} FROM {tables.soft} s "
            f"WHERE NOT EXISTS (SELECT 1 FROM {tables.true} t WHERE {known})) f",
            "w",
        )

    def _weight(self, clause: Clause) -> str | None:
        """The rule's own weight; of one that is to be learned, 1."""
        if clause.weight is None or self.algebra == "boolean":
            return None
        weight = self.program.weighted[clause.weight].weight
        assert weight is not None
        return None if isinstance(weight, Learned) else self.meaning.number(weight)

    def _numbers(self, name: str, clause: Clause, number: int) -> str:
        count = self.program.sizes[clause.types[name]]
        return f"{self.stored.database.dialect.numbers.format(count=count)} n{number}"

    def columns(self, name: str) -> list[str]:
        return [f"a{place}" for place in range(len(self.program.column_types(name)))]

    def empty(self, name: str) -> str:
        columns = [f"CAST(0 AS INT) AS {column}" for column in self.columns(name)]
        return f"SELECT {listed(columns, f'{self.meaning.number(self.meaning.one)} AS v')} LIMIT 0"


def listed(columns: object, *more: str) -> str:
    """Columns and more of them, as SQL lists them."""
    return ", ".join((*columns, *more))  # type: ignore[misc]
