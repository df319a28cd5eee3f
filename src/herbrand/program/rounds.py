"""Decide whether recursion that computes values terminates.

``x > 0, y = x - 1`` makes values in integer steps towards a limit, and ``z = x % y`` none that is larger
(:func:`has_end`). If one argument of each predicate of a cycle changes by such steps with each round of
calls, the number of rounds is bounded, and so are the other values that they make (:attr:`Rounds.count`). The
same holds if each call of one predicate follows an acyclic relation, which depends on the facts:
:meth:`Rounds.calls` gives the variables that must be linked.

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
    Term,
    ValueIs,
    Variable,
    row_atom,
)
from herbrand.language.syntax import Rule
from herbrand.program.dependencies import body_predicates

MOST_WAYS = 10_000
"""Most choices of one argument for each predicate of a cycle that are tried."""
Places = Mapping[str, int]
"""For each predicate of a cycle, the place of the argument that changes."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rules by which predicates of a cycle call each other. ``group``: the predicates of the cycle, those
    of definitions included; ``definitions``: the definitions by predicate."""

    rules: tuple[Rule, ...]
    group: Collection[str]
    definitions: Mapping[str, Definition]

    @classmethod
    def of(
        cls, rules: Iterable[Rule], group: Collection[str], definitions: Mapping[str, Definition]
    ) -> Rounds | None:
        """The rounds of a cycle's rules; ``None`` if something that a rule calls is no plain atom of its
        body. Negated literals are ignored, as they bind no values."""
        calls = [(rule, list(_calls(rule, group))) for rule in rules]
        calling = [rule for rule, atoms in calls if atoms]
        if not calling or not all(isinstance(one, Atom | ValueIs) for _, atoms in calls for one in atoms):
            return None
        rounds = cls(tuple(calling), group, definitions)
        return rounds if all(map(rounds._called, calling)) else None

    @cached_property
    def predicates(self) -> dict[str, int]:
        """Predicates that the rules derive, with their numbers of arguments."""
        return {rule.head.predicate: len(rule.head.arguments) for rule in self.rules}

    @cached_property
    def count(self) -> bool:
        """Whether each round makes integer steps along one argument that has a limit."""
        choices = islice(product(*map(range, self.predicates.values())), MOST_WAYS)
        ways = (dict(zip(self.predicates, chosen, strict=True)) for chosen in choices)
        return any(self._counts(places, up) for places in ways for up in (True, False))

    def calls(self, place: int) -> Iterator[tuple[Rule, str, str]]:
        """Yield each rule with the variables at this place of its head and of each call in its body; two
        empty names if one of them is ``_`` or no variable."""
        for rule in self.rules:
            for call in self._called(rule):
                match rule.head.arguments[place], call.arguments[place]:
                    case Variable(own, anonymous=False), Variable(other, anonymous=False):
                        yield rule, own, other
                    case _:
                        yield rule, "", ""

    def free(self, rule: Rule) -> list[Atom]:
        """Atoms of a body whose predicates are not in the group."""
        return [part for part in rule.body if isinstance(part, Atom) and part.predicate not in self.group]

    def _called(self, rule: Rule) -> list[Atom]:
        """Atoms of a body that call the rules' predicates, a value as the last argument."""
        atoms = (row_atom(part) for part in rule.body if isinstance(part, Atom | ValueIs))
        return [atom for atom in atoms if atom.predicate in self.predicates]

    def _tests(self, rule: Rule) -> Iterator[Test]:
        """Yield the comparisons and computations of a body."""
        for part in rule.body:
            if isinstance(part, Comparison | Computed):
                yield part
            elif isinstance(part, Atom) and part.predicate in self.definitions:
                yield from self.definitions[part.predicate].tests

    def _counts(self, places: Places, up: bool) -> bool:
        """Whether in every rule the argument steps up (or down) or is passed on unchanged from each call, and
        no cycle of calls only passes it on."""
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
        """Whether an argument of the head is integer steps above (or below) those of calls, and has a
        limit."""
        tests = list(self._tests(rule))
        names = {term.name for term in called if isinstance(term, Variable)}
        if len(names) < len(set(called)):
            return False
        fixed = variables_of([rule.head.arguments[kept] for kept in self._kept])
        steps = [step for test in tests for step in steps_in(test)]
        above = {(one, other) if step > 0 else (other, one) for one, other, step in steps if step}
        listed = own.name in variables_of(self.free(rule))
        if listed:  # finitely many values, so anything strictly between them is bounded too
            above |= {pair for test in tests for pair in _shrunk(test, tests)}
        has_limit = listed or any(_limits(test, {own.name, *names}, fixed, below=not up) for test in tests)
        return has_limit and {(own.name, name) if up else (name, own.name) for name in names} <= above

    @cached_property
    def _kept(self) -> set[int]:
        """Places at which every call of the only predicate passes on the head's argument, so that no round
        changes it."""
        places = set(range(len(self.rules[0].head.arguments))) if len(self.predicates) == 1 else set[int]()
        for rule in self.rules:
            for call in self._called(rule):
                places = {i for i in places if rule.head.arguments[i] == call.arguments[i]}
        return places


def _calls(rule: Rule, group: Collection[str]) -> Iterator[Formula]:
    """Yield the literals of a body that call a predicate of the group, negated ones left out."""
    for name, literal in body_predicates(rule):
        if name in group and not isinstance(literal, Not):
            yield literal


def has_end(name: str, definition: Definition, fixed: Collection[str] = ()) -> bool:
    """Whether a value is made by integer steps towards a limit, ``x > 0, y = x - 1``, by a division, which
    makes none larger, ``z = x % y``, or from constants and fixed variables alone. If all rules of a cycle
    make their values so, all values lie within the first ones and fixed limits, and are integer steps from
    these or remainders. ``fixed``: variables that may be limits."""
    tests, body = definition.tests, definition.body
    if any(name == one for test in tests for one in (*_divided(test, body), *_from_fixed(test, fixed))):
        return True
    return any(
        one == name and _limits(part, {name, old}, fixed, below=step < 0)
        for test in tests
        for one, old, step in steps_in(test)
        for part in (*body, *tests)
    )


def _from_fixed(test: Test, fixed: Collection[str]) -> Iterator[str]:
    """Yield a variable whose value follows from constants and fixed variables."""
    for name, value in equated(test):
        if all(used in fixed for used in variables_of(value)):
            yield name


def _divided(test: Test, body: Sequence[Formula]) -> Iterator[str]:
    """Yield a variable that is the remainder of a division by a constant or by a value from an atom of the
    body, or the quotient of a value from an atom by a constant number of at least 1."""
    atoms = variables_of([part for part in body if isinstance(part, AnyAtom)])
    for name, value in equated(test):
        match value:
            case Arithmetic(sign="%", operands=(_, Constant())):
                yield name
            case Arithmetic(sign="%", operands=(_, Variable(name=by))) if by in atoms:
                yield name
            case Arithmetic(
                sign="//", operands=(Variable(name=old), Constant(value=int() | float() as by))
            ) if old in atoms and by >= 1:
                yield name


def _shrunk(test: Test, tests: Sequence[Test]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a positive variable and the result of a division of it, or of a remainder by it, which
    is smaller."""
    for name, value in equated(test):
        match value:
            case Arithmetic(sign="//", operands=(Variable(name=old), Constant(value=int() as by))) if by > 1:
                whole = old
            case Arithmetic(sign="%", operands=(_, Variable(name=by))):
                whole = by
            case _:
                continue
        if any(_is_positive(whole, part) for part in tests):
            yield whole, name


def _is_positive(name: str, part: Test) -> bool:
    """Whether a test implies that a variable is above 0."""
    least, most = (part.right, part.left) if part.operator in (">", ">=") else (part.left, part.right)
    if not isinstance(most, Variable) or most.name != name or not isinstance(least, Constant):
        return False
    return not isinstance(least.value, str) and (
        least.value >= 0 if part.operator in ("<", ">") else part.operator in ("<=", ">=") and least.value > 0
    )


def _limits(part: object, names: Collection[str], fixed: Collection[str], below: bool) -> bool:
    """Whether a comparison keeps one of these variables above or below a constant or a ``fixed`` variable."""
    if not isinstance(part, Comparison) or part.operator not in ("<", "<=", ">", ">="):
        return False
    least = (part.left, part.right) if part.operator in (">", ">=") else (part.right, part.left)
    free, limit = least if below else least[::-1]
    return isinstance(free, Variable) and free.name in names and _is_fixed(limit, fixed)


def _is_fixed(limit: object, fixed: Collection[str]) -> bool:
    return isinstance(limit, Constant) or (isinstance(limit, Variable) and limit.name in fixed)
