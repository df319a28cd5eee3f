"""Formulas as disjoint conjunctions that add up to exactly the formula.

Deciding one leaf after another (true, false) splits a formula into cases that exclude each other; the cases
in which it becomes true are conjunctions whose indicator functions sum to its own. This avoids two known
errors: the potential of a conjunction is not the sum of its clauses' potentials, and pieces that overlap are
counted twice.

A leaf inside a quantifier that names none of the quantified variables is decided outside of it, so a block
only contains atoms of its own variables. ``x = y`` decided true unifies two variables, decided false it makes
them differ.

>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> for case in cases(parse_formula("p(x) and (q(x) or r(x))"), True):
...     print([("" if holds else "not ") + show_formula(leaf) for leaf, holds in case])
['p(x)', 'q(x)']
['p(x)', 'not q(x)', 'r(x)']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice

from herbrand.errors import Span, UnsupportedError
from herbrand.language.formulas import (
    And,
    AnyAtom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Leaf,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    Xor,
    children,
    leaf_terms,
    unnegated,
    walk,
    with_children,
)

Case = tuple[tuple[Formula, bool], ...]
"""Leaves and existential formulas with the truth value decided for each."""

MOST_CASES = 20_000
MOST_LEAVES = 16
"""Most leaves of a formula that may be summed by a table of their truth values in place of its cases."""
MOST_ONCE, MOST_OF_MANY = 200, 1_000
"""Cases of a formula that is not divided: if no leaf occurs twice, and if there are many leaves. Parts that
share atoms are no narrower than the whole, and few atoms fit into one table."""


def most_cases(formula: Formula) -> int:
    """Number of cases from which a formula is divided."""
    if is_read_once(formula):
        return MOST_ONCE
    return MOST_OF_MANY if len(set(_leaves(formula))) > MOST_LEAVES else MOST_CASES


def cases(formula: Formula, truth: bool, most: int | None = None) -> list[Case]:
    """The disjoint cases in which a formula has the wanted truth value."""
    return _listed(simplified(plain(formula)), truth, formula.span, most)


class ManyCasesError(UnsupportedError):
    """A formula falls into too many cases."""


def _listed(simple: Formula, truth: bool, span: Span | None, most: int | None) -> list[Case]:
    """List the cases of a simplified formula; raise ManyCasesError with the ``span`` if they are more than
    ``most``, or without it ``MOST_CASES``."""
    most = MOST_CASES if most is None else most
    certain = _count(simple, truth) > most and is_read_once(simple)
    cases = [] if certain else list(islice(_decided(simple, truth), most + 1))
    if certain or len(cases) > most:
        raise ManyCasesError(
            f"the formula falls into more than {most:,} cases",
            span=span,
            hint="name its parts by predicates of their own, tied by 'hard: part(x) <=> ...'",
        )
    return cases


def _count(formula: Formula, truth: bool) -> int:
    """The number of cases where no leaf occurs twice, as then none is decided by another."""
    true, false = case_counts(formula)
    return true if truth else false


def is_read_once(formula: Formula) -> bool:
    """Whether each leaf of a formula stands in one place."""
    leaves = _leaves(formula)
    return len(set(leaves)) == len(leaves)


def _leaves(formula: Formula) -> list[Formula]:
    """Every leaf, as often as it occurs."""
    return [part for part in walk(formula) if isinstance(part, Leaf)]


def shorter_cases(formula: Formula, most: int | None = None) -> tuple[list[Case], bool]:
    """The cases for true or for false, whichever are fewer, and which of the two. The second list is not
    computed if the first, which is likely the shorter, has one case at most."""
    simple = simplified(plain(formula))
    likely = isinstance(simple, And)  # a conjunction is true in one case, false in many
    cases = _listed(simple, likely, formula.span, most)
    if len(cases) <= 1:
        return cases, likely
    others = _listed(simple, not likely, formula.span, most)
    true, false = (cases, others) if likely else (others, cases)
    return (true, True) if len(true) < len(false) else (false, False)


def case_count(formula: Formula) -> int:
    """Upper estimate of the number of cases that make a formula true, or false, whichever are fewer.

    >>> from herbrand.language.parse import parse_formula
    >>> case_count(parse_formula("a and b and c => d")), case_count(parse_formula("a xor b xor c xor d"))
    (1, 8)
    """
    return min(case_counts(plain(formula)))


def has_many_cases(formula: Formula) -> bool:
    """Whether a formula has too many cases, and too many leaves for a table of their truth values."""
    return len(set(_leaves(formula))) > MOST_LEAVES and case_count(formula) > MOST_CASES


def refuse_many_cases(formulas: Iterable[Formula]) -> None:
    """Raise UnsupportedError if a queried formula has too many cases."""
    for formula in filter(has_many_cases, formulas):
        raise UnsupportedError(
            f"the formula falls into more than {MOST_CASES:,} cases",
            span=formula.span,
            hint="--engine circuit takes a queried formula without quantifiers connective by connective",
        )


def case_counts(formula: Formula) -> tuple[int, int]:
    """Numbers of cases of a plain formula for true and for false, when one operand after the other is
    decided."""
    counts = [case_counts(part) for part in children(formula)]
    match formula:
        case Not():
            return counts[0][1], counts[0][0]
        case And():
            return reduce(lambda done, one: (done[0] * one[0], done[1] + done[0] * one[1]), counts)
        case Or():
            return reduce(lambda done, one: (done[0] + done[1] * one[0], done[1] * one[1]), counts)
        case Xor():
            return reduce(
                lambda done, one: (
                    done[0] * one[1] + done[1] * one[0],
                    done[0] * one[0] + done[1] * one[1],
                ),
                counts,
            )
    return 1, 1


def plain(formula: Formula) -> Formula:
    """The same formula in leaves, not, and, or, xor and exists; other connectives are rewritten."""
    match formula:
        case Implies(premise=premise, conclusion=conclusion):
            return Or((Not(plain(premise)), plain(conclusion)))
        case Iff(left=left, right=right):
            return Not(Xor((plain(left), plain(right))))
        case Forall(variables=variables, body=body):
            return Not(Exists(variables, Not(plain(body))))
        case Comparison(operator="!=", left=left, right=right):
            return Not(_equality(left, right))
        case Comparison(operator="=", left=left, right=right):
            return _equality(left, right)
    return with_children(formula, [plain(part) for part in children(formula)])


def _equality(left: Term, right: Term) -> Formula:
    """Equality in one form for ``x = y`` and ``y = x``, so that they are one leaf."""
    if left == right:
        return Truth(True)
    if not isinstance(left, Variable) and not isinstance(right, Variable):
        return Truth(False)
    first, second = sorted((left, right), key=repr)
    return Comparison("=", first, second)


def _decided(formula: Formula, truth: bool) -> Iterator[Case]:
    """Decide one leaf after another both ways, until the (simplified) formula is a truth value."""
    waiting: list[tuple[Formula, Case]] = [(formula, ())]
    while waiting:
        rest, decided = waiting.pop()
        if isinstance(rest, Truth):
            if rest.value == truth:
                yield decided
            continue
        literals = _literals(rest)
        if literals:
            yield from _in_a_row(literals, isinstance(rest, Or), truth, decided)
            continue
        leaf = _next_leaf(rest)
        true, false = (simplified(_with(rest, leaf, value)) for value in (True, False))
        if true == false:
            waiting.append((true, decided))
        else:
            waiting += [(false, (*decided, (leaf, False))), (true, (*decided, (leaf, True)))]


def _literals(formula: Formula) -> Case:
    """Leaves of a clause or conjunction of distinct literals, each with the truth value that makes its
    literal true; empty for any other formula."""
    if not isinstance(formula, And | Or):
        return ()
    literals: dict[Formula, bool] = {}
    for part in formula.operands:
        leaf = unnegated(part)
        if leaf in literals or not isinstance(leaf, AnyAtom | Comparison):
            return ()
        literals[leaf] = leaf is part
    return tuple(literals.items())


def _in_a_row(literals: Case, some: bool, truth: bool, decided: Case) -> Iterator[Case]:
    """Yield the cases of literals joined by ``or`` (``some``) or ``and``: the same that deciding leaf by leaf
    gives, but without simplifying the rest after each leaf, so that thousands of literals are fast."""
    before, later = list(decided), []
    for leaf, positive in literals:
        settles = positive == some
        if some == truth:
            case = (*before, (leaf, settles))
            if settles:
                yield case
            else:
                later.append(case)
        before.append((leaf, not settles))
    if some != truth:
        yield tuple(before)
    yield from reversed(later)


def _next_leaf(formula: Formula) -> Formula:
    """The first leaf that can be decided here; an existential only when no other leaf is left."""
    return next(_decidable(formula, frozenset()), None) or next(_existentials(formula))


def _decidable(formula: Formula, bound: frozenset[str]) -> Iterator[Formula]:
    if isinstance(formula, Exists):
        bound |= {variable.name for variable in formula.variables}
    if isinstance(formula, AnyAtom | Comparison):
        names = {term.name for term in leaf_terms(formula) if isinstance(term, Variable)}
        if not names & bound:
            yield formula
    for part in children(formula):
        yield from _decidable(part, bound)


def _existentials(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, Exists):
        yield formula
        return
    for part in children(formula):
        yield from _existentials(part)


def _with(formula: Formula, leaf: Formula, value: bool) -> Formula:
    """The formula with a decided leaf replaced by its truth value."""
    if formula == leaf:
        return Truth(value)
    return with_children(formula, [_with(part, leaf, value) for part in children(formula)])


def simplified(formula: Formula) -> Formula:
    """Absorb truth values; an ``exists`` keeps its body when that is true, since its domain may be empty."""
    match formula:
        case Not(operand=operand):
            inner = simplified(operand)
            if isinstance(inner, Truth):
                return Truth(not inner.value)
            return inner.operand if isinstance(inner, Not) else Not(inner)
        case And(operands=operands):
            return _joined(operands, And, absorbing=False)
        case Or(operands=operands):
            return _joined(operands, Or, absorbing=True)
        case Xor(operands=operands):
            return _parity(operands)
        case Exists(variables=variables, body=body):
            inner = simplified(body)
            return inner if inner == Truth(False) else Exists(variables, inner)
    return formula


def _joined(operands: tuple[Formula, ...], connective: type[And] | type[Or], absorbing: bool) -> Formula:
    kept: list[Formula] = []
    for operand in map(simplified, operands):
        if isinstance(operand, Truth):
            if operand.value == absorbing:
                return Truth(absorbing)
        elif isinstance(operand, connective):
            kept.extend(operand.operands)
        else:
            kept.append(operand)
    if not kept:
        return Truth(not absorbing)
    return kept[0] if len(kept) == 1 else connective(tuple(kept))


def _parity(operands: tuple[Formula, ...]) -> Formula:
    odd, kept = False, []
    for operand in map(simplified, operands):
        if isinstance(operand, Truth):
            odd ^= operand.value
        else:
            kept.append(operand)
    if not kept:
        return Truth(odd)
    rest = kept[0] if len(kept) == 1 else Xor(tuple(kept))
    return simplified(Not(rest)) if odd else rest
