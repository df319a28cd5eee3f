"""Run a plan over relations, in memory or in a database: each step is a join of its slots and a group by its
output.

Takes a :class:`~herbrand.contraction.planner.Plan` and an :class:`Operand` for each operand; returns a
:class:`Contracted`. So a plan that was made for the sparse executor runs on tables larger than memory, in any
algebra that :meth:`folds <herbrand.contraction.algebra.Algebra.fold>` rows.

>>> from herbrand.relations.memory import Memory
>>> friends = Operand(Memory.of(a=[0, 0, 1], b=[1, 2, 2]), ("a", "b"), count=3)
>>> asked = Contraction.parse("x y, y z -> x z", dict.fromkeys("xyz", 3))
>>> plan = planned(asked, [friends.statistics, friends.statistics])
>>> contracted(plan, [friends, friends], Memory.numbers).rows.rows()
[(0, 2, 1.0)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.expression import Axes, Contraction
from herbrand.contraction.planner import Plan, plan
from herbrand.contraction.steps import Route, Statistics
from herbrand.relations.expression import Expression, choose, column, literal
from herbrand.relations.relation import Relation

VALUE = "v"
_OTHER = "w"
UNLIMITED = 2**62
"""Budget in bytes: a database writes to disk what does not fit in its memory."""

Numbers = Callable[[str, int], Relation]
"""Function that returns a relation of one column with this name: the numbers from 0 up to a count."""


@dataclass(frozen=True)
class Operand:
    """An operand as a relation: ``columns`` of ``rows`` are its axes, and ``v`` is the value of each entry,
    the algebra's one if there is no such column. No entry is listed twice.

    ``background``: value of entries that are not listed; the algebra's zero if None. ``count``: estimated
    number of rows.
    """

    rows: Relation
    columns: tuple[str, ...]
    background: float | None = None
    count: int = 0

    @property
    def statistics(self) -> Statistics:
        """Statistics for planning."""
        return Statistics(self.count, self.background is not None)


@dataclass(frozen=True)
class Contracted:
    """Result of a contraction: the value of an entry is the ⊕ of ``everywhere`` and of its ``v`` in ``rows``,
    if listed.

    Values are of the plan's algebra: truth values with backgrounds come as counts, true if not 0. ``columns``
    name the output's axes in ``rows``; ``everywhere`` has the column ``v`` only. Either may be None.
    """

    columns: tuple[str, ...]
    rows: Relation | None
    everywhere: Relation | None


def planned(contraction: Contraction, operands: Sequence[Statistics]) -> Plan:
    """Plan for relations of these sizes. A database spills to disk, so no plan is refused as too large."""
    return plan(contraction, operands, UNLIMITED, executor="sparse" if operands else "dense")


def contracted(plan: Plan, operands: Sequence[Operand], numbers: Numbers) -> Contracted:
    """Run a plan over these relations; constant routes add up to ``everywhere``."""
    contraction, algebra = plan.contraction, algebra_named(plan.algebra)
    names = {axis: f"k{place}" for place, axis in enumerate(contraction.sizes)}
    columns = tuple(names[axis] for axis in contraction.output)
    if 0 in contraction.sizes.values():
        return Contracted(columns, None, None)
    walks = [_Walk(route, operands, names, algebra, numbers) for route in plan.routes]
    constants = [walk.constant() for walk in walks if walk.route.kind == "constant"]
    parts = [walk.spread() for walk in walks if walk.route.kind != "constant"]
    return Contracted(
        columns,
        _added(parts, columns, algebra) if parts else None,
        _added(constants, (), algebra) if constants else None,
    )


def _added(parts: Sequence[Relation], columns: Sequence[str], algebra: Algebra) -> Relation:
    if len(parts) == 1:
        return parts[0]
    return parts[0].stack(*parts[1:]).group(columns, **{VALUE: algebra.fold(column(VALUE))})


@dataclass(frozen=True)
class _Slot:
    """Relation with a column for each axis, and ``v`` unless all its entries are one; without a relation, a
    mask: 1 where its two axes differ."""

    axes: Axes
    rows: Relation | None


@dataclass(frozen=True)
class _Walk:
    """Run of one route through its steps."""

    route: Route
    operands: Sequence[Operand]
    names: Mapping[str, str]
    algebra: Algebra
    numbers: Numbers

    def constant(self) -> Relation:
        """Result of a constant route, in one row or none."""
        return self._last()[1].select(**{VALUE: self._scaled()})

    def spread(self) -> Relation:
        """Result over all output axes; axes that no operand binds take every number."""
        (axes, rows), contraction = self._last(), self.route.term.contraction
        wide = [axis for axis in contraction.output if axis not in axes and contraction.sizes[axis] > 1]
        for axis in wide:
            rows = rows.join(self._every(axis))
        bound = {*axes, *wide}
        at = {axis: self._column(axis) if axis in bound else literal(0) for axis in contraction.output}
        for left, right in self.route.term.apart:
            rows = rows.where(at[left] != at[right])
        return rows.select(
            **{self.names[axis]: place for axis, place in at.items()}, **{VALUE: self._scaled()}
        )

    def _scaled(self) -> Expression:
        """Value of the last step times repeats, backgrounds and the sign."""
        algebra, route = self.algebra, self.route
        value = algebra.repeated(column(VALUE), route.repeats)
        for place in route.backgrounds:
            value = algebra.times(value, algebra.constant(self.operands[place].background or 0))
        sign = route.term.sign
        return value if sign == 1 else algebra.times(value, algebra.constant(sign))

    def _last(self) -> tuple[Axes, Relation]:
        """Result of the last step, with its axes."""
        slots = dict(enumerate(self._inputs()))
        for number, step in enumerate(self.route.steps, len(slots)):
            rows = self._joined([slots.pop(slot) for slot in step.slots], step.output)
            slots[number] = _Slot(step.output, rows)
        if not slots:
            return (), self._ones()
        (slot,) = slots.values()
        if slot.rows is None:
            return slot.axes, self._joined([slot], slot.axes)
        return slot.axes, self._valued(slot.rows)

    def _inputs(self) -> Iterator[_Slot]:
        """Yield each operand with repeated axes, zero diagonals and its background resolved;
        then the masks."""
        term, inputs = self.route.term, self.route.inputs
        operands = term.contraction.operands
        for place, axes in enumerate(operands):
            hollow = term.diagonals.get(place, ())
            operand = self.operands[self.route.relations[place]]
            yield _Slot(inputs[place], self._operand(operand, axes, inputs[place], hollow))
        for order in inputs[len(operands) :]:
            yield _Slot(order, None)

    def _operand(
        self, operand: Operand, axes: Axes, order: Axes, hollow: Sequence[tuple[int, int]]
    ) -> Relation:
        rows, columns, is_one = operand.rows, operand.columns, VALUE not in operand.rows.columns
        value = self.algebra.constant(self.algebra.one) if is_one else column(VALUE)
        if not is_one and self.algebra.name != self.route.term.contraction.algebra:
            value = choose(value, 1, 0)
        if operand.background is not None and self.algebra.has_subtraction:
            value = value - self.algebra.constant(operand.background)
        elif operand.background is not None:
            rows, value = self._written_out(operand, axes, value), column(VALUE)
        first: dict[str, str] = {}
        for axis, name in zip(axes, columns, strict=True):
            if axis in first:
                rows = rows.where(column(first[axis]) == column(name))
            first.setdefault(axis, name)
        for left, right in hollow:
            rows = rows.where(column(columns[left]) != column(columns[right]))
        chosen: dict[str, Expression] = {self.names[axis]: column(first[axis]) for axis in order}
        if not is_one or operand.background is not None:
            chosen[VALUE] = value
        return rows.select(**chosen)

    def _written_out(self, operand: Operand, axes: Axes, value: Expression) -> Relation:
        """Operand as a relation with a row for every entry of its table."""
        sizes, background = self.route.term.contraction.sizes, operand.background or 0
        listed = operand.rows.select(**{name: column(name) for name in operand.columns}, **{VALUE: value})
        rows = self._ones().only()
        for name, axis in zip(operand.columns, axes, strict=True):
            rows = rows.join(self.numbers(name, sizes[axis]))
        return rows.left_join(listed, operand.columns, **{VALUE: self.algebra.value(background)})

    def _joined(self, slots: Sequence[_Slot], output: Axes) -> Relation:
        """Join slots on shared axes, multiply their values, and group by the output's axes."""
        tables, masks = (
            [slot for slot in slots if slot.rows is not None],
            [x.axes for x in slots if x.rows is None],
        )
        first, *others = tables or [_Slot((), self._ones())]
        rows, axes = first.rows, list(first.axes)
        assert rows is not None
        for slot in others:
            rows, axes = self._product(rows, axes, slot), [*dict.fromkeys((*axes, *slot.axes))]
        for axis in dict.fromkeys(axis for mask in masks for axis in mask if axis not in axes):
            rows, axes = rows.join(self._every(axis)), [*axes, axis]
        for mask in masks:
            # an axis of size one is not named, and then both axes always agree
            rows = rows.where(
                self._column(mask[0]) != self._column(mask[1]) if len(mask) == 2 else literal(False)
            )
        names = [self.names[axis] for axis in output]
        rows = self._valued(rows)
        if set(axes) == set(output):
            return rows
        return rows.group(names, **{VALUE: self.algebra.fold(column(VALUE))})

    def _product(self, rows: Relation, axes: Sequence[str], slot: _Slot) -> Relation:
        assert slot.rows is not None
        shared = [self.names[axis] for axis in slot.axes if axis in axes]
        if VALUE not in rows.columns or VALUE not in slot.rows.columns:
            return rows.join(slot.rows, shared)  # a product with 1 is left out: it takes time for every row
        joined = rows.join(slot.rows.renamed(**{_OTHER: VALUE}), shared)
        kept = {name: column(name) for name in joined.columns if name not in (VALUE, _OTHER)}
        return joined.select(**kept, **{VALUE: self.algebra.times(column(VALUE), column(_OTHER))})

    def _column(self, axis: str) -> Expression:
        return column(self.names[axis])

    def _every(self, axis: str) -> Relation:
        return self.numbers(self.names[axis], self.route.term.contraction.sizes[axis])

    def _valued(self, rows: Relation) -> Relation:
        """Rows with a column for their values, added where all are one."""
        one = self.algebra.constant(self.algebra.one)
        return rows if VALUE in rows.columns else rows.let(**{VALUE: one})

    def _ones(self) -> Relation:
        """A single row with the algebra's one."""
        return self.numbers("one", 1).select(**{VALUE: self.algebra.constant(self.algebra.one)})
