"""Exact probabilities of answers by a compiled circuit: P(q | e).

Rules with probabilities define a distribution over worlds. Choices are independent of each other. A boolean
fact with a probability is a choice with one outcome, the values of a many-valued atom are the outcomes of one
choice, so that they exclude each other, and each instance of a weighted rule is a separate choice. Given
the choices, the rules derive their least model, stratum by stratum. Probabilities are conditioned on the
worlds in which the evidence holds.

The rules are grounded as those of choices (``::``) are, from the goal on. Where calls are counted, each
predicate whose proofs can be deeper has one name for each number of calls left; these share its choices.
Absent atoms and evidence have no depth bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from herbrand.engines.proof.horn_program import HornProgram, remaining_depth, rule_number
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
from herbrand.row_keys import zipped

MORE, FEW = 2, 50
"""Limit of the instances of a program that counts no calls: ``MORE`` times (the instances of the one that
counts them, plus ``FEW``), since shallow proofs may reach little of it."""
LEFT = " "
"""Separator of a predicate and the calls left in a name; no other name has it."""


Asked = tuple[str, int | None]
"""A derived predicate, and the calls left, or None where they are not counted."""


@dataclass(frozen=True)
class Calls:
    """How calls are counted: a goal has ``left`` nested calls, any number where it is ``None``.

    ``more`` is the number of further calls for a call that exceeds ``left``: 0, 1, or any number (``None``).
    """

    left: int | None
    more: int | None = 0

    def below(self, left: int | None) -> int | None:
        """The calls left inside a call that is made with ``left`` of them."""
        return None if left is None or (left == 0 and self.more is None) else left - 1

    def are_left(self, left: int | None) -> bool:
        """Whether a call with ``left`` calls left may use clauses."""
        return left is None or left > 0 or (left == 0 and self.more != 0)


class PossibleWorlds:
    """A program's rules over uncertain facts, with the evidence."""

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
        """The facts that match a pattern, with their probabilities.

        Stated facts of a derived predicate are under a separate name.
        """
        if predicate not in self._owners:
            return
        relation = self._program.relation(self._owners[predicate])
        bound = tuple(place for place, value in enumerate(pattern) if value != ANY)
        index = relation.index(bound)
        first, counts = index.ranges([np.array([pattern[place]]) for place in bound], 1)
        places = index.entries(np.arange(first[0], first[0] + counts[0]))
        chances = np.ones(len(places)) if relation.weights is None else relation.weights[places]
        columns = [column[places].tolist() for column in relation.columns]
        yield from zip(zipped(columns, len(places)), chances.tolist(), strict=True)

    def owner(self, predicate: str) -> str:
        """The predicate whose facts are under a name."""
        return self._owners.get(predicate, predicate)

    def choice(self, atom: Atom, chance: float) -> dict[Row, float]:
        """The outcomes of the choice that a fact of this probability belongs to, with their probabilities."""
        predicate, row = atom
        owner = self._owners.get(predicate)
        if chance in (0, 1) or owner is None or self._program.signature.predicates[owner].value_type is None:
            return {row: chance}
        return {other: p for other, p in self.facts(predicate, (*row[:-1], ANY)) if p != 1}

    def check(self, goal: Clause) -> None:
        """Raise UnsupportedError if a predicate below the goal or the evidence has weights that are none."""
        known = {one.predicate for one in self.evidence}
        below = (clause for name in known for clause in self._program.clauses.get(name, ()))
        check_probabilities(self._program, self._program.reached([goal, *below]) | known)

    def lowered(self, clause: Clause) -> Lowered:
        """Lower a clause for grounding."""
        chance = None if clause.weighted is None else rule_number(clause.weighted)
        return lowered_clause(next(self._numbers), clause, self._program.facts, chance)

    def statements(self, goal: Lowered, calls: Calls) -> Iterator[Lowered]:
        """The statements of the goal and of all predicates below it and the evidence."""

        def below(asked: Asked) -> Iterator[Asked]:
            for statement in self._deriving(asked, calls):
                yield from self._asked(statement, asked[1], calls)

        observed = ((name, None) for name in self.conditioned)
        yield self._counted(goal, calls.left, calls)
        for asked in reached([*self._asked(goal, calls.left, calls), *observed], below):
            for statement in self._deriving(asked, calls):
                yield self._counted(statement, asked[1], calls)

    def in_steps(self, goal: Clause, inputs: Sequence[Row], left: int | None) -> Steps | None:
        """The goal as steps over whole tables, without a circuit.

        ``None`` where events are not independent, there is evidence, or some proof may be too deep.
        """
        program = self._program
        if self.evidence or self.exclusive or program.choices:
            return None
        reached = program.reached([goal])
        weights = {name: program.relation(name).weights for name in reached}
        uncertain = {name for name, own in weights.items() if own is not None and (own != 1).any()}
        constants = dict(zip(goal.head, inputs[0], strict=False)) if len(inputs) == 1 else {}
        return steps_of(program, goal, constants, uncertain, None if left is None else left - 2)

    def clause_rows(self, budget: Budget) -> ClauseRows:
        """The evaluation of steps over facts with their probabilities."""
        program = self._program
        source = FactRelations(program.signature, program.facts, budget, complete=False, weighted=True)
        return evaluation_of(source, program.chances)

    @cached_property
    def conditioned(self) -> list[str]:
        """The derived predicates on which worlds are conditioned: those of evidence and exclusive ones."""
        observed = (one.predicate for one in self.evidence if self.is_derived(one.predicate))
        return list(dict.fromkeys([*observed, *self.exclusive]))

    @cached_property
    def exclusive(self) -> list[str]:
        """The many-valued predicates of which several instances may give an atom a value.

        Worlds in which an atom has two values are excluded, for every goal.
        """
        predicates = self._program.signature.predicates
        valued = (name for name in self._program.clauses if predicates[name].value_type is not None)
        return [name for name in valued if not self._gives_one_value(name)]

    def _gives_one_value(self, predicate: str) -> bool:
        (first, *others) = self._deriving((predicate, None), Calls(None)) or [None]
        return not others and (first is None or first.gives_one_value(predicate))

    @property
    def all_values(self) -> Iterator[tuple[str, Pattern]]:
        """The patterns of all atoms and values of the exclusive predicates."""
        for name in self.exclusive:
            yield name, (ANY,) * len(self._program.signature.predicates[name].column_types)

    def one_value_text(self, predicate: str, row: Row) -> str:
        """Text of the constraint that an atom has one value."""
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
    def _choices(self) -> dict[int, Lowered | None]:
        """Each choice, lowered as a whole, by the identity of each rule of its alternatives.

        ``None`` where its body cannot hold.
        """
        signature, facts = self._program.signature, self._program.facts
        by_rule: dict[int, Lowered | None] = {}
        for choice, rules in self._program.choices:
            if rules[0].weight is not None:  # one head, whose probability is the rule's weight
                continue
            whole = lowered(next(self._numbers), choice, signature, facts)
            by_rule |= {id(rule): whole for rule in rules}
        return by_rule

    def _asked(self, statement: Lowered, left: int | None, calls: Calls) -> Iterator[Asked]:
        """The derived predicates that a body uses; absent and counted atoms have no depth bound."""
        for find in statement.finds:
            if self.is_derived(find.predicate):
                yield find.predicate, self._left(find.predicate, calls.below(left))
        counted = (part for total in statement.totals for part in total.parts)
        complete = (part.predicate for part in (*statement.absent, *counted))
        yield from ((name, None) for name in complete if self.is_derived(name))

    def _left(self, predicate: str, left: int | None) -> int | None:
        """The calls left to a predicate, or ``None`` where its proofs cannot need more."""
        return remaining_depth(left, self._program.height(predicate))

    def _counted(self, statement: Lowered, left: int | None, calls: Calls) -> Lowered:
        """The statement over predicate names with the calls left."""
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
    """Possible ``answers``, each row a goal's number and the outputs, and their probabilities.

    ``truncated``: whether some proof needs more calls.
    """

    answers: np.ndarray
    probabilities: np.ndarray
    truncated: bool


def probable(
    worlds: PossibleWorlds, goal: Clause, inputs: Sequence[Row], left: int | None, budget: Budget
) -> Probable:
    """Compute the answers of goals of one clause, given the evidence; ``left``: the calls of each goal.

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
    """Compute the same by whole tables, without a circuit."""
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
    """Ground the same goals over a program that counts no calls, if all acyclic proofs fit into the depth.

    ``None`` where some may not, or where that program has many more instances. An atom that a world derives
    has a proof there in which no atom depends on itself, so acyclic proofs suffice. Names with the calls left
    copy each atom, and the circuit of the copies is much larger, though they are equal in every world.
    """
    most = MORE * (counted.instance_count + FEW)
    try:
        whole = Grounded(counted.worlds, goal, patterns, Calls(None), counted.budget, most=most)
    except HerbrandError:  # too many instances, or an error in clauses that the depth does not reach
        return None
    return whole if whole.longest_chain() < left else None


class Grounded:
    """Goals with the ground program below them, compiled to literals of a circuit.

    ``answers``: the number of each goal with its possible atoms. ``drawn``: for each choice among facts their
    predicate, their rows, and the choice's literals. ``most``: limit of instances.
    """

    def __init__(
        self,
        worlds: PossibleWorlds,
        goal: Lowered,
        patterns: Sequence[Pattern],
        calls: Calls,
        budget: Budget,
        constraints: ChoiceConstraints | None = None,
        most: int | None = None,
    ) -> None:
        self.worlds, self.calls, self.budget = worlds, calls, budget
        self.made = ChoiceConstraints() if constraints is None else constraints
        self.drawn: list[tuple[str, tuple[Row, ...], Drawn]] = []
        self.cut = False
        self._chances: dict[Atom, float] = {}
        self._facts: dict[Atom, int] = {}
        statements = list(worlds.statements(goal, calls))
        self.instance_count, self._most = 0, most
        # weak, as a reference cycle would keep all memory of a run until the next garbage collection
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
        """The rows of facts that match a pattern, and whether each is certain."""
        self.cut |= LEFT in predicate
        for row, chance in self.worlds.facts(predicate, pattern):
            self._chances[predicate, row] = chance
            yield row, chance == 1

    def observe(self) -> None:
        """Condition on evidence, weigh by opinions, and exclude worlds in which an atom has two values."""
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
        """The literal of a fact: the outcome of its choice."""
        if atom not in self._facts:
            if atom not in self._chances:  # evidence on a fact that no instance uses
                list(self.matches(*atom))
            choice = self.worlds.choice(atom, self._chances.get(atom, 0.0))
            drawn = self.made.choice([*choice.values()])
            self.drawn.append((self.worlds.owner(atom[0]), tuple(choice), drawn))
            self._facts |= {(atom[0], row): one for row, one in zip(choice, drawn.outcomes, strict=True)}
        return self._facts[atom]

    def goes_beyond(self) -> bool:
        """Whether an answer has a proof that uses a call with no calls left."""

        def below(atom: Atom) -> Iterator[Atom]:
            for instance in self.derived.instances.get(atom, ()):
                if self._may_hold(instance):
                    yield from instance.held

        roots = [atom for _, atom in self.answers if self.derived.literal(atom) != FALSE]
        return any(predicate.endswith(f"{LEFT}0") for predicate, _ in reached(roots, below))

    def longest_chain(self) -> int:
        """Upper bound of the number of distinct derived atoms in a dependency chain below an answer."""
        derived = self.derived.instances
        below = {
            atom: [part for instance in own for part in instance.held if part in derived]
            for atom, own in derived.items()
        }
        longest: dict[Atom, int] = {}
        for together in strong_components(below):  # dependencies first
            rest = max((longest.get(part, 0) for atom in together for part in below[atom]), default=0)
            longest |= dict.fromkeys(together, rest + len(together))
        return max((longest[atom] - 1 for _, atom in self.answers if atom in longest), default=0)

    def _may_hold(self, instance: Instance) -> bool:
        return all(self.derived.literal(part) != FALSE for part in instance.held) and all(
            self.derived.literal(part) != TRUE for part in instance.absent
        )


def _is_cut_off(grounded: Grounded, goal: Lowered, patterns: Sequence[Pattern]) -> bool:
    """Whether an answer has a proof that needs more calls: one more, or any number of them.

    True too where the check exceeds the budget.
    """
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
