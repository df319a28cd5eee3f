"""Planning of each predicate and mode, once, with a cache: branches are split off, literals are ordered.

>>> from herbrand.engines.proof.horn_program import HornProgram
>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("path(x, y) :- edge(x, y)\\npath(x, y) :- edge(x, z), path(z, y)")
>>> facts = fact_sources({"edge": [("a", "b"), ("b", "c")]})
>>> plans = Plans(HornProgram.of(theory.rules, *load_facts((), check(theory), facts)))
>>> print(plans.plan("path", (0,)))
path(bound, free)
  path(x, y) :- edge(x, y)
    join edge(x, y) by x, keep y
  path(x, y) :- edge(x, z), path(z, y)
    join edge(x, z) by x, keep z
    ask path(z, y) by z, keep y
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from herbrand.engines.proof.goals import is_part, positive, split
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.join_sum import Workspace
from herbrand.engines.proof.plan import (
    Ask,
    Bind,
    ClausePlan,
    Exclude,
    Fix,
    Join,
    Mode,
    PredicatePlan,
    Step,
    Test,
)
from herbrand.engines.proof.recursion import LinearRecursion
from herbrand.program.clauses import Absence, Clause, Literal, Lookup
from herbrand.program.clauses import Test as Condition
from herbrand.program.join_order import DERIVED_SHARE, Candidate, best_order
from herbrand.program.lower_rules import stated_clause

LED_FROM, LED_SHARE, LED_ROWS = 1e4, 0.5, 16
"""When a join order may begin with the constants in one argument of a small relation: the estimate in rows
from which this is tried, the share of it below which the new order must be, and how many times fewer rows the
small relation has than a large one with the same variable."""


class Plans:
    """The plans of a program, built when first needed."""

    def __init__(self, program: HornProgram) -> None:
        self.program = program
        self._made: dict[tuple[str, Mode], PredicatePlan] = {}
        self._parts: dict[str, Clause] = {}
        self._goals: dict[Clause, str] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._recursions: dict[tuple[str, Mode], LinearRecursion | None] = {}
        self._heights: dict[str, int | None] = {}
        self.workspace = Workspace()

    def plan(self, predicate: str, mode: Mode) -> PredicatePlan:
        """The plan of a predicate in a mode."""
        if (predicate, mode) not in self._made:
            clauses = [
                self._planned(clause, mode, f"{predicate}`{''.join(map(str, mode))}`{number}")
                for number, clause in enumerate(self.clauses(predicate))
            ]
            self._made[predicate, mode] = PredicatePlan(predicate, mode, tuple(clauses))
        return self._made[predicate, mode]

    def recursion(self, predicate: str, mode: Mode) -> LinearRecursion | None:
        """The plan as a linear recursion; ``None`` where it has another form."""
        if (predicate, mode) not in self._recursions:
            self._recursions[predicate, mode] = LinearRecursion.of(self.plan(predicate, mode))
        return self._recursions[predicate, mode]

    def clauses(self, predicate: str) -> tuple[Clause, ...]:
        """The clauses that derive a predicate; for one without rules the clause of its facts."""
        if predicate in self._parts:
            return (self._parts[predicate],)
        if predicate in self.program.clauses:
            return self.program.clauses[predicate]
        return (stated_clause(predicate, self.program.signature),)

    def column_types(self, predicate: str) -> tuple[str, ...]:
        if predicate in self._parts:
            part = self._parts[predicate]
            return tuple(part.types[name] for name in part.head)
        return self.program.column_types(predicate)

    def sizes(self, predicate: str) -> tuple[int, ...]:
        """Number of constants of each argument's type."""
        if predicate not in self._sizes:
            self._sizes[predicate] = tuple(self.program.sizes[name] for name in self.column_types(predicate))
        return self._sizes[predicate]

    def input_sizes(self, predicate: str, mode: Mode) -> list[int]:
        """Number of constants of each known argument of a mode."""
        return [self.sizes(predicate)[place] for place in mode]

    def output_sizes(self, predicate: str, mode: Mode) -> list[int]:
        """Number of constants of each free argument of a mode."""
        return [size for place, size in enumerate(self.sizes(predicate)) if place not in mode]

    def is_queried(self, predicate: str) -> bool:
        """Whether a predicate has rules, so that looking it up is a call."""
        return predicate in self._parts or self.program.is_derived(predicate)

    def with_goal(self, clause: Clause) -> str:
        """Register a goal's clause under a new predicate name, so that it is planned like a part of a clause.

        Several threads may call this: each name goes to one clause, and is published after its clause.
        """
        number = len(self._goals)
        while clause not in self._goals:
            name = f"{clause.predicate}{number}"
            named = replace(clause, predicate=name)
            if self._parts.setdefault(name, named) is named:
                self._goals.setdefault(clause, name)
            number += 1
        return self._goals[clause]

    def height(self, predicate: str) -> int | None:
        """Greatest number of nested calls of a predicate's proofs; ``None`` where it depends on itself.

        Parts of clauses do not count as calls.
        """
        if predicate not in self._heights:
            part = self._parts.get(predicate)
            height = self.program.height(predicate) if part is None else self._height_of(part)
            self._heights[predicate] = height
        return self._heights[predicate]

    def _height_of(self, part: Clause) -> int | None:
        deepest = 0
        for literal in part.body:
            if isinstance(literal, Lookup) and not literal.stated and self.is_queried(literal.predicate):
                below = self.height(literal.predicate)
                if below is None:
                    return None
                deepest = max(deepest, below + (not is_part(literal.predicate)))
        return deepest

    def whole(self, clause: Clause, mode: Mode) -> ClausePlan:
        """A plan that keeps every variable: its rows are the clause's ground instances."""
        names = clause.variables()
        every = Clause(clause.predicate, names, clause.body, clause.types, clause.constants)
        known = tuple(dict.fromkeys(clause.head[place] for place in mode if clause.head[place] in names))
        bound = tuple(place for place, name in enumerate(names) if name in known)
        return ClausePlan(every, known, names, tuple(self._steps(every, bound, names)))

    def _planned(self, clause: Clause, mode: Mode, name: str) -> ClausePlan:
        inputs = tuple(clause.head[place] for place in mode)
        outputs = tuple(name for place, name in enumerate(clause.head) if place not in mode)
        clause, generated = split(clause, inputs, name)
        self._parts |= {part.predicate: part for part in generated}
        return ClausePlan(clause, inputs, outputs, tuple(self._steps(clause, mode, outputs)))

    def _steps(self, clause: Clause, mode: Mode, outputs: Sequence[str]) -> Iterator[Step]:
        """The steps of a clause: its lookups in order, each test as soon as its variables are bound."""
        bound = dict.fromkeys(clause.head[place] for place in mode)
        clause = self._with_types(clause, bound)
        waiting: list[Literal] = [part for part in clause.body if not isinstance(part, Lookup)]
        lookups = self._ordered(clause, bound, outputs)
        fixed = [name for name in bound if name in clause.constants]
        for place, name in enumerate(fixed):
            live = _live(bound, [*waiting, *lookups], (*outputs, *fixed[place + 1 :]))
            yield Fix(name, clause.constants[name], tuple(live))
        tests = [*waiting]
        while True:
            ready = [part for part in tests if _is_ready(part, bound, clause)]
            for part in ready:
                tests = [other for other in tests if other is not part]
                yield from _bound_constants(part, bound, clause)
                yield self._test(part, bound, [*tests, *lookups], outputs)
            if not lookups:
                break
            literal = lookups.pop(0)
            yield from _bound_constants(literal, bound, clause)
            yield self._lookup(literal, bound, [*tests, *lookups], outputs)
        assert not tests, "all variables are bound, so no test is left"
        for name in dict.fromkeys(outputs):
            if name not in bound:
                bound[name] = None
                yield Bind(name, clause.constants[name])

    def _with_types(self, clause: Clause, bound: Collection[str]) -> Clause:
        """The clause with a lookup of a type's constants for each variable that nothing else binds."""
        unbound = sorted(clause.ranging().difference(bound))
        types = (Lookup(self.program.of_type(clause.types[name]), (name,), stated=True) for name in unbound)
        return replace(clause, body=(*clause.body, *types)) if unbound else clause

    def _test(
        self, part: Literal, bound: dict[str, None], left: Sequence[Literal], outputs: Sequence[str]
    ) -> Step:
        live = tuple(_live(bound, left, outputs))
        if isinstance(part, Absence):
            places = tuple(place for place, name in enumerate(part.arguments) if name in bound)
            return Exclude(part.predicate, part.arguments, places, live)
        assert isinstance(part, Condition)
        return Test(part, live)

    def _lookup(
        self, literal: Lookup, bound: dict[str, None], left: Sequence[Literal], outputs: Sequence[str]
    ) -> Step:
        places = tuple(place for place, name in enumerate(literal.arguments) if name in bound)
        bound.update(dict.fromkeys(literal.arguments))
        live = tuple(_live(bound, left, outputs))
        if literal.stated or not self.is_queried(literal.predicate):
            return Join(literal.predicate, literal.arguments, places, live)
        return Ask(literal.predicate, literal.arguments, places, live, not is_part(literal.predicate))

    def _ordered(self, clause: Clause, bound: Collection[str], outputs: Collection[str]) -> list[Lookup]:
        """The lookups in the cheapest estimated order, which may begin with a lead, where that pays.

        A lead is the relation of the constants in one argument of a small relation.
        """
        parts = [part for part in clause.body if isinstance(part, Lookup)]
        tests = [part for part in clause.body if not isinstance(part, Lookup)]
        known = {name for name in bound if name not in clause.constants}
        kept = {*outputs, *(name for part in tests for name in part.arguments)}
        sizes = {name: self.program.sizes[type_name] for name, type_name in clause.types.items()}
        candidates = [self._candidate(part, clause) for part in parts]
        best = best_order(candidates, known, kept, sizes)
        ordered, most = [parts[place] for place in best.places], LED_SHARE * best.cost
        for small, lead in self._leads(parts, candidates) if best.cost >= LED_FROM and not known else ():
            fewer, values = _narrowed(candidates, small, self._candidate(lead, clause), sizes)
            led = best_order(fewer, known, kept, values)
            if led.cost < most and led.places[0] == 0:
                ordered, most = [(lead, *parts)[place] for place in led.places], led.cost
        return ordered

    def _leads(
        self, parts: Sequence[Lookup], candidates: Sequence[Candidate]
    ) -> Iterator[tuple[int, Lookup]]:
        """The possible leads, each with its small relation's place: a large relation has the variable too.

        For example, pairs of amounts above a sum lead from few amounts to few payments.
        """
        for place, (part, small) in enumerate(zip(parts, candidates, strict=True)):
            if small.asked or not small.rows or len(small.variables) < 2:
                continue
            large = [one for one in candidates if not one.asked and one.rows > LED_ROWS * small.rows]
            shared = {name for one in large for name in one.variables}
            for at, name in enumerate(part.arguments):
                if name in shared:
                    yield place, Lookup(self.program.standing(part.predicate, at), (name,), stated=True)

    def _candidate(self, literal: Lookup, clause: Clause) -> Candidate:
        variables = tuple(dict.fromkeys(name for name in literal.arguments if name not in clause.constants))
        if literal.stated or not self.is_queried(literal.predicate):
            relation = self.program.relation(literal.predicate)
            fixed = [place for place, name in enumerate(literal.arguments) if name in clause.constants]
            return Candidate(variables, relation.fanout(fixed))
        most = math.prod(max(1, self.program.sizes[clause.types[name]]) for name in variables)
        return Candidate(variables, max(1.0, DERIVED_SHARE * most), True)


def _narrowed(
    candidates: Sequence[Candidate], small: int, lead: Candidate, sizes: Mapping[str, int]
) -> tuple[list[Candidate], dict[str, int]]:
    """Candidates and sizes of a join that begins with a lead, whose constants are all of its variable.

    The rows of the small relation stay, since all its constants are among them.
    """
    (name,) = lead.variables
    share = lead.rows / max(1, sizes[name])
    others = [
        one if place == small or name not in one.variables else replace(one, rows=one.rows * share)
        for place, one in enumerate(candidates)
    ]
    return [lead, *others], {**sizes, name: max(1, int(lead.rows))}


def _live(bound: Collection[str], left: Sequence[Literal], outputs: Sequence[str]) -> list[str]:
    """The bound variables that are needed afterwards, in the order in which rows are sorted by them.

    Where only outputs are left, that is their order, so that rows are sorted as answers are.
    """
    needed = {*outputs, *(name for part in left for name in part.arguments)}
    live = [name for name in bound if name in needed]
    return [*dict.fromkeys(outputs)] if set(live) == {*outputs} else live


def _is_ready(part: Literal, bound: Collection[str], clause: Clause) -> bool:
    names = set(part.arguments) - set(clause.constants)
    if isinstance(part, Absence):
        names &= positive(clause.body, clause)
    return names <= set(bound)


def _bound_constants(literal: Literal, bound: dict[str, None], clause: Clause) -> Iterator[Bind]:
    for name in dict.fromkeys(literal.arguments):
        if name in clause.constants and name not in bound:
            bound[name] = None
            yield Bind(name, clause.constants[name])
