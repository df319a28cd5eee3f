"""The shape of a ground formula: its connectives over numbered columns, whatever atoms the columns hold.

A shape is a column (``0``, ``1``, ...) or a tuple of a connective and its parts: ``("not", s)``,
``("and", s, ...)``, ``("or", ...)``, ``("xor", ...)``, ``("iff", s, t)``; the constants are :data:`TRUE` and
:data:`FALSE`, which are never part of a larger shape. Ground sentences of one shape differ only in their
atoms, so that thousands of them are one shape and one array.

>>> shape = conjunction([0, negation(1)])
>>> shape
('and', 0, ('not', 1))
>>> truth_table(shape, 2)
array([False, False,  True, False])
>>> canonical(("or", 7, ("not", 4)))
(('or', 0, ('not', 1)), (7, 4))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from herbrand.language.syntax import (
    And,
    Formula,
    Iff,
    Implies,
    Leaf,
    Not,
    Or,
    Xor,
)

Shape = int | tuple[Any, ...]
TRUE: Shape = ("true",)
FALSE: Shape = ("false",)


@dataclass(frozen=True, slots=True)
class GroundFormula:
    """A shape and the atom of each of its columns, no atom twice."""

    shape: Shape
    atoms: tuple[int, ...]

    @staticmethod
    def of(shape: Shape) -> GroundFormula:
        """Build a ground formula from a shape whose columns are atom numbers."""
        return GroundFormula(*canonical(shape))

    def table(self, scope: Sequence[int]) -> np.ndarray:
        """Truth table with an axis for each atom of ``scope``, which has all its atoms."""
        own = truth_table(self.shape, len(self.atoms)).reshape((2,) * len(self.atoms))
        return np.array(spread(own, self.atoms, scope))

    def over_atoms(self) -> Shape:
        """The shape with atom numbers as columns."""
        return renamed(self.shape, self.atoms)


def shape_of(formula: Formula, column: Callable[[Leaf], Shape]) -> Shape:
    """The shape of a formula; ``column`` gives the number or the truth value of each of its leaves.

    Quantifiers must be written out before.
    """
    kind = type(formula)
    if kind is Not:
        return negation(shape_of(formula.operand, column))  # type: ignore[union-attr]
    if kind is And:
        return conjunction([shape_of(part, column) for part in formula.operands])  # type: ignore[union-attr]
    if kind is Or:
        return disjunction([shape_of(part, column) for part in formula.operands])  # type: ignore[union-attr]
    match formula:
        case Xor(operands=operands):
            return parity([shape_of(part, column) for part in operands])
        case Implies(premise=premise, conclusion=conclusion):
            return disjunction([negation(shape_of(premise, column)), shape_of(conclusion, column)])
        case Iff(left=left, right=right):
            return equivalence(shape_of(left, column), shape_of(right, column))
    return column(formula)  # type: ignore[arg-type]


def constant(holds: bool) -> Shape:
    """The shape of a truth value."""
    return TRUE if holds else FALSE


def negation(part: Shape) -> Shape:
    if part == TRUE:
        return FALSE
    if part == FALSE:
        return TRUE
    if isinstance(part, tuple) and part[0] == "not":
        return part[1]
    return "not", part


def conjunction(parts: Sequence[Shape]) -> Shape:
    return _joined("and", parts, TRUE, FALSE)


def disjunction(parts: Sequence[Shape]) -> Shape:
    return _joined("or", parts, FALSE, TRUE)


def _joined(sign: str, parts: Sequence[Shape], neutral: Shape, settling: Shape) -> Shape:
    """One connective over its parts, flattened, with truth values absorbed."""
    flat: list[Shape] = []
    for part in parts:
        if isinstance(part, tuple):
            if part == settling:
                return settling
            if part[0] == sign:
                flat.extend(part[1:])
                continue
            if part == neutral:
                continue
        flat.append(part)
    if len(flat) == 1:
        return flat[0]
    return (sign, *flat) if flat else neutral


def parity(parts: Sequence[Shape]) -> Shape:
    """The shape that holds if an odd number of the parts holds."""
    odd = sum(part == TRUE for part in parts) % 2 == 1
    rest = [part for part in parts if part not in (TRUE, FALSE)]
    if not rest:
        return constant(odd)
    shape: Shape = rest[0] if len(rest) == 1 else ("xor", *rest)
    return negation(shape) if odd else shape


def equivalence(left: Shape, right: Shape) -> Shape:
    if left in (TRUE, FALSE) or right in (TRUE, FALSE):
        return negation(parity([left, right]))
    return "iff", left, right


def settled(shape: Shape, truths: Mapping[int, bool]) -> Shape:
    """Simplify a shape by the truth values of some columns.

    >>> settled(("or", 0, ("and", 1, 2)), {0: False, 2: True})
    1
    """
    if not isinstance(shape, tuple):
        return constant(truths[shape]) if shape in truths else shape
    parts = [settled(part, truths) for part in shape[1:]]
    return _SIMPLIFIED[shape[0]](parts) if parts else shape


_SIMPLIFIED: Mapping[str, Callable[[Sequence[Shape]], Shape]] = {
    "not": lambda parts: negation(*parts),
    "and": conjunction,
    "or": disjunction,
    "xor": parity,
    "iff": lambda parts: equivalence(*parts),
}


def columns_of(shape: Shape) -> Iterator[int]:
    """The columns in order of occurrence, each as often as it occurs."""
    if isinstance(shape, tuple):
        for part in shape[1:]:
            yield from columns_of(part)
    else:
        yield shape


def renamed(shape: Shape, names: Sequence[int]) -> Shape:
    """The shape with ``names[c]`` for each column c."""
    return _numbered(shape, names.__getitem__)


def canonical(shape: Shape) -> tuple[Shape, tuple[int, ...]]:
    """The shape with its columns renumbered as they occur, and the old number of each column."""
    order: dict[int, int] = {}
    numbered = _numbered(shape, lambda column: order.setdefault(column, len(order)))
    return numbered, tuple(order)


def _numbered(shape: Shape, number: Callable[[int], int]) -> Shape:
    if isinstance(shape, tuple):
        return (shape[0], *[_numbered(part, number) for part in shape[1:]])
    return number(shape)


def literals_of(shape: Shape) -> dict[int, bool] | None:
    """Truth value of each column where the shape is a consistent conjunction of literals, else ``None``.

    Empty for ``TRUE``.
    """
    parts = shape[1:] if isinstance(shape, tuple) and shape[0] == "and" else (shape,)
    literals: dict[int, bool] = {}
    for part in parts:
        holds = not isinstance(part, tuple)
        if isinstance(part, tuple):
            if part[0] != "not" or isinstance(part[1], tuple):
                return {} if part == TRUE else None
            part = part[1]
        if literals.setdefault(part, holds) != holds:
            return None
    return literals


@lru_cache(maxsize=4096)
def truth_table(shape: Shape, columns: int) -> np.ndarray:
    """Whether the shape holds in each of the 2^columns cases; column 0 is the highest bit of the index.

    ``truth_table(s, k).reshape((2,) * k)`` has an axis for each column. Read-only.
    """
    truths = np.broadcast_to(_table(shape, columns), (2,) * columns).reshape(-1)
    table = np.array(truths)
    table.flags.writeable = False
    return table


def spread(table: np.ndarray, atoms: Sequence[int], around: Sequence[int]) -> np.ndarray:
    """Broadcast a table over some atoms to one over all of ``around``, in their order."""
    places = [list(around).index(atom) for atom in atoms]
    shape = [2 if place in places else 1 for place in range(len(around))]
    return np.broadcast_to(table.transpose(np.argsort(places)).reshape(shape), (2,) * len(around))


def _table(shape: Shape, columns: int) -> np.ndarray:
    """The truth table; axes of unused columns have length 1, so that parts over few columns stay small."""
    if not isinstance(shape, tuple):
        axes = [1] * columns
        axes[shape] = 2
        return np.array([False, True]).reshape(axes)
    if shape in (TRUE, FALSE):
        return np.full((1,) * columns, shape == TRUE)
    parts = [_table(part, columns) for part in shape[1:]]
    return ~parts[0] if shape[0] == "not" else reduce(_TRUTHS[shape[0]], parts)


_TRUTHS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "iff": np.equal}
