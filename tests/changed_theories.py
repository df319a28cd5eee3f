"""Theories changed so that what they say stays the same, or changes in a way that is known beforehand.

For laws that any engine must obey: :func:`renamed`, :func:`shuffled`, :func:`in_halves`, and so on. They
work on syntax alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from herbrand.language import syntax as s
from herbrand.language.theory import Theory

Change = Callable[[s.WeightedFormula], Sequence[s.WeightedFormula]]


def renamed(
    theory: Theory, predicates: Mapping[str, str] = {}, constants: Mapping[s.Value, s.Value] = {}
) -> Theory:
    """Other names everywhere, in declarations and rows of facts too."""

    def value(old: s.Value) -> s.Value:
        return constants.get(old, old)

    def new(part: Any) -> Any:
        match part:
            case s.Constant():
                return s.Constant(value(part.value))
            case s.Atom():
                return s.Atom(predicates.get(part.predicate, part.predicate), new(part.arguments))
            case s.PredicateDeclaration():
                return replace(part, name=predicates.get(part.name, part.name), values=new(part.values))
            case s.FactRows():
                columns = tuple(tuple(map(value, column)) for column in part.columns)
                name = predicates.get(part.predicate, part.predicate)
                return s.FactRows(name, columns, part.row_count, part.kind, part.numbers, part.valued)
            case tuple():
                return tuple(map(new, part))
            case _ if is_dataclass(part) and not isinstance(part, type):
                told = {f.name: new(getattr(part, f.name)) for f in fields(part) if f.init and f.compare}
                return type(part)(**told)
        return part

    return Theory(tuple(map(new, theory.statements)))


def shuffled(theory: Theory, seed: int) -> Theory:
    """Statements in another order; the declarations of types stay, since theirs is that of the constants."""
    types = [x for x in theory.statements if isinstance(x, s.TypeDeclaration)]
    others = [x for x in theory.statements if not isinstance(x, s.TypeDeclaration)]
    random.Random(seed).shuffle(others)
    return Theory((*types, *others))


def rewritten(theory: Theory, change: Change) -> Theory:
    """Each weighted formula with a number for its weight changed into others."""
    statements: list[s.Statement] = []
    for statement in theory.statements:
        if isinstance(statement, s.WeightedFormula) and isinstance(statement.weight, float | int):
            statements += change(statement)
        else:
            statements.append(statement)
    return Theory(tuple(statements))


def in_halves(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """Half the weight, twice."""
    assert isinstance(old.weight, float | int)
    return [replace(old, weight=old.weight / 2)] * 2


def in_unequal_parts(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """Three parts, one of them negative."""
    assert isinstance(old.weight, float | int)
    return [replace(old, weight=part) for part in (old.weight + 1.5, -2.0, 0.5)]


def doubly_negated(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    return [replace(old, formula=s.Not(s.Not(old.formula)))]


def with_itself(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """F and F."""
    return [replace(old, formula=s.And((old.formula, old.formula)))]


def absorbed(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """F or (F and F)."""
    return [replace(old, formula=s.Or((old.formula, s.And((old.formula, old.formula)))))]


def not_otherwise(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """F xor false, as an equivalence with what is true."""
    return [replace(old, formula=s.Iff(s.Truth(True), s.Xor((old.formula, s.Truth(False)))))]


def about_the_opposite(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """-w: not F. The log-partition moves by w a grounding; the marginals do not."""
    assert isinstance(old.weight, float | int)
    return [replace(old, weight=-old.weight, formula=s.Not(old.formula))]


def beside_a_tautology(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    tautology = s.Or((old.formula, s.Not(old.formula)))
    return [old, replace(old, weight=3.0, formula=tautology)]


def beside_nothing(old: s.WeightedFormula) -> Sequence[s.WeightedFormula]:
    """A weight of 0 on something else, and a contradiction that never pays."""
    nothing = s.And((old.formula, s.Not(old.formula)))
    return [
        replace(old, weight=0.0, formula=s.Not(old.formula)),
        old,
        replace(old, weight=9.0, formula=nothing),
    ]
