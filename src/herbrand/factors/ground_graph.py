"""Factor graph of a ground program, built column by column.

Takes a :class:`Ground`; gives a :class:`ProgramGraph`, whose first axes are the latent atoms. Factors over
the same atoms are added up. A quantifier is a helper axis with a factor over all of its pieces, shared by all
equal quantifiers of the same constants.

The caller chooses what is one factor. Messages need few cycles, so there a ground formula is one factor with
all its cases; elimination needs narrow tables, so there each case is a factor, unless so many cases have more
entries than one table of them all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.factors.graph import Array, Assembly, Somes, Tables
from herbrand.factors.ground_quantifiers import Axes, Columns, Quantifiers
from herbrand.factors.pieces import (
    ABSENT,
    Piece,
    RowShape,
    add_pieces,
    fits_a_table,
    fits_any_table,
    merge_key,
    refuse_tables,
    shapes,
    table_of,
    together,
    unique_rows,
)
from herbrand.factors.program_graph import Origin, ProgramGraph
from herbrand.language.network_tables import NetworkTable
from herbrand.program.evidence import Evidence
from herbrand.program.ground import Ground
from herbrand.program.program import Allowed
from herbrand.row_keys import by_number

ENTRIES_A_LINK = 8
"""Entries of the tables by which a chain of helpers links one atom."""

MANY_CASES = 100
"""Cases of a formula from which elimination takes one table, if it is no larger than theirs: the order of
thousands of factors over few atoms takes longer to plan than their sum."""

Source = tuple[int, Array]
"""Number of a template, and some of its rows."""


@dataclass(frozen=True, eq=False)
class Literals:
    """Rows of a template that may hold: ``atoms`` [row, column], the values that each column allows, the
    numbers of the rows, and their weight."""

    number: int
    atoms: Array
    allowed: tuple[Allowed, ...]
    rows: Array
    log_weight: float


def ground_graph(
    ground: Ground,
    budget: Budget = UNLIMITED,
    *,
    by_formula: bool = True,
    log_weights: Sequence[float | None] | None = None,
    facts: bool = True,
) -> ProgramGraph:
    """Build the graph with an axis for each atom and a factor for each set of atoms that templates mention
    together; raise BudgetError if its tables do not fit in the budget.

    ``by_formula``: all cases of a ground formula are one factor; else each case is, unless they are many and
    have more entries than one table. ``log_weights``:
    log-weight of a row of each template in place of the program's; templates with ``None`` are left out.
    Without ``facts`` the graph has the templates only, without soft evidence, excluded values and whole
    tables.
    """
    building = _Building(ground, budget, by_formula, log_weights or row_log_weights(ground))
    return building.finished(facts)


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows of each template that may hold, and the factors of the helpers among their columns.

    ``sizes`` [axis]: number of values, first of atoms and then of helpers.
    """

    rows: tuple[Columns, ...]
    somes: Somes
    sizes: Array


def ground_cases(ground: Ground, budget: Budget = UNLIMITED) -> Cases:
    """Rows of all templates with quantifiers as columns of helpers; no factors are added up."""
    quantifiers = Quantifiers(ground, Axes(ground), budget)
    rows = tuple(
        quantifiers.with_helpers(one.template.conjunction, one.conjunction, (number, one))
        for number, one in enumerate(ground.templates)
    )
    return Cases(rows, quantifiers.somes(), np.concatenate(quantifiers.axes.sizes))


def row_log_weights(ground: Ground) -> list[float | None]:
    """Log-weight that a row of each template adds to a world, None for 0."""
    return [one.log_weight(ground.program) or None for one in ground.templates]


@dataclass(frozen=True, eq=False)
class _Layer:
    """Factors of one shape made of the same pieces; factors over equal scopes are added up later.

    ``sources``: rows that each piece comes from; a ``whole`` table comes from no rows.
    """

    scopes: Array
    sizes: tuple[int, ...]
    pieces: tuple[Piece, ...] = ()
    sources: tuple[Source, ...] = ()
    whole: Array | None = None

    def only(self, rows: Array) -> _Layer:
        """The layer on some of its scopes."""
        sources = tuple((template, of_rows[rows]) for template, of_rows in self.sources)
        return _Layer(self.scopes[rows], self.sizes, self.pieces, sources)

    def add_to(self, table: Array) -> None:
        add_pieces(table, self.pieces)
        if self.whole is not None:
            table += self.whole

    def table(self) -> Array:
        """Log-potential of this layer alone."""
        return table_of(self.pieces, self.sizes) if self.whole is None else self.whole

    def origins(self, places: Array) -> Iterator[Origin]:
        """Origins of its factors, or axes, which have these numbers."""
        for piece, (template, rows) in zip(self.pieces, self.sources, strict=True):
            yield Origin(template, rows, places, piece, self.sizes)


@dataclass
class _Building:
    ground: Ground
    budget: Budget
    by_formula: bool
    log_weights: Sequence[float | None]
    layers: list[_Layer] = field(default_factory=list)
    wide: list[_Layer] = field(default_factory=list)
    apart: set[int] = field(default_factory=set)
    unary: list[tuple[Array, Array]] = field(default_factory=list)
    on_axes: list[Origin] = field(default_factory=list)
    always: list[Source] = field(default_factory=list)
    constant: float = 0.0

    def __post_init__(self) -> None:
        self.axes = Axes(self.ground)
        self.quantifiers = Quantifiers(self.ground, self.axes, self.budget)

    def finished(self, facts: bool) -> ProgramGraph:
        for templates in self._merged():
            self.budget.check()
            self._add(templates)
        self._settle_wide()
        assembly = Assembly(np.concatenate(self.axes.sizes))
        if facts:
            for table in self.ground.program.tables:
                self._add_whole(table)
            own = self.ground.own_weights()
            self.constant += own.constant
            assembly.add_values(own.atoms, own.values, own.log_weights)
        for axes, table in self.unary:
            assembly.add_unary(axes, table)
        origins: list[Origin] = []
        for scopes, layers, of_layer in self._by_width():
            self.budget.check()
            tables, places = _added_up(scopes, layers, of_layer, self.budget)
            start = sum(map(len, assembly.tables))
            assembly.add_tables(tables)
            at = 0
            for layer in layers:
                origins += layer.origins(start + places[at : at + len(layer.scopes)])
                at += len(layer.scopes)
        somes = self.quantifiers.somes()
        if len(somes):
            assembly.add_somes(somes)
        assembly.constant = self.constant
        return ProgramGraph(
            assembly.build(),
            self.ground.atoms,
            tuple(origins),
            (*self.on_axes, *self.quantifiers.origins),
            tuple(self.always),
            frozenset(self.apart),
            self.ground,
        )

    def _merged(self) -> Iterator[list[int]]:
        """Templates whose rows are one factor where their instances are equal."""
        groups: dict[object, list[int]] = defaultdict(list)
        for number, template in enumerate(self.ground.templates):
            named = frozenset(template.bindings.columns)
            groups[merge_key(template.template.formula, template.template.instance, named)].append(number)
        for templates in groups.values():
            if self.by_formula or self._has_small_table(templates):
                yield templates
            else:
                yield from ([number] for number in templates)

    def _has_small_table(self, templates: Sequence[int]) -> bool:
        """Whether these are many cases with more entries than one table, judged by the first row of each."""
        if len(templates) < MANY_CASES:
            return False
        sizes, together, apart = self.ground.atoms.value_counts, set[int](), 0.0
        for number in templates:
            for row in self.ground.templates[number].conjunction.atoms[:1]:
                atoms = row[row >= 0]
                together.update(atoms.tolist())
                apart += math.prod(sizes[atoms].tolist())
        return math.prod(sizes[list(together)].tolist()) <= apart

    def _add(self, numbers: Sequence[int]) -> None:
        parts = [part for number in numbers if (part := self._literals(number)) is not None]
        if not parts:
            return
        atoms, alive, rows = self._aligned(parts)
        for shape in shapes(atoms, alive):
            self._add_shape(parts, shape, [of_part[shape.rows] for of_part in rows])

    def _literals(self, number: int) -> Literals | None:
        """Rows of a template that may hold, with helpers; None if it has no rows or no weight."""
        template, log_weight = self.ground.templates[number], self.log_weights[number]
        if log_weight is None or not len(template.conjunction):
            return None
        columns = self.quantifiers.with_helpers(
            template.template.conjunction, template.conjunction, (number, template)
        )
        return Literals(number, columns.atoms, columns.allowed, columns.rows, log_weight)

    def _aligned(self, parts: Sequence[Literals]) -> tuple[Array, Array, list[Array]]:
        """Columns of all parts side by side, a row for each instance; which parts each row has; and the row
        of each part in it."""
        if len(parts) == 1:
            (part,) = parts
            return part.atoms, np.ones((len(part.atoms), 1), bool), [part.rows]
        keys = self._instances(parts)
        _, group = unique_rows(np.concatenate(keys))
        count = int(group.max(initial=-1)) + 1
        columns, alive, rows = [], np.zeros((count, len(parts)), bool), []
        at = 0
        for place, part in enumerate(parts):
            here = group[at : at + len(part.rows)]
            at += len(part.rows)
            of_part = np.full((count, part.atoms.shape[1]), ABSENT)
            of_part[here] = part.atoms
            alive[here, place] = True
            row = np.full(count, ABSENT)
            row[here] = part.rows
            columns.append(of_part)
            rows.append(row)
        return np.concatenate(columns, axis=1), alive, rows

    def _instances(self, parts: Sequence[Literals]) -> list[Array]:
        """Constants of the formula's variables that the parts name, a row for each instance."""
        instances = []
        for part in parts:
            template = self.ground.templates[part.number]
            bindings = template.bindings.take(part.rows)
            named = [
                argument
                for argument in template.template.instance
                if isinstance(argument, int) or argument in bindings.columns
            ]
            instances.append(
                np.stack([bindings.column(a) for a in named], axis=1).astype(np.int64)
                if named
                else np.zeros((len(part.rows), 0), np.int64)
            )
        return instances

    def _add_shape(self, parts: Sequence[Literals], shape: RowShape, rows: Sequence[Array]) -> None:
        """Add the factors of one shape: as a table, or each part by itself if that would be too large."""
        alive = [place for place in range(len(parts)) if shape.alive[place]]
        sizes = [self.axes.size_of(int(axis)) for axis in shape.scopes[0]] if shape.scopes.size else []
        starts = np.cumsum([0, *(len(part.allowed) for part in parts)])
        pieces = [
            Piece(
                tuple(
                    (slot, allowed)
                    for slot, allowed in zip(
                        shape.slots[starts[place] : starts[place + 1]], parts[place].allowed, strict=True
                    )
                    if slot != ABSENT
                ),
                parts[place].log_weight,
            )
            for place in alive
        ]
        sources = tuple((parts[place].number, rows[place]) for place in alive)
        if fits_a_table(sizes) or (len(alive) > 1 and fits_any_table(sizes)):
            self._add_table(_Layer(shape.scopes, tuple(sizes), tuple(pieces), sources))
        elif len(alive) > 1:
            self.apart.update(parts[place].number for place in alive)
            for place in alive:
                own = parts[place]
                atoms = shape_columns(shape, starts[place], starts[place + 1])
                alone = np.ones((len(atoms), 1), bool)
                for part_shape in shapes(atoms, alone):
                    self._add_shape([own], part_shape, [rows[place][part_shape.rows]])
        else:
            self.wide.append(_Layer(shape.scopes, tuple(sizes), tuple(pieces), sources))

    def _add_table(self, layer: _Layer) -> None:
        width = layer.scopes.shape[1]
        if not width:
            table = table_of(layer.pieces, ())
            self.constant += float(table) * len(layer.scopes) if table else 0.0
            self.always += layer.sources
        elif width == 1:
            self.unary.append((layer.scopes[:, 0], table_of(layer.pieces, layer.sizes)))
            self.on_axes += layer.origins(layer.scopes[:, 0])
        else:
            self.layers.append(layer)

    def _settle_wide(self) -> None:
        """Add conjunctions over many atoms: as a table where enough of them share their atoms, else as a
        helper.

        Elimination gains by a table only where its entries are fewer than those of the helpers: chains of
        helpers over the same atoms are narrow. But for two atoms with many values, one table of all their
        conjunctions is smaller.
        """
        alike: dict[tuple[int, ...], list[_Layer]] = defaultdict(list)
        for layer in self.wide:
            alike[layer.sizes].append(layer)
        for sizes, wide in alike.items():
            if len(sizes) == 2 and not self.by_formula:
                self.layers += wide
                continue
            enough = 2.0 if self.by_formula else math.prod(sizes) / (ENTRIES_A_LINK * len(sizes))
            scopes = [layer.scopes for layer in wide]
            others = [layer.scopes for layer in self.layers if layer.sizes == sizes]
            if sum(map(len, (*scopes, *others))) < enough:
                for layer in wide:
                    self._add_wide(layer)
                continue
            first, group = unique_rows(np.concatenate([*scopes, *others]))
            often, at = np.bincount(group, minlength=len(first)), 0
            for layer in wide:
                shared = often[group[at : at + len(layer.scopes)]] >= enough
                at += len(layer.scopes)
                several = layer.only(np.flatnonzero(shared))
                if fits_any_table(sizes):
                    if len(several.scopes):
                        self.layers.append(several)
                else:
                    if len(several.scopes):
                        self.apart.update(template for template, _ in layer.sources)
                    self._add_wide(several)
                self._add_wide(layer.only(np.flatnonzero(~shared)))

    def _add_wide(self, layer: _Layer) -> None:
        """Add a helper that is false where a conjunction over many atoms holds, with the weight there."""
        (piece,) = layer.pieces
        literals = together(piece.literals)
        if literals is None or not len(layer.scopes):
            return
        helpers = self.quantifiers.none_fails(layer.scopes, literals)
        self._add_table(
            _Layer(helpers[:, None], (2,), (Piece(((0, (0,)),), piece.log_weight),), layer.sources)
        )

    def _add_whole(self, table: NetworkTable) -> None:
        """Add a network's table over the axes of its latent variables."""
        names, values = left_of(table, self.ground.evidence)
        scope = [self.ground.atoms.start[name] for name in names]
        scopes = np.array([sorted(scope)], np.int64)
        if len(scope) > 1:
            values = values.transpose(sorted(range(len(scope)), key=scope.__getitem__))
            self.layers.append(_Layer(scopes, values.shape, whole=values))
        elif scope:
            self.unary.append((scopes[0], values))
        else:
            self.constant += float(values)

    def _by_width(self) -> Iterator[tuple[Array, list[_Layer], Array]]:
        """Scopes of all layers with equal sizes, the layers, and the layer of each scope."""
        alike: dict[tuple[int, ...], list[_Layer]] = defaultdict(list)
        for layer in self.layers:
            alike[layer.sizes].append(layer)
        for layers in alike.values():
            of_layer = np.repeat(np.arange(len(layers)), [len(layer.scopes) for layer in layers])
            yield np.concatenate([layer.scopes for layer in layers]), layers, of_layer


def left_of(table: NetworkTable, evidence: Evidence) -> tuple[tuple[str, ...], Array]:
    """Latent variables of a network's table, and the logarithms of the entries consistent with evidence."""
    values, names = table.values, list[str]()
    for name in table.scope:
        known = evidence.known(name)
        if known.all_latent:
            names.append(name)
        else:
            values = np.take(values, int(known.values[0]), axis=len(names))
    with np.errstate(divide="ignore"):
        return tuple(names), np.log(values)


def shape_columns(shape: RowShape, start: int, stop: int) -> Array:
    """Atoms of some of the columns of a shape's rows."""
    slots = np.array(shape.slots[start:stop], dtype=np.int64)
    atoms = np.full((len(shape.rows), len(slots)), ABSENT)
    there = slots != ABSENT
    atoms[:, there] = shape.scopes[:, slots[there]]
    return atoms


def _added_up(
    scopes: Array, layers: Sequence[_Layer], of_layer: Array, budget: Budget
) -> tuple[Tables, Array]:
    """Add up layers over the same scope to one factor, and let equal sums share a table; return the factor of
    each layer row.

    If no two layers have a scope in common, the rows of a layer share its table.
    """
    first, group = unique_rows(scopes)
    sizes = layers[0].sizes
    if len(first) == len(scopes):
        refuse_tables(float(len(layers)) * math.prod(sizes), budget.bytes)
        return Tables(scopes, of_layer, np.array([layer.table() for layer in layers])), np.arange(len(scopes))
    # Multisets of layers are compared by sums of random marks: two different ones are equal with a chance of
    # about 2^-62.
    marks = np.random.default_rng(0).integers(1, 2**62, len(layers), dtype=np.uint64)
    order, bounds = by_number(group, len(first))
    keys = np.add.reduceat(marks[of_layer[order]], bounds[:-1])
    _, example, which = np.unique(keys, return_index=True, return_inverse=True)
    refuse_tables(float(len(example)) * math.prod(sizes), budget.bytes)
    tables = np.zeros((len(example), *sizes))
    for table, e in zip(tables, example, strict=True):
        for layer in of_layer[order[bounds[e] : bounds[e + 1]]].tolist():
            layers[layer].add_to(table)
    return Tables(scopes[first], which.reshape(-1), tables), group
