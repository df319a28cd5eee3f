"""Rules evaluated exactly, as Boolean joins over all tuples of all worlds at once; recursion to a fixpoint.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)]})])
>>> clause = Clause("two_steps", (0, 1), (Literal("edge", (0, 2)), Literal("edge", (2, 1))))
>>> derived(clause, database).tolist()
[[0, 2]]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from herbrand.errors import BudgetError, UnsupportedError
from herbrand.induction.database import Database, Rows
from herbrand.induction.order import order_of
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
from herbrand.program.dependencies import strata
from herbrand.row_keys import each_in

MOST_ROWS = 20_000_000
"""A join is refused above so many bindings."""

NAMES = ("x", "y", "z", "u", "v", "w", "a", "b", "c", "d")


ANY = -1
"""In the place of a variable of a negated literal: it holds of no object there, ``_`` in the language."""


@dataclass(frozen=True, order=True)
class Literal:
    """A predicate of variables, which are numbers; ``negated``: it must not hold."""

    predicate: str
    variables: tuple[int, ...]
    negated: bool = False

    @property
    def named(self) -> tuple[int, ...]:
        """The variables that stand for one object."""
        return tuple(v for v in self.variables if v != ANY)


ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A variable compared with another one, ``right``, or with a constant, ``value``."""

    operator: str
    left: int
    right: int | None = None
    value: Value | None = None

    @property
    def variables(self) -> tuple[int, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    @property
    def binds(self) -> bool:
        """True if the variable stands for one constant."""
        return self.operator == "=" and self.value is not None


@dataclass(frozen=True)
class Clause:
    """``head`` holds where some objects satisfy every literal and condition, and every pair of ``apart``
    differs."""

    head: str
    variables: tuple[int, ...]
    body: tuple[Literal, ...]
    apart: tuple[tuple[int, int], ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def literals(self) -> int:
        """Literals and comparisons of the body. A constant in place of a variable is none of its own."""
        return len(self.body) + len(self.apart) + sum(not one.binds for one in self.conditions)

    def to_list(self) -> list[Any]:
        """The clause as plain lists, for a file."""
        body = [[one.predicate, list(one.variables), one.negated] for one in self.body]
        conditions = [[one.operator, one.left, one.right, one.value] for one in self.conditions]
        return [self.head, list(self.variables), body, list(map(list, self.apart)), conditions]

    @classmethod
    def from_list(cls, told: Sequence[Any]) -> Clause:
        """What :meth:`to_list` told."""
        head, variables, body, apart, conditions = told
        literals = tuple(Literal(name, tuple(own), negated) for name, own, negated in body)
        pairs = tuple((left, right) for left, right in apart)
        return cls(head, tuple(variables), literals, pairs, tuple(Condition(*one) for one in conditions))

    def to_rule(self) -> Rule:
        """The clause in the language, with variables named in the order in which they are met."""
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


def clause_of(rule: Rule) -> Clause:
    """A rule of the language as a clause; raises where it has more than atoms and comparisons of terms."""
    numbers: dict[str, int] = {}
    conditions: list[Condition] = []

    def number(term: object) -> int:
        if isinstance(term, Constant):
            fresh = numbers.setdefault(f"={len(numbers)}", len(numbers))
            conditions.append(Condition("=", fresh, value=term.value))
            return fresh
        assert isinstance(term, Variable)
        name = f"_{len(numbers)}" if term.anonymous else term.name
        return numbers.setdefault(name, len(numbers))

    def variables(terms: Sequence[object]) -> tuple[int, ...]:
        return tuple(number(term) for term in terms)

    head = variables(rule.head.arguments)
    body, apart = [], []
    for literal in rule.body:
        match literal:
            case Atom(predicate=predicate, arguments=arguments):
                body.append(Literal(predicate, variables(arguments)))
            case Not(operand=Atom(predicate=predicate, arguments=arguments)):
                places = (ANY if _is_any(term) else number(term) for term in arguments)
                body.append(Literal(predicate, tuple(places), True))
            case Comparison(operator="!=", left=Variable() as left, right=Variable() as right):
                apart.append(variables((left, right)))
            case Comparison(operator=sign, left=Variable() as left, right=Constant(value=value)):
                conditions.append(Condition(sign, number(left), value=value))
            case Comparison(operator=sign, left=Variable() as left, right=Variable() as right):
                conditions.append(Condition(sign, *variables((left, right))))
            case Truth(value=True):
                pass
            case _:
                raise UnsupportedError(
                    "this rule has more than atoms, negations and comparisons of variables", span=rule.span
                )
    return Clause(rule.head.predicate, head, tuple(body), tuple(apart), tuple(conditions))


def _is_any(term: object) -> bool:
    return isinstance(term, Variable) and term.anonymous


@dataclass(frozen=True, eq=False)
class Bindings:
    """Columns of objects by variable, the world and the start that each row came from."""

    columns: dict[int, Rows]
    world: Rows
    origin: Rows

    def take(self, rows: Rows) -> Bindings:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Bindings(columns, self.world[rows], self.origin[rows])


def derived(clause: Clause, database: Database) -> Rows:
    """The distinct rows that one clause derives; world numbers where its head has no arguments."""
    found = bindings(clause, database, None)
    columns = [found.columns[v] for v in clause.variables] or [found.world]
    return np.unique(np.stack(columns, 1), axis=0)


def evaluated(clauses: Sequence[Clause], database: Database) -> Database:
    """The database with everything that the clauses derive, each predicate complete before others read it.

    Predicates that are defined by each other grow together until nothing new is derived."""
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
    """Which of the given rows the clause derives."""
    result = np.zeros(len(starts), bool)
    result[bindings(clause, database, starts).origin] = True
    return result


def bindings(
    clause: Clause, database: Database, starts: Rows | None, kept: Set[int] = frozenset()
) -> Bindings:
    """What the variables can stand for; from ``starts``, if given, as values of the head's variables, and
    then with columns only for those ``kept``."""
    if starts is None:
        worlds = np.arange(len(database.starts) - 1)
        found = Bindings({}, worlds, worlds)
    else:
        found = _started(clause.variables, starts, database)
    waiting = list(clause.body)
    conditions = [*(Condition("!=", *pair) for pair in clause.apart), *clause.conditions]
    needed_last = set(clause.variables) if starts is None else set(kept)
    while waiting or conditions or needed_last - set(found.columns):
        found, conditions = _satisfying(found, conditions, database)
        literal = _next(waiting, found, database)
        if literal is not None:
            waiting.remove(literal)
            found = _joined(found, literal, database)
        else:
            later = [*waiting, *conditions]
            free = sorted((needed_last | {v for x in later for v in _named(x)}) - set(found.columns))
            if not free:
                break
            found = _any_object(found, free[0], database)
        used = needed_last | {v for x in (*waiting, *conditions) for v in _named(x)}
        found = _narrowed(found, used, database)
    return found


def _named(part: Literal | Condition) -> tuple[int, ...]:
    return part.named if isinstance(part, Literal) else part.variables


def _started(variables: tuple[int, ...], starts: Rows, database: Database) -> Bindings:
    if not variables:
        return Bindings({}, starts[:, 0], np.arange(len(starts)))
    found = Bindings({}, database.world_of[starts[:, 0]], np.arange(len(starts)))
    for variable, column in zip(variables, starts.T, strict=True):
        if variable in found.columns:
            same = np.flatnonzero(found.columns[variable] == column[found.origin])
            found = found.take(same)
        else:
            found.columns[variable] = column[found.origin]
    return found


def _next(waiting: list[Literal], found: Bindings, database: Database) -> Literal | None:
    """Tests before joins, joins on what is bound before free ones, small tables first."""
    known = set(found.columns)
    ready = [x for x in waiting if not x.negated or set(x.named) <= known]
    if not ready:
        return None

    def cost(literal: Literal) -> tuple[bool, bool, int]:
        free = set(literal.named) - known
        size = len(database.tables.get(literal.predicate, ()))
        return bool(free), not (set(literal.variables) & known), size

    return min(ready, key=cost)


def _joined(found: Bindings, literal: Literal, database: Database) -> Bindings:
    table = database.tables.get(literal.predicate)
    if table is None:
        nothing = np.arange(len(found.world) if literal.negated else 0)
        return found.take(nothing)
    bound = [i for i, v in enumerate(literal.variables) if v in found.columns]
    if literal.negated or len(bound) == len(literal.variables):
        columns = [found.columns[v] for v in literal.named] or [found.world]
        rows = table[:, bound] if literal.named else _worlds_of(table, literal, database)
        codes, known = database.codes(np.stack(columns, 1)), database.codes(rows)
        return found.take(np.flatnonzero(np.isin(codes, known) != literal.negated))
    if bound:
        order, offsets = database.by_column(literal.predicate, bound[0])
        keys = found.columns[literal.variables[bound[0]]]
    else:
        order, offsets = database.by_world(literal.predicate)
        keys = found.world
    counts = offsets[keys + 1] - offsets[keys]
    _refuse_many(int(counts.sum()))
    repeated, places = each_in(offsets[keys], counts)
    rows = table[order[places]]
    result = found.take(repeated)
    keep = np.ones(len(rows), bool)
    for column, variable in zip(rows.T, literal.variables, strict=True):
        if variable in result.columns:
            keep &= result.columns[variable] == column
        else:
            result.columns[variable] = column
    return result if keep.all() else result.take(np.flatnonzero(keep))


def _worlds_of(table: Rows, literal: Literal, database: Database) -> Rows:
    """The worlds in which some row stands, as a table of one column."""
    return database.world_of[table[:, :1]] if literal.variables else table


def _any_object(found: Bindings, variable: int, database: Database) -> Bindings:
    counts = np.diff(database.starts)[found.world]
    _refuse_many(int(counts.sum()))
    repeated, objects = each_in(database.starts[found.world], counts)
    result = found.take(repeated)
    result.columns[variable] = objects
    return result


def _satisfying(
    found: Bindings, conditions: list[Condition], database: Database
) -> tuple[Bindings, list[Condition]]:
    """The rows that satisfy every condition on bound variables, and the conditions that are left."""
    left = []
    for one in conditions:
        if set(one.variables) <= set(found.columns):
            columns = [found.columns[v] for v in one.variables]
            found = found.take(np.flatnonzero(satisfied(one, database, *columns)))
        else:
            left.append(one)
    return found, left


def satisfied(one: Condition, database: Database, left: Rows, right: Rows | None = None) -> np.ndarray:
    """For objects of the condition's variables, whether it holds; order is among numbers, dates and times."""
    if one.operator in ORDERS:
        other = order_of(cast(Value, one.value)) if right is None else database.numbers[right]
        return ORDERS[one.operator](database.numbers[left], other)
    other = database.label(cast(Value, one.value)) if right is None else right
    same = (database.labels[left] if right is None else left) == other
    return same if one.operator == "=" else ~same


def _narrowed(found: Bindings, used: set[int], database: Database) -> Bindings:
    """Without columns that nothing will read, and each row once."""
    dropped = [v for v in found.columns if v not in used]
    if not dropped:
        return found
    columns = {v: c for v, c in found.columns.items() if v in used}
    code, most = found.origin.copy(), int(found.origin.max(initial=0)) + 1
    for column in columns.values():
        if most > 2**62 // max(database.size, 1):
            code = np.unique(code, return_inverse=True)[1]
            most = len(code) + 1
        code, most = code * database.size + column, most * database.size
    rows = np.unique(code, return_index=True)[1]
    return replace(found, columns=columns).take(rows)


def _refuse_many(rows: int) -> None:
    if rows > MOST_ROWS:
        raise BudgetError(f"a rule has {rows:,} bindings", hint="fewer or smaller worlds, or shorter rules")
