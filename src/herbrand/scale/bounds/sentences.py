"""Bounds grounded over facts in a database: every ground sentence a row, made in batches that fit into
memory.

The assignments of a bound's variables come from a join in the database, a batch at a time; each batch is
lowered as in memory. A sentence's atoms are numbered as in memory, in ascending order; ``pattern`` gives the
cases in which it holds. Sentences about single atoms are kept as intervals too, and dependences between atoms
as links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.engines.credal.ariel.factors import intervals_of
from herbrand.engines.credal.ariel.messages import refuse_settled
from herbrand.engines.credal.ariel.scopes import Pattern, Scope, scopes_of
from herbrand.engines.credal.lowering import Lowering, renamed_apart
from herbrand.engines.credal.markov import graph_of
from herbrand.engines.credal.network import Atoms, KnownAtoms, Network, Stated
from herbrand.engines.credal.sentence_groups import Gathered, add_rows
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.scope import free_names
from herbrand.language.syntax import Bound, BoundRows, formulas_in
from herbrand.program.bindings import Bindings
from herbrand.program.clauses import Clause, Lookup
from herbrand.program.program import Argument, Conjunction
from herbrand.relations.database import Database
from herbrand.relations.stored import Scratch
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.fact_relations import StoredFactRelations

BATCH = 200_000
"""Assignments lowered at once."""
NOTHING = KnownAtoms(np.empty(0, np.int64), np.empty(0, bool))

Report = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class StoredLowering(Lowering):
    """Grounds bounds over facts in a database."""

    evidence: StoredEvidence

    @staticmethod
    def of(evidence: StoredEvidence, budget: Budget) -> StoredLowering:
        return StoredLowering(evidence, _open_atoms(evidence), budget)

    @property
    def stated(self) -> Stated:
        return Stated(self.program.statements)

    def batches(self) -> Iterator[Gathered]:
        """Yield all ground sentences, a batch at a time."""
        gathered = Gathered()
        for number, statement in self.stated.numbered():
            if isinstance(statement, BoundRows):
                for row in add_rows(number, statement, self.atoms, gathered):
                    self.add(number + row, statement.bound(row), gathered)
            elif isinstance(statement, Bound):
                bound = renamed_apart(statement)
                if free_names(formulas_in(bound)):
                    yield from self._grounded(number, bound)
                else:
                    self.add(number, statement, gathered)
        yield gathered

    def _grounded(self, number: int, bound: Bound) -> Iterator[Gathered]:
        """Yield the groundings of a renamed bound with variables."""
        conjunction, types = self.choices(bound.event, bound.given)
        query, names = _choices_query(conjunction, self.evidence)
        none = Bindings(dict.fromkeys(names, NOTHING.atoms), NOTHING.atoms)
        self.add_bindings(number, bound, none, types, Gathered())  # refuses what it cannot lower, rows or not
        for batch in self.evidence.database.batches(query, BATCH):
            columns = {name: batch[place].to_numpy().astype(np.int64) for place, name in enumerate(names)}
            rows = Bindings(columns, np.zeros(len(batch), np.int64))
            gathered = Gathered()
            self.add_bindings(number, bound, rows, types, gathered)
            yield gathered


def _open_atoms(evidence: StoredEvidence) -> Atoms:
    """The atoms that bounds are about; raise UnsupportedError if facts settle any of them."""
    program = evidence.program
    domains_by_predicate = {}
    for name, predicate in program.signature.predicates.items():
        if program.is_open(name) and predicate.value_type is None:
            true, false, soft = evidence.tables(name).counts
            if true or false or soft:
                raise UnsupportedError(
                    f"on a database bound takes no facts of open predicates, and {name} has "
                    f"{true + false + soft:,}",
                    hint=f"declare {name} as observed, leave its facts out, or leave out --on",
                )
            domains_by_predicate[name] = program.domains_of(predicate)
    atoms = Atoms.of(domains_by_predicate)
    count = atoms.starts[-1]
    if count >= 2**63:
        raise BudgetError(f"there are {count:.1e} open ground atoms, more than 64 bits can number")
    return atoms


def _choices_query(conjunction: Conjunction, evidence: StoredEvidence) -> tuple[str, list[str]]:
    """Query for the assignments for which all literals hold, a column for each variable; and the variables'
    names."""
    names = [name for name, _ in conjunction.variables]
    arguments = {a for literal in conjunction.literals for a in literal.arguments if isinstance(a, int)}
    body = tuple(Lookup(x.predicate, tuple(map(_named, x.arguments))) for x in conjunction.literals)
    constants = {_named(index): index for index in arguments}
    clause = Clause("choices", tuple(names), body, conjunction.types, constants)
    source = StoredFactRelations(evidence.stored, evidence.program.signature, Scratch(evidence.database))
    return source.query_of(clause), names


def _named(argument: Argument) -> str:
    """A variable, or a name for a constant that no variable has."""
    return argument if isinstance(argument, str) else f"#{argument}"


@dataclass
class Sentences:
    """Writes ground sentences to tables, batch by batch; ``patterns`` lists the patterns by number.

    ``stated`` tables have ``atoms``, ``arity``, ``pattern``, ``lower``, ``upper``, ``number``, ``statement``;
    ``single`` ones ``atom``, ``lower``, ``upper``; ``link`` ones ``source``, ``target``.
    """

    database: Database
    lowering: StoredLowering
    markov: bool
    count: int = 0
    patterns: list[Pattern] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=lambda: {"stated": [], "single": [], "link": []})
    _numbers: dict[tuple[bytes, bytes], int] = field(default_factory=dict)

    def write(self, report: Report) -> None:
        """Write all ground sentences of the bounds."""
        for gathered in self.lowering.batches():
            network = Network(self.lowering.atoms, gathered.groups(), NOTHING, links=gathered.links())
            self._add(network)
            report(f"{self.count:,} ground sentences", 0.2)

    def _add(self, network: Network) -> None:
        if self.markov:
            links = graph_of(network).links
            self._put("link", pa.table({"source": links[:, 0], "target": links[:, 1]}))
        if not len(network):
            return
        statement = np.concatenate([group.statement for group in network.groups])
        rows = [self._rows(scope, statement) for scope in scopes_of(network)]
        self._put("stated", pa.concat_tables(rows))
        for scope in scopes_of(network):
            if scope.arity == 0:
                refuse_settled(scope)
            if scope.arity == 1:
                self._put("single", _single(scope))
        self.count += len(network)

    def _rows(self, scope: Scope, statement: np.ndarray) -> pa.Table:
        atoms = scope.atoms[scope.factor]
        ends = np.arange(len(atoms) + 1, dtype=np.int32) * scope.arity
        numbers = np.array([self._number(pattern) for pattern in scope.patterns], np.int64)
        return pa.table(
            {
                "atoms": pa.ListArray.from_arrays(ends, pa.array(atoms.reshape(-1), pa.int64())),
                "arity": pa.array(np.full(len(atoms), scope.arity), pa.int64()),
                "pattern": numbers[scope.pattern],
                "lower": scope.lower,
                "upper": scope.upper,
                "number": self.count + scope.sentence,
                "statement": statement[scope.sentence],
            }
        )

    def _number(self, pattern: Pattern) -> int:
        key = pattern.event.tobytes(), pattern.given.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.patterns)
            self.patterns.append(pattern)
        return self._numbers[key]

    def _put(self, kind: str, rows: pa.Table) -> None:
        table = f"{kind}_{len(self.tables[kind])}"
        self.database.put(table, rows)
        self.tables[kind].append(table)

    def all_of(self, kind: str, columns: str) -> str:
        """A query for all rows of a kind."""
        return " UNION ALL ".join(f"SELECT {columns} FROM {table}" for table in self.tables[kind])

    def clear(self) -> None:
        """Drop the tables that only the division into parts needed; sentences stay, for error messages."""
        for kind in ("single", "link"):
            for table in self.tables[kind]:
                self.database.drop(table)


def _single(scope: Scope) -> pa.Table:
    """Intervals from sentences about one atom only; crossed ends are kept crossed."""
    local = replace(scope, atoms=np.arange(len(scope))[:, None])
    lower, upper = intervals_of(local, len(scope))
    return pa.table({"atom": scope.atoms[:, 0], "lower": lower, "upper": upper})
