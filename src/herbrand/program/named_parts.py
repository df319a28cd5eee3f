"""Formulas of too many cases, divided into parts that have atoms of their own.

Each part is tied to its atom by an equivalence that always holds. The atom's truth value thus follows from
the others', so that no world is added and none changes its weight.

>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> parity = parse_formula(" xor ".join(f"a{number}" for number in range(8)))
>>> divided, parts = in_parts(parity, Naming(), most=10)
>>> for part in parts:
...     print(part.atom.predicate.split("`")[1], "  ", show_formula(part.formula))
part 1    a0 xor a1 xor a2
part 2    a3 xor a4 xor a5
part 3    a6 xor a7
>>> show_formula(divided)
'a0 xor a1 xor a2 xor a3 xor a4 xor a5 xor a6 xor a7'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from herbrand.language.formulas import (
    And,
    Atom,
    Formula,
    Leaf,
    Not,
    Or,
    Variable,
    Xor,
    children,
    with_children,
)
from herbrand.language.names import placeholder
from herbrand.language.scope import free_variables, with_terms, written
from herbrand.language.show import show_formula
from herbrand.program.normal_form import case_counts, plain

MOST_OF_A_PART = 64
"""Cases of a part, for true and for false together."""


@dataclass(frozen=True)
class Part:
    """A part of a formula, and the atom that stands for it."""

    atom: Atom
    formula: Formula

    @property
    def tie(self) -> Formula:
        """What always holds: the atom is as true as the part."""
        return Not(Xor((self.atom, self.formula)))


@dataclass
class Naming:
    """Names for parts, each given once. They show as the text of the part."""

    numbers: count[int] = field(default_factory=partial(count, 1))

    def named(self, formula: Formula) -> Part:
        variables = free_variables(formula)
        marked = {name: Variable(placeholder(at, written(name))) for at, name in enumerate(variables)}
        text = show_formula(with_terms(formula, marked))
        return Part(Atom(f"`part {next(self.numbers)}`{text}", tuple(variables.values())), formula)


def in_parts(formula: Formula, naming: Naming, most: int = MOST_OF_A_PART) -> tuple[Formula, list[Part]]:
    """The formula over atoms of its parts, and these parts, each over atoms of others before it."""
    dividing = _Dividing(naming, most)
    return dividing.small(plain(formula)), dividing.parts


def conjuncts(formula: Formula, truth: bool = True) -> list[Formula]:
    """Formulas that all hold exactly where the plain formula is true, or false; as many as are found by going
    through ``and``, ``not`` and those ``or`` that have one operand besides literals.

    >>> from herbrand.language.parse import parse_formula
    >>> found = conjuncts(plain(parse_formula("not (a or b) and (c => d and not (e and f))")))
    >>> [show_formula(one) for one in found]
    ['not a', 'not b', 'not c or d', 'not c or not e or not f']
    """
    match formula:
        case Not(operand=operand):
            return conjuncts(operand, not truth)
        case And(operands=operands) | Or(operands=operands):
            if isinstance(formula, And) == truth:
                return [one for operand in operands for one in conjuncts(operand, truth)]
            return _common(operands, truth)
    return [formula if truth else Not(formula)]


def _common(operands: Sequence[Formula], truth: bool) -> list[Formula]:
    """The same for a disjunction of formulas that are true, or false."""
    each = [conjuncts(operand, truth) for operand in operands]
    alone = [one for one in each if len(one) == 1]
    several = [one for one in each if len(one) > 1]
    shared = [part for (one,) in alone for part in (one.operands if isinstance(one, Or) else (one,))]
    if len(several) > 1:
        return [Or((*shared, *(And(tuple(one)) for one in several)))]
    return [_either(shared, part) for part in several[0]] if several else [_either(shared)]


def _either(shared: Sequence[Formula], *more: Formula) -> Formula:
    parts = [*shared, *(part for one in more for part in (one.operands if isinstance(one, Or) else (one,)))]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


@dataclass
class _Dividing:
    naming: Naming
    most: int
    parts: list[Part] = field(default_factory=list)

    def small(self, formula: Formula) -> Formula:
        """The formula with atoms for so many parts that few cases are left."""
        whole = with_children(formula, [self.small(part) for part in children(formula)])
        while not self._is_small(whole) and isinstance(whole, And | Or | Xor):
            whole = type(whole)(tuple(map(self._named, self._groups(whole))))
        return whole

    def _is_small(self, formula: Formula) -> bool:
        return sum(case_counts(formula)) <= self.most

    def _groups(self, whole: And | Or | Xor) -> list[Formula]:
        """As many operands of the same variables as have few cases, joined: a part has an atom for all values
        of its variables. Where no two can be joined, operands in a row, whatever their variables."""
        alike = self._grouped(whole, lambda operand: frozenset(free_variables(operand)))
        return alike if len(alike) < len(whole.operands) else self._grouped(whole, lambda _: frozenset())

    def _grouped(self, whole: And | Or | Xor, kind: Callable[[Formula], frozenset[str]]) -> list[Formula]:
        """As many operands of one kind as have few cases, joined; again and again."""
        groups: list[list[Formula]] = []
        latest: dict[frozenset[str], list[Formula]] = {}
        for operand in whole.operands:
            group = latest.get(own := kind(operand))
            if group and self._is_small(type(whole)((*group, operand))):
                group.append(operand)
            else:
                groups.append(new := [operand])
                latest[own] = new
        return [self._joined(whole, group) for group in groups]

    @staticmethod
    def _joined(whole: And | Or | Xor, group: Sequence[Formula]) -> Formula:
        return group[0] if len(group) == 1 else type(whole)(tuple(group))

    def _named(self, formula: Formula) -> Formula:
        if isinstance(formula, Leaf):
            return formula
        part = self.naming.named(formula)
        self.parts.append(part)
        return part.atom
