"""Exact evaluation of rules: Boolean joins over the tuples of all worlds at once, recursion to a fixpoint.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)]})])
>>> clause = Clause("two_steps", (0, 1), (Literal("edge", (0, 2)), Literal("edge", (2, 1))))
>>> derived(clause, database).tolist()
[[0, 2]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.database import Database, Rows
from herbrand.induction.order import order_of
from herbrand.language.formulas import ORDERS
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Comparison,
    Constant,
    Not,
    Operator,
    Rule,
    Term,
    Truth,
    Value,
    Variable,
)
from herbrand.program.bindings import Body, BodyRelation
from herbrand.program.bindings import Condition as Waiting
from herbrand.program.dependencies import strata
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation

MOST_ROWS = 20_000_000
"""Number of bindings above which a join is refused."""

NAMES = ("x", "y", "z", "u", "v", "w", "a", "b", "c", "d")


ANY = -1
"""Anonymous variable (``_``) of a negated literal: the literal holds for no object in its place."""


@dataclass(frozen=True, order=True)
class Literal:
    """A literal: a predicate with numbered variables; ``negated``: whether it must not hold."""

    predicate: str
    variables: tuple[int, ...]
    negated: bool = False

    @property
    def named(self) -> tuple[int, ...]:
        """The variables other than ``ANY``."""
        return tuple(v for v in self.variables if v != ANY)


@dataclass(frozen=True)
class Condition:
    """A comparison of the variable ``left`` with another one, ``right``, or with a constant, ``value``."""

    operator: str
    left: int
    right: int | None = None
    value: Value | None = None

    @property
    def variables(self) -> tuple[int, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    @property
    def binds(self) -> bool:
        """Whether the variable is bound to a constant."""
        return self.operator == "=" and self.value is not None


@dataclass(frozen=True)
class Clause:
    """A clause: ``head`` holds if some objects satisfy every literal and condition, and every pair of
    ``apart`` differs."""

    head: str
    variables: tuple[int, ...]
    body: tuple[Literal, ...]
    apart: tuple[tuple[int, int], ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def literals(self) -> int:
        """Number of literals and comparisons in the body. A constant in place of a variable counts none."""
        return len(self.body) + len(self.apart) + sum(not one.binds for one in self.conditions)

    def to_list(self) -> list[Any]:
        """The clause as plain lists, for a file."""
        body = [[one.predicate, list(one.variables), one.negated] for one in self.body]
        conditions = [[one.operator, one.left, one.right, one.value] for one in self.conditions]
        return [self.head, list(self.variables), body, list(map(list, self.apart)), conditions]

    @classmethod
    def from_list(cls, parts: Sequence[Any]) -> Clause:
        """Build a clause from the lists of :meth:`to_list`."""
        head, variables, body, apart, conditions = parts
        literals = tuple(Literal(name, tuple(own), negated) for name, own, negated in body)
        pairs = tuple((left, right) for left, right in apart)
        return cls(head, tuple(variables), literals, pairs, tuple(Condition(*one) for one in conditions))

    def to_rule(self) -> Rule:
        """The clause as a rule of the language, with variables named in order of occurrence."""
        constants = {one.left: Constant(cast(Value, one.value)) for one in self.conditions if one.binds}
        order = dict.fromkeys((*self.variables, *(v for literal in self.body for v in literal.named)))
        names: dict[int, Term] = {
            v: Variable(_name(number)) for number, v in enumerate(v for v in order if v not in constants)
        }
        names |= constants
        names[ANY] = Variable("_")

        def atom(predicate: str, variables: Sequence[int]) -> Atom:
            return Atom(predicate, tuple(names[v] for v in variables))

        body: list[BodyLiteral] = []
        for literal in self.body:
            plain = atom(literal.predicate, literal.variables)
            body.append(Not(plain) if literal.negated else plain)
        body += [Comparison("!=", names[left], names[right]) for left, right in self.apart]
        for one in self.conditions:
            if not one.binds:
                right = Constant(cast(Value, one.value)) if one.right is None else names[one.right]
                body.append(Comparison(cast(Operator, one.operator), names[one.left], right))
        return Rule(atom(self.head, self.variables), tuple(body) or (Truth(True),))


def _name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"x{number}"


def derived(clause: Clause, database: Database) -> Rows:
    """Distinct rows that a clause derives; world numbers if its head has no arguments."""
    bound = bindings(clause, database, set(clause.variables))
    columns = [bound[column_of(v)] for v in clause.variables] or [bound[WORLD]]
    return np.unique(np.stack(columns, 1), axis=0)


def evaluated(clauses: Sequence[Clause], database: Database) -> Database:
    """The database with all rows that the clauses derive; each predicate is complete before others read it.

    Mutually recursive predicates are iterated together until no new row is derived."""
    rules = [clause.to_rule() for clause in clauses]
    clause_by_rule = {id(rule): clause for rule, clause in zip(rules, clauses, strict=True)}
    for group in strata(rules):
        own = [clause_by_rule[id(rule)] for rule in group]
        heads = {clause.head for clause in own}
        recursive = any(_reads(clause, heads) for clause in own)
        size = -1
        while size < sum(len(database.tables.get(head, ())) for head in heads):
            size = sum(len(database.tables.get(head, ())) for head in heads)
            for clause in own:
                rows = derived(clause, database)
                known = database.tables.get(clause.head)
                if known is not None and len(known):
                    rows = np.unique(np.concatenate([known, rows]), axis=0)
                database = database.with_table(clause.head, rows, len(clause.variables))
            if not recursive:
                break
    return database


def _reads(clause: Clause, heads: set[str]) -> bool:
    return any(literal.predicate in heads for literal in clause.body)


def covered(clause: Clause, database: Database, starts: Rows) -> np.ndarray:
    """Whether the clause derives each of the given rows."""
    result = np.zeros(len(starts), bool)
    result[bindings(clause, database, starts=starts)[ORIGIN]] = True
    return result


WORLD, ORIGIN = "world", "origin"
"""Columns of bindings: the world of a row, and the index in ``starts`` that it extends."""


def column_of(variable: int) -> str:
    """Name of the column of bindings that holds a variable."""
    return f"x{variable}"


def bindings(
    clause: Clause, database: Database, kept: Set[int] = frozenset(), starts: Rows | None = None
) -> dict[str, Rows]:
    """Distinct bindings of the variables ``kept`` that satisfy the body: a column :func:`column_of` for each,
    and ``WORLD``. ``starts``: rows that the head's variables must equal; then ``ORIGIN`` is the index of that
    row."""
    parts = [_atoms(x, database) for x in clause.body if not x.negated]
    outputs = [WORLD, *map(column_of, sorted(kept))]
    if starts is not None:
        parts.append(_matching(clause.variables, starts, database, {ORIGIN: np.arange(len(starts))}))
        outputs.append(ORIGIN)
    waiting = [_compared(one, database) for one in clause.conditions]
    waiting += [_compared(Condition("!=", *pair), database) for pair in clause.apart]
    waiting += [_absent(x, database) for x in clause.body if x.negated]
    body = Body(
        [BodyRelation(rows, rows.count()) for rows in parts or [_worlds(database)]],
        waiting,
        lambda name: _relation({WORLD: database.world_of, name: np.arange(database.size)}),
        lambda name: database.size,
        outputs,
    )
    return body.rows().arrays()


class _Most:
    """A budget that refuses joins of too many bindings."""

    def check(self) -> None:
        """Check nothing: no time limit applies."""

    def claim_rows(self, rows: int, columns: int, what: str) -> None:
        if rows > MOST_ROWS:
            hint = "fewer or smaller worlds, or shorter rules"
            raise BudgetError(f"a rule has {rows:,} bindings", hint=hint)


def _relation(columns: Mapping[str, Rows]) -> Memory:
    return Memory.of(_Most(), **columns)


def _worlds(database: Database) -> Memory:
    return _relation({WORLD: np.arange(len(database.starts) - 1)})


def _atoms(literal: Literal, database: Database) -> Memory:
    """Rows of a literal's predicate that match its variables."""
    table = database.tables.get(literal.predicate)
    if table is None:
        table = np.empty((0, max(1, len(literal.variables))), np.int64)
    return _matching(literal.variables, table, database, {})


def _matching(variables: Sequence[int], table: Rows, database: Database, more: Mapping[str, Rows]) -> Memory:
    """Rows of a table in which equal variables have equal values: a column for each variable, their worlds,
    and ``more``."""
    first = {v: table[:, place] for place, v in reversed([*enumerate(variables)]) if v != ANY}
    world = database.world_of[table[:, 0]] if variables else table[:, 0]
    columns = {WORLD: world, **more, **{column_of(v): column for v, column in first.items()}}
    twice = [table[:, place] == first[v] for place, v in enumerate(variables) if v != ANY]
    if len(twice) > len(first):
        fits = np.all(twice, axis=0)
        columns = {name: column[fits] for name, column in columns.items()}
    return _relation(columns)


def _compared(one: Condition, database: Database) -> Waiting:
    """Condition that keeps rows in which a comparison holds, once its variables are bound."""
    names = list(map(column_of, one.variables))

    def kept(rows: Relation) -> Relation:
        bound = rows.arrays()
        holds = satisfied(one, database, *(bound[name] for name in names))
        return _relation({name: column[holds] for name, column in bound.items()})

    return Waiting(frozenset(names), kept)


def _absent(literal: Literal, database: Database) -> Waiting:
    """Condition that keeps rows in which a negated literal does not hold, once its variables are bound."""
    atoms = _atoms(literal, database)
    return Waiting(frozenset(atoms.columns), lambda rows: rows.without(atoms, atoms.columns))


def satisfied(one: Condition, database: Database, left: Rows, right: Rows | None = None) -> np.ndarray:
    """Whether a condition holds, for each row of objects; order is defined for numbers, dates and times."""
    if one.operator not in ("=", "!="):
        other = order_of(cast(Value, one.value)) if right is None else database.numbers[right]
        return ORDERS[one.operator](database.numbers[left], other)
    other = database.label(cast(Value, one.value)) if right is None else right
    same = (database.labels[left] if right is None else left) == other
    return same if one.operator == "=" else ~same
