"""Literals of a conjunction that a binding of points leaves open: classes of latent atoms, quantifiers as
helpers.

Owns the axes of a graph of classes, one for each class of latent atoms in canonical form and one for each
class of helpers, and the number of ground axes that each represents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Somes
from herbrand.factors.interchangeable import Classes
from herbrand.factors.pieces import quantified, together
from herbrand.factors.points import (
    Kind,
    Ordered,
    Point,
    PointAtom,
    assignments,
    canonical,
    choices,
    ordered,
)
from herbrand.program.evidence import LATENT, Evidence, codes_of
from herbrand.program.program import Allowed, Block, Conjunction, Program, other_values

Binding = Mapping[str, Point]


@dataclass(frozen=True)
class Column:
    """A literal of a pattern whose atom is latent."""

    atom: PointAtom
    allowed: Allowed


@dataclass(frozen=True)
class Some:
    """A class of helper factors: its axis, the number of ground factors, and the multiplicity of each member
    (axis, allowed) in one of them."""

    target: int
    count: int
    members: Mapping[tuple[int, Allowed], int]


class Patterns:
    """Axes and helpers of a class graph, which grow as conjunctions are examined."""

    def __init__(self, program: Program, evidence: Evidence, classes: Mapping[str, Classes]) -> None:
        self.program, self.evidence, self.classes = program, evidence, classes
        self.kinds: dict[Kind, int] = {
            (name, number): size for name, own in classes.items() for number, size in enumerate(own.sizes)
        }
        self.axes: dict[PointAtom, int] = {}
        self.sizes: list[int] = []
        self.counts: list[int] = []
        self.somes: list[Some] = []
        self.quantified: list[tuple[int, int]] = []
        """Templates, each with a helper that one of its quantifiers made."""
        self.helper_columns: dict[PointAtom, int] = {}
        self._known: dict[PointAtom, int] = {}
        self._quantifiers: dict[tuple[Conjunction, ...], str] = {}
        self._helpers: dict[PointAtom, int | bool | Column] = {}

    def axis(self, atom: PointAtom) -> int:
        form = canonical(atom)
        if form in self.helper_columns:
            return self.helper_columns[form]
        if form not in self.axes:
            size = self.program.value_count(form[0])
            self.axes[form] = self.new_axis(size, choices(form[1], self.kinds))
        return self.axes[form]

    def new_axis(self, size: int, count: int) -> int:
        self.sizes.append(size)
        self.counts.append(count)
        return len(self.sizes) - 1

    def size(self, atom: PointAtom) -> int:
        form = canonical(atom)
        return 2 if form in self.helper_columns else self.program.value_count(form[0])

    def differ(self, conjunction: Conjunction, binding: Binding) -> bool:
        for left, right in conjunction.distinct:
            name = next(a for a in (left, right) if isinstance(a, str))
            one, other = (
                binding[a] if isinstance(a, str) else self.point(a, binding[name][0]) for a in (left, right)
            )
            if one == other:
                return False
        return True

    def point(self, constant: int, type_name: str) -> Point:
        """Point of a constant that a statement names, which is alone in its class."""
        return type_name, int(self.classes[type_name].of[constant]), 0

    def columns(
        self, conjunction: Conjunction, binding: Binding, place: str, nested: bool = False
    ) -> tuple[Column, ...] | None:
        """Literals that evidence leaves open, quantifiers as helpers; None if evidence makes one false."""
        columns = []
        for literal in conjunction.literals:
            types = self.program.signature.predicates[literal.predicate].types
            points = tuple(
                binding[a] if isinstance(a, str) else self.point(a, t)
                for a, t in zip(literal.arguments, types, strict=True)
            )
            status = self.status((literal.predicate, points))
            if status == LATENT:
                columns.append(Column((literal.predicate, points), literal.allowed))
            elif status not in literal.allowed:
                return None
        for number, block in enumerate(conjunction.blocks):
            holds = self._quantifier(block, binding, f"{place}.{number}", nested)
            if isinstance(holds, Column):
                columns.append(holds if block.some else self._failing(holds))
            elif holds != block.some:
                return None
        return tuple(columns)

    def _failing(self, column: Column) -> Column:
        return Column(column.atom, other_values(self.size(column.atom), column.allowed))

    def status(self, atom: PointAtom) -> int:
        """Known value of an atom class, or ``LATENT``; that of its first atom is that of all."""
        form = canonical(atom)
        if form not in self._known:
            known = self.evidence.known(form[0])
            row = [self.constant(point) for point in form[1]]
            code = codes_of(np.array([row], dtype=np.int64).reshape(1, len(row)), known.sizes)
            self._known[form] = int(known.lookup(code)[0])
        return self._known[form]

    def constant(self, point: Point) -> int:
        return int(self.classes[point[0]].members[point[1]][point[2]])

    def none_fails(self, literals: Sequence[tuple[PointAtom, Allowed]], count: int) -> int:
        """Add a helper axis that is false exactly where all literals hold, with ``count`` ground helpers."""
        helper = self.new_axis(2, count)
        members: dict[tuple[int, Allowed], int] = defaultdict(int)
        for atom, allowed in literals:
            members[self.axis(atom), other_values(self.size(atom), allowed)] += 1
        self.somes.append(Some(helper, count, members))
        return helper

    def _quantifier(self, block: Block, binding: Binding, place: str, nested: bool) -> Column | bool:
        """Literal that is true where some piece of a quantifier holds, mostly of a helper; or whether one
        holds for sure.

        Outside of other quantifiers, equal quantifiers of the same points share a helper; inside, each row
        around it has its own.
        """
        if nested:
            helper = (f"some {place}", tuple(binding.values()))
            return self._helper(helper, block.pieces, binding)
        shape = quantified(block)
        name = self._quantifiers.setdefault(shape.pieces, f"some {len(self._quantifiers)}")
        points = tuple(binding[outer] for outer in shape.outer)
        helper = (name, points)
        helper_axis = self._helper(helper, shape.pieces, dict(zip(shape.inside, points, strict=True)))
        if (
            isinstance(helper_axis, Column)
            and (axis := self.helper_columns.get(canonical(helper_axis.atom))) is not None
        ):
            self.quantified.append((int(place.split(".")[0]), axis))
        return helper_axis

    def _helper(self, helper: PointAtom, pieces: Sequence[Conjunction], binding: Binding) -> Column | bool:
        form = canonical(helper)
        if form not in self._helpers:
            renamed = dict(zip(helper[1], form[1], strict=True))
            inside = {name: renamed[point] for name, point in binding.items()}
            self._helpers[form] = self._made_helper(form, pieces, inside)
        created = self._helpers[form]
        if isinstance(created, Column):
            return Column(self._as_around(created.atom, form, helper), created.allowed)
        return created if isinstance(created, bool) else Column(helper, (1,))

    def _as_around(self, atom: PointAtom, form: PointAtom, helper: PointAtom) -> PointAtom:
        """The atom with the points of a helper's form replaced by the helper's own. A point that is not in
        the form is the only remaining one of its class."""
        points = dict(zip(form[1], helper[1], strict=True))
        for point in atom[1]:
            if point not in points:
                taken = set(points.values())
                rest = ((*point[:2], number) for number in range(self.kinds[point[:2]]))
                points[point] = next(one for one in rest if one not in taken)
        return atom[0], tuple(points[point] for point in atom[1])

    def _made_helper(
        self, form: PointAtom, pieces: Sequence[Conjunction], binding: Binding
    ) -> int | bool | Column:
        """Axis of a new helper; a single literal if only one is left; or whether a piece holds for sure."""
        fixed = frozenset(binding.values())
        singles: dict[PointAtom, Allowed] = {}
        joint: dict[tuple[tuple[PointAtom, Allowed], ...], int] = {}
        for number, piece in enumerate(pieces):
            for row in self._rows(piece, binding, f"{form[0]}/{number}"):
                literals = _by_atom(row)
                if literals is None:
                    continue
                if not literals:
                    return True
                order = ordered(list(literals), fixed)
                if len(literals) == 1:
                    (allowed,) = literals.values()
                    known = singles.get(order.atoms[0], ())
                    singles[order.atoms[0]] = tuple(sorted({*known, *allowed}))
                else:
                    smallest, symmetries = _smallest(literals, order)
                    points = [p for atom, _ in smallest for p in atom[1]]
                    joint[smallest] = choices(points, self.kinds, fixed) // symmetries
        if not singles and not joint:
            return False
        if len(singles) == 1 and not joint:
            ((atom, allowed),) = singles.items()
            if choices(atom[1], self.kinds, fixed) == 1:
                return Column(atom, allowed)
        count = choices(form[1], self.kinds)
        axis = self.new_axis(2, count)
        self.helper_columns[form] = axis
        members: dict[tuple[int, Allowed], int] = defaultdict(int)
        for atom, allowed in singles.items():
            members[self.axis(atom), allowed] += choices(atom[1], self.kinds, fixed)
        for smallest, times in joint.items():
            members[self.none_fails(smallest, count * times), (0,)] += times
        self.somes.append(Some(axis, count, members))
        return axis

    def _rows(self, piece: Conjunction, binding: Binding, place: str) -> Iterator[tuple[Column, ...]]:
        """Open literals of a piece, for each pattern of its own variables."""
        names = [name for name, _ in piece.variables]
        types = [type_name for _, type_name in piece.variables]
        for points in assignments(types, self.kinds, binding.values()):
            inside = {**binding, **dict(zip(names, points, strict=True))}
            if self.differ(piece, inside):
                columns = self.columns(piece, inside, place, nested=True)
                if columns is not None:
                    yield columns

    def all_somes(self) -> Somes:
        sets: dict[Allowed, int] = {}
        axes, which, times, exponents, pointers = [], [], [], [], [0]
        for some in self.somes:
            for (axis, allowed), multiplicity in some.members.items():
                axes.append(axis)
                which.append(sets.setdefault(allowed, len(sets)))
                times.append(float(multiplicity))
                exponents.append(some.count * multiplicity / self.counts[axis])
            pointers.append(len(axes))
        return Somes(
            np.array([some.target for some in self.somes]),
            np.array(pointers),
            np.array(axes),
            np.array(which),
            list(sets),
            np.array([float(some.count) for some in self.somes]),
            np.array(times),
            np.array(exponents),
        )


def _by_atom(columns: Sequence[Column]) -> dict[PointAtom, Allowed] | None:
    """Columns of one atom intersected; None if they exclude each other."""
    atoms = list(dict.fromkeys(column.atom for column in columns))
    literals = together((atoms.index(column.atom), column.allowed) for column in columns)
    return None if literals is None else {atoms[slot]: allowed for slot, allowed in literals.items()}


def _smallest(
    literals: Mapping[PointAtom, Allowed], form: Ordered
) -> tuple[tuple[tuple[PointAtom, Allowed], ...], int]:
    """Literals in canonical form, and the number of symmetries of that form."""
    allowed = list(literals.values())
    seen = [tuple(zip(form.atoms, (allowed[i] for i in order), strict=True)) for order in form.orders]
    best = min(seen)
    return best, seen.count(best)
