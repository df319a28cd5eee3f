"""Whether recursion that makes values has an end.

``x > 0, y = x - 1`` makes values by whole steps towards a limit, and ``z = x % y`` none that is larger
(:func:`has_end`). Where one argument of each predicate of a cycle goes on by steps with each round of calls,
there are so many rounds at most, and what else they make has an end too (:attr:`Rounds.count`). So it has
where each call of one predicate follows a relation without circles, as only facts can say:
:meth:`Rounds.calls` tells what has to be linked.

>>> import herbrand as hb
>>> text = "total(n, s) :- throw(n, v), total(m, t), n = m + 1"
>>> rounds = Rounds.of(hb.parse(text).rules, {"total"}, {})
>>> rounds.count, [(own, called) for _, own, called in rounds.calls(1)]
(True, [('s', 't')])
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import numpy as np

from herbrand.graphs import is_without_circle
from herbrand.language.comparisons import Test, equated, steps_in, variables_of
from herbrand.language.computed import Definition
from herbrand.language.formulas import (
    AnyAtom,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Formula,
    Not,
    ValueIs,
    Variable,
    row_atom,
)
from herbrand.language.syntax import Rule, Term
from herbrand.program.dependencies import body_predicates

MOST_WAYS = 10_000
"""So many choices of an argument for each predicate of a cycle are tried."""
Places = Mapping[str, int]
"""Of each predicate of a cycle, the argument that goes on."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rules by which predicates call themselves and each other. ``group``: the predicates of the cycle,
    with those of what is computed; ``definitions``: what these compute."""

    rules: tuple[Rule, ...]
    group: Collection[str]
    definitions: Mapping[str, Definition]

    @classmethod
    def of(
        cls, rules: Iterable[Rule], group: Collection[str], definitions: Mapping[str, Definition]
    ) -> Rounds | None:
        """Of the rules of a cycle; ``None`` where what a rule calls stands in no atom of its own. What a body
        negates gives no values."""
        calls = [(rule, list(_calls(rule, group))) for rule in rules]
        calling = [rule for rule, atoms in calls if atoms]
        if not calling or not all(isinstance(one, Atom | ValueIs) for _, atoms in calls for one in atoms):
            return None
        rounds = cls(tuple(calling), group, definitions)
        return rounds if all(map(rounds._called, calling)) else None

    @cached_property
    def predicates(self) -> dict[str, int]:
        """Those that rules derive, and how many arguments each has."""
        return {rule.head.predicate: len(rule.head.arguments) for rule in self.rules}

    @cached_property
    def count(self) -> bool:
        """Whether each round is some whole steps along one argument that has limits."""
        choices = islice(product(*map(range, self.predicates.values())), MOST_WAYS)
        ways = (dict(zip(self.predicates, chosen, strict=True)) for chosen in choices)
        return any(self._counts(places, up) for places in ways for up in (True, False))

    def calls(self, place: int) -> Iterator[tuple[Rule, str, str]]:
        """What stands in this place of a head and of each call in its body; equal names for what is no
        variable, or ``_``."""
        for rule in self.rules:
            for call in self._called(rule):
                match rule.head.arguments[place], call.arguments[place]:
                    case Variable(own, anonymous=False), Variable(other, anonymous=False):
                        yield rule, own, other
                    case _:
                        yield rule, "", ""

    def free(self, rule: Rule) -> list[Atom]:
        """The atoms of a body that rest on nothing of the cycle."""
        return [part for part in rule.body if isinstance(part, Atom) and part.predicate not in self.group]

    def _called(self, rule: Rule) -> list[Atom]:
        """What a body calls, a value as the last argument."""
        atoms = (row_atom(part) for part in rule.body if isinstance(part, Atom | ValueIs))
        return [atom for atom in atoms if atom.predicate in self.predicates]

    def _tests(self, rule: Rule) -> Iterator[Test]:
        """What a body compares and computes."""
        for part in rule.body:
            if isinstance(part, Comparison | Computed):
                yield part
            elif isinstance(part, Atom) and part.predicate in self.definitions:
                yield from self.definitions[part.predicate].tests

    def _counts(self, places: Places, up: bool) -> bool:
        """Whether every rule goes on by steps, or with the value of what it calls, and no circle of rules
        does the latter alone."""
        numbers = {name: number for number, name in enumerate(self.predicates)}
        staying = list[tuple[int, int]]()
        for rule in self.rules:
            own, stepped = rule.head.arguments[places[rule.head.predicate]], list[Term]()
            if not isinstance(own, Variable) or own.anonymous:
                return False
            for call in self._called(rule):
                term = call.arguments[places[call.predicate]]
                if term == own:
                    staying.append((numbers[rule.head.predicate], numbers[call.predicate]))
                else:
                    stepped.append(term)
            if stepped and not self._steps(rule, own, stepped, up):
                return False
        return is_without_circle(len(numbers), np.array(staying, np.int64).reshape(-1, 2))

    def _steps(self, rule: Rule, own: Variable, called: Sequence[Term], up: bool) -> bool:
        """Whether an argument of the head is whole steps above those of calls, or below, and has a limit."""
        tests = list(self._tests(rule))
        names = {term.name for term in called if isinstance(term, Variable)}
        if len(names) < len(set(called)):
            return False
        fixed = variables_of([rule.head.arguments[kept] for kept in self._kept])
        steps = [step for test in tests for step in steps_in(test)]
        above = {(one, other) if step > 0 else (other, one) for one, other, step in steps if step}
        listed = own.name in variables_of(self.free(rule))
        if listed:  # of so many values, whatever lies between them
            above |= {pair for test in tests for pair in _shrunk(test, tests)}
        has_limit = listed or any(_limits(test, {own.name, *names}, fixed, below=not up) for test in tests)
        return has_limit and {(own.name, name) if up else (name, own.name) for name in names} <= above

    @cached_property
    def _kept(self) -> set[int]:
        """The places of which every call of the one predicate hands on what the head has there, so that no
        round changes it."""
        places = set(range(len(self.rules[0].head.arguments))) if len(self.predicates) == 1 else set[int]()
        for rule in self.rules:
            for call in self._called(rule):
                places = {i for i in places if rule.head.arguments[i] == call.arguments[i]}
        return places


def _calls(rule: Rule, group: Collection[str]) -> Iterator[Formula]:
    """The literals of a body that call one of a group, but for negated ones."""
    for name, literal in body_predicates(rule):
        if name in group and not isinstance(literal, Not):
            yield literal


def has_end(made: str, definition: Definition, fixed: Collection[str] = ()) -> bool:
    """Whether a value is made by whole steps towards a limit, ``x > 0, y = x - 1``, or by a division, which
    makes none larger, ``z = x % y``. Where all rules of a cycle make theirs so, all values are within the
    first ones and fixed limits, and whole steps or remainders of these. ``fixed``: variables of limits."""
    tests, body = definition.tests, definition.body
    return any(made == one for test in tests for one in _divided(test, body)) or any(
        one == made and _limits(part, {made, old}, fixed, below=step < 0)
        for test in tests
        for one, old, step in steps_in(test)
        for part in (*body, *tests)
    )


def _divided(test: Test, body: Sequence[Formula]) -> Iterator[str]:
    """The variable that is what a division leaves, by a constant or by what an atom of the body has; or how
    often a number from 1 on is in what an atom has."""
    atoms = variables_of([part for part in body if isinstance(part, AnyAtom)])
    for made, value in equated(test):
        match value:
            case Arithmetic(sign="%", operands=(_, Constant())):
                yield made
            case Arithmetic(sign="%", operands=(_, Variable(name=by))) if by in atoms:
                yield made
            case Arithmetic(
                sign="//", operands=(Variable(name=old), Constant(value=int() | float() as by))
            ) if old in atoms and by >= 1:
                yield made


def _shrunk(test: Test, tests: Sequence[Test]) -> Iterator[tuple[str, str]]:
    """Two variables, of which the first is above 0 and the second, less, what a division of it comes to."""
    for made, value in equated(test):
        match value:
            case Arithmetic(sign="//", operands=(Variable(name=old), Constant(value=int() as by))) if by > 1:
                whole = old
            case Arithmetic(sign="%", operands=(_, Variable(name=by))):
                whole = by
            case _:
                continue
        if any(_is_positive(whole, part) for part in tests):
            yield whole, made


def _is_positive(name: str, part: Test) -> bool:
    """Whether a test keeps a variable above 0."""
    least, most = (part.right, part.left) if part.operator in (">", ">=") else (part.left, part.right)
    if not isinstance(most, Variable) or most.name != name or not isinstance(least, Constant):
        return False
    return not isinstance(least.value, str) and (
        least.value >= 0 if part.operator in ("<", ">") else part.operator in ("<=", ">=") and least.value > 0
    )


def _limits(part: object, names: Collection[str], fixed: Collection[str], below: bool) -> bool:
    """Whether a comparison keeps one of these variables above or below a constant or what is ``fixed``."""
    if not isinstance(part, Comparison) or part.operator not in ("<", "<=", ">", ">="):
        return False
    least = (part.left, part.right) if part.operator in (">", ">=") else (part.right, part.left)
    free, limit = least if below else least[::-1]
    return isinstance(free, Variable) and free.name in names and _is_fixed(limit, fixed)


def _is_fixed(limit: object, fixed: Collection[str]) -> bool:
    return isinstance(limit, Constant) or (isinstance(limit, Variable) and limit.name in fixed)
