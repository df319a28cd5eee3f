"""Factor graph of a program made from classes of constants: nothing is grounded, and the size of the graph
does not depend on the sizes of the classes.

Constants of a class are interchangeable, so one binding of each pattern is examined, together with the number
of ground bindings that it represents. The result is what :mod:`~herbrand.factors.ground_graph` would build,
with atoms merged that symmetry makes equal; both make the same factors of the same pieces.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.factors.class_patterns import Binding, Column, Patterns
from herbrand.factors.graph import Array, Assembly, Tables
from herbrand.factors.interchangeable import Classes
from herbrand.factors.pieces import (
    MergeKey,
    Piece,
    add_pieces,
    fits_a_table,
    fits_any_table,
    merge_key,
    refuse_tables,
    table_of,
    together,
)
from herbrand.factors.points import (
    Ordered,
    Point,
    PointAtom,
    assignments,
    canonical,
    choices,
    ordered,
)
from herbrand.factors.program_graph import ProgramGraph, origins_of_classes
from herbrand.program.evidence import LATENT, Evidence, arguments_of, codes_of
from herbrand.program.ground import without_idle
from herbrand.program.program import Argument, Conjunction, Program

Scope = tuple[PointAtom, ...]

MOST_POINTS = 6
"""Number of points in a scope up to which its canonical form is searched for by trying all orders."""


@dataclass(frozen=True, eq=False)
class ClassAtoms:
    """Axes of classes of atoms; ``by_class`` holds the axis of each class by its canonical form."""

    program: Program
    classes: Mapping[str, Classes]
    by_class: Mapping[PointAtom, int]

    @property
    def axes(self) -> Array:
        return np.array(sorted(self.by_class.values()), dtype=np.int64)

    def numbers(self, predicate: str, codes: Array) -> Array:
        """Axis of each atom's class."""
        types = self.program.signature.predicates[predicate].types
        columns = arguments_of(codes, tuple(len(self.program.domain(name)) for name in types))
        if not columns:
            return np.full(len(codes), self.by_class[predicate, ()])
        kinds = np.stack([self.classes[t].of[c] for t, c in zip(types, columns, strict=True)], axis=1)
        first = np.stack([_first_place(columns, types, place) for place in range(len(types))], axis=1)
        keys, group = np.unique(np.concatenate([kinds, first], axis=1), axis=0, return_inverse=True)
        width = len(types)
        axes = [
            self.by_class[
                canonical(
                    (predicate, tuple((t, int(key[i]), int(key[width + i])) for i, t in enumerate(types)))
                )
            ]
            for key in keys
        ]
        return np.array(axes, dtype=np.int64)[group.reshape(-1)]


def _first_place(columns: list[Array], types: tuple[str, ...], place: int) -> Array:
    """First argument place of each atom that holds the same constant as ``place``."""
    firsts = np.full(len(columns[place]), place)
    for before in range(place - 1, -1, -1):
        if types[before] == types[place]:
            firsts[columns[before] == columns[place]] = before
    return firsts


def class_graph(
    program: Program, evidence: Evidence, classes: Mapping[str, Classes], budget: Budget = UNLIMITED
) -> ProgramGraph:
    """Build the graph with an axis for each class of latent atoms and a factor for each pattern of classes in
    formulas; raise BudgetError if its tables do not fit in the budget."""
    return _Building(program, evidence, classes, budget).finished()


def patterns(program: Program, classes: Mapping[str, Classes]) -> float:
    """Estimated number of patterns from which a class graph is made."""
    counts = {name: len(own) for name, own in classes.items()}

    def of(conjunction: Conjunction, before: int) -> float:
        ways = 1.0
        for place, (_, type_name) in enumerate(conjunction.variables):
            ways *= counts[type_name] + before + place
        inner = before + len(conjunction.variables)
        return ways * (1 + sum(of(piece, inner) for block in conjunction.blocks for piece in block.pieces))

    total = sum(of(template.conjunction, 0) for template in program.templates)
    for name, predicate in program.signature.predicates.items():
        if program.is_open(name):
            total += float(np.prod([counts[t] + place for place, t in enumerate(predicate.types)]))
    return total


@dataclass(frozen=True)
class _StatedPiece:
    """A template's literals in one pattern, and their weight."""

    number: int
    columns: tuple[Column, ...]
    log_weight: float


@dataclass(frozen=True)
class _Wide:
    """A template's conjunction over too many atoms for a table, with ``count`` groundings."""

    atoms: Sequence[PointAtom]
    piece: Piece
    count: int
    number: int


@dataclass
class _Factor:
    table: Array
    form: Ordered
    templates: list[int] = field(default_factory=list)


@dataclass
class _Building:
    program: Program
    evidence: Evidence
    classes: Mapping[str, Classes]
    budget: Budget

    def __post_init__(self) -> None:
        self.patterns = Patterns(self.program, self.evidence, self.classes)
        self.factors: dict[Scope, _Factor] = {}
        self.wide: dict[object, list[_Wide]] = defaultdict(list)
        self.apart: set[int] = set()
        self.entries = 0.0
        self.unary: dict[int, Array] = {}
        self.on_axes: list[tuple[int, int, Piece | None, tuple[int, ...]]] = []
        self.constant = 0.0

    def finished(self) -> ProgramGraph:
        for key, numbers in self._merged().items():
            self._add_group(key, numbers)
        self._settle_wide()
        self._add_atoms()
        atom_axes = dict(self.patterns.axes)
        self._add_facts(atom_axes)
        assembly = Assembly(self.patterns.sizes, [float(count) for count in self.patterns.counts])
        for axis, table in self.unary.items():
            assembly.add_unary(np.array([axis]), table)
        in_tables = self._add_tables(assembly)
        if self.patterns.somes:
            assembly.add_somes(self.patterns.all_somes())
        assembly.constant = self.constant
        self.on_axes += [(template, axis, None, ()) for template, axis in self.patterns.quantified]
        return ProgramGraph(
            assembly.build(),
            ClassAtoms(self.program, self.classes, atom_axes),
            origins_of_classes((template, factor, None, ()) for template, factor in in_tables),
            origins_of_classes(self.on_axes),
            apart=frozenset(self.apart),
        )

    def _add_tables(self, assembly: Assembly) -> list[tuple[int, int]]:
        """Add the factors by shape, equal tables once; return pairs of a template and its factor."""
        alike: dict[tuple[int, ...], list[tuple[Scope, _Factor]]] = defaultdict(list)
        for scope, factor in self.factors.items():
            alike[factor.table.shape].append((scope, factor))
        made_of: list[tuple[int, int]] = []
        number = 0
        for factors in alike.values():
            tables: dict[bytes, int] = {}
            which = [tables.setdefault(factor.table.tobytes(), len(tables)) for _, factor in factors]
            first = {table: place for place, table in reversed(list(enumerate(which)))}
            axes, counts, exponents = zip(*(self._placed(scope, f) for scope, f in factors), strict=True)
            assembly.add_tables(
                Tables(
                    np.array(axes),
                    np.array(which),
                    np.stack([factors[first[table]][1].table for table in range(len(tables))]),
                    np.array(counts, dtype=float),
                    np.array(exponents),
                )
            )
            for _, factor in factors:
                made_of += [(template, number) for template in factor.templates]
                number += 1
        return made_of

    def _placed(self, scope: Scope, factor: _Factor) -> tuple[list[int], int, Array]:
        """Axes of a factor, the number of ground factors that it represents, and its exponent at each place:
        the number of messages from there to one atom."""
        points = [point for _, points in scope for point in points]
        count = choices(points, self.patterns.kinds) // len(factor.form.orders)
        axes = [self.patterns.axis(atom) for atom in scope]
        # The first place of an orbit has the exponents of all its places: only their sum is whole.
        exponents = np.zeros(len(scope))
        for place, first in enumerate(factor.form.orbits):
            exponents[first] += count / self.patterns.counts[axes[place]]
        return axes, count, np.rint(exponents)

    def _merged(self) -> dict[MergeKey, list[tuple[int, Conjunction, int]]]:
        """Templates grouped by merge key: those of a group are one factor where their instances are equal.
        Each comes without the variables that no literal names, and with the number of choices for these."""
        groups: dict[MergeKey, list[tuple[int, Conjunction, int]]] = defaultdict(list)
        for number, template in enumerate(self.program.templates):
            named, multiplicity = without_idle(template, self.program)
            if self.program.log_weight(template) and multiplicity:
                key = merge_key(template.formula, template.instance, frozenset(named.types))
                groups[key].append((number, named, multiplicity))
        return groups

    def _add_group(self, key: MergeKey, group: Sequence[tuple[int, Conjunction, int]]) -> None:
        places = sorted(key[1])
        types: dict[int, str] = {}
        for number, named, _ in group:
            for place in places:
                argument = self.program.templates[number].instance[place]
                if isinstance(argument, str):
                    types[place] = named.types[argument]
        typed = [place for place in places if place in types]
        for points in assignments([types[place] for place in typed], self.patterns.kinds):
            pieces_of: dict[tuple[Argument, ...], list[_StatedPiece]] = defaultdict(list)
            for number, named, multiplicity in group:
                instance = self.program.templates[number].instance
                binding = self._matching(named, [instance[place] for place in typed], points)
                if binding is not None:
                    constants = tuple(instance[place] for place in places if place not in types)
                    literals = self._stated(number, named, multiplicity, binding)
                    if literals is not None:
                        pieces_of[constants].append(literals)
            for pieces in pieces_of.values():
                self._add_pieces(pieces, choices(points, self.patterns.kinds))

    def _matching(
        self, conjunction: Conjunction, arguments: Sequence[Argument], points: Sequence[Point]
    ) -> Binding | None:
        """Points of a template's variables for which its instance is these points; None if there are none."""
        binding: dict[str, Point] = {}
        for argument, point in zip(arguments, points, strict=True):
            if isinstance(argument, int):
                if self.patterns.point(argument, point[0]) != point:
                    return None
            elif binding.setdefault(argument, point) != point:
                return None
        return binding if self.patterns.differ(conjunction, binding) else None

    def _stated(
        self, number: int, named: Conjunction, multiplicity: int, binding: Binding
    ) -> _StatedPiece | None:
        columns = self.patterns.columns(named, binding, f"{number}")
        if columns is None:
            return None
        log_weight = self.program.log_weight(self.program.templates[number]) * multiplicity
        return _StatedPiece(number, columns, log_weight)

    def _add_pieces(self, stated: Sequence[_StatedPiece], count: int) -> None:
        """Add the factor of all pieces of one instance, which has ``count`` groundings."""
        atoms = list(dict.fromkeys(column.atom for one in stated for column in one.columns))
        sizes = [self.patterns.size(atom) for atom in atoms]
        pieces = [
            Piece(tuple((atoms.index(c.atom), c.allowed) for c in one.columns), one.log_weight)
            for one in stated
        ]
        if fits_a_table(sizes) or (len(stated) > 1 and fits_any_table(sizes)):
            self._add_table(atoms, pieces, count, [one.number for one in stated])
        elif len(stated) > 1:
            self.apart.update(one.number for one in stated)
            for one in stated:
                self._add_pieces([one], count)
        else:
            self.wide[self._scope(atoms)].append(_Wide(atoms, pieces[0], count, stated[0].number))

    def _scope(self, atoms: Sequence[PointAtom]) -> object:
        """Key that is equal for conjunctions over the same atoms. Above MOST_POINTS points it is the atoms as
        they are, as trying all exchanges of points would take too long."""
        points = {point for _, points in atoms for point in points}
        return ordered(atoms).atoms if len(points) <= MOST_POINTS else frozenset(atoms)

    def _settle_wide(self) -> None:
        """Add conjunctions over many atoms: as a table where several share their atoms, else as a helper."""
        for scope, several in self.wide.items():
            shared = len(several) > 1 or scope in self.factors
            for wide in several:
                if shared and fits_any_table([self.patterns.size(atom) for atom in wide.atoms]):
                    self._add_table(wide.atoms, [wide.piece], wide.count, [wide.number])
                else:
                    self.apart.update([wide.number] if shared else [])
                    self._add_wide(wide)

    def _add_table(
        self, atoms: Sequence[PointAtom], pieces: Sequence[Piece], count: int, templates: Sequence[int]
    ) -> None:
        sizes = [self.patterns.size(atom) for atom in atoms]
        if not atoms:
            table = table_of(pieces, sizes)
            self.constant += count * float(table) if table else 0.0
            return
        form = ordered(atoms)
        share = float(count // choices([p for _, points in atoms for p in points], self.patterns.kinds))
        if len(atoms) == 1:
            scaled = [replace(piece, log_weight=share * piece.log_weight) for piece in pieces]
            self._add_unary(self.patterns.axis(form.atoms[0]), scaled, sizes[0], templates)
            return
        if form.atoms not in self.factors:
            self.entries += math.prod(sizes)
            refuse_tables(self.entries, self.budget.bytes)
            self.factors[form.atoms] = _Factor(np.zeros([sizes[i] for i in form.orders[0]]), form)
        factor = self.factors[form.atoms]
        for order in form.orders:
            add_pieces(np.transpose(factor.table, np.argsort(order)), pieces, share)
        factor.templates += templates

    def _add_unary(self, axis: int, pieces: Sequence[Piece], size: int, templates: Sequence[int]) -> None:
        self.unary[axis] = self.unary.get(axis, np.zeros(size)) + table_of(pieces, [size])
        self.on_axes += [
            (template, axis, piece, (size,)) for template, piece in zip(templates, pieces, strict=True)
        ]

    def _add_wide(self, wide: _Wide) -> None:
        literals = together(wide.piece.literals)
        if literals is None:
            return
        helper = self.patterns.none_fails(
            [(wide.atoms[slot], allowed) for slot, allowed in literals.items()], wide.count
        )
        self._add_unary(helper, [Piece(((0, (0,)),), wide.piece.log_weight)], 2, [wide.number])

    def _add_atoms(self) -> None:
        """Add an axis for every class of latent atoms, also for those that no formula mentions."""
        for name, predicate in self.program.signature.predicates.items():
            if self.program.is_open(name):
                for points in assignments(predicate.types, self.patterns.kinds):
                    if self.patterns.status((name, points)) == LATENT:
                        self.patterns.axis((name, points))

    def _add_facts(self, axes: Mapping[PointAtom, int]) -> None:
        """Add the log-weights of soft evidence and of excluded values."""
        for predicate in self.program.signature.predicates:
            codes, values, log_weights = self.evidence.weights(predicate)
            settled = self.evidence.known(predicate).lookup(codes)
            self.constant += float(log_weights[settled == values].sum())
            if len(codes):
                self._add_opinions(predicate, codes, values, log_weights, axes)

    def _add_opinions(
        self, predicate: str, codes: Array, values: Array, log_weights: Array, axes: Mapping[PointAtom, int]
    ) -> None:
        order = np.argsort(codes, kind="stable")
        ascending = codes[order]
        for atom, axis in axes.items():
            if atom[0] != predicate:
                continue
            row = np.array([[self.patterns.constant(point) for point in atom[1]]], dtype=np.int64)
            code = codes_of(row.reshape(1, len(atom[1])), self.evidence.sizes(predicate))
            begin, end = (int(np.searchsorted(ascending, code, side)[0]) for side in ("left", "right"))
            table = self.unary.setdefault(axis, np.zeros(self.patterns.sizes[axis])).copy()
            for at in order[begin:end]:
                table[values[at]] += log_weights[at]
            self.unary[axis] = table
