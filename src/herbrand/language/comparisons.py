"""Comparisons and computed values: their parts and variables, and the order in which they give values.

>>> from herbrand.language.parse import parse_theory
>>> (rule,) = parse_theory("price(x, p) :- net(x, n), p = n * r, r = n / 100").rules
>>> joining, tests = tests_of(rule.body)
>>> [name for test in in_order(tests, {"x", "n"}, set()) for name, _ in [assigned(test, {"n"})]]
['r', 'p']
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import chain
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
from herbrand.language.scope import Renaming

Test = Computed | Comparison


def computes(formula: Formula) -> bool:
    """Whether a formula has to be separated: it contains a computed value or an order comparison."""
    return any(map(leaf_computes, walk(formula)))


def body_computes(body: Sequence[Formula]) -> bool:
    """Whether a rule's body has to be separated; rules evaluate order comparisons of numbers themselves."""
    return any(map(_is_test, body))


def _is_test(literal: Formula) -> bool:
    """Whether a literal, negated or not, contains a computed value or an order comparison with a text."""
    part = unnegated(literal)
    return isinstance(part, Computed) or (isinstance(part, Comparison) and orders_text(part))


def outer_parts(part: Test | Expression) -> Iterator[Test | Expression]:
    """Yield a test or a value and all its parts, except those inside its aggregates."""
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
    """Yield the literals of bodies, including those of aggregates, that are comparisons after ``not``."""
    for part in parts:
        match part:
            case Not(operand=Comparison() as inner):
                yield part, inner
            case Computed():
                for one in aggregates(part):
                    yield from negated_equations(one.body)


def inner_parts(one: Aggregate, kinds: type | UnionType) -> Iterator[Any]:
    """Yield the leaves of these kinds in an aggregate's body, including those of nested aggregates."""
    return chain.from_iterable(_parts_in(literal, kinds) for literal in one.body)


def _parts_in(formula: Formula, kinds: type | UnionType) -> Iterator[Any]:
    """Yield the leaves of these kinds in a formula, and in the aggregates of its other leaves."""
    for part in walk(formula):
        if isinstance(part, kinds):
            yield part
        elif isinstance(part, Computed):
            for one in aggregates(part):
                yield from inner_parts(one, kinds)


def inner_atoms(one: Aggregate) -> Iterator[Atom]:
    """The atoms in an aggregate's body, including those of nested aggregates."""
    return map(unvalued, inner_parts(one, AnyAtom))


def atoms_in(formula: Formula) -> Iterator[Atom]:
    """The atoms of a formula, including those in aggregates."""
    return map(unvalued, _parts_in(formula, AnyAtom))


def variables_of(part: object) -> dict[str, Variable]:
    """All variables in a value, a formula or a sequence of these, by name, in order of occurrence."""
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
    """Split a body into literals that join tables and tests that compute values."""
    joining, computing = places_of(body)
    return [body[place] for place in joining], [test_of(body[place]) for place in computing]


def places_of(body: Sequence[Formula]) -> tuple[list[int], list[int]]:
    """Positions in a body of the literals that join tables, and of the tests that compute values.

    A comparison of terms joins tables if atoms, or equations with constants, bind all its variables and it
    does not order texts.
    """
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
    """The test of a literal; ``not`` before a computed comparison becomes the opposite operator."""
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
    """Yield each variable that is a side of an equation, with the other side."""
    for name, value in ((test.left, test.right), (test.right, test.left)) if test.operator == "=" else ():
        if isinstance(name, Variable):
            yield name.name, value


def steps_in(test: Test) -> Iterator[tuple[str, str, int]]:
    """Yield ``name, old, step`` for an equation ``name = old + step`` with a whole number as step."""
    for name, value in equated(test):
        match value:
            case Arithmetic(sign="+" | "-" as sign, operands=(Variable(name=old), Constant(value=int(step)))):
                yield name, old, step if sign == "+" else -step
            case Arithmetic(sign="+", operands=(Constant(value=int(step)), Variable(name=old))):
                yield name, old, step


def assigned(test: Test, known: Collection[str]) -> tuple[str, Expression] | None:
    """The unknown variable to which a test gives a value, and that value; ``None`` if there is none."""
    return next((one for one in equated(test) if one[0] not in known), None)


def with_assigned(tests: Collection[Test], known: Collection[str]) -> set[str]:
    """The known variables and all to which tests give a value, in whatever order the tests stand."""
    names, given = set(known), list[str]()
    waiting = defaultdict[str, list[tuple[str, set[str]]]](list)
    for name, value in (one for test in tests for one in equated(test)):
        missing = variables_of(value).keys() - names
        for other in missing:
            waiting[other].append((name, missing))
        if not missing:
            given.append(name)
    while given:
        if (last := given.pop()) in names:
            continue
        names.add(last)
        for name, missing in waiting[last]:
            missing.discard(last)
            if not missing:
                given.append(name)
    return names


def bound_variables(body: Iterable[Formula]) -> set[str]:
    """Variables of a rule's body to which its atoms give values, or its equations from these and constants.

    >>> from herbrand.language.parse import parse_theory
    >>> rule = parse_theory("p(x, y) :- q(x), not r(z), y = x, x < w").rules[0]
    >>> sorted(bound_variables(rule.body))
    ['x', 'y']
    """
    body = list(body)
    atoms = [part for part in body if isinstance(part, AnyAtom)]
    return with_assigned([part for part in body if isinstance(part, Test)], variables_of(atoms))


def equations_of(tests: Iterable[Test], known: Collection[str]) -> dict[str, tuple[Test, Expression]]:
    """Variables to which tests, one after the other, give values: the equation and the value of each."""
    equations: dict[str, tuple[Test, Expression]] = {}
    for test in tests:
        if (value := assigned(test, {*known, *equations})) is not None:
            equations[value[0]] = test, value[1]
    return equations


def fixed_in(part: Test | Expression, outside: Collection[str]) -> set[str]:
    """Variables that a value needs: those outside its aggregates, and those in aggregates that also stand
    ``outside``."""
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
    """Variables of a test or a value that stand outside its aggregates."""
    return {one.name: one for one in outer_parts(part) if isinstance(one, Variable)}


def outer_variables(others: Iterable[object], tests: Sequence[Test]) -> set[str]:
    """Variables that stand in ``others`` or in tests outside aggregates: an aggregate cannot bind them."""
    outside = set(variables_of(list(others)))
    for test in tests:
        outside |= plain_variables(test).keys()
    return outside


def locals_apart(test: Test, outside: Collection[str], renaming: Renaming) -> Test:
    """The test with new names for the variables of each aggregate that are not ``outside``."""

    def apart(one: Aggregate) -> Expression:
        names = {name: renaming.new(name) for name in variables_of(one) if name not in outside}
        return renaming.expression(one, names)

    return with_aggregates(test, apart)


def with_aggregates(test: Test, changed: Callable[[Aggregate], Expression]) -> Test:
    """The test with its outermost aggregates replaced by ``changed`` of each."""

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
    """Raised if nothing gives a value to a variable that a test needs."""

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable.name)
        self.variable = variable


def in_order(tests: Sequence[Test], known: Collection[str], outside: Collection[str]) -> list[Test]:
    """The tests in an order in which each has values for its variables.

    Among the tests that are ready, divisions come last: another test may first drop a row on which a division
    by zero would be refused. Raises UnboundError if a variable gets no value.
    """
    have, waiting, ready, ordered = set(known), dict(enumerate(tests)), list[tuple[bool, int]](), list[Test]()
    having: dict[str, list[int]] = {}
    for place, test in waiting.items():
        for name in variables_of(test):
            having.setdefault(name, []).append(place)

    def look_at(places: Iterable[int]) -> None:
        """Make the tests at these places ready whose variables have values."""
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
    """Yield each variable of an aggregate's terms that gets no value from its literals or from outside."""
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
    """Variables of an aggregate that are in no term of it or of a nested aggregate, without ``_``."""
    free = {name for name in variables_of(one) if not name.startswith("_`")}
    return free - _terms(one)


def _terms(one: Aggregate) -> set[str]:
    inner = [part for literal in one.body for part in walk(literal) if isinstance(part, Computed)]
    below = [_terms(deeper) for part in inner for deeper in aggregates(part)]
    return set(variables_of(one.terms)).union(*below)


def leaf_computes(part: Formula) -> bool:
    """Whether a leaf of a formula compares numbers, computed or not."""
    return isinstance(part, Computed) or (isinstance(part, Comparison) and part.operator not in ("=", "!="))
