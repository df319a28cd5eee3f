"""Least models of clauses over few rows: plain loops over tuples, with integer arithmetic.

A join by columns (:mod:`~herbrand.program.clause_rows`) has a fixed cost however few rows it returns, and
recursion over computed numbers takes a round of joins for each number. Here new rows are matched with rule
bodies by lookups in dictionaries. Whatever loops cannot do, or must be refused with the error messages of the
columns, raises :class:`NotFewError`; the caller then evaluates everything by columns.

>>> import herbrand as hb
>>> theory = hb.parse("predicate edge(node, node)\\nedge(1, 2)\\nedge(2, 3)\\nedge(3, 4)")
>>> program = hb.Model(theory).program
>>> def clause(*body): return Clause("edge", ("x", "z"), body, dict.fromkeys("xyz", "node"))
>>> few = FewRows(program.signature, program.facts)
>>> few.complete([Derivation(clause(Lookup("edge", ("x", "y")), Lookup("edge", ("y", "z"))))])
>>> len(few.rows("edge"))
6
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.facts.facts import Facts
from herbrand.language.comparisons import Test, assigned, steps_in, variables_of
from herbrand.language.formulas import ARITHMETIC, ORDERS, Arithmetic, Constant, Variable
from herbrand.language.formulas import Expression as Value
from herbrand.language.signature import Signature
from herbrand.program.clauses import Absence, Clause, Compared, Literal, Lookup, Measured, Never
from herbrand.program.growing_facts import EXACT
from herbrand.row_keys import rows_at

MOST_ROWS, MOST_WORK = 10_000, 10_000
"""Most facts of a predicate, and most rows in all steps of all bodies, to evaluate by loops: some
milliseconds, about the time of a few rounds of joins by columns."""
MOST_BESIDE_ROUNDS = 200_000
"""The limit on work if some recursion computes values: columns would take a round of joins for each step."""
MORE_A_ROUND, MORE_COMPUTED = 1_000, 5_000
"""Rows added to the limit on work with each round of recursion, as columns need a round for it too; and the
same if the clauses compute values."""
MOST_AT_ONCE = 100_000
"""Most rows of one step, and of one predicate: tens of megabytes."""

NOTHING = ""
"""Name of no predicate: a clause without growing predicates in its body is derived once, from no new rows."""

Row = tuple[int, ...]
Index = Mapping[Row, Sequence[Row]]
Step = Callable[[list[Row]], Iterable[Row]]
Number = Callable[[Row], int]
"""Computes a value from the row of values that a body has bound up to here."""

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "//": operator.floordiv,
    "%": operator.mod,
    "abs": abs,
    "min": min,
    "max": max,
}


class NotFewError(Exception):
    """Raised if the problem is too large for loops, or needs something that they do not support."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """A clause with the arithmetic that it computes: ``tests`` over its variables; ``names`` maps variables
    of tests to those of the clause. ``made``: variables whose values may be new constants of their types.

    ``head``: variables of the derived row, if it is not the clause's own head.
    """

    clause: Clause
    predicate: str = ""
    head: tuple[str, ...] = ()
    tests: Sequence[Test] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    made: Collection[str] = ()

    @property
    def row(self) -> Row | None:
        """The row that a clause of constants alone states; ``None`` for other clauses."""
        if self.clause.body or self.tests:
            return None
        known = [self.clause.constants.get(name) for name in self.head or self.clause.head]
        return None if None in known else tuple(known)  # type: ignore[arg-type]


class FewRows:
    """Rows of predicates and constants of types, which grow while clauses derive.

    ``made``: all constants of the types that got new ones, the original constants first.
    """

    def __init__(
        self, signature: Signature, facts: Facts, budget: Budget = UNLIMITED, work: int = MOST_WORK
    ) -> None:
        self._signature, self._facts, self._budget = signature, facts, budget
        self._rows: dict[str, dict[Row, None]] = {}
        self._indices: dict[str, dict[tuple[int, ...], dict[Row, list[Row]]]] = {}
        self._constants: dict[str, tuple[list[int], dict[int, int]]] = {}
        self._left = work
        self.made: dict[str, list[int]] = {}

    def rows(self, predicate: str) -> dict[Row, None]:
        """Rows of a predicate: the facts, and what clauses derived."""
        if predicate not in self._rows:
            stated = self._facts.tables[predicate].true
            if len(stated) > MOST_ROWS or self._signature.predicates[predicate].value_type is not None:
                raise NotFewError
            self._rows[predicate] = dict.fromkeys(map(tuple, stated.tolist()))
        return self._rows[predicate]

    def array(self, predicate: str) -> np.ndarray:
        """Rows in the form of a fact table: sorted, stored column by column."""
        like = self._facts.tables[predicate].true
        rows = np.empty((len(self.rows(predicate)), like.shape[1]), like.dtype, order="F")
        if len(rows):
            rows[:] = sorted(self.rows(predicate))
        return rows

    def complete(self, derivations: Sequence[Derivation]) -> None:
        """Add all rows that follow; the rows of negated predicates must be complete."""
        heads = {one.predicate or one.clause.predicate for one in derivations}
        for one in derivations:
            if not heads.isdisjoint(x.predicate for x in one.clause.body if isinstance(x, Absence)):
                raise NotFewError
        more = MORE_COMPUTED if any(one.tests for one in derivations) else MORE_A_ROUND
        loops = [_Loop(self, one, heads) for one in derivations if one.row is None]
        for one in derivations:
            if (row := one.row) is not None:
                self._add(one.predicate or one.clause.predicate, [row], {})
        grown = sum(map(len, self.made.values()))
        fresh = {name: [*self.rows(name)] for name in sorted(heads)} | {NOTHING: []}
        while fresh:
            self._budget.check()
            before, fresh = fresh, {}
            for loop in loops:
                for name, rows in before.items():
                    self._add(loop.predicate, loop.of(name, rows), fresh)
            # Evaluation by columns would need a round of joins here as well, so the limit grows with each
            # round.
            self._left += more
        if grown != sum(map(len, self.made.values())) and any(loop.ranges for loop in loops):
            raise NotFewError

    def _add(self, predicate: str, rows: Iterable[Row], fresh: dict[str, list[Row]]) -> None:
        known = self.rows(predicate)
        indices = self._indices.get(predicate, {})
        for row in rows:
            if row not in known:
                known[row] = None
                fresh.setdefault(predicate, []).append(row)
                for places, index in indices.items():
                    index.setdefault(tuple([row[place] for place in places]), []).append(row)
        if len(known) > MOST_AT_ONCE:
            raise NotFewError

    def index(self, predicate: str, places: tuple[int, ...]) -> Index:
        """Rows by their constants at these places; the index is updated as rows are added."""
        indices = self._indices.setdefault(predicate, {})
        if places not in indices:
            indices[places] = rows_at(self.rows(predicate), places)
        return indices[places]

    def listed(self, each: Iterable[Row]) -> list[Row]:
        """List the rows of a step; raise NotFewError if the limit on work is exceeded."""
        most = min(self._left, MOST_AT_ONCE)
        rows = list(islice(each, most + 1))
        if len(rows) > most:
            raise NotFewError
        self._left -= len(rows)
        return rows

    # Constants

    def size(self, type_name: str) -> int:
        return len(self.made.get(type_name) or self._facts.domains[type_name])

    def values(self, type_name: str) -> list[int]:
        """Constants of a type, all integers, by index."""
        return self._numbered(type_name)[0]

    def _numbered(self, type_name: str) -> tuple[list[int], dict[int, int]]:
        if type_name not in self._constants:
            if len(self._facts.domains[type_name]) > MOST_ROWS:
                raise NotFewError
            values = list(map(_whole, self._facts.domains[type_name]))
            self._constants[type_name] = values, {value: index for index, value in enumerate(values)}
        return self._constants[type_name]

    def index_of(self, value: int, type_name: str, new: bool) -> int | None:
        """Index of a value among the constants of its type; if ``new`` and the type is open, add the
        constant."""
        values, numbers = self._numbered(type_name)
        if value not in numbers and new and self._signature.types[type_name].values is None:
            numbers[value] = len(values)
            values.append(value)
            self.made[type_name] = values
        return numbers.get(value)


class _Loop:
    """One derivation, with a plan of steps for each body literal of a growing predicate, begun from its new
    rows (semi-naive evaluation); a derivation without such literals has one plan, begun from ``NOTHING``."""

    def __init__(self, few: FewRows, derivation: Derivation, growing: Collection[str]) -> None:
        self.predicate = derivation.predicate or derivation.clause.predicate
        body, variables = derivation.clause.body, derivation.clause.variables()
        self._from = [
            (part.predicate, _Steps(few, derivation, variables, place))
            for place, part in enumerate(body)
            if isinstance(part, Lookup) and part.predicate in growing
        ] or [(NOTHING, _Steps(few, derivation, variables, None))]
        self.ranges = self._from[0][1].ranges

    def of(self, predicate: str, rows: Sequence[Row]) -> list[Row]:
        """Heads derived from new rows of a predicate joined with all rows of the others."""
        heads: list[Row] = []
        for name, steps in self._from:
            if name == predicate:
                heads += steps.heads(rows_at(rows, steps.places))
        return heads


class _Steps:
    """Plan of one body: each step extends rows of bound values, until all ``variables`` are bound. ``first``:
    index of the literal that the plan begins with, whose rows are given, grouped by their constants at
    ``places``.
    """

    def __init__(
        self, few: FewRows, derivation: Derivation, variables: Sequence[str], first: int | None
    ) -> None:
        self._few, self._derivation, self._variables = few, derivation, variables
        clause = derivation.clause
        self._start = tuple(clause.constants.values())
        self._slots = {name: slot for slot, name in enumerate(clause.constants)}
        self._values: dict[str, int] = {}
        self._width = len(self._start)
        self._steps: list[Step] = []
        self._given: Index = {}
        self.places: tuple[int, ...] = ()
        self.ranges = False
        self._plan(list(clause.body), first)
        for test in derivation.tests:
            self._test(test)
        self._head = [self._indexed(name) for name in derivation.head or clause.head]

    def heads(self, given: Index) -> list[Row]:
        """Run the steps from the given rows; return the derived rows."""
        self._given = given
        rows = [self._start]
        for step in self._steps:
            rows = self._few.listed(step(rows))
            if not rows:
                return []
        columns = [[index(row) for row in rows] for index in self._head]
        heads = list(zip(*columns, strict=True)) if columns else [()]
        return [row for row in heads if None not in row]  # type: ignore[misc]

    def _plan(self, waiting: list[Literal], first: int | None) -> None:
        if first is not None:
            self._find(waiting.pop(first), begins=True)
        while True:
            for part in [x for x in waiting if not isinstance(x, Lookup) and self._is_bound(x)]:
                waiting.remove(part)
                self._check(part)
            lookups = [part for part in waiting if isinstance(part, Lookup)]
            free = [name for name in self._variables if name not in self._slots]
            if any(self._solve(name) for name in free if any(name in part.arguments for part in lookups)):
                continue
            if lookups:
                best = max(lookups, key=lambda part: sum(name in self._slots for name in part.arguments))
                waiting.remove(best)
                self._find(best)
                continue
            if not free:
                assert not waiting, "every literal has its variables"
                return
            self._range(free[0])

    def _is_bound(self, part: Literal) -> bool:
        """Whether all variables of a literal that also occur elsewhere are bound."""
        names = set(part.arguments)
        if isinstance(part, Absence):
            names &= {*self._variables, *self._derivation.clause.constants}
        return names <= self._slots.keys()

    def _find(self, part: Literal, begins: bool = False) -> None:
        """Add a step that joins the rows of a predicate that match the bound variables; they bind the
        others. ``begins``: the rows are those that the plan begins with."""
        if not isinstance(part, Lookup) or part.stated:
            raise NotFewError
        names = part.arguments
        places = tuple([place for place, name in enumerate(names) if name in self._slots])
        keys = [self._slots[names[place]] for place in places]
        new = {name: place for place, name in reversed([*enumerate(names)]) if name not in self._slots}
        twice = [(place, new[name]) for place, name in enumerate(names) if new.get(name, place) != place]
        for name in new:
            self._bind(name)
        taken = list(new.values())
        index = None if begins else self._few.index(part.predicate, places)
        self.places = places if begins else self.places

        def step(rows: list[Row]) -> Iterable[Row]:
            fitting = self._given if index is None else index
            return (
                (*row, *[other[place] for place in taken])
                for row in rows
                for other in fitting.get(tuple([row[slot] for slot in keys]), ())
                if not twice or all(other[one] == other[two] for one, two in twice)
            )

        self._steps.append(step)

    def _bind(self, name: str) -> None:
        self._slots[name] = self._width
        self._width += 1

    def _solve(self, name: str) -> bool:
        """Bind a variable if a test makes it a bound one plus an integer, so that rows are looked up by its
        value."""
        for test in self._derivation.tests:
            for variable, old, step in steps_in(test):
                for own, other, apart in ((variable, old, step), (old, variable, -step)):
                    slot = self._slot(other)
                    if slot is not None and self._derivation.names.get(own, own) == name:
                        self._shift(name, own, self._few.values(self._type(other)), slot, apart)
                        return True
        return False

    def _shift(self, name: str, own: str, values: Sequence[int], slot: int, step: int) -> None:
        """Add a step that binds the constant at a fixed distance from another one, if it exists."""
        few, type_name = self._few, self._type(own)
        self._bind(name)
        self._steps.append(
            lambda rows: (
                (*row, index)
                for row in rows
                if (index := few.index_of(values[row[slot]] + step, type_name, False)) is not None
            )
        )

    def _range(self, name: str) -> None:
        """Add a step that binds a variable to each constant of its type."""
        self.ranges = True
        type_name = self._derivation.clause.types[name]
        few = self._few
        self._bind(name)
        self._steps.append(
            lambda rows: ((*row, index) for row in rows for index in range(few.size(type_name)))
        )

    def _keep(self, holds: Callable[[Row], bool]) -> None:
        self._steps.append(lambda rows: filter(holds, rows))

    def _check(self, part: Literal) -> None:
        clause, few = self._derivation.clause, self._few
        slots = [self._slots.get(name, -1) for name in part.arguments]
        match part:
            case Never():
                self._keep(lambda row: False)
            case Compared(operator="!=" | "=" as sign):
                self._keep(lambda row: ORDERS[sign](row[slots[0]], row[slots[1]]))
            case Compared(operator=sign):
                one, two = (few.values(clause.types[name]) for name in part.arguments)
                self._keep(lambda row: ORDERS[sign](one[row[slots[0]]], two[row[slots[1]]]))
            case Measured(variable=name, operator=sign, number=number):
                values = few.values(clause.types[name])
                self._keep(lambda row: ORDERS[sign](values[row[slots[0]]], number))
            case Absence(predicate=predicate):
                places = tuple([place for place, slot in enumerate(slots) if slot >= 0])
                own = [name for name, slot in zip(part.arguments, slots, strict=True) if slot < 0]
                if len({*own}) < len(own):
                    raise NotFewError
                index = few.index(predicate, places)
                keys = [slots[place] for place in places]
                self._keep(lambda row: tuple([row[slot] for slot in keys]) not in index)
            case _:  # values of many-valued atoms
                raise NotFewError

    # Values

    def _slot(self, name: str) -> int | None:
        """Slot that holds the index of a variable, given by its name in tests; ``None`` if it is not
        bound."""
        return self._slots.get(self._derivation.names.get(name, name))

    def _test(self, test: Test) -> None:
        known = {name for name in variables_of(test) if self._slot(name) is not None or name in self._values}
        given = assigned(test, known)
        if given is None:
            left, right, order = self._number(test.left), self._number(test.right), ORDERS[test.operator]
            self._keep(lambda row: order(left(row), right(row)))
            return
        name, value = given
        if isinstance(value, Variable) and (slot := self._slot(value.name)) is not None:
            self._slots[self._derivation.names.get(name, name)] = slot
            return
        number = self._number(value)
        self._values[name] = self._width
        self._width += 1
        self._steps.append(lambda rows: ((*row, number(row)) for row in rows))

    def _number(self, value: Value) -> Number:
        match value:
            case Constant(value=constant):
                whole = _whole(constant)
                return lambda row: whole
            case Variable(name=name) if name in self._values:
                place = self._values[name]
                return lambda row: row[place]
            case Variable(name=name) if (slot := self._slot(name)) is not None:
                constants = self._few.values(self._type(name))
                return lambda row: constants[row[slot]]
            case Arithmetic(sign=sign, operands=operands) if sign in OPERATIONS:
                operation, parts = OPERATIONS[sign], [self._number(operand) for operand in operands]
                return lambda row: _computed(operation, [part(row) for part in parts])
        raise NotFewError

    def _indexed(self, name: str) -> Callable[[Row], int | None]:
        """Function from a row of bound values to the index of a head variable's constant."""
        slot = self._slot(name)
        if slot is not None:
            return lambda row: row[slot]
        place, type_name = self._values[name], self._type(name)
        few, new = self._few, name in self._derivation.made
        return lambda row: few.index_of(row[place], type_name, new)

    def _type(self, name: str) -> str:
        return self._derivation.clause.types[name]


def _whole(value: object) -> int:
    if not isinstance(value, int) or not -EXACT <= value <= EXACT:
        raise NotFewError
    return value


def _computed(operation: Callable[..., Any], parts: Sequence[int]) -> int:
    try:
        return _whole(operation(*parts))
    except ZeroDivisionError:
        raise NotFewError from None
