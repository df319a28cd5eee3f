"""Exact probabilities of answers by a compiled circuit: P(q | e).

Rules with probabilities mean a distribution over worlds. Choices are independent of each other. A boolean
fact with a probability is a choice of one outcome, the values of a many-valued atom are the outcomes of one
choice, so that they exclude each other, and each instance of a weighted rule is a choice of its own. In the
world that the choices give, what rules derive is their least model, stratum by stratum. Probabilities are
those of the worlds in which the evidence holds.

The rules are grounded as those of choices (``::``) are, from the goal on. Where calls are counted, each
predicate whose proofs can be deeper has a name for each number of calls left; its choices are the same
whatever is left, and what is absent or evidence has no depth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, count
from typing import cast
from weakref import proxy

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.bounds import probabilities
from herbrand.engines.circuit.choices import ChoiceConstraints, Drawn
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.derived_literals import DerivedLiterals
from herbrand.engines.circuit.grounding import ANY, Atom, Grounding, Instance, Pattern, Row
from herbrand.engines.circuit.statements import Lowered, lowered, lowered_clause, stated_name
from herbrand.engines.proof.chances import chances_of, check_probabilities
from herbrand.engines.proof.derivations import refuse_many
from herbrand.engines.proof.horn_program import HornProgram, felt, rule_number
from herbrand.engines.proof.planning import check_safe
from herbrand.errors import BudgetError, HerbrandError
from herbrand.graphs import reached, strong_components
from herbrand.language.show import show_atom
from herbrand.language.syntax import FactRows
from herbrand.program.bindings import WEIGHT
from herbrand.program.clause_rows import ClauseRows
from herbrand.program.clauses import Clause
from herbrand.program.derive import FactRelations
from herbrand.program.independent_steps import Steps, evaluation_of, steps_of
from herbrand.relations.memory import Memory

MORE, FEW = 2, 50
"""A program that counts no calls is grounded up to so many times the instances of the one that does, a few
more for small ones: shallow proofs may reach little of it."""
LEFT = " "
"""Between a predicate and the calls left in a name; no other name has it."""


Asked = tuple[str, int | None]
"""A derived predicate, and the calls that are left where they are counted."""


@dataclass(frozen=True)
class Calls:
    """``left``: how many a goal has, any number where it is ``None``. ``more``: how many more the last ones
    have, which are one too many: none, 1, or any number (``None``)."""

    left: int | None
    more: int | None = 0

    def below(self, left: int | None) -> int | None:
        """What a call has left that is made where so many are."""
        return None if left is None or (left == 0 and self.more is None) else left - 1

    def are_left(self, left: int | None) -> bool:
        return left is None or left > 0 or (left == 0 and self.more != 0)


class PossibleWorlds:
    """A program's rules over facts that may hold, and the evidence."""

    def __init__(self, program: HornProgram, given: Sequence[FactRows] = ()) -> None:
        facts, self.evidence = chances_of(program, given)
        self._program = program.with_facts(facts)
        derived, tables = self._program.clauses, facts.tables
        self._owners = {name: name for name in tables if name not in derived}
        self._owners |= {stated_name(name): name for name in derived}
        self._numbers = count()
        self._lowered: dict[str, list[Lowered]] = {}

    def is_derived(self, predicate: str) -> bool:
        return self._program.is_derived(predicate)

    def facts(self, predicate: str, pattern: Pattern) -> Iterator[tuple[Row, float]]:
        """The facts that fit a pattern, with their probabilities; what is stated of a derived predicate goes
        by a name of its own."""
        if predicate not in self._owners:
            return
        relation = self._program.relation(self._owners[predicate])
        bound = tuple(place for place, value in enumerate(pattern) if value != ANY)
        index = relation.index(bound)
        first, counts = index.ranges([np.array([pattern[place]]) for place in bound], 1)
        places = index.entries(np.arange(first[0], first[0] + counts[0]))
        chances = np.ones(len(places)) if relation.weights is None else relation.weights[places]
        columns = [column[places].tolist() for column in relation.columns]
        rows = zip(*columns, strict=True) if columns else [()] * len(places)
        yield from zip(rows, chances.tolist(), strict=True)

    def owner(self, predicate: str) -> str:
        """The predicate whose facts are found under a name."""
        return self._owners.get(predicate, predicate)

    def choice(self, atom: Atom, chance: float) -> dict[Row, float]:
        """The outcomes of the choice that a fact of this probability is one of, with theirs."""
        predicate, row = atom
        owner = self._owners.get(predicate)
        if chance in (0, 1) or owner is None or self._program.signature.predicates[owner].value_type is None:
            return {row: chance}
        return {other: p for other, p in self.facts(predicate, (*row[:-1], ANY)) if p != 1}

    def check(self, goal: Clause) -> None:
        """Raise where what a goal or the evidence rests on has no probability."""
        known = {one.predicate for one in self.evidence}
        below = (clause for name in known for clause in self._program.clauses.get(name, ()))
        check_probabilities(self._program, self._program.reached([goal, *below]) | known)

    def lowered(self, clause: Clause) -> Lowered:
        """A clause to be grounded."""
        chance = None if clause.weighted is None else rule_number(clause.weighted)
        safe = None if id(clause.rule) in self._ranging else partial(check_safe, clause)
        return lowered_clause(next(self._numbers), clause, self._program.facts, chance, safe)

    def statements(self, goal: Lowered, calls: Calls) -> Iterator[Lowered]:
        """The goal and all that it and the evidence rest on."""

        def below(asked: Asked) -> Iterator[Asked]:
            for statement in self._deriving(asked, calls):
                yield from self._asked(statement, asked[1], calls)

        observed = ((name, None) for name in self.conditioned)
        yield self._counted(goal, calls.left, calls)
        for asked in reached([*self._asked(goal, calls.left, calls), *observed], below):
            for statement in self._deriving(asked, calls):
                yield self._counted(statement, asked[1], calls)

    def in_steps(self, goal: Clause, inputs: Sequence[Row], left: int | None) -> Steps | None:
        """The goal as steps over whole tables; ``None`` where events depend on others, or on evidence, or
        some proof may be too deep."""
        program = self._program
        if self.evidence or self.exclusive or program.choices:
            return None
        reached = program.reached([goal])
        weights = {name: program.relation(name).weights for name in reached}
        uncertain = {name for name, own in weights.items() if own is not None and (own != 1).any()}
        constants = dict(zip(goal.head, inputs[0], strict=False)) if len(inputs) == 1 else {}
        return steps_of(program, goal, constants, uncertain, None if left is None else left - 2)

    def clause_rows(self, budget: Budget) -> ClauseRows:
        """What evaluates steps, over facts with their probabilities."""
        program = self._program
        source = FactRelations(program.signature, program.facts, budget, complete=False, weighted=True)
        return evaluation_of(source, program.chances)

    @cached_property
    def conditioned(self) -> list[str]:
        """The derived predicates that say which worlds count."""
        observed = (one.predicate for one in self.evidence if self.is_derived(one.predicate))
        return list(dict.fromkeys([*observed, *self.exclusive]))

    @cached_property
    def exclusive(self) -> list[str]:
        """The many-valued predicates of which several instances may give an atom values: worlds in which it
        has two do not count, whatever is asked."""
        predicates = self._program.signature.predicates
        valued = (name for name in self._program.clauses if predicates[name].value_type is not None)
        return [name for name in valued if not self._gives_one_value(name)]

    def _gives_one_value(self, predicate: str) -> bool:
        (first, *others) = self._deriving((predicate, None), Calls(None)) or [None]
        return not others and (first is None or first.gives_one_value(predicate))

    @property
    def all_values(self) -> Iterator[tuple[str, Pattern]]:
        """The patterns of all values of the atoms that may have several."""
        for name in self.exclusive:
            yield name, (ANY,) * len(self._program.signature.predicates[name].column_types)

    def one_value_text(self, predicate: str, row: Row) -> str:
        """That an atom has one value, as printed."""
        types = self._program.signature.predicates[predicate].types
        return f"{show_atom(predicate, self._program.facts.constants(types, row))} has one value"

    def _deriving(self, asked: Asked, calls: Calls) -> Sequence[Lowered]:
        name, left = asked
        if name not in self._lowered:
            choices, clauses = self._choices, self._program.clauses[name]
            own = [choices[id(c.rule)] if id(c.rule) in choices else self.lowered(c) for c in clauses]
            self._lowered[name] = [one for one in dict.fromkeys(own) if one is not None]
        return self._lowered[name] if calls.are_left(left) else ()

    @cached_property
    def _ranging(self) -> set[int]:
        """The rules whose variables range over their types where no body binds them: those of choices too."""
        of_choices = (rule for _, rules in self._program.choices for rule in rules)
        return set(map(id, (*of_choices, *self._program.ranging)))

    @cached_property
    def _choices(self) -> dict[int, Lowered | None]:
        """Each choice to be grounded as a whole, by each rule of its alternatives; ``None`` where its body
        cannot hold."""
        signature, facts = self._program.signature, self._program.facts
        by_rule: dict[int, Lowered | None] = {}
        for choice, rules in self._program.choices:
            if rules[0].weight is not None:  # one head, whose probability is the rule's weight
                continue
            whole = lowered(next(self._numbers), choice, signature, facts)
            by_rule |= {id(rule): whole for rule in rules}
        return by_rule

    def _asked(self, statement: Lowered, left: int | None, calls: Calls) -> Iterator[Asked]:
        """What a body asks; what must be absent, or is counted, is complete at any depth."""
        for find in statement.finds:
            if self.is_derived(find.predicate):
                yield find.predicate, self._left(find.predicate, calls.below(left))
        counted = (part for total in statement.totals for part in total.parts)
        complete = (part.predicate for part in (*statement.absent, *counted))
        yield from ((name, None) for name in complete if self.is_derived(name))

    def _left(self, predicate: str, left: int | None) -> int | None:
        """The calls that a predicate has left, where its proofs can be so deep."""
        return felt(left, self._program.height(predicate))

    def _counted(self, statement: Lowered, left: int | None, calls: Calls) -> Lowered:
        """The statement over names that tell the calls left."""
        if left is None:
            return statement
        finds = tuple(
            replace(find, predicate=_named(find.predicate, self._left(find.predicate, calls.below(left))))
            if self.is_derived(find.predicate)
            else find
            for find in statement.finds
        )
        heads = tuple(replace(head, predicate=_named(head.predicate, left)) for head in statement.heads)
        return replace(statement, heads=heads, finds=finds, level=left)


def _named(predicate: str, left: int | None) -> str:
    return predicate if left is None else f"{predicate}{LEFT}{left}"


@dataclass(frozen=True, eq=False)
class Probable:
    """``answers`` that are possible, in each row a goal's number and what it found, and their probabilities.
    ``truncated``: some proof needs more calls."""

    answers: np.ndarray
    probabilities: np.ndarray
    truncated: bool


def probable(
    worlds: PossibleWorlds, goal: Clause, inputs: Sequence[Row], left: int | None, budget: Budget
) -> Probable:
    """The answers of goals of one clause, given the evidence; ``left``: the calls that each has.

    Raises ``ContradictionError`` where the evidence holds in no world.
    """
    worlds.check(goal)
    steps = worlds.in_steps(goal, inputs, left)
    if steps is not None:
        return _by_steps(steps, worlds, inputs, budget)
    known = len(inputs[0]) if inputs else 0
    patterns = [(*row, *(ANY,) * (len(goal.head) - known)) for row in inputs]
    lowered = worlds.lowered(goal)
    grounded = Grounded(worlds, lowered, patterns, Calls(left), budget)
    summed = grounded
    if left is not None and grounded.cut:
        summed = _without_depth(grounded, lowered, patterns, left) or grounded
    summed.observe()
    literals = {(number, row): summed.derived.literal((name, row)) for number, (name, row) in summed.answers}
    pairs = [(number, row) for number, (_, row) in grounded.answers]
    shares = probabilities(summed.made, [literals[one] for one in pairs], budget)
    answers = np.array([(number, *row[known:]) for number, row in pairs], np.int64)
    answers = answers.reshape(len(pairs), 1 + len(goal.head) - known)
    return Probable(answers, np.array(shares, np.float64), _is_cut_off(grounded, lowered, patterns))


def _by_steps(steps: Steps, worlds: PossibleWorlds, inputs: Sequence[Row], budget: Budget) -> Probable:
    """The same by whole tables, without a circuit."""
    rows = steps.rows(worlds.clause_rows(budget))
    names = [name for name in rows.columns if name != WEIGHT]
    known = names[: len(inputs[0]) if inputs else 0]
    asked = {name: np.array([row[place] for row in inputs], np.int64) for place, name in enumerate(known)}
    joined = rows.join(Memory.of(budget, number=np.arange(len(inputs)), **asked), known).arrays()
    order = np.argsort(joined["number"], kind="stable")
    columns = [joined["number"], *(joined[name] for name in names[len(known) :])]
    return Probable(np.stack(columns, axis=1)[order], joined[WEIGHT][order], truncated=False)


def _without_depth(
    counted: Grounded, goal: Lowered, patterns: Sequence[Pattern], left: int
) -> Grounded | None:
    """The same goals over a program that counts no calls, where every proof that matters has enough of them;
    ``None`` where some may not, or where that program has many more instances.

    What a world derives it derives by a proof in which no atom rests on itself. Names that tell the calls
    left make copies of each atom, whose circuit is much larger though they are equal in every world.
    """
    most = MORE * (counted.instance_count + FEW)
    try:
        whole = Grounded(counted.worlds, goal, patterns, Calls(None), counted.budget, most=most)
    except HerbrandError:  # of so many instances, or of calls that are not made within the depth
        return None
    return whole if whole.longest_chain() < left else None


class Grounded:
    """Goals over the ground program that they rest on. ``answers``: the possible atoms of each; ``drawn``: of
    each choice among facts the predicate that states them, their rows, and how it is drawn. ``most``: so many
    instances it may have."""

    def __init__(
        self,
        worlds: PossibleWorlds,
        goal: Lowered,
        patterns: Sequence[Pattern],
        calls: Calls,
        budget: Budget,
        made: ChoiceConstraints | None = None,
        most: int | None = None,
    ) -> None:
        self.worlds, self.calls, self.budget = worlds, calls, budget
        self.made = ChoiceConstraints() if made is None else made
        self.drawn: list[tuple[str, tuple[Row, ...], Drawn]] = []
        self.cut = False
        self._chances: dict[Atom, float] = {}
        self._facts: dict[Atom, int] = {}
        statements = list(worlds.statements(goal, calls))
        self.instance_count, self._most = 0, most
        # Weakly, as one that holds the other back keeps all memory of a run until garbage is looked for.
        back = cast(Grounded, proxy(self))
        grounding = Grounding(statements, back, budget, lambda instances: back._count(instances))
        self.derived = DerivedLiterals(grounding, lambda atom: back._stated(atom), self.made, budget, str)
        name = statements[0].heads[0].predicate
        self.answers = [
            (number, (name, row))
            for number, pattern in enumerate(patterns)
            for row in grounding.ask(name, pattern)
        ]
        observed = [one for one in worlds.evidence if worlds.is_derived(one.predicate)]
        self.derived.solve([*((one.predicate, one.row) for one in observed), *worlds.all_values])

    def _count(self, instances: int) -> None:
        refuse_many(instances)
        self.instance_count = instances
        if self._most is not None and instances > self._most:
            raise BudgetError(f"there are more than {self._most:,} instances")

    def matches(self, predicate: str, pattern: Pattern) -> Iterable[tuple[Row, bool]]:
        """The facts that may hold, and whether each certainly does."""
        self.cut |= LEFT in predicate
        for row, chance in self.worlds.facts(predicate, pattern):
            self._chances[predicate, row] = chance
            yield row, chance == 1

    def observe(self) -> None:
        """Evidence for or against atoms; an opinion counts in proportion. No atom has two values."""
        for known in self.worlds.evidence:
            literal = self.derived.literal((known.predicate, known.row))
            if known.holds in (0.0, 1.0):
                fixed = literal if known.holds else negated(literal)
                self.made.stipulate(fixed, known.text, holds=known.holds == 1.0)
            else:
                self.made.weigh(literal, math.log(known.holds))
                self.made.weigh(negated(literal), math.log1p(-known.holds))
        for name in self.worlds.exclusive:
            for row, literals in self.derived.values(name).items():
                two = self.made.net.either(self.made.net.every(pair) for pair in combinations(literals, 2))
                if two != FALSE:
                    self.made.stipulate(negated(two), self.worlds.one_value_text(name, row))

    def _stated(self, atom: Atom) -> int:
        """A fact, by the outcome of the choice that it is."""
        if atom not in self._facts:
            if atom not in self._chances:  # evidence on a fact that no instance rests on
                list(self.matches(*atom))
            choice = self.worlds.choice(atom, self._chances.get(atom, 0.0))
            drawn = self.made.choice([*choice.values()])
            self.drawn.append((self.worlds.owner(atom[0]), tuple(choice), drawn))
            self._facts |= {(atom[0], row): one for row, one in zip(choice, drawn.outcomes, strict=True)}
        return self._facts[atom]

    def goes_beyond(self) -> bool:
        """Whether an answer has a proof with a call that has none left."""

        def below(atom: Atom) -> Iterator[Atom]:
            for instance in self.derived.instances.get(atom, ()):
                if self._may_hold(instance):
                    yield from instance.held

        roots = [atom for _, atom in self.answers if self.derived.literal(atom) != FALSE]
        return any(predicate.endswith(f"{LEFT}0") for predicate, _ in reached(roots, below))

    def longest_chain(self) -> int:
        """At most so many different derived atoms, each resting on the next, stand below an answer."""
        derived = self.derived.instances
        below = {
            atom: [part for instance in own for part in instance.held if part in derived]
            for atom, own in derived.items()
        }
        longest: dict[Atom, int] = {}
        for together in strong_components(below):  # after all that they rest on
            rest = max((longest.get(part, 0) for atom in together for part in below[atom]), default=0)
            longest |= dict.fromkeys(together, rest + len(together))
        return max((longest[atom] - 1 for _, atom in self.answers if atom in longest), default=0)

    def _may_hold(self, instance: Instance) -> bool:
        return all(self.derived.literal(part) != FALSE for part in instance.held) and all(
            self.derived.literal(part) != TRUE for part in instance.absent
        )


def _is_cut_off(grounded: Grounded, goal: Lowered, patterns: Sequence[Pattern]) -> bool:
    """Whether an answer has a proof that needs more calls: one more, or any number of them; taken to be so
    where finding out is too much."""
    try:
        for more in (1, None):
            if not grounded.cut:
                return False
            calls = replace(grounded.calls, more=more)
            grounded = Grounded(grounded.worlds, goal, patterns, calls, grounded.budget)
            if grounded.goes_beyond():
                return True
    except BudgetError:
        return True
    return False
