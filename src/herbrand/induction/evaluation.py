"""Rules evaluated exactly, as Boolean joins over all tuples of all worlds at once.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)]})])
>>> clause = Clause("two_steps", (0, 1), (Literal("edge", (0, 2)), Literal("edge", (2, 1))))
>>> derived(clause, database).tolist()
[[0, 2]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.errors import BudgetError, UnsupportedError
from herbrand.induction.database import Database, Rows
from herbrand.language.syntax import Atom, BodyLiteral, Comparison, Constant, Not, Rule, Variable

MOST_ROWS = 20_000_000
"""A join is refused above so many bindings."""

NAMES = ("x", "y", "z", "u", "v", "w", "a", "b", "c", "d")


@dataclass(frozen=True, order=True)
class Literal:
    """A predicate of variables, which are numbers; ``negated``: it must not hold."""

    predicate: str
    variables: tuple[int, ...]
    negated: bool = False


@dataclass(frozen=True)
class Clause:
    """``head`` holds where some objects satisfy every literal and every pair of ``apart`` differs."""

    head: str
    variables: tuple[int, ...]
    body: tuple[Literal, ...]
    apart: tuple[tuple[int, int], ...] = ()

    def to_rule(self) -> Rule:
        """The clause in the language, with variables named in the order in which they are met."""
        order = dict.fromkeys((*self.variables, *(v for literal in self.body for v in literal.variables)))
        names = {v: Variable(_name(number)) for number, v in enumerate(order)}

        def atom(predicate: str, variables: Sequence[int]) -> Atom:
            return Atom(predicate, tuple(names[v] for v in variables))

        body: list[BodyLiteral] = []
        for literal in self.body:
            plain = atom(literal.predicate, literal.variables)
            body.append(Not(plain) if literal.negated else plain)
        body += [Comparison("!=", names[left], names[right]) for left, right in self.apart]
        return Rule(atom(self.head, self.variables), tuple(body))


def _name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"x{number}"


def clause_of(rule: Rule) -> Clause:
    """A rule of the language as a clause; raises where it holds what these have not."""
    numbers: dict[str, int] = {}

    def variables(terms: Sequence[object]) -> tuple[int, ...]:
        found = []
        for term in terms:
            if isinstance(term, Constant):
                raise UnsupportedError("a lifted rule names no constants", span=rule.span)
            assert isinstance(term, Variable)
            name = f"_{len(numbers)}" if term.anonymous else term.name
            found.append(numbers.setdefault(name, len(numbers)))
        return tuple(found)

    head = variables(rule.head.arguments)
    body, apart = [], []
    for literal in rule.body:
        match literal:
            case Atom(predicate=predicate, arguments=arguments):
                body.append(Literal(predicate, variables(arguments)))
            case Not(operand=Atom(predicate=predicate, arguments=arguments)):
                body.append(Literal(predicate, variables(arguments), True))
            case Comparison(operator="!=", left=left, right=right):
                apart.append(variables((left, right)))
            case _:
                raise UnsupportedError(
                    "this rule has more than atoms, their negations and !=", span=rule.span
                )
    return Clause(rule.head.predicate, head, tuple(body), tuple(apart))


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
    """The database with everything that the clauses derive, each predicate complete before it is read."""
    waiting = list(clauses)
    while waiting:
        heads = {clause.head for clause in waiting}
        ready = [h for h in heads if not any(_reads(c, heads) for c in waiting if c.head == h)]
        if not ready:
            raise UnsupportedError(f"{min(heads)} is defined by itself", hint="rules must not be recursive")
        for head in ready:
            own = [clause for clause in waiting if clause.head == head]
            rows = [derived(clause, database) for clause in own]
            known = [database.tables[head]] if head in database.tables and len(database.tables[head]) else []
            every = np.unique(np.concatenate([*rows, *known]), axis=0)
            database = database.with_table(head, every, len(own[0].variables))
        waiting = [clause for clause in waiting if clause.head not in ready]
    return database


def _reads(clause: Clause, heads: set[str]) -> bool:
    return any(literal.predicate in heads for literal in clause.body)


def covered(clause: Clause, database: Database, starts: Rows) -> np.ndarray:
    """Which of the given rows the clause derives."""
    result = np.zeros(len(starts), bool)
    result[bindings(clause, database, starts).origin] = True
    return result


def bindings(clause: Clause, database: Database, starts: Rows | None) -> Bindings:
    """What the variables can stand for; from ``starts``, if given, as values of the head's variables."""
    if starts is None:
        worlds = np.arange(len(database.starts) - 1)
        found = Bindings({}, worlds, worlds)
    else:
        found = _started(clause.variables, starts, database)
    waiting, apart = list(clause.body), list(clause.apart)
    needed_last = set(clause.variables) if starts is None else set()
    while waiting or apart or needed_last - set(found.columns):
        found, apart = _kept_apart(found, apart)
        literal = _next(waiting, found, database)
        if literal is not None:
            waiting.remove(literal)
            found = _joined(found, literal, database)
        else:
            free = sorted(({v for pair in apart for v in pair} | needed_last
                           | {v for x in waiting for v in x.variables}) - set(found.columns))  # fmt: skip
            if not free:
                break
            found = _any_object(found, free[0], database)
        used = needed_last | {v for x in waiting for v in x.variables} | {v for pair in apart for v in pair}
        found = _narrowed(found, used, database)
    return found


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
    ready = [x for x in waiting if not x.negated or set(x.variables) <= known]
    if not ready:
        return None

    def cost(literal: Literal) -> tuple[bool, bool, int]:
        free = set(literal.variables) - known
        size = len(database.tables.get(literal.predicate, ()))
        return bool(free), not (set(literal.variables) & known), size

    return min(ready, key=cost)


def _joined(found: Bindings, literal: Literal, database: Database) -> Bindings:
    table = database.tables.get(literal.predicate)
    if table is None:
        nothing = np.arange(len(found.world) if literal.negated else 0)
        return found.take(nothing)
    bound = [i for i, v in enumerate(literal.variables) if v in found.columns]
    if len(bound) == len(literal.variables):
        columns = [found.columns[v] for v in literal.variables] or [found.world]
        codes, known = database.codes(np.stack(columns, 1)), database.codes(table)
        return found.take(np.flatnonzero(np.isin(codes, known) != literal.negated))
    if bound:
        order, offsets = database.by_column(literal.predicate, bound[0])
        keys = found.columns[literal.variables[bound[0]]]
    else:
        order, offsets = database.by_world(literal.predicate)
        keys = found.world
    counts = offsets[keys + 1] - offsets[keys]
    _refuse_many(int(counts.sum()))
    repeated = np.repeat(np.arange(len(keys)), counts)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = table[order[offsets[keys[repeated]] + within]]
    result = found.take(repeated)
    keep = np.ones(len(rows), bool)
    for column, variable in zip(rows.T, literal.variables, strict=True):
        if variable in result.columns:
            keep &= result.columns[variable] == column
        else:
            result.columns[variable] = column
    return result if keep.all() else result.take(np.flatnonzero(keep))


def _any_object(found: Bindings, variable: int, database: Database) -> Bindings:
    counts = np.diff(database.starts)[found.world]
    _refuse_many(int(counts.sum()))
    repeated = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(counts) - counts, counts)
    result = found.take(repeated)
    result.columns[variable] = database.starts[result.world] + within
    return result


def _kept_apart(found: Bindings, apart: list[tuple[int, int]]) -> tuple[Bindings, list[tuple[int, int]]]:
    known = [pair for pair in apart if set(pair) <= set(found.columns)]
    for left, right in known:
        found = found.take(np.flatnonzero(found.columns[left] != found.columns[right]))
    return found, [pair for pair in apart if pair not in known]


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
