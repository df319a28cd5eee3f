"""A plan as relational algebra: the same steps, written as SQL for a database that holds the operands.

Takes a :class:`~herbrand.contraction.planner.Plan` and a :class:`Stored` table for each operand; returns a
:class:`Query`. Every step is a join of its slots and a grouping by its output, whatever its kind, so a plan
made for the sparse executor runs on tables larger than memory, wherever they are. Nothing here talks to a
database.

>>> friends = Stored("friends", ("a", "b"), rows=2)
>>> asked = Contraction.parse("x y, y z -> x z", dict.fromkeys("xyz", 3))
>>> print(rendered(planned(asked, [friends, friends]), [friends, friends]).rows)
SELECT s0.k0 AS k0, s1.k2 AS k2, SUM(s0.v * s1.v) AS v
FROM (SELECT a AS k0, b AS k1, CAST('1.0' AS DOUBLE) AS v FROM friends) s0
JOIN (SELECT a AS k1, b AS k2, CAST('1.0' AS DOUBLE) AS v FROM friends) s1 ON s1.k1 = s0.k1
GROUP BY s0.k0, s1.k2
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from herbrand.contraction.expression import Axes, Contraction, Pair
from herbrand.contraction.planner import Plan, plan
from herbrand.contraction.relational_algebras import Meaning, meaning_of
from herbrand.contraction.steps import Route, Statistics, Step
from herbrand.relations.dialects import DUCKDB, Dialect

ONE_ROW = "(SELECT 1 AS one) o"
UNLIMITED = 2**62
"""Bytes: what a database cannot hold in memory it writes to disk."""


@dataclass(frozen=True)
class Stored:
    """A relation in a database: a row of ``source`` for each entry listed, with a column for each axis.

    ``source`` is a table's name, or a query in brackets; no entry is listed twice. ``value`` is an expression
    over its columns, the algebra's one if None; ``background`` what entries that are not listed have, the
    algebra's zero if None. ``rows``: about how many there are.
    """

    source: str
    columns: tuple[str, ...]
    value: str | None = None
    background: float | None = None
    rows: int = 0


@dataclass(frozen=True)
class Query:
    """A contraction in SQL: each entry is ``background`` ⊕ its ``v`` in ``rows``, if it has any there.

    ``columns`` name the output's axes in ``rows``; ``background`` is an expression for one number, and None
    stands for the zero of ``algebra``, in which both were computed. Without ``rows`` all entries are alike.
    """

    columns: tuple[str, ...]
    rows: str | None
    background: str | None
    algebra: str


def planned(contraction: Contraction, tables: Sequence[Stored]) -> Plan:
    """The plan for tables of these sizes. A database spills to disk, so no plan is too large here."""
    zero = meaning_of(contraction.algebra).zero
    known = [Statistics(one.rows, one.background not in (None, zero)) for one in tables]
    return plan(contraction, known, UNLIMITED, executor="sparse" if known else "dense")


def rendered(plan: Plan, tables: Sequence[Stored], dialect: Dialect = DUCKDB) -> Query:
    """The plan over these tables; routes that are one number make the background."""
    contraction = plan.contraction
    names = {axis: f"k{place}" for place, axis in enumerate(contraction.sizes)}
    columns = tuple(names[axis] for axis in contraction.output)
    if 0 in contraction.sizes.values():
        return Query(columns, None, None, plan.algebra)
    meaning = meaning_of(plan.algebra)
    walks = [_Walk(plan, route, tables, names, meaning, dialect) for route in plan.routes]
    constants = [walk.constant() for walk in walks if walk.route.kind == "constant"]
    parts = [walk.spread() for walk in walks if walk.route.kind != "constant"]
    return Query(
        columns,
        _added(parts, columns, meaning) if parts else None,
        " + ".join(constants) if constants else None,
        plan.algebra,
    )


def _added(parts: Sequence[str], columns: Sequence[str], meaning: Meaning) -> str:
    if len(parts) == 1:
        return parts[0]
    union = "\nUNION ALL\n".join(f"SELECT * FROM ({part}) p" for part in parts)
    total = f"{meaning.total('v')} AS v"
    return f"SELECT {', '.join((*columns, total))}\nFROM ({union}) u\nGROUP BY {', '.join(columns)}"


@dataclass(frozen=True)
class _Slot:
    """A query with a column for each axis and ``v``; or, without one, 1 where its two axes differ."""

    axes: Axes
    query: str | None


@dataclass(frozen=True)
class _Walk:
    """One route's way through its steps."""

    plan: Plan
    route: Route
    tables: Sequence[Stored]
    names: Mapping[str, str]
    meaning: Meaning
    dialect: Dialect

    @property
    def contraction(self) -> Contraction:
        return self.route.term.contraction

    def constant(self) -> str:
        """The route as an expression for one number."""
        slot = self._last()
        if slot is None:
            return f"({self._scaled(self.meaning.number(self.meaning.one))})"
        zero = self.meaning.number(self.meaning.zero)
        return f"COALESCE((SELECT {self._scaled('v')} FROM ({slot.query}) c), {zero})"

    def spread(self) -> str:
        """The route over all output axes: those that no operand binds take every number."""
        slot, output = self._last(), self.contraction.output
        bound = slot.axes if slot is not None else ()
        wide = [axis for axis in output if axis not in bound and self.contraction.sizes[axis] > 1]
        if slot is not None and not wide and self._is_plain(slot):
            return slot.query or ""
        chosen = [f"{self._place(axis, bound)} AS {self.names[axis]}" for axis in output]
        value = self._scaled("t.v" if slot is not None else self.meaning.number(self.meaning.one))
        sources = [f"({slot.query}) t"] if slot is not None else []
        sources += [self._numbers(axis) for axis in wide]
        apart = [
            f"{self._place(left, bound)} <> {self._place(right, bound)}"
            for left, right in self.route.term.apart
        ]
        source = " CROSS JOIN ".join(sources) or ONE_ROW
        return f"SELECT {', '.join((*chosen, f'{value} AS v'))} FROM {source}{_where(apart)}"

    def _is_plain(self, slot: _Slot) -> bool:
        return (
            slot.axes == self.contraction.output
            and not self.route.term.apart
            and self._scaled("t.v") == "t.v"
        )

    def _place(self, axis: str, bound: Axes) -> str:
        if axis in bound:
            return f"t.{self.names[axis]}"
        return "0" if self.contraction.sizes[axis] == 1 else f"n_{self.names[axis]}.i"

    def _numbers(self, axis: str) -> str:
        count = self.contraction.sizes[axis]
        return f"{self.dialect.numbers.format(count=count)} n_{self.names[axis]}"

    def _scaled(self, value: str) -> str:
        """Times repeats, times the backgrounds that stand for operands, times the sign."""
        meaning, route = self.meaning, self.route
        value = meaning.repeated(value, route.repeats)
        for place in route.backgrounds:
            background = self.tables[place].background
            assert background is not None
            value = f"{value} * {meaning.number(background)}"
        return value if route.term.sign == 1 else f"{value} * {meaning.number(route.term.sign)}"

    def _last(self) -> _Slot | None:
        slots = dict(enumerate(self._bound()))
        for number, step in enumerate(self.route.steps, len(slots)):
            slots[number] = _Slot(step.output, self._step(step, [slots.pop(slot) for slot in step.slots]))
        if not slots:
            return None
        (slot,) = slots.values()
        return slot if slot.query is not None else _Slot(slot.axes, self._joined([slot], slot.axes))

    def _bound(self) -> Iterator[_Slot]:
        """Every operand with repeated axes, zero diagonals and backgrounds taken care of; then the masks."""
        term, inputs = self.route.term, self.route.inputs
        for operand, axes in enumerate(self.contraction.operands):
            pairs = term.diagonals.get(operand, ())
            table = self.tables[self.route.relations[operand]]
            yield _Slot(inputs[operand], self._operand(table, axes, inputs[operand], pairs))
        for order in inputs[len(self.contraction.operands) :]:
            yield _Slot(order, None)

    def _operand(self, table: Stored, axes: Axes, order: Axes, hollow: Sequence[tuple[int, int]]) -> str:
        value = self.meaning.number(self.meaning.one) if table.value is None else self._value(table.value)
        if table.background not in (None, self.meaning.zero):
            if self.meaning.subtracts:
                value = f"{value} - {self.meaning.number(table.background or 0)}"
            else:
                table, value = self._written_out(table, axes, value), "v"
        conditions = [f"{table.columns[left]} <> {table.columns[right]}" for left, right in hollow]
        first: dict[str, str] = {}
        for axis, column in zip(axes, table.columns, strict=True):
            if axis in first:
                conditions.append(f"{first[axis]} = {column}")
            first.setdefault(axis, column)
        if self.meaning.peaked:
            conditions.append(self.meaning.present(value))
        chosen = [f"{first[axis]} AS {self.names[axis]}" for axis in order]
        return f"SELECT {', '.join((*chosen, f'{value} AS v'))} FROM {table.source}{_where(conditions)}"

    def _value(self, value: str) -> str:
        """Truth values are counted where their backgrounds are multiplied out."""
        return f"CAST({value} AS BIGINT)" if self.meaning.kind == "BIGINT" else value

    def _written_out(self, table: Stored, axes: Axes, value: str) -> Stored:
        """The relation with a row for every entry."""
        numbers = [
            f"{self.dialect.numbers.format(count=self.contraction.sizes[axis])} n{place}"
            for place, axis in enumerate(axes)
        ]
        chosen = [f"n{place}.i AS c{place}" for place in range(len(axes))]
        listed = ", ".join((*table.columns, f"{value} AS w"))
        matches = " AND ".join(f"t.{column} = n{place}.i" for place, column in enumerate(table.columns))
        filled = f"COALESCE(t.w, {self.meaning.number(table.background or 0)}) AS v"
        everywhere = " CROSS JOIN ".join(numbers) or ONE_ROW
        source = (
            f"(SELECT {', '.join((*chosen, filled))} FROM {everywhere} "
            f"LEFT JOIN (SELECT {listed} FROM {table.source}) t ON {matches or 'TRUE'}) f"
        )
        return Stored(source, tuple(f"c{place}" for place in range(len(axes))), "v")

    def _step(self, step: Step, slots: Sequence[_Slot]) -> str:
        return self._joined(slots, step.output)

    def _joined(self, slots: Sequence[_Slot], output: Axes) -> str:
        """Slots joined where they share axes, multiplied, and grouped by the output's axes."""
        place: dict[str, str] = {}
        sources, factors, masks = [], [], [slot for slot in slots if slot.query is None]
        for slot in slots:
            if slot.query is None:
                continue
            alias = f"s{len(factors)}"
            shared = [axis for axis in slot.axes if axis in place]
            matches = " AND ".join(f"{alias}.{self.names[axis]} = {place[axis]}" for axis in shared)
            how = "" if not sources else "JOIN " if shared else "CROSS JOIN "
            sources.append(f"{how}({slot.query}) {alias}{f' ON {matches}' if matches else ''}")
            factors.append(f"{alias}.v")
            place |= {axis: f"{alias}.{self.names[axis]}" for axis in slot.axes if axis not in place}
        for axis in dict.fromkeys(axis for slot in masks for axis in slot.axes if axis not in place):
            sources.append(f"{'CROSS JOIN ' if sources else ''}{self._numbers(axis)}")
            place[axis] = f"n_{self.names[axis]}.i"
        pairs: list[Pair] = [(slot.axes[0], slot.axes[1]) for slot in masks if len(slot.axes) == 2]
        conditions = [f"{place[left]} <> {place[right]}" for left, right in pairs]
        if any(len(slot.axes) < 2 for slot in masks):
            conditions.append("FALSE")  # both axes have one place only, and it is the same
        kept = [place[axis] for axis in output]
        named = [f"{one} AS {self.names[axis]}" for one, axis in zip(kept, output, strict=True)]
        body = f"FROM {chr(10).join(sources) or ONE_ROW}{_where(conditions)}"
        product = self.meaning.product(factors)
        if set(place) == set(output):
            return f"SELECT {', '.join((*named, f'{product} AS v'))}\n{body}"
        if self.meaning.peaked:
            return self._log_total(named, product, body, [self.names[axis] for axis in output])
        groups = f"\nGROUP BY {', '.join(kept)}" if kept else ""
        total = self.meaning.total(product)
        if not kept:
            total = f"COALESCE({total}, {self.meaning.number(self.meaning.zero)})"
        return f"SELECT {', '.join((*named, f'{total} AS v'))}\n{body}{groups}"

    def _log_total(self, named: Sequence[str], product: str, body: str, columns: Sequence[str]) -> str:
        """log Σ exp, the largest term of each group taken out first."""
        joint = f"SELECT {', '.join((*named, f'{product} AS v'))}\n{body}"
        over = f"PARTITION BY {', '.join(columns)}" if columns else ""
        peaks = f"SELECT *, MAX(v) OVER ({over}) AS peak FROM ({joint}) j"
        groups = ", ".join((*columns, "peak"))
        chosen = ", ".join((*columns, "peak + LN(SUM(EXP(v - peak))) AS v"))
        return f"SELECT {chosen} FROM ({peaks}) p GROUP BY {groups}"


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
