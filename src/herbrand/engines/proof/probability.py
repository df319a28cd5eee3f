"""Exact probabilities of atoms by decision diagrams: P(q | e) = P(q and e) / P(e).

Each atom becomes the boolean function of the choices under which it holds. Atoms that rest on each other are
gone through until none changes, which is their least model in every world at once; an absent atom is complete
by then, so that its function is negated. A choice among more than two things is a row of two-way choices: the
first outcome or a later one, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from herbrand.engines.proof.derivations import Node
from herbrand.engines.proof.diagrams import FALSE, TRUE, Diagrams
from herbrand.engines.proof.worlds import Choice, Ground, GroundProgram, GroundRule, Observed, Outcome
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError

MOST_NODES = 2_000_000
MOST_CHOICES = 100_000
LEAST = 1e-290
"""Evidence below this probability leaves the numbers that floats divide without loss."""
ROUNDING = 1e-12


def probabilities(program: GroundProgram, roots: Sequence[Node]) -> list[float]:
    """The probability of each atom, given the evidence.

    Raises ``ContradictionError`` where the evidence holds in no world, and ``BudgetError`` where a diagram
    grows too large.
    """
    diagrams = Diagrams(MOST_NODES)
    variables = _Variables(diagrams, program.choices)
    observed = [part.atom for part in program.observed if isinstance(part.atom, Node)]
    functions = _Functions(diagrams, variables, program)
    functions.make([*observed, *roots])
    evidence = [functions.of_evidence(part) for part in program.observed]
    parts = _connected(diagrams, [part for part in evidence if part.function != TRUE])
    return [_conditional(diagrams, functions.known[root], parts, variables.chances) for root in roots]


@dataclass(frozen=True)
class _Known:
    """One piece of evidence as a function of the choices."""

    function: int
    text: str


@dataclass(frozen=True)
class _Part:
    """Pieces of evidence that share variables, and their conjunction."""

    function: int
    variables: frozenset[int]
    members: tuple[_Known, ...]


class _Variables:
    """Two-way variables for choices, numbered as they are met; ``chances``: that each is true."""

    def __init__(self, diagrams: Diagrams, choices: Mapping[Choice, tuple[float, ...]]) -> None:
        self._diagrams, self._choices = diagrams, choices
        self._outcomes: dict[Choice, list[int]] = {}
        self.chances: list[float] = []

    def outcome(self, outcome: Outcome) -> int:
        """The function under which an outcome is the one that holds."""
        if outcome.choice not in self._outcomes:
            self._outcomes[outcome.choice] = self._functions(self._choices[outcome.choice])
        return self._outcomes[outcome.choice][outcome.place]

    def opinion(self, chance: float) -> int:
        return self._variable(chance)

    def _functions(self, chances: Sequence[float]) -> list[int]:
        found, later = [], TRUE
        for place, chance in enumerate(chances):
            left = 1 - math.fsum(chances[:place])
            taken = TRUE if left - chance <= ROUNDING else self._variable(chance / left)
            found.append(self._diagrams.both(later, taken))
            later = self._diagrams.both(later, self._diagrams.negation(taken))
        return found

    def _variable(self, chance: float) -> int:
        if len(self.chances) >= MOST_CHOICES:
            raise BudgetError(
                f"the exact probability rests on more than {MOST_CHOICES:,} choices",
                hint="--algebra independent approximates it",
            )
        self.chances.append(chance)
        return self._diagrams.variable(len(self.chances) - 1)


class _Functions:
    """The function of each atom: ``known``."""

    def __init__(self, diagrams: Diagrams, variables: _Variables, program: GroundProgram) -> None:
        self._diagrams, self._variables, self._program = diagrams, variables, program
        self.known: dict[Node, int] = {}

    def make(self, roots: Sequence[Node]) -> None:
        for component in self._program.components(roots):
            self.known.update(dict.fromkeys(component, FALSE))
            while self._round(component):
                pass

    def _round(self, component: Sequence[Node]) -> bool:
        """Apply the rules of each atom once; whether that may allow more."""
        grown = False
        for node in component:
            found = self.known[node]
            for rule in self._program.rules[node]:
                if found == TRUE:
                    break
                found = self._diagrams.either(found, self._held(rule))
            grown |= found != self.known[node]
            self.known[node] = found
        return grown and (len(component) > 1 or self._rests_on_itself(component[0]))

    def of_evidence(self, observed: Observed) -> _Known:
        diagrams, holds = self._diagrams, observed.evidence.holds
        function = self._function(observed.atom)
        if holds == 0:
            function = diagrams.negation(function)
        elif (
            holds < 1
        ):  # the opinion is right: a world in which it is counts its chance, another one the rest
            opinion = self._variables.opinion(holds)
            against = diagrams.both(diagrams.negation(function), diagrams.negation(opinion))
            function = diagrams.either(diagrams.both(function, opinion), against)
        return _Known(function, observed.evidence.text)

    def _rests_on_itself(self, node: Node) -> bool:
        return any(node in rule.held for rule in self._program.rules[node])

    def _function(self, part: Ground | bool) -> int:
        if isinstance(part, bool):
            return TRUE if part else FALSE
        return self.known[part] if isinstance(part, Node) else self._variables.outcome(part)

    def _held(self, rule: GroundRule) -> int:
        found = TRUE
        for part in sorted(rule.held, key=lambda part: isinstance(part, Outcome)):
            found = self._diagrams.both(found, self._function(part))
            if found == FALSE:
                return found
        for part in rule.absent:
            found = self._diagrams.both(found, self._diagrams.negation(self._function(part)))
            if found == FALSE:
                return found
        return found


def _connected(diagrams: Diagrams, evidence: Sequence[_Known]) -> dict[int, _Part]:
    """The part of each variable: evidence in parts that share none, so that what is far away from a query
    cancels. Raises where a part holds in no world."""
    part_of: dict[int, _Part] = {}
    for known in evidence:
        variables = diagrams.variables(known.function)
        near = {id(part_of[v]): part_of[v] for v in variables if v in part_of}
        function, members = known.function, (known,)
        for part in near.values():
            function = diagrams.both(part.function, function)
            variables, members = variables | part.variables, (*part.members, *members)
        if function == FALSE:
            raise _contradiction(diagrams, members)
        part_of.update(dict.fromkeys(variables, _Part(function, variables, members)))
    return part_of


def _conditional(
    diagrams: Diagrams, root: int, part_of: Mapping[int, _Part], chances: Sequence[float]
) -> float:
    parts = {id(part_of[v]): part_of[v] for v in sorted(diagrams.variables(root)) if v in part_of}
    evidence = TRUE
    for part in parts.values():
        evidence = diagrams.both(evidence, part.function)
    total = diagrams.probability(evidence, chances)
    if total < LEAST:
        raise UnsupportedError(
            f"the evidence has a probability of about {total:.0e}, too small to divide by",
            hint="give less evidence at once",
        )
    return min(1.0, diagrams.probability(diagrams.both(root, evidence), chances) / total)


def _contradiction(diagrams: Diagrams, members: Sequence[_Known]) -> ContradictionError:
    """Names pieces of evidence that hold together in no world, while they do without any one of them."""
    left = list(members)
    for known in members:
        function = TRUE
        for other in left:
            function = function if other is known else diagrams.both(function, other.function)
        if function == FALSE:
            left.remove(known)
    shown = " and ".join(known.text for known in left)
    hint = "give other evidence"
    if len(left) == 1:
        hint = (
            "a fact of what rules derive is evidence, so some proof must be possible; what needs none is a "
            "fact of a predicate of its own, from which a rule derives"
        )
    return ContradictionError(f"the evidence has probability 0: {shown}", hint=hint)
