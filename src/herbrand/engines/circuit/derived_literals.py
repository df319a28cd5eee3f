"""Literals of derived atoms, built from ground instances of rules and choices.

Each instance of a statement with probabilities is a separate choice, whose outcomes are its alternatives.
Atoms that depend on each other are solved together, as the least model; an atom under ``not`` is complete
before what depends on it. The caller supplies the literals of all other atoms: facts, latent atoms, or facts
with probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import CERTAIN, ChoiceConstraints, Drawn, probability_left
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.cycles import Body, least_model
from herbrand.engines.circuit.grounding import Atom, Grounding, Instance, Row, atoms_below
from herbrand.engines.circuit.statements import Binding, Total
from herbrand.errors import LanguageError, UnsupportedError


class DerivedLiterals:
    """Literals of derived atoms. ``stated``: gives the literal of an atom that no instance derives; ``text``:
    an atom as printed.

    ``literals``: those of the atoms asked for so far and of all that they depend on; ``drawn``: the choices
    made for them; ``exhaustive``: sets of outcomes of which one always holds; ``instances``: those that
    derive each atom.
    """

    def __init__(
        self,
        grounding: Grounding,
        stated: Callable[[Atom], int],
        constraints: ChoiceConstraints,
        budget: Budget,
        text: Callable[[Atom], str],
    ) -> None:
        self._grounding, self._stated, self._made = grounding, stated, constraints
        self._budget, self._text = budget, text
        self.literals: dict[Atom, int] = {}
        self.instances: dict[Atom, list[Instance]] = {}
        self._choices: dict[tuple[int, Row], Drawn] = {}
        self.drawn: list[tuple[Instance, Drawn]] = []
        self._weighed, self._solved = 0, (0, 0)
        self.exhaustive: set[frozenset[int]] = set()

    def solve(self, queried: Iterable[tuple[str, Sequence[int]]]) -> None:
        """Add literals of all derived atoms that match these patterns, and of all that they depend on."""
        for predicate, pattern in queried:
            self._grounding.ask(predicate, tuple(pattern))
        if self._grounding.size == self._solved:
            return
        self.instances = rules = self._grounding.rules()
        self._solved = self._grounding.size

        def bodies(atom: Atom, members: frozenset[Atom]) -> list[Body[Atom]]:
            return [self._body(instance, atom, members) for instance in rules[atom]]

        least_model(self._made.net, atoms_below(self._others(rules)), bodies, self.literals, self._budget)
        if self._made.whole:
            for instance, drawn in self.drawn[self._weighed :]:
                self._made.weigh_made(drawn, self._made.net.every(self._parts(instance)))
            self._weighed = len(self.drawn)

    def _others(self, rules: Mapping[Atom, Sequence[Instance]]) -> dict[Atom, Sequence[Instance]]:
        """Add literals of the atoms that depend on no other; return the instances of all other atoms."""
        others: dict[Atom, Sequence[Instance]] = {}
        for atom, own in rules.items():
            if any(one.held or one.absent or one.lowered.totals for one in own):
                others[atom] = own
            elif atom not in self.literals:
                self.literals[atom] = self._made.net.either([self._chosen(one, atom) for one in own])
        return others

    def literal(self, atom: Atom) -> int:
        """The literal of an atom; one that statements may derive must have been solved for first."""
        known = self.literals.get(atom)
        return self._stated(atom) if known is None else known

    def values(self, predicate: str) -> dict[Row, list[int]]:
        """The literals of the values that each atom of a many-valued predicate may have."""
        literals: dict[Row, list[int]] = {}
        for (name, row), literal in self.literals.items():
            if name == predicate and literal != FALSE:
                literals.setdefault(row[:-1], []).append(literal)
        return literals

    def _body(self, instance: Instance, atom: Atom, members: frozenset[Atom]) -> Body[Atom]:
        """One instance as a body for an atom: the atoms solved together with it, and the literal of all
        else."""
        complete = chain(instance.absent, *instance.counted)
        if not members.isdisjoint(complete):
            self._refuse_own_negation(instance, atom)
        return members.intersection(instance.held), self._alternative(instance, atom, members)

    def _refuse_own_negation(self, instance: Instance, atom: Atom) -> None:
        raise LanguageError(
            f"{self._text(atom)} depends on its own negation",
            span=instance.lowered.statement.span,
            hint="'not' stands before atoms that are complete without this instance of the statement",
        )

    def _alternative(self, instance: Instance, atom: Atom, members: Set[Atom]) -> int:
        """The literal of all that one instance needs for an atom, except atoms of the same component."""
        chosen = self._chosen(instance, atom)
        return self._made.net.every([*self._parts(instance, members), chosen])

    def _chosen(self, instance: Instance, atom: Atom) -> int:
        """The literal of the alternatives that make an atom true."""
        outcomes = self._outcomes(instance)
        if len(outcomes) == 1:
            return outcomes[0]
        chosen = zip(outcomes, instance.heads, strict=True)
        return self._made.net.either(outcome for outcome, head in chosen if head == atom)

    def _parts(self, instance: Instance, members: Set[Atom] = frozenset()) -> list[int]:
        """The literals of an instance's body, except those of ``members``."""
        parts = [self.literal(part) for part in instance.held if part not in members]
        if instance.absent:
            parts += [negated(self.literal(part)) for part in instance.absent]
        if totals := instance.lowered.totals:
            counted = iter(instance.counted)
            parts += [self._compared(total, instance.binding, counted) for total in totals]
        return parts

    def _compared(self, total: Total, binding: Binding, counted: Iterator[Sequence[Atom]]) -> int:
        """The literal of a comparison of counts and sums."""
        weighted = [
            (part.amount(row), self.literal((name, row)))
            for part in total.parts
            for name, row in next(counted)
        ]
        return self._made.net.totalled(weighted, total.operator, total.number(binding), self._budget)

    def _outcomes(self, instance: Instance) -> Sequence[int]:
        """The literals of an instance's alternatives, of which at most one holds."""
        heads = instance.lowered.heads
        if heads[0].chance is None:
            return [TRUE]
        key = instance.lowered.number, instance.binding
        if key not in self._choices:
            chances = [head.chance(instance.binding) for head in heads if head.chance is not None]
            total = math.fsum(chances)
            if total > 1 + CERTAIN:
                raise UnsupportedError(
                    f"the probabilities of an instance of this statement add up to {total:.10g}",
                    span=instance.lowered.statement.span,
                    hint="at most one of the heads holds, so they add up to at most 1",
                )
            if self._made.whole:  # heads that are no outcomes count as none: one way to a world
                chances = [
                    0.0 if self._grounding.leads_nowhere(head) else chance
                    for head, chance in zip(instance.heads, chances, strict=True)
                ]
                total = math.fsum(chances)
            self._choices[key] = drawn = self._made.choice(chances)
            self.drawn.append((instance, drawn))
            if total >= 1 - CERTAIN and not probability_left(chances)[-1]:
                self.exhaustive.add(frozenset(drawn.outcomes) - {FALSE})
        return self._choices[key].outcomes
