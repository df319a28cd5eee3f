"""Messages to all atoms as steps over torch tensors, planned once from shapes.

A program's templates are sums of products of marginals (:mod:`herbrand.engines.mean_field.products`). Their
derivatives by the marginals, the messages, are written here as steps: matrix products, shifts or gatherings
of rows. Products that differ only in the values they allow are merged, with a table of numbers for the
values. Nothing is differentiated while messages are computed; gradients of a loss go through the steps by
torch's own rules.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.message_terms import (
    KNOWN,
    OF_MARGINALS,
    OF_WEIGHTS,
    ROW,
    Complement,
    Derivative,
    Diagonals,
    Operand,
    Registers,
    Step,
    Target,
    Tree,
    gathering,
    joined,
    listed,
)
from herbrand.engines.mean_field.pair_product import BATCH, Arranged, Axes, PairProduct
from herbrand.engines.mean_field.products import (
    Observed,
    PerConstant,
    Product,
    Quantified,
    products_of,
)
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.program.evidence import Evidence
from herbrand.program.program import FALSE, Program, Template, different

FLOAT_BYTES = 8
VALUE = "value "
"""Prefix of the names of axes of values."""
PRESENT = "present "
"""Prefix of a table's name, followed by a type: which constants of the type are present."""
WeightCounts = tuple[tuple[int, float], ...]
Weights = Sequence[Tensor]
Tables = dict[str, Tensor]


@dataclass(frozen=True)
class Leaf:
    """Part of a table that products read, whatever the names of its variables; ``shape``: its dimensions,
    values last."""

    reading: Reading
    shape: tuple[int, ...]
    valued: bool

    @property
    def whole(self) -> bool:
        """Whether every atom is read exactly once."""
        return self.reading.axes == self.reading.arguments


@dataclass(frozen=True)
class Values:
    """A table over values, linear in weights: ``counts`` [entry, weight] times the weights of these
    numbers."""

    shape: tuple[int, ...]
    weights: tuple[int, ...]
    counts: int


@dataclass(frozen=True)
class Message:
    """A message to a leaf: a register arranged to the leaf's dimensions, or a step that is a matrix
    product."""

    sign: float
    register: int = -1
    arranged: Arranged | None = None
    step: Step | None = None
    target: Target | None = None


@dataclass(frozen=True)
class LeafMessages:
    """All messages to a leaf with the same ``counts`` of weights; ``early``: they do not depend on
    marginals."""

    leaf: int
    counts: WeightCounts
    messages: tuple[Message, ...]
    early: bool


class MessagePlan(nn.Module):
    """Steps for the messages of some templates; known tables are buffers.

    ``left``: the templates that it cannot handle. ``given``: predicates whose tables come with each call;
    ``ragged``: types whose constants may be absent from an example, by tables named after them.
    """

    def __init__(
        self,
        program: Program,
        evidence: Evidence,
        tables: Mapping[str, PredicateTable],
        templates: Iterable[Template],
        relations: KnownRelations,
        given: Collection[str] = (),
        ragged: Collection[str] = (),
    ) -> None:
        super().__init__()
        maker = _Maker(program, evidence, tables, relations, frozenset(given), frozenset(ragged))
        self.left = maker.add_all(templates)
        self.leaves = tuple(maker.leaves)
        self.shapes = {name: maker.evidence.sizes(name) for name in tables}
        self.values = dict(maker.values)
        self.per_constant = dict(maker.per_constant)
        self.sources = dict(maker.sources)
        self.masks = dict(maker.masks)
        self.ragged = tuple(sorted(ragged))
        self.types = {name: maker.types(name) for name in (*tables, *given)}
        self.leaf_messages, steps = maker.finished()
        self.complements = dict(maker.complements)
        self.early = tuple(one for one in steps if maker.registers.levels[one.output] == OF_WEIGHTS)
        self.late = tuple(one for one in steps if maker.registers.levels[one.output] == OF_MARGINALS)
        self.register_names = {}
        for register in maker.used_known():
            value = maker.registers.value(register)
            if value.is_floating_point():
                value = value.to(torch.get_default_dtype())
            self.register_buffer(f"known_{register}", value, persistent=False)
            self.register_names[register] = f"known_{register}"

    def prepared(
        self, weights: Weights, like: Tensor, facts: Mapping[str, Tensor], present: Mapping[str, Tensor]
    ) -> Prepared:
        """Compute everything that depends on weights and facts alone."""
        registers: dict[int, Tensor] = {}
        for register, name in self.register_names.items():
            known = getattr(self, name)
            registers[register] = known.to(like) if known.is_floating_point() else known
        for register, values in self.values.items():
            chosen = torch.stack([weights[number] for number in values.weights]).to(like)
            registers[register] = (registers[values.counts] @ chosen).view(values.shape)
        for register, (number, reading) in self.per_constant.items():
            registers[register] = reading.region(weights[number].to(like), False)
        for register, leaf in self.sources.items():
            one = self.leaves[leaf]
            if one.reading.source.startswith(PRESENT):
                registers[register] = present[one.reading.source.removeprefix(PRESENT)]
        masks = {leaf: registers[register] for leaf, register in self.masks.items()}
        for leaf in self.sources.values():
            mask = self._present(leaf, present)
            if mask is not None:
                masks[leaf] = mask * masks[leaf] if leaf in masks else mask
        result = Prepared(registers, masks)
        for register, leaf in self.sources.items():
            if self.leaves[leaf].reading.source in facts:
                result.read(self, register, facts)
        for step in self.early:
            registers[step.output] = step.operation(*(registers[one] for one in step.inputs))
        for number, group in enumerate(self.leaf_messages):
            if group.counts:
                result.coefficients[number] = self._coefficient(group, weights, like, masks)
        return result

    def _present(self, leaf: int, present: Mapping[str, Tensor]) -> Tensor | None:
        """Whether all constants of each atom are present, [batch, dimensions of a leaf]."""
        one = self.leaves[leaf]
        types = self.types.get(one.reading.source)
        if types is None or not any(name in present for name in types):
            return None
        dims = len(one.reading.axes)
        total: Tensor | None = None
        for place, argument in enumerate(one.reading.arguments):
            if types[place] not in present:
                continue
            there = present[types[place]]
            if isinstance(argument, int):
                part = there[:, argument].view(-1, *[1] * dims)
            else:
                at = one.reading.axes.index(argument)
                part = there.view(there.shape[0], *[1] * at, there.shape[1], *[1] * (dims - at - 1))
            total = part if total is None else total * part
        assert total is not None
        return total.unsqueeze(-1) if one.valued else total

    def _coefficient(
        self, group: LeafMessages, weights: Weights, like: Tensor, masks: Mapping[int, Tensor]
    ) -> Tensor:
        coefficient = None
        for number, count in group.counts:
            part = weights[number].to(like) if count == 1 else weights[number].to(like) * count
            coefficient = part if coefficient is None else coefficient + part
        assert coefficient is not None
        return coefficient * masks[group.leaf] if group.leaf in masks else coefficient

    def forward(self, marginals: Mapping[str, Tensor], prepared: Prepared, onto: Tables) -> Tables:
        """Add the messages that depend on marginals to ``onto``; ``marginals`` have one batch axis."""
        registers = dict(prepared.registers)
        for register in self.sources:
            if register not in registers:
                prepared.read(self, register, marginals, registers)
        for step in self.late:
            registers[step.output] = step.operation(*(registers[one] for one in step.inputs))
        return self._added(prepared, registers, onto, early=False)

    def constant(self, prepared: Prepared, onto: Tables) -> Tables:
        """Add the messages that no marginal changes to ``onto``."""
        return self._added(prepared, prepared.registers, onto, early=True)

    def _added(
        self, prepared: Prepared, registers: Mapping[int, Tensor], onto: Tables, early: bool
    ) -> Tables:
        messages = dict(onto)
        for number, group in enumerate(self.leaf_messages):
            if group.early != early:
                continue
            total = self._total(group, registers)
            leaf = self.leaves[group.leaf]
            name = leaf.reading.source
            coefficient = prepared.coefficients.get(number)
            if coefficient is None and group.leaf in prepared.masks:
                coefficient = prepared.masks[group.leaf]
            if leaf.whole:
                messages[name] = (
                    messages[name] + total
                    if coefficient is None
                    else torch.addcmul(messages[name], total, coefficient)
                )
                continue
            total = total if coefficient is None else total * coefficient
            total = total.expand(-1, *leaf.shape)
            messages[name] = messages[name] + leaf.reading.embedded(total, self.shapes[name], leaf.valued)
        return messages

    def _total(self, group: LeafMessages, registers: Mapping[int, Tensor]) -> Tensor:
        """The signed sum of messages to a leaf, over its dimensions, each of which may have size 1."""
        total: Tensor | None = None
        leaf = self.leaves[group.leaf]
        for one in group.messages:
            if one.step is not None:
                product, factors = one.step.operation, [registers[number] for number in one.step.inputs]
                assert isinstance(product, PairProduct)
                if total is not None:
                    total = product.added(total, factors[0], factors[1], one.sign)
                else:
                    total_product = product(factors[0], factors[1])
                    total = total_product if one.sign == 1 else total_product * one.sign
                continue
            assert one.arranged is not None
            part = one.arranged(registers[one.register])
            if one.target is not None and one.target.gathered is not None:
                index = registers[one.target.index]
                part = part.unsqueeze(0) if part.dim() == 0 else part
                shape = (part.shape[0], *leaf.shape)
                total = one.target.gathered.back(total, part, index, shape, one.sign)
                continue
            if total is None:
                total = part if one.sign == 1 else part * one.sign
            else:
                total = torch.add(total, part, alpha=one.sign)
        assert total is not None
        return total


@dataclass(frozen=True, eq=False)
class Prepared:
    """Registers that all updates of a call share; ``masks`` by leaf; ``coefficients`` by place in
    ``leaf_messages``."""

    registers: dict[int, Tensor]
    masks: dict[int, Tensor]
    coefficients: dict[int, Tensor] = field(default_factory=dict)

    def read(
        self,
        plan: MessagePlan,
        register: int,
        tables: Mapping[str, Tensor],
        registers: dict[int, Tensor] | None = None,
    ) -> None:
        """Write what a leaf reads to its register, and 1 minus it to the register of its complement."""
        registers = self.registers if registers is None else registers
        number = plan.sources[register]
        leaf = plan.leaves[number]
        table = leaf.reading.region(tables[leaf.reading.source], True, leaf.valued)
        mask = self.masks.get(number)
        if mask is not None:
            table = table * mask
        registers[register] = table
        if number in plan.complements:
            registers[plan.complements[number]] = (1.0 if mask is None else mask) - table


class _Maker:
    """Collects products by form, and writes their steps."""

    def __init__(
        self,
        program: Program,
        evidence: Evidence,
        tables: Mapping[str, PredicateTable],
        relations: KnownRelations,
        given: frozenset[str],
        ragged: frozenset[str],
    ) -> None:
        self.program, self.evidence, self.tables, self.relations = program, evidence, tables, relations
        self.given, self.ragged = given, ragged
        self.registers = Registers()
        self.leaves: dict[Leaf, int] = {}
        self.leaf_registers: dict[tuple[int, int], int] = {}
        self.sources: dict[int, int] = {}
        self.complements: dict[int, int] = {}
        self.masks: dict[int, int] = {}
        self.values: dict[int, Values] = {}
        self.per_constant: dict[int, tuple[int, Reading]] = {}
        self.ways: dict[Product, _Rows | None] = {}
        self.needed: set[int] = set()
        self.derivatives: dict[
            tuple[int, WeightCounts], list[tuple[float, Derivative, Mapping[str, int]]]
        ] = defaultdict(list)

    def add_all(self, templates: Iterable[Template]) -> tuple[Template, ...]:
        """Add the templates whose steps can be written; returns the others."""
        whole = {*self.tables, *self.given}
        left, forms = [], defaultdict[Product, list[tuple[Product, dict[int, float]]]](list)
        for template in templates:
            products = products_of(self.program, [template], self.evidence, whole)
            if not all(self._fits(product) for product in products):
                left.append(template)
                continue
            for product, counts in products.items():
                forms[self._form(product)].append((product, counts))
        for form, members in forms.items():
            self._add(form, members)
        return tuple(left)

    def valued(self, name: str) -> bool:
        return not name.startswith(PRESENT) and self.evidence.is_valued(name)

    def _form(self, product: Product) -> Product:
        """The product without the values that its readings allow."""
        operands = tuple(
            replace(x, allowed=()) if isinstance(x, Reading) and self.valued(x.source) else x
            for x in product.operands
        )
        return replace(product, operands=operands)

    def _fits(self, product: Product) -> bool:
        """Whether the product's steps can be written, and fit the memory for one example."""
        if any(isinstance(operand, Quantified) for operand in product.operands):
            return False
        form = self._form(product)
        if form not in self.ways:
            self.ways[form] = self._way(form)
        return self.ways[form] is not None

    def _way(self, form: Product) -> _Rows | None:
        """The rows to read, or ``_Rows`` without rows for whole tables, whichever is cheaper; ``None`` if
        neither fits."""
        if not any(isinstance(x, Reading) and x.source in self.tables for x in form.operands):
            return _Rows((), None)  # reads no open predicate, so it moves no atom
        if self.ragged and set(form.sizes) - {a for x in form.operands for a in x.axes}:
            return None
        best, least = None, math.inf
        for rows in filter(None, (_Rows((), None), self._rows(form))):
            trial = _Maker(self.program, self.evidence, self.tables, self.relations, self.given, self.ragged)
            operands = trial.operands(form, rows)
            if operands is None:
                continue
            list(Tree(trial.registers, operands, trial.sizes(form, rows)).derivatives())
            if trial.registers.largest * FLOAT_BYTES > self.relations.memory:
                continue
            if trial.registers.cost < least:
                best, least = rows, trial.registers.cost
        return best

    def _rows(self, form: Product) -> _Rows | None:
        known = [x for x in form.operands if isinstance(x, Observed)]
        rows = joined(
            [(self.relations.relation(x), x.axes) for x in known], form.sizes, self.relations.memory
        )
        return None if rows is None else _Rows(*rows)

    def sizes(self, form: Product, rows: _Rows) -> dict[str, int]:
        """Sizes of all axes of a form's operands."""
        values = {
            _value_axis(place): self.program.value_count(x.source)
            for place, x in enumerate(form.operands)
            if isinstance(x, Reading) and self.valued(x.source)
        }
        return {**form.sizes, **values, ROW: 0 if rows.rows is None else len(rows.rows)}

    def operands(self, form: Product, rows: _Rows) -> list[Operand] | None:
        """The form's operands without its table over values; ``None`` where a known one is too large."""
        operands: list[Operand] = []
        for place, operand in enumerate(form.operands):
            match operand:
                case Reading():
                    operands.append(self._reading(operand, place))
                case PerConstant(weight=weight):
                    key = ("per constant", weight, operand.arguments)
                    if key not in self.registers.made:
                        self.registers.made[key] = self.registers.new(OF_WEIGHTS)
                        self.per_constant[self.registers.made[key]] = weight, operand.reading
                    operands.append(Operand(operand.axes, self.registers.made[key], OF_WEIGHTS))
                case Observed():
                    relation = self.relations.relation(operand)
                    if rows.rows is not None and set(operand.axes) <= set(rows.axes) and listed(relation):
                        continue
                    if math.prod(relation.shape) * FLOAT_BYTES > self.relations.memory:
                        return None
                    register = self.registers.known(("known", operand), relation.to_dense)
                    operands.append(Operand(operand.axes, register, KNOWN, Diagonals.of(relation)))
        operands += self._present(form)
        if rows.rows is None:
            return operands
        return [self._gathered(x, rows, self.sizes(form, rows)) for x in operands]

    def _present(self, form: Product) -> list[Operand]:
        """Masks of present constants, for axes that only known relations have."""
        read = {axis for x in form.operands if isinstance(x, Reading) for axis in x.axes}
        types = {}
        for operand in form.operands:
            if isinstance(operand, Observed):
                own = self.types(operand.literal.predicate)
                types |= dict(zip(operand.literal.arguments, own, strict=True))
        operands = []
        for axis, name in types.items():
            if isinstance(axis, str) and axis not in read and name in self.ragged:
                leaf = self._leaf(Reading(PRESENT + name, ("d0",)), (form.sizes[axis],), False)
                operands.append(Operand((BATCH, axis), self._source(leaf, 1, OF_WEIGHTS), OF_WEIGHTS))
        return operands

    def _gathered(self, operand: Operand, rows: _Rows, sizes: Mapping[str, int]) -> Operand:
        assert rows.rows is not None
        if not set(operand.axes) & set(rows.axes):
            return replace(operand, diagonals=None)
        step, axes, index, cost = gathering(operand.axes, rows.axes, rows.rows, sizes)
        key = ("index", index.tobytes())
        place = self.registers.known(key, lambda: torch.from_numpy(index))
        target = operand.target
        source = operand.register
        plain = target is not None and target.sign < 0 and target.leaf not in self.masks and not self.ragged
        if target is not None and plain:  # the complement is taken after gathering, of fewer entries
            source = self.leaf_registers[target.leaf, 1]
        register = self.registers.step(step, source, place, cost=cost)
        if plain:
            register = self.registers.step(Complement(), register, cost=cost)
        if target is not None:
            target = replace(target, gathered=step, index=place)
        return Operand(axes, register, operand.level, None, target)

    def _reading(self, reading: Reading, place: int) -> Operand:
        """The leaf of a reading, or its complement, as an operand."""
        valued = self.valued(reading.source)
        names: dict[str, str] = {}
        for argument in reading.arguments:
            if isinstance(argument, str):
                names.setdefault(argument, f"d{len(names)}")
        arguments = tuple(names.get(a, a) if isinstance(a, str) else a for a in reading.arguments)
        pairs = [tuple(names.get(a, a) if isinstance(a, str) else a for a in pair) for pair in reading.apart]
        apart = frozenset(different(left, right) for left, right in pairs)
        like = Reading(reading.source, arguments, (), apart)
        sizes = dict(zip(arguments, self.evidence.sizes(reading.source), strict=True))
        shape = tuple(sizes[axis] for axis in like.axes)
        leaf = self._leaf(like, shape, valued)
        level = OF_WEIGHTS if reading.source in self.given else OF_MARGINALS
        sign = -1 if not valued and reading.allowed == FALSE else 1
        axes = (BATCH, *reading.axes, *((_value_axis(place),) if valued else ()))
        target = Target(leaf, sign) if level == OF_MARGINALS else None
        return Operand(axes, self._source(leaf, sign, level), level, None, target)

    def _leaf(self, reading: Reading, shape: tuple[int, ...], valued: bool) -> int:
        if valued:
            shape = (*shape, self.program.value_count(reading.source))
        leaf = Leaf(reading, shape, valued)
        if leaf not in self.leaves:
            self.leaves[leaf] = len(self.leaves)
            if reading.apart:
                key = ("apart", leaf)
                self.masks[self.leaves[leaf]] = self.registers.known(key, lambda: _apart(leaf))
        return self.leaves[leaf]

    def _source(self, leaf: int, sign: int, level: int) -> int:
        if (leaf, 1) not in self.leaf_registers:
            self.leaf_registers[leaf, 1] = self.registers.new(level)
            self.sources[self.leaf_registers[leaf, 1]] = leaf
        if sign < 0 and (leaf, -1) not in self.leaf_registers:
            self.leaf_registers[leaf, -1] = self.complements[leaf] = self.registers.new(level)
        return self.leaf_registers[leaf, sign]

    def _add(self, form: Product, members: Sequence[tuple[Product, Mapping[int, float]]]) -> None:
        rows = self.ways[form]
        if not any(isinstance(x, Reading) and x.source in self.tables for x in form.operands):
            return
        assert rows is not None
        operands = self.operands(form, rows)
        assert operands is not None
        sizes = self.sizes(form, rows)
        if rows.rows is not None and not len(rows.rows):
            return
        named = {axis for operand in form.operands for axis in operand.axes}
        repeats = math.prod(size for axis, size in form.sizes.items() if axis not in named)
        if rows.rows is not None and not any(ROW in operand.axes for operand in operands):
            repeats *= len(rows.rows)
        values = tuple(axis for axis in sizes if axis.startswith(VALUE))
        if self._all_agree(members) and len({sizes[axis] for axis in values}) == 1:  # a diagonal table
            one = dict.fromkeys(values, values[0])
            operands = [replace(x, axes=tuple(one.get(axis, axis) for axis in x.axes)) for x in operands]
            sizes = {axis: size for axis, size in sizes.items() if axis not in values[1:]}
            values = values[:1]
        by_constant = any(isinstance(operand, PerConstant) for operand in form.operands)
        counts, sign = _counts_of(members, repeats)
        if values:
            operands.append(self._table(form, members, values, sizes, repeats, by_constant))
            counts, sign = (), 1.0
        elif by_constant:
            counts, sign = (), sign * sum(count for _, count in counts)
        elif not counts:
            return
        for derivative in Tree(self.registers, operands, sizes).derivatives():
            target = derivative.operand.target
            assert target is not None
            self.derivatives[target.leaf, counts].append(
                (sign * target.sign, derivative, {**sizes, BATCH: 1})
            )

    def _allowed(self, product: Product) -> list[tuple[int, ...]]:
        return [x.allowed for x in product.operands if isinstance(x, Reading) and self.valued(x.source)]

    def _all_agree(self, members: Sequence[tuple[Product, Mapping[int, float]]]) -> bool:
        """Whether each product allows one value, the same in all of its readings."""
        return all(
            len({*allowed}) == len(allowed[0]) == 1 for p, _ in members if (allowed := self._allowed(p))
        )

    def _table(
        self,
        form: Product,
        members: Sequence[tuple[Product, Mapping[int, float]]],
        axes: Axes,
        sizes: Mapping[str, int],
        repeats: int,
        by_constant: bool,
    ) -> Operand:
        """The factor of each choice of values, as numbers or as a linear function of weights."""
        shape = tuple(sizes[axis] for axis in axes)
        weights = sorted({number for _, by_weight in members for number in by_weight})
        counts = np.zeros((math.prod(shape), 1 if by_constant else len(weights)))
        for product, by_weight in members:
            allowed = map(np.array, self._allowed(product)[: len(shape)])
            entries = np.ravel_multi_index(np.ix_(*allowed), shape).ravel()
            for number, count in by_weight.items():
                counts[entries, 0 if by_constant else weights.index(number)] += count * repeats
        key = ("values", form)
        register = self.registers.known(key, lambda: torch.from_numpy(counts.reshape(shape)))
        if by_constant:
            return Operand(axes, register, KNOWN)
        key = ("counts", form)
        register = self.registers.known(key, lambda: torch.from_numpy(counts))
        table_register = self.registers.new(OF_WEIGHTS)
        self.values[table_register] = Values(shape, tuple(weights), register)
        return Operand(axes, table_register, OF_WEIGHTS)

    def finished(self) -> tuple[tuple[LeafMessages, ...], tuple[Step, ...]]:
        """The messages to each leaf, and the steps that they need, in order."""
        results = [one for own in self.derivatives.values() for _, one, _ in own]
        needed = {one.register for one in results}
        kept = []
        for step in reversed(self.registers.steps):
            if step.output in needed:
                kept.append(step)
                needed.update(step.inputs)
        kept.reverse()
        uses = Counter(number for step in kept for number in step.inputs)
        uses.update(one.register for one in results)
        leaf_messages = tuple(self._leaf_messages(uses, {step.output: step for step in kept}))
        fused = {id(message.step) for one in leaf_messages for message in one.messages}
        needed.update(t.index for one in results if (t := one.operand.target) and t.gathered)
        needed.update(values.counts for register, values in self.values.items() if register in needed)
        self.needed = needed | set(self.masks.values())
        self.values = {register: one for register, one in self.values.items() if register in needed}
        self.complements = {leaf: one for leaf, one in self.complements.items() if one in needed}
        return leaf_messages, tuple(step for step in kept if id(step) not in fused)

    def _leaf_messages(self, uses: Counter[int], producers: Mapping[int, Step]) -> Iterator[LeafMessages]:
        """Messages grouped by leaf, counts of weights and whether marginals change them; the first of a group
        has a positive sign."""
        for (leaf, counts), own in self.derivatives.items():
            for early in (True, False):
                chosen = [
                    self._message(sign, one, sizes, uses, producers)
                    for sign, one, sizes in own
                    if (self.registers.levels[one.register] < OF_MARGINALS) == early
                ]
                chosen.sort(key=lambda one: (one.sign <= 0, one.step is None))
                if chosen and counts and chosen[0].sign < 0:
                    chosen = [replace(one, sign=-one.sign) for one in chosen]
                    yield LeafMessages(
                        leaf, tuple((number, -count) for number, count in counts), (*chosen,), early
                    )
                elif chosen:
                    yield LeafMessages(leaf, counts, tuple(chosen), early)

    def used_known(self) -> list[int]:
        return sorted(one for one in self.needed if self.registers.levels[one] == KNOWN)

    def _message(
        self,
        sign: float,
        one: Derivative,
        sizes: Mapping[str, int],
        uses: Counter[int],
        producers: Mapping[int, Step],
    ) -> Message:
        target = one.operand.target
        assert target is not None
        producer = producers.get(one.register)
        if (
            producer is not None
            and isinstance(producer.operation, PairProduct)
            and producer.operation.plain
            and one.axes == one.operand.axes
            and target.gathered is None
            and uses[one.register] == 1
        ):
            return Message(sign, step=producer, target=target)
        groups = [(axis,) if axis in one.axes else () for axis in one.operand.axes]
        return Message(sign, one.register, Arranged.of(one.axes, groups, sizes), target=target)

    def types(self, predicate: str) -> tuple[str, ...]:
        return tuple(self.program.signature.predicates[predicate].types)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to read and their axes; ``rows`` is ``None`` for whole tables."""

    axes: Axes
    rows: np.ndarray | None


def _counts_of(
    members: Sequence[tuple[Product, Mapping[int, float]]], repeats: int
) -> tuple[WeightCounts, float]:
    """Total counts of the weights of like products, with a positive first count, and the sign that this
    takes."""
    total = defaultdict[int, float](float)
    for _, counts in members:
        for number, count in counts.items():
            total[number] += count * repeats
    counts = sorted((number, count) for number, count in total.items() if count)
    sign = 1.0 if counts and counts[0][1] > 0 else -1.0
    return tuple((number, count * sign) for number, count in counts), sign


def _value_axis(place: int) -> str:
    return f"{VALUE}{place}"


def _apart(leaf: Leaf) -> Tensor:
    """1 where the pairs of a leaf's reading differ, else 0."""
    axes = leaf.reading.axes
    mask = torch.ones(leaf.shape[: len(axes)], dtype=torch.float64)
    places = torch.meshgrid(*(torch.arange(size) for size in mask.shape), indexing="ij")
    for pair in leaf.reading.apart:
        left, right = (places[axes.index(a)] if isinstance(a, str) else a for a in pair)
        mask = mask * (left != right)
    return mask.unsqueeze(-1) if leaf.valued else mask
