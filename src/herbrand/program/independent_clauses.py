"""Weighted formulas as the clauses of their conjunctive normal form, each with the formula's weight.

This is the published convention of LogicMP and of Alchemy-like systems, and it changes the model: for
``A and B`` two clauses are weighted separately, while the formula itself counts only if both hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from herbrand.errors import UnsupportedError
from herbrand.language.formulas import (
    And,
    Comparison,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Truth,
    Xor,
    children,
    with_children,
)
from herbrand.language.scope import Renaming
from herbrand.language.theory import Theory
from herbrand.program.lower import lower
from herbrand.program.normal_form import plain, simplified
from herbrand.program.program import Program

MOST_CLAUSES = 10_000

Clause = frozenset[tuple[Formula, bool]]


def with_independent_clauses(program: Program, unsettled: Collection[str] = ()) -> Program:
    """Replace each formula by its clauses: each clause counts once for each grounding of the formula.

    Weights stay those of the formulas; a clause without some of the formula's variables counts as often as
    the others. ``unsettled``: as in :func:`lower`.
    """
    theory = Theory(program.statements)
    return lower(theory, program.signature, program.facts, clauses, unsettled=unsettled)


def clauses(formula: Formula) -> Iterator[Formula]:
    """Yield the distinct clauses of a formula; tautologies are left out."""
    try:
        all_clauses = _clauses(_with_equal_leaves(simplified(plain(formula)), {}), True)
    except OverflowError:
        raise UnsupportedError(
            f"the formula has more than {MOST_CLAUSES:,} clauses", span=formula.span
        ) from None
    for clause in all_clauses:
        literals = sorted(clause, key=repr)
        parts = tuple(leaf if holds else Not(leaf) for leaf, holds in literals)
        if parts:
            yield parts[0] if len(parts) == 1 else Or(parts)


def _with_equal_leaves(formula: Formula, first: dict[Formula, Formula]) -> Formula:
    """Unify quantified subformulas that differ only in the names of their bound variables."""
    if isinstance(formula, Exists | Forall):
        return first.setdefault(Renaming(numbered=True).formula(formula), formula)
    return with_children(formula, [_with_equal_leaves(part, first) for part in children(formula)])


def _clauses(formula: Formula, truth: bool) -> list[Clause]:
    """Clauses, without tautologies, whose conjunction states that the formula has the wanted truth value."""
    match formula:
        case Truth(value=value):
            return [] if value == truth else [frozenset()]
        case Not(operand=operand):
            return _clauses(operand, not truth)
        case And(operands=operands) | Or(operands=operands):
            each = [_clauses(part, truth) for part in operands]
            return _each_once(chain(*each)) if isinstance(formula, And) == truth else _crossed(each)
        case Xor(operands=operands):
            return _clauses(_spelled_out(operands), truth)
        case Comparison(operator="!=", left=left, right=right):
            return [frozenset({(Comparison("=", left, right), not truth)})]
    return [frozenset({(formula, truth)})]


def _crossed(each: Sequence[Sequence[Clause]]) -> list[Clause]:
    """Distribute: for each choice of one clause from every part, their union."""
    crossed: list[Clause] = [frozenset()]
    for part in each:
        crossed = _each_once(one | other for one in crossed for other in part)
    return crossed


def _each_once(clauses: Iterable[Clause]) -> list[Clause]:
    """Distinct clauses without tautologies; raise OverflowError as soon as there are too many."""
    kept: dict[Clause, None] = {}
    for clause in clauses:
        if any((leaf, not holds) in clause for leaf, holds in clause):
            continue
        kept.setdefault(clause)
        if len(kept) > MOST_CLAUSES:
            raise OverflowError
    return list(kept)


def _spelled_out(operands: tuple[Formula, ...]) -> Formula:
    first, *others = operands
    rest = others[0] if len(others) == 1 else Xor(tuple(others))
    return Or((And((first, Not(rest))), And((Not(first), rest))))
