"""Comparisons and what they compute: their parts and variables, which give a variable its value, and in which
order.

>>> from herbrand.language.parse import parse_theory
>>> (rule,) = parse_theory("price(x, p) :- net(x, n), p = n * r, r = n / 100").rules
>>> joining, tests = tests_of(rule.body)
>>> [name for test in in_order(tests, {"x", "n"}, set()) for name, _ in [assigned(test, {"n"})]]
['r', 'p']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from types import UnionType
from typing import Any

from herbrand.language.formulas import (
    OPPOSITES,
    Aggregate,
    AnyAtom,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Expression,
    Forall,
    Formula,
    Not,
    ValueIn,
    ValueIs,
    Variable,
    children,
    leaf_terms,
    unnegated,
    unvalued,
    walk,
)
from herbrand.language.scope import Renaming, bound_variables

Test = Computed | Comparison


def computes(formula: Formula) -> bool:
    """Whether a formula has to be separated: it compares computed values, or which comes first."""
    return any(map(leaf_computes, walk(formula)))


def body_computes(body: Sequence[Formula]) -> bool:
    """Whether a rule's body has to be separated; order comparisons of numbers its evaluation knows itself."""
    return any(map(_is_test, body))


def _is_test(literal: Formula) -> bool:
    """Whether a literal, its negation left off, computes."""
    part = unnegated(literal)
    return isinstance(part, Computed) or (isinstance(part, Comparison) and orders_text(part))


def outer_parts(part: Test | Expression) -> Iterator[Test | Expression]:
    """A test or a value, and all parts of it but those inside its aggregates."""
    waiting = [part]
    while waiting:
        yield (one := waiting.pop())
        match one:
            case Computed(left=left, right=right) | Comparison(left=left, right=right):
                waiting += right, left
            case Arithmetic(operands=operands):
                waiting += operands[::-1]


def aggregates(part: Test | Expression) -> Iterator[Aggregate]:
    """The outermost aggregates of a test or a value."""
    return (one for one in outer_parts(part) if isinstance(one, Aggregate))


def negated_equations(parts: Iterable[Formula]) -> Iterator[tuple[Not, Comparison]]:
    """The literals of bodies, those of aggregates too, that are equations of terms behind ``not``."""
    for part in parts:
        match part:
            case Not(operand=Comparison() as inner):
                yield part, inner
            case Computed():
                for one in aggregates(part):
                    yield from negated_equations(one.body)


def inner_parts(one: Aggregate, kinds: type | UnionType) -> Iterator[Formula]:
    """The leaves of these kinds that an aggregate is over, those of aggregates in it too."""
    for literal in one.body:
        for part in walk(literal):
            if isinstance(part, kinds):
                yield part
            elif isinstance(part, Computed):
                for deeper in aggregates(part):
                    yield from inner_parts(deeper, kinds)


def inner_atoms(one: Aggregate) -> Iterator[Atom]:
    """The atoms that an aggregate is over."""
    return (unvalued(part) for part in inner_parts(one, AnyAtom) if isinstance(part, AnyAtom))


def atoms_in(formula: Formula) -> Iterator[Atom]:
    """The atoms of a formula, in aggregates too."""
    for part in walk(formula):
        if isinstance(part, AnyAtom):
            yield unvalued(part)
        elif isinstance(part, Computed):
            for one in aggregates(part):
                yield from inner_atoms(one)


def variables_of(part: object) -> dict[str, Variable]:
    """All variables in a value, a formula, or a sequence of these."""
    variables: dict[str, Variable] = {}
    waiting: list[Any] = [part]
    while waiting:
        match waiting.pop():
            case Variable() as variable:
                variables[variable.name] = variable
            case Constant():
                pass
            case list() | tuple() as parts:
                waiting += parts[::-1]
            case Atom(arguments=terms):
                waiting += terms[::-1]
            case ValueIs() | ValueIn() | Comparison() as leaf:
                waiting += leaf_terms(leaf)[::-1]
            case Arithmetic(operands=operands):
                waiting += operands[::-1]
            case Aggregate(terms=terms, body=body):
                waiting += (*terms, *body)[::-1]
            case Computed(left=left, right=right):
                waiting += right, left
            case Exists(variables=own, body=body) | Forall(variables=own, body=body):
                waiting += body, own
            case other:
                waiting += children(other)[::-1]
    return variables


def tests_of(body: Sequence[Formula]) -> tuple[list[Formula], list[Test]]:
    """The literals of a body that join tables, and those that compute: each comparison is one of these."""
    joining, computing = places_of(body)
    return [body[place] for place in joining], [test_of(body[place]) for place in computing]


def places_of(body: Sequence[Formula]) -> tuple[list[int], list[int]]:
    """Where a body's literals stand that join tables, and those that compute."""
    tests = [place for place, literal in enumerate(body) if _is_test(literal)]
    plain = [place for place in range(len(body)) if place not in tests]
    if not tests:
        return plain, []
    bound = bound_variables(body[place] for place in plain)
    moved = [
        place
        for place in plain
        if isinstance(literal := body[place], Comparison) and not variables_of(literal).keys() <= bound
    ]
    return [place for place in plain if place not in moved], tests + moved


def test_of(literal: Formula) -> Test:
    """What a literal computes, without a negation."""
    inner = unnegated(literal)
    assert isinstance(inner, Comparison | Computed)
    if isinstance(inner, Computed) and inner is not literal:
        return replace(inner, operator=OPPOSITES[inner.operator])
    return inner


def orders_text(part: Comparison) -> bool:
    sides = (part.left, part.right)
    return part.operator not in ("=", "!=") and any(
        isinstance(side, Constant) and isinstance(side.value, str) for side in sides
    )


def equated(test: Test) -> Iterator[tuple[str, Expression]]:
    """Each variable that is a side of an equation, and what it is equal to."""
    for name, value in ((test.left, test.right), (test.right, test.left)) if test.operator == "=" else ():
        if isinstance(name, Variable):
            yield name.name, value


def steps_in(test: Test) -> Iterator[tuple[str, str, int]]:
    """Two variables, of which the first is the second and a whole number that stands in an equation."""
    for made, value in equated(test):
        match value:
            case Arithmetic(sign="+" | "-" as sign, operands=(Variable(name=old), Constant(value=int(step)))):
                yield made, old, step if sign == "+" else -step
            case Arithmetic(sign="+", operands=(Constant(value=int(step)), Variable(name=old))):
                yield made, old, step


def assigned(test: Test, known: Collection[str]) -> tuple[str, Expression] | None:
    """The variable that a test gives a value, if it is an equation with one that has none yet."""
    return next((one for one in equated(test) if one[0] not in known), None)


def with_assigned(tests: Collection[Test], known: Collection[str]) -> set[str]:
    """The variables that have values and those to which tests then give one, in whatever order they stand."""
    names, before = set(known), -1
    equations = [one for test in tests for one in equated(test)]
    while len(names) > before:
        before = len(names)
        for name, value in equations:
            if name not in names and variables_of(value).keys() <= names:
                names.add(name)
    return names


def equations_of(tests: Iterable[Test], known: Collection[str]) -> dict[str, tuple[Test, Expression]]:
    """The variables that tests give values, one after the other: the equation, and what it says each is."""
    equations: dict[str, tuple[Test, Expression]] = {}
    for test in tests:
        if (value := assigned(test, {*known, *equations})) is not None:
            equations[value[0]] = test, value[1]
    return equations


def fixed_in(part: Test | Expression, outside: Collection[str]) -> set[str]:
    """The variables that a value needs: all of plain terms, those of aggregates that stand outside too."""
    fixed = set[str]()
    for one in outer_parts(part):
        if isinstance(one, Variable):
            fixed.add(one.name)
        elif isinstance(one, Aggregate):
            fixed |= variables_of(one).keys() & outside
    return fixed


def all_fixed_in(tests: Iterable[Test], outside: Collection[str]) -> set[str]:
    return {name for test in tests for name in fixed_in(test, outside)}


def plain_variables(part: Test | Expression) -> dict[str, Variable]:
    """The variables of a test or a value that stand outside its aggregates."""
    return {one.name: one for one in outer_parts(part) if isinstance(one, Variable)}


def outer_variables(others: Iterable[object], tests: Sequence[Test]) -> set[str]:
    """The variables that stand outside aggregates, or in more than one: an aggregate cannot bind them."""
    outside = set(variables_of(list(others)))
    for test in tests:
        outside |= plain_variables(test).keys()
    return outside


def locals_apart(test: Test, outside: Collection[str], renaming: Renaming) -> Test:
    """The test with variables that only one aggregate has under names of their own."""

    def apart(one: Aggregate) -> Expression:
        names = {name: renaming.new(name) for name in variables_of(one) if name not in outside}
        return renaming.expression(one, names)

    return with_aggregates(test, apart)


def with_aggregates(test: Test, changed: Callable[[Aggregate], Expression]) -> Test:
    """The test with its outermost aggregates changed."""

    def within(value: Expression) -> Expression:
        match value:
            case Arithmetic(sign=sign, operands=operands, span=span):
                return Arithmetic(sign, tuple(map(within, operands)), span)
            case Aggregate():
                return changed(value)
        return value

    if isinstance(test, Comparison):
        return test
    return replace(test, left=within(test.left), right=within(test.right))


class UnboundError(Exception):
    """A variable that a test needs and nothing gives a value."""

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable.name)
        self.variable = variable


def in_order(tests: Sequence[Test], known: Collection[str], outside: Collection[str]) -> list[Test]:
    """The tests in an order in which each has its variables; what may fail last."""
    have, waiting, ready, ordered = set(known), dict(enumerate(tests)), list[tuple[bool, int]](), list[Test]()
    having: dict[str, list[int]] = {}
    for place, test in waiting.items():
        for name in variables_of(test):
            having.setdefault(name, []).append(place)

    def look_at(places: Iterable[int]) -> None:
        """Those that have their variables by now are ready, and stay so."""
        for place in places:
            if place in waiting:
                given = assigned(waiting[place], have)
                if fixed_in(waiting[place] if given is None else given[1], outside) <= have:
                    heappush(ready, (_divides(waiting.pop(place)), place))

    look_at(range(len(tests)))
    while ready:
        _, place = heappop(ready)
        ordered.append(tests[place])
        if (given := assigned(tests[place], have)) is not None:
            have.add(given[0])
            look_at(having[given[0]])
    for test in waiting.values():
        for name in sorted(fixed_in(test, outside) - have):
            raise UnboundError(variables_of(test)[name])
    return ordered


def _divides(test: Test) -> bool:
    parts = outer_parts(test)
    return any(isinstance(one, Arithmetic) and one.sign in ("/", "//", "%") for one in parts)


def unbound_terms(
    tests: Iterable[Test], outside: Collection[str]
) -> Iterator[tuple[Aggregate, str, Variable]]:
    """Each variable of an aggregate's terms that neither its own literals nor those outside give a value."""
    for test in tests:
        for one in aggregates(test):
            plain, inner = tests_of(one.body)
            atoms = [part for literal in plain for part in walk(literal) if isinstance(part, AnyAtom)]
            equal = [part for part in plain if isinstance(part, Comparison)]
            bound = {*outside, *variables_of(atoms)}
            given = with_assigned([*inner, *equal], bound)
            yield from ((one, name, v) for name, v in variables_of(one.terms).items() if name not in given)
            yield from unbound_terms(inner, given)


def left_free(one: Aggregate) -> set[str]:
    """The variables of an aggregate that no term of it, or of one inside it, has."""
    free = {name for name in variables_of(one) if not name.startswith("_`")}
    return free - _terms(one)


def _terms(one: Aggregate) -> set[str]:
    inner = [part for literal in one.body for part in walk(literal) if isinstance(part, Computed)]
    below = [_terms(deeper) for part in inner for deeper in aggregates(part)]
    return set(variables_of(one.terms)).union(*below)


def leaf_computes(part: Formula) -> bool:
    """Whether a leaf of a formula compares numbers, computed or not."""
    return isinstance(part, Computed) or (isinstance(part, Comparison) and part.operator not in ("=", "!="))
