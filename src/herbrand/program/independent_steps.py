"""Exact probabilities without a circuit: rules as steps that each combine independent events.

A variable may be summed out of a product of atoms if every uncertain atom in the product contains it. Rows
that differ in it then depend on different facts, so the probability that some row holds is one minus the
product of the probabilities that each fails: ⊕ of the algebra ``independent``. A clause becomes a chain of
clauses, each of which sums out one variable, and over these the algebra is exact: a safe plan (Dalvi and
Suciu 2004). This works whenever no two uncertain atoms have one predicate and the variables are nested
(hierarchical): for any two that are summed out, one occurs in all uncertain atoms of the other, or they share
none. What the atoms of a rule share is taken out of them first: ``on(x)`` in
``good(x, y) :- thing(x, y), on(x)``. Steps run as joins of whole tables, in memory or in a database.
>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> from herbrand.program.lower_rules import rule_clause
>>> theory = parse_theory("found :- box(x), thing(x, y)\\nnever :- box(x), thing(x, y), box(y)")
>>> facts = fact_sources({"box": [(1,), (2,)], "thing": [(1, 1), (1, 2)]})
>>> rules, over = ClauseSet(), load_facts((), check(theory), facts)
>>> rules.signature = over[0]
>>> rules.clauses = {rule.head.predicate: (rule_clause(rule, *over),) for rule in theory.rules}
>>> steps = steps_of(rules, rules.clauses["found"][0], {}, {"box", "thing"}, None)
>>> for clause in (*[own for made in steps.clauses.values() for own in made], steps.goal):
...     print(clause)
found`h0(x) :- thing(x, y)
found`h1 :- box(x), found`h0(x)
found :- found`h1
>>> steps_of(rules, rules.clauses["never"][0], {}, {"box", "thing"}, None) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from herbrand.contraction.algebra import algebra_named
from herbrand.program.bindings import WEIGHT
from herbrand.program.clause_rows import ClauseRows, Source, complete_rows
from herbrand.program.clause_set import ClauseSet
from herbrand.program.clauses import PART_MARK, Absence, Clause, Literal, Lookup, renamed
from herbrand.relations.relation import Relation

Told = TypeVar("Told")

Sources = Mapping[str, frozenset[str]]
"""For each uncertain predicate, or rule with a probability, the variables that distinguish its facts or
instances."""

Pattern = tuple[int | None, ...]
"""The constants at a predicate's argument places, where it is called with some; else ``None``."""


@dataclass(frozen=True)
class Steps:
    """A plan: ``clauses`` of each predicate, in order of dependency, and the clause of the goal."""

    clauses: Mapping[str, tuple[Clause, ...]]
    goal: Clause

    def rows(self, evaluation: ClauseRows) -> Relation:
        """The distinct heads of the goal with their probabilities, in the algebra ``independent``."""
        tables: dict[str, Relation] = {}
        for name, clauses in self.clauses.items():
            tables[name] = evaluation.predicate(clauses, tables)
        rows = evaluation.of(self.goal, tables)
        return rows if WEIGHT in rows.columns else rows.let(**{WEIGHT: 1.0})


def evaluation_of(source: Source, chances: Sequence[float | str]) -> ClauseRows:
    """The evaluation of steps over facts with their probabilities; ``chances`` are those of weighted
    rules."""
    return ClauseRows(source, partial(complete_rows, source, {}), algebra_named("independent"), chances)


MOST_LITERALS = 64
"""Most body literals of a clause into which derived atoms are unfolded: each may contain others."""


class DependentError(Exception):
    """Raised if events to be combined are not independent, or not known to be."""


def steps_of(
    program: ClauseSet,
    goal: Clause,
    constants: Mapping[str, int],
    uncertain: Collection[str],
    depth: int | None,
) -> Steps | None:
    """The steps that derive the heads of a goal with these constants; ``None`` if some events depend on each
    other, or proofs may take more calls than ``depth``.

    ``uncertain``: predicates with probabilistic facts, which are independent of each other except for the
    values of one atom.
    """
    reached = program.reached([goal])
    heights = [program.height(name) for name in reached if program.is_derived(name)]
    if any(height is None or (depth is not None and height > depth) for height in heights):
        return None
    if any(program.signature.predicates[name].value_type is not None for name in reached & set(uncertain)):
        return None
    making = _Making(program, uncertain)
    try:
        queried = replace(goal, constants={**goal.constants, **constants})
        steps, _ = making.in_steps(queried)
    except DependentError:
        return None
    return Steps(making.clauses, steps)


@dataclass(frozen=True)
class _Factor:
    """A body literal with its variables and the ``sources`` of its uncertainty."""

    part: Literal
    variables: frozenset[str]
    sources: Sources


class _Making:
    """Translates clauses to steps, predicate by predicate, beginning with the goal."""

    def __init__(self, program: ClauseSet, uncertain: Collection[str]) -> None:
        self._program, self._uncertain = program, uncertain
        self.clauses: dict[str, tuple[Clause, ...]] = {}
        self._drawn: dict[str, tuple[Clause, ...]] = {}
        self._places: dict[tuple[str, Pattern], Mapping[str, frozenset[int]] | None] = {}

    def in_steps(self, clause: Clause) -> tuple[Clause, Sources]:
        """The last step to a clause's heads, after the steps that sum out all variables not in its head."""
        clause = self._with_shared_parts(clause)
        factors = [self._factor(part, clause) for part in clause.body]
        chance = self._chance(clause)
        left = set(clause.variables()).difference(clause.head)
        while left:
            name = min(left, key=lambda name: (len(_sources_with(factors, name)), name))
            together = [factor for factor in factors if name in factor.variables]
            others = [factor for factor in factors if name not in factor.variables]
            if chance:  # an instance is an assignment of all variables: join all of them first
                if set(clause.variables()).difference(*_with_atoms(together)):
                    raise DependentError
                joined = self._step(clause, together, clause.variables(), chance)
                together, chance = [joined], {}
            kept = frozenset().union(*(factor.variables for factor in together)) - {name}
            factors = [*others, self._summed(clause, together, name, sorted(kept))]
            left.remove(name)
        sources = _together([*(factor.sources for factor in factors), chance])
        body = tuple(factor.part for factor in factors)
        last = replace(clause, body=body, weight=clause.weight if chance else None)
        return last, sources

    def _with_shared_parts(self, clause: Clause) -> Clause:
        """Unfold derived atoms whose shared parts are independent of some of their variables, so that these
        literals can be joined after the variables are summed out."""
        waiting, body = list(clause.body), list[Literal]()
        types, constants = dict(clause.types), dict(clause.constants)
        while waiting:
            part = waiting.pop(0)
            inner = self._sharing(part) if len(waiting) + len(body) < MOST_LITERALS else None
            if inner is None:
                body.append(part)
                continue
            names = {name: name for name in inner.constants} | dict(
                zip(inner.head, part.arguments, strict=True)
            )
            constants |= inner.constants
            types |= {name: inner.types[name] for name in inner.constants if name in inner.types}
            own = self._own_literals(inner)
            if inner.weight is not None:
                drawn = f"{inner.predicate}{PART_MARK}drawn"
                self._drawn[drawn] = (replace(inner, predicate=drawn, body=own),)
                body.append(Lookup(drawn, part.arguments))
            shared = inner.body if inner.weight is None else [x for x in inner.body if x not in own]
            waiting = [*(renamed(literal, names.__getitem__) for literal in shared), *waiting]
        if body == list(clause.body):
            return clause
        return replace(clause, body=tuple(body), types=types, constants=constants)

    def _sharing(self, part: Literal) -> Clause | None:
        """The only clause of a derived atom, if all its variables are in its head and some uncertain body
        literal lacks one of these; else ``None``."""
        if not isinstance(part, Lookup) or part.stated or not self._program.is_derived(part.predicate):
            return None
        clauses = self._program.clauses[part.predicate]
        if len(clauses) != 1:
            return None
        (clause,), head = clauses, set(clauses[0].head)
        own = self._own_literals(clause)
        shared = [literal for literal in clause.body if literal not in own]
        known = head | clause.constants.keys()
        whole = len(head) == len(clause.head) and head.isdisjoint(clause.constants)
        if not whole or not all(known.issuperset(literal.arguments) for literal in clause.body):
            return None
        bound = {name for literal in own if isinstance(literal, Lookup) for name in literal.arguments}
        if clause.weight is not None and not head <= bound:
            return None
        return clause if any(not head <= set(literal.arguments) for literal in shared) else None

    def _own_literals(self, clause: Clause) -> tuple[Literal, ...]:
        """Body literals that are not uncertain: tests, negated atoms, and certain atoms that are not
        derived."""
        return tuple(
            part
            for part in clause.body
            if not isinstance(part, Lookup)
            or not (self._program.is_derived(part.predicate) or part.predicate in self._uncertain)
        )

    def _chance(self, clause: Clause) -> Sources:
        """Source of the clause's own probability, distinguished by all its variables; empty if it is
        certain."""
        if clause.weight is None or self._program.chances[clause.weight] == 1:
            return {}
        return {f"{clause.weight}{PART_MARK}": frozenset(clause.variables())}

    def _summed(self, clause: Clause, together: Sequence[_Factor], name: str, kept: Sequence[str]) -> _Factor:
        """Sum a variable out of a product of factors; raise DependentError if some source lacks it."""
        sources = _together(factor.sources for factor in together)
        if not all(name in own for own in sources.values()):
            raise DependentError
        step = self._step(clause, together, kept, {})
        return replace(step, sources={source: own - {name} for source, own in sources.items()})

    def _step(
        self, clause: Clause, together: Sequence[_Factor], head: Sequence[str], chance: Sources
    ) -> _Factor:
        """Add a clause for the product of factors; return its head as a factor."""
        tested = {name for factor in together for name in factor.variables}
        if tested.difference(*_with_atoms(together)):  # a test of a variable that only other atoms bind
            raise DependentError
        name = f"{clause.predicate}{PART_MARK}h{len(self.clauses)}"
        weight = clause.weight if chance else None
        body = tuple(factor.part for factor in together)
        self.clauses[name] = (replace(clause, predicate=name, head=tuple(head), body=body, weight=weight),)
        sources = _together([*(factor.sources for factor in together), chance])
        return _Factor(Lookup(name, tuple(head)), frozenset(head), sources)

    def _factor(self, part: Literal, clause: Clause) -> _Factor:
        variables = frozenset(name for name in part.arguments if name not in clause.constants)
        if isinstance(part, Absence):
            if self._program.is_derived(part.predicate) or part.predicate in self._uncertain:
                raise DependentError
            return _Factor(part, variables & set(clause.variables()), {})
        if not isinstance(part, Lookup):
            return _Factor(part, variables, {})
        if part.predicate not in self._drawn and (
            part.stated or not self._program.is_derived(part.predicate)
        ):
            certain = part.predicate not in self._uncertain
            return _Factor(part, variables, {} if certain else {part.predicate: variables})
        pattern = tuple(clause.constants.get(name) for name in part.arguments)
        places = self._derived(part.predicate, pattern)
        sources = {
            source: frozenset(part.arguments[place] for place in own) & variables
            for source, own in places.items()
        }
        return _Factor(replace(part, predicate=_asked_with(part.predicate, pattern)), variables, sources)

    def _derived(self, predicate: str, pattern: Pattern) -> Mapping[str, frozenset[int]]:
        """Sources of a derived predicate's uncertainty, each with the argument places that distinguish its
        facts."""
        key = predicate, pattern
        if key not in self._places:
            self._places[key] = None
            steps = [self.in_steps(clause) for clause in self._clauses(predicate, pattern)]
            if not steps:
                raise DependentError
            own = _together(_places_of(clause, sources) for clause, sources in steps)
            self.clauses[_asked_with(predicate, pattern)] = tuple(clause for clause, _ in steps)
            self._places[key] = own
        places = self._places[key]
        if places is None:  # recursive: it depends on itself
            raise DependentError
        return places

    def _clauses(self, predicate: str, pattern: Pattern) -> Iterable[Clause]:
        """Yield a predicate's clauses with the pattern's constants in their heads, those that match."""
        for clause in self._drawn.get(predicate) or self._program.clauses[predicate]:
            constants = dict(clause.constants)
            asked = [
                (name, index) for name, index in zip(clause.head, pattern, strict=True) if index is not None
            ]
            if all(constants.setdefault(name, index) == index for name, index in asked):
                yield replace(clause, predicate=_asked_with(predicate, pattern), constants=constants)


def _asked_with(predicate: str, pattern: Pattern) -> str:
    """Name of a predicate that is called with constants."""
    if all(index is None for index in pattern):
        return predicate
    return f"{predicate}{PART_MARK}{','.join('' if index is None else str(index) for index in pattern)}"


def _places_of(clause: Clause, sources: Sources) -> Mapping[str, frozenset[int]]:
    return {
        source: frozenset(place for place, name in enumerate(clause.head) if name in own)
        for source, own in sources.items()
    }


def _together(every: Iterable[Mapping[str, Told]]) -> dict[str, Told]:
    """Merge the sources of events that must be independent; raise DependentError if two share a source."""
    together: dict[str, Told] = {}
    for sources in every:
        if not together.keys().isdisjoint(sources):
            raise DependentError
        together.update(sources)
    return together


def _sources_with(factors: Iterable[_Factor], name: str) -> list[str]:
    """Sources that would be joined to sum out a variable."""
    return [source for factor in factors if name in factor.variables for source in factor.sources]


def _with_atoms(factors: Iterable[_Factor]) -> list[frozenset[str]]:
    """Sets of variables that the atoms among factors bind."""
    return [factor.variables for factor in factors if isinstance(factor.part, Lookup)]
