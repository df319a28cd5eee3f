"""Probabilities learned from partly known worlds: expectation maximisation by sums over worlds.

Slow and plain, for ground statements. Each statement ``? :: h; ? :: k :- body`` becomes a choice among marks
of its own, drawn whether or not the body holds, and rules ``h :- mark, body``: how often a head is chosen is
then the probability of its mark given what is known of a world. Worlds count the statements alone that what
is known of them rests on; in the others a mark has its own probability, which would only slow the climb.

>>> from herbrand.language.dialects import read_theory_text
>>> from herbrand.language.parse import parse_theory
>>> theory = read_theory_text("t(0.5)::a. t(0.5)::b. c :- a. c :- b.", "pl")
>>> one = Interpretations(theory, [parse_theory(text) for text in ("c", "a", "not c")])
>>> chances = one.starts()
>>> round(one.log_likelihood(chances), 6) == round(math.log(0.75 * 0.5 * 0.25), 6)
True
>>> [round(chance, 4) for chance in one.improved(chances)[0]]  # of a: (2/3 + 1 + 0) / 3
[0.5556]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.choices import ChoiceWorlds, worlds_of

Chances = dict[int, list[float]]
"""The probability of each alternative, by the number of the statement."""


@dataclass
class Interpretations:
    """``worlds``: what is known of each, as facts."""

    theory: Theory
    worlds: Sequence[Theory]

    def starts(self) -> Chances:
        """The starts and the given probabilities that the theory states."""
        return {n: [_number(a.probability) for a in c.alternatives] for n, c in self._choices().items()}

    def log_likelihood(self, chances: Mapping[int, Sequence[float]]) -> float:
        """Minus infinity where the chances make what is known of some world impossible."""
        totals = [worlds.total for worlds in self._sums(chances)]
        return sum(map(math.log, totals)) if all(totals) else -math.inf

    def improved(self, chances: Chances) -> Chances:
        """The probabilities after one step of expectation maximisation."""
        found = {number: list(own) for number, own in chances.items()}
        sums = self._sums(chances)
        for number, choice in self._choices().items():
            marks: list[s.Formula] = [_mark(number, place) for place in range(len(choice.alternatives))]
            counts = [0.0] * (len(marks) + 1)
            for worlds, world in zip(sums, self.worlds, strict=True):
                if number not in self._beneath(world):
                    continue
                shares = worlds.probabilities(marks)
                for place, share in enumerate([*shares, 1 - sum(shares)]):
                    counts[place] += share
            learned = [p for p, a in enumerate(choice.alternatives) if isinstance(a.probability, s.Learned)]
            given = sum(chances[number][p] for p in range(len(marks)) if p not in learned)
            total = sum(counts[place] for place in learned) + counts[-1]
            for place in learned if total > 0 else ():
                found[number][place] = (1 - given) * counts[place] / total
        return found

    def climbed(self, steps: int) -> float:
        """The log-likelihood after so many steps."""
        chances = self.starts()
        for _ in range(steps):
            chances = self.improved(chances)
        return self.log_likelihood(chances)

    def grid(self, parts: int) -> Iterator[Chances]:
        """Starts and all probabilities to be learned that are multiples of 1 / ``parts``."""
        starts = self.starts()
        places = [
            (number, place)
            for number, choice in self._choices().items()
            for place, one in enumerate(choice.alternatives)
            if isinstance(one.probability, s.Learned)
        ]
        for values in itertools.product(range(parts + 1), repeat=len(places)):
            chances = {number: list(own) for number, own in starts.items()}
            for (number, place), value in zip(places, values, strict=True):
                chances[number][place] = value / parts
            if all(sum(own) <= 1 for own in chances.values()):
                yield chances

    def _beneath(self, world: Theory) -> set[int]:
        """The statements that what is known of a world rests on."""
        atoms, found = {rows.predicate for rows in world.facts}, set[int]()
        while True:
            for number, statement in enumerate(self.theory.statements):
                if isinstance(statement, s.Rule):
                    heads = {statement.head.predicate}
                elif isinstance(statement, s.Choice):
                    heads = {alternative.predicate for alternative in statement.alternatives}
                else:
                    continue
                if number not in found and heads & atoms:
                    found.add(number)
                    atoms |= {part.predicate for literal in statement.body for part in _atoms(literal)}
                    break
            else:
                return found

    def _choices(self) -> dict[int, s.Choice]:
        return {n: one for n, one in enumerate(self.theory.statements) if isinstance(one, s.Choice)}

    def _sums(self, chances: Mapping[int, Sequence[float]]) -> list[ChoiceWorlds]:
        statements: list[s.Statement] = []
        for number, statement in enumerate(self.theory.statements):
            if not isinstance(statement, s.Choice):
                statements.append(statement)
                continue
            marked = zip(statement.alternatives, chances[number], strict=True)
            statements.append(
                s.Choice(tuple(s.Alternative(p, _mark(number, i)) for i, (_, p) in enumerate(marked)), ())
            )
            for place, alternative in enumerate(statement.alternatives):
                head = cast(s.Atom, alternative.head)
                statements.append(s.Rule(head, (_mark(number, place), *statement.body)))
        theory = replace(self.theory, statements=tuple(statements))
        of = {w: worlds_of(Theory((*theory.statements, *w.statements))) for w in set(self.worlds)}
        return [of[world] for world in self.worlds]


def _atoms(literal: s.Formula) -> list[s.Atom]:
    return [part for part in s.walk(literal) if isinstance(part, s.Atom)]


def _mark(number: int, place: int) -> s.Atom:
    return s.Atom(f"mark {number} {place}")


def _number(chance: s.Chance) -> float:
    number = chance.start if isinstance(chance, s.Learned) else chance
    assert isinstance(number, float | int), "the oracle starts from numbers"
    return float(number)
