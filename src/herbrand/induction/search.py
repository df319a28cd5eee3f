"""A search for clauses that hold exactly where they should.

A clause grows from one positive example: the facts around it, with a variable for each object, are all that
a body may be made of. Bodies are extended one fact at a time, a beam of the best is kept, and paths between
the objects of the example are tried first. Once no wrong example is left, inequalities and literals that
change nothing are dropped. What no clause covers without exceptions is covered by one with: its exceptions
become a predicate of their own, learned in the same way and negated. Where that takes several clauses, a
few wide ones with exceptions are tried too, and the rules that say it in fewer literals are kept.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(4, {"edge": [(0, 1), (1, 2), (2, 3)]})])
>>> examples = Examples.of("two_steps", np.array([[0, 2], [1, 3]]), 2, database)
>>> [str(next(show_statement(clause.to_rule()))) for clause in search(examples, database).clauses]
['two_steps(x, y) :- edge(x, z), edge(z, y)']
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.database import Database, Rows
from herbrand.induction.evaluation import Clause, Literal, covered, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.simpler import covering, safe, simplified, without_redundant
from herbrand.induction.surroundings import Fact, facts_around, link, next_facts, paths
from herbrand.language.show import show_statement as show_statement

WIDE = 2
"""Literals of a body that is to have exceptions, at most."""

UNLINKED_HANDICAP = 2
"""A body that says things of the head's objects apart is taken only if so many more literals link them no
better: few examples are told apart by accident."""


@dataclass
class Effort:
    """How many bodies were tried, and may be."""

    tried: int = 0
    most: float = math.inf


@dataclass(frozen=True)
class Limits:
    """``literals`` in a body, ``beam`` bodies kept of each length, ``facts`` looked at around an example, at
    first not through an object that leads on by more than ``hub``; ``clauses`` for a predicate, ``sample``
    examples of each kind in the first look at a body; ``exceptions`` to exceptions; ``until``: a time of
    ``time.monotonic``; ``effort``: the bodies tried, and how many may be."""

    literals: int = 6
    beam: int = 40
    facts: int = 120
    hub: int = 20
    clauses: int = 24
    sample: int = 300
    exceptions: int = 2
    until: float | None = None
    effort: Effort = field(default_factory=Effort, compare=False, repr=False)

    @property
    def over(self) -> bool:
        late = self.until is not None and time.monotonic() > self.until
        return late or self.effort.tried >= self.effort.most


@dataclass(frozen=True)
class Found:
    """Clauses, those of invented predicates first. ``missed`` positives and ``wrong`` negatives remain."""

    clauses: tuple[Clause, ...]
    missed: int
    wrong: int

    @property
    def literals(self) -> int:
        """How much is said, heads among it."""
        return sum(1 + len(clause.body) + len(clause.apart) for clause in self.clauses)


@dataclass(frozen=True, eq=False)
class _Body:
    """A clause under trial: the facts of the example that it was made of, and how it does."""

    facts: frozenset[Fact]
    clause: Clause
    true: int
    false: int

    @property
    def merit(self) -> tuple[float, int, int]:
        precision = self.true / max(self.true + self.false, 1)
        return (precision * np.log1p(self.true), self.true, -len(self.facts))


def search(
    examples: Examples,
    database: Database,
    limits: Limits | None = None,
    predicates: Sequence[str] | None = None,
    level: int = 0,
) -> Found:
    """Clauses for the positives that no negative satisfies, as far as the limits allow.

    ``predicates``: those that bodies may use, all others than the target by default.
    """
    limits = limits or Limits()
    used = [p for p in predicates or database.tables if p != examples.target]
    before = limits.effort.tried
    found = _cover(examples, database, limits, used, level, wide=False)
    if len(found.clauses) < 2 or level or not limits.exceptions or limits.over:
        return found
    as_much = Effort(most=limits.effort.tried - before)
    fewer = replace(limits, clauses=len(found.clauses), literals=WIDE + 1, exceptions=1, effort=as_much)
    other = _cover(examples, database, fewer, used, level, wide=True)
    return min(found, other, key=lambda one: (one.missed + one.wrong, one.literals))


def _cover(
    examples: Examples, database: Database, limits: Limits, used: Sequence[str], level: int, wide: bool
) -> Found:
    """Clause after clause for the positives that are left; ``wide``: short bodies, exceptions or not."""
    left = examples.positive.copy()
    clauses: list[Clause] = []
    while left.any() and len(clauses) < limits.clauses and not limits.over:
        seed = _seed(examples, left)
        if wide:
            near = facts_around(seed, examples.of_worlds, database, used, limits.facts, limits.hub)
            best = _grown(seed, near, examples, left, database, replace(limits, literals=WIDE), wide=True)
        else:
            best = _best(seed, examples, left, database, used, limits)
        if best is None:
            break
        helpers: tuple[Clause, ...] = ()
        if best.false:
            mended = _with_exceptions(best, examples, database, used, limits, level)
            if mended is None:
                break
            helpers, database = mended.helpers, mended.database
            best = mended.body
        clause = simplified(best.clause, examples, database)
        covers = covered(clause, database, examples.rows)
        if not (covers & left).any():
            break
        left &= ~covers
        clauses += [*helpers, clause]
    clauses = without_redundant(clauses, examples, database)
    whole = covering(clauses, examples, database)
    return Found(
        tuple(clauses), int((examples.positive & ~whole).sum()), int((whole & ~examples.positive).sum())
    )


def _seed(examples: Examples, left: np.ndarray) -> Rows:
    return examples.rows[np.flatnonzero(left)[0]]


def _best(
    seed: Rows,
    examples: Examples,
    left: np.ndarray,
    database: Database,
    predicates: Sequence[str],
    limits: Limits,
) -> _Body | None:
    """The best body for an example: without exceptions and short if there is one.

    Ways through an object that stands in very many facts are tried only if nothing else does: they are many,
    and nearly all lead nowhere."""
    of_worlds = examples.of_worlds
    near = facts_around(seed, of_worlds, database, predicates, limits.facts, limits.hub)
    best = _grown(seed, near, examples, left, database, limits)
    if best is not None and not best.false:
        return best
    every = facts_around(seed, of_worlds, database, predicates, limits.facts, None)
    if set(every) <= set(near):
        return best
    other = _grown(seed, every, examples, left, database, limits)
    return other if best is None or (other is not None and _better(other, best)) else best


def _grown(
    seed: Rows,
    facts: Sequence[Fact],
    examples: Examples,
    left: np.ndarray,
    database: Database,
    limits: Limits,
    wide: bool = False,
) -> _Body | None:
    """The best body made of some of the facts around an example; ``wide``: the one that covers most."""
    better = _wider if wide else _better
    rng = np.random.default_rng(len(examples.rows))
    small = _sampled(examples, left, limits.sample, rng)
    variables = () if examples.of_worlds else tuple(int(v) for v in seed)
    head = tuple(dict.fromkeys(variables))
    trial = _Trial(variables, head, examples.target, database, small, limits.effort)
    beam = [trial.body(frozenset())]
    extra = [trial.body(path) for path in paths(head, facts, limits.literals, 4 * limits.beam)]
    linked: _Body | None = None
    apart: _Body | None = None
    seen: set[object] = set()
    for length in range(1, limits.literals + 1):
        grown = [body for body in extra if len(body.facts) == length]
        for body in beam:
            for fact in next_facts(body.facts, facts, head):
                if limits.over:
                    return _preferred(linked, apart)
                key = body.facts | {fact}
                if key not in seen:
                    seen.add(key)
                    grown.append(trial.body(key))
        kept: dict[object, _Body] = {}
        for body in grown:
            if body.true:
                kept.setdefault(_signature(body), body)
        beam = sorted(kept.values(), key=lambda body: body.merit, reverse=True)[: limits.beam]
        for body in beam:
            if not safe(body.clause):
                continue
            checked = _checked(body, examples, left, database)
            if link(body.facts, head):
                linked = checked if linked is None or better(checked, linked) else linked
            else:
                apart = checked if apart is None or better(checked, apart) else apart
        if wide:
            continue
        if linked is not None and not linked.false:
            return linked
        if apart is not None and not apart.false and length >= len(apart.facts) + UNLINKED_HANDICAP:
            return apart
    return _preferred(linked, apart)


def _preferred(linked: _Body | None, apart: _Body | None) -> _Body | None:
    """A body that links the example's objects, unless only one that does not is without exceptions."""
    if linked is None or (apart is not None and not apart.false and linked.false):
        return apart
    return linked


def _better(one: _Body, other: _Body) -> bool:
    """No exceptions first; among those with exceptions, all positives first, then few exceptions."""
    if (one.false == 0) != (other.false == 0):
        return one.false == 0
    if one.false == 0:
        return (one.true, -len(one.facts)) > (other.true, -len(other.facts))
    return (one.true, -one.false) > (other.true, -other.false)


def _wider(one: _Body, other: _Body) -> bool:
    return (one.true, -one.false, -len(one.facts)) > (other.true, -other.false, -len(other.facts))


def _checked(body: _Body, examples: Examples, left: np.ndarray, database: Database) -> _Body:
    """The body against all examples; most are refused by the sample already."""
    try:
        covers = covered(body.clause, database, examples.rows)
    except BudgetError:
        return body
    return replace(body, true=int((covers & left).sum()), false=int((covers & ~examples.positive).sum()))


@dataclass(frozen=True, eq=False)
class _Trial:
    variables: tuple[int, ...]
    head: tuple[int, ...]
    target: str
    database: Database
    sample: Examples
    effort: Effort

    def body(self, facts: frozenset[Fact]) -> _Body:
        """A set of the seed's facts as a clause in which different objects are different variables."""
        self.effort.tried += 1
        free = sorted({o for _, objects in facts for o in objects} - set(self.head))
        variables = (*self.head, *free)
        literals = tuple(Literal(name, objects) for name, objects in sorted(facts))
        apart = tuple(combinations(variables, 2))
        clause = Clause(self.target, self.variables, literals, apart)
        try:
            covers = covered(clause, self.database, self.sample.rows)
        except BudgetError:
            return _Body(facts, clause, 0, 0)
        true = int((covers & self.sample.positive).sum())
        return _Body(facts, clause, true, int((covers & ~self.sample.positive).sum()))


def _sampled(examples: Examples, left: np.ndarray, most: int, rng: np.random.Generator) -> Examples:
    chosen = []
    for kind in (left, ~examples.positive):
        places = np.flatnonzero(kind)
        chosen.append(rng.choice(places, most, replace=False) if len(places) > most else places)
    return examples.take(np.sort(np.concatenate(chosen)))


def _signature(body: _Body) -> object:
    """Equal for bodies that are the same up to the names of their variables; seldom for others."""
    colours: dict[int, object] = {v: ("head", place) for place, v in enumerate(body.clause.variables)}
    for _ in range(3):
        around: dict[int, list[object]] = {}
        for name, objects in body.facts:
            for place, v in enumerate(objects):
                around.setdefault(v, []).append(
                    (name, place, tuple(str(colours.get(o, "")) for o in objects))
                )
        colours = {
            v: hash((str(colours.get(v, "")), tuple(sorted(map(str, seen))))) for v, seen in around.items()
        } | {v: c for v, c in colours.items() if v not in around}
    return tuple(sorted((name, tuple(str(colours[o]) for o in objects)) for name, objects in body.facts))


# Exceptions


@dataclass(frozen=True, eq=False)
class _Mended:
    body: _Body
    helpers: tuple[Clause, ...]
    database: Database


def _with_exceptions(
    best: _Body,
    examples: Examples,
    database: Database,
    predicates: Sequence[str],
    limits: Limits,
    level: int,
) -> _Mended | None:
    """The body and the negation of a new predicate that holds of its exceptions."""
    if level >= limits.exceptions or limits.over:
        return None
    clause = simplified(best.clause, examples, database)
    covers = covered(clause, database, examples.rows)
    name = _fresh(examples.target, database)
    inner = replace(examples.take(covers), target=name, positive=~examples.positive[covers])
    if inner.positive.all():
        return None
    found = search(inner, database, limits, predicates, level + 1)
    if found.missed or found.wrong:
        return None
    own = [c for c in found.clauses if c.head == name]
    variables = clause.variables
    if len(own) == 1 and len(own[0].body) == 1 and _plain(own[0]):
        renamed = dict(zip(own[0].variables, variables, strict=True))
        only = own[0].body[0]
        literal = Literal(only.predicate, tuple(renamed[v] for v in only.variables), True)
        helpers: tuple[Clause, ...] = ()
    else:
        literal, helpers = Literal(name, variables, True), found.clauses
        database = evaluated(helpers, database)
    whole = replace(clause, body=(*clause.body, literal))
    return _Mended(replace(best, clause=whole, false=0), helpers, database)


def _plain(clause: Clause) -> bool:
    """One literal over the head's variables alone."""
    only = clause.body[0]
    distinct = len(set(clause.variables)) == len(clause.variables)
    return distinct and set(only.variables) <= set(clause.variables) and not only.negated and not clause.apart


def _fresh(target: str, database: Database) -> str:
    number = 1
    while f"{target}_except_{number}" in database.tables:
        number += 1
    return f"{target}_except_{number}"
