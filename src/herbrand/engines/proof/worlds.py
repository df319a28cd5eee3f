"""What rules with probabilities mean: a distribution over worlds, for whatever computes with it.

Choices are independent of each other. A boolean fact with a probability is a choice of one outcome, the
values of a many-valued atom are the outcomes of one choice, so that they exclude each other, and each
instance of a weighted rule is a choice of its own. In the world that the choices give, what rules derive is
their least model, stratum by stratum. Probabilities are those of the worlds in which the evidence holds.

>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("wet :- rain\\nwet :- not rain @ 0.1\\nrain @ 0.3\\nwet")
>>> worlds = PossibleWorlds.of(HornProgram.of(theory.rules, *load_facts(theory.facts, check(theory))))
>>> sorted(worlds.uncertain), [known.text for known in worlds.evidence]
(['rain', 'wet'], ['wet'])
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.proof.arithmetic import rule_number
from herbrand.engines.proof.chances import Evidence, Row, chances_of, refuse_wrong_sums
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.errors import UnsupportedError
from herbrand.language.syntax import FactRows
from herbrand.program.clauses import Absence, Clause

Choice = Hashable


@dataclass(frozen=True)
class Outcome:
    """One of the alternatives of a choice, by its place among them."""

    choice: Choice
    place: int


Ground = Node | Outcome
"""What a ground rule rests on."""


@dataclass(frozen=True)
class GroundRule:
    """One way in which an atom holds: all of ``held`` hold, and none of ``absent`` does."""

    held: tuple[Ground, ...]
    absent: tuple[Ground, ...]


@dataclass(frozen=True)
class Observed:
    """Evidence on an atom, or on what holds in every world (``True``) or in none (``False``)."""

    atom: Ground | bool
    evidence: Evidence


@dataclass(frozen=True, eq=False)
class GroundProgram:
    """``choices``: the probabilities of each choice's outcomes, of which at most one holds; what is left to 1
    is that none does. An atom without rules holds in no world; rules may go in circles, not through
    ``absent``."""

    rules: Mapping[Node, Sequence[GroundRule]]
    choices: Mapping[Choice, tuple[float, ...]]
    observed: Sequence[Observed]


@dataclass(frozen=True, eq=False)
class PossibleWorlds:
    """``program`` derives all that holds in some world: atoms whose absence is uncertain are left out of its
    bodies (:attr:`~herbrand.program.clauses.Clause.unless`), and facts weigh their probability."""

    program: HornProgram
    uncertain: frozenset[str]
    evidence: tuple[Evidence, ...]

    @classmethod
    def of(cls, program: HornProgram, given: Sequence[FactRows] = ()) -> PossibleWorlds:
        facts, evidence = chances_of(program, given)
        whole = HornProgram.of(program.rules, program.signature, facts)
        uncertain = frozenset(_uncertain(whole))
        clauses = {
            name: tuple(_relaxed(clause, uncertain) for clause in known)
            for name, known in whole.clauses.items()
        }
        return cls(replace(whole, clauses=clauses), uncertain, evidence)

    def relaxed(self, clause: Clause) -> Clause:
        """A goal's clause as the program's own."""
        return _relaxed(clause, self.uncertain)

    def observed_nodes(self) -> list[Node]:
        """The derived atoms of the evidence."""
        derived = self.program.clauses
        return [
            Node(known.predicate, known.row, None) for known in self.evidence if known.predicate in derived
        ]

    def ground(self, graph: Derivations, observed: Sequence[Node]) -> GroundProgram:
        """Ground proofs as rules over choices; ``observed`` are the nodes of :meth:`observed_nodes`."""
        found = _Choices(self.program)
        rules = {
            node: [rule for made in instances if (rule := found.rule(made)) is not None]
            for node, instances in graph.instances.items()
        }
        nodes = iter(observed)
        atoms = [
            next(nodes) if known.predicate in self.program.clauses else found.atom(known.predicate, known.row)
            for known in self.evidence
        ]
        known = [Observed(atom, evidence) for atom, evidence in zip(atoms, self.evidence, strict=True)]
        return GroundProgram(rules, found.probabilities, known)


def check_probabilities(program: HornProgram, predicates: Collection[str]) -> None:
    """Raise where a weight of these predicates' facts or rules is no probability."""
    for name in predicates:
        weights = program.relation(name).weights
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() <= 1):
            worst = weights[np.argmax(np.abs(weights - 0.5))]
            raise UnsupportedError(
                f"a fact of {name} weighs {worst:g}, which is no probability",
                hint="--algebra count takes any weights",
            )
        refuse_wrong_sums(program.signature.predicates[name], program.facts)
    for rule in program.weighted:
        if rule.head.predicate in predicates and not 0 <= rule_number(rule) <= 1:
            raise UnsupportedError(
                f"this rule weighs {rule_number(rule):g}, which is no probability",
                span=rule.span,
                hint="--algebra count takes any weights",
            )


def refuse_uncertain_absence(program: HornProgram, clauses: Sequence[Clause]) -> None:
    """Raise where ``not`` stands before what is uncertain in what the clauses rest on."""
    uncertain = _uncertain(program)
    for clause, predicate in program.absences(clauses):
        if predicate in uncertain:
            raise UnsupportedError(
                f"'not' stands before {predicate}, which is uncertain",
                span=clause.rule.span if clause.rule else None,
                hint="--algebra probability takes it",
            )


def _relaxed(clause: Clause, uncertain: Collection[str]) -> Clause:
    doubted = tuple(p for p in clause.body if isinstance(p, Absence) and p.predicate in uncertain)
    if not doubted:
        return clause
    return replace(clause, body=tuple(part for part in clause.body if part not in doubted), unless=doubted)


def _uncertain(program: HornProgram) -> set[str]:
    """The predicates that rest on a fact or a rule with a probability other than 1."""
    found = set[str]()
    for name in program.facts.tables:
        weights = program.relation(name).weights
        if weights is not None and (weights != 1).any():
            found.add(name)
    found |= {rule.head.predicate for rule in program.weighted if rule_number(rule) != 1}
    while True:
        more = {
            name
            for name, clauses in program.clauses.items()
            if name not in found and any(found & set(clause.predicates()) for clause in clauses)
        }
        if not more:
            return found
        found |= more


class _Choices:
    """Outcomes as they are met, and the probabilities of their choices."""

    def __init__(self, program: HornProgram) -> None:
        self._program = program
        self.probabilities: dict[Choice, tuple[float, ...]] = {}

    def rule(self, made: Instance) -> GroundRule | None:
        """``None`` where an instance rests on what never holds, or is ruled out by what always does."""
        held = [self._weight(made), *map(self._part, made.parts)]
        absent = [*map(self._part, made.absent)]
        if False in held or True in absent:
            return None
        return GroundRule(
            tuple(part for part in held if not isinstance(part, bool)),
            tuple(part for part in absent if not isinstance(part, bool)),
        )

    def atom(self, predicate: str, row: Row) -> Ground | bool:
        """A base atom."""
        index = self._program.relation(predicate).index(tuple(range(len(row))))
        first, counts = index.ranges([np.array([value]) for value in row], 1)
        if not counts[0]:
            return False
        return self._part(Fact(predicate, row, int(index.entries(first)[0])))

    def _part(self, part: Node | Fact) -> Ground | bool:
        if isinstance(part, Node):
            return part
        weights = self._program.relation(part.predicate).weights
        chance = 1.0 if weights is None else float(weights[part.place])
        values = self._values.get(part.predicate)
        if values is None or chance in (0.0, 1.0):
            return self._outcome((part.predicate, part.row), 0, (chance,))
        places, chances = values[part.row[:-1]]
        return self._outcome((part.predicate, part.row[:-1]), places[part.row[-1]], chances)

    def _weight(self, made: Instance) -> Ground | bool:
        rule, weight = made.clause.rule, made.clause.weight
        if rule is None or weight is None:
            return True
        return self._outcome((weight, made.binding), 0, (rule_number(rule),))

    def _outcome(self, choice: Choice, place: int, chances: tuple[float, ...]) -> Outcome | bool:
        if chances[place] in (0.0, 1.0):
            return chances[place] == 1
        self.probabilities.setdefault(choice, chances)
        return Outcome(choice, place)

    @cached_property
    def _values(self) -> dict[str, dict[Row, tuple[dict[int, int], tuple[float, ...]]]]:
        """For each many-valued predicate and each uncertain atom of it, the places of its values among the
        outcomes, and their probabilities."""
        found: dict[str, dict[Row, tuple[dict[int, int], tuple[float, ...]]]] = {}
        for name, predicate in self._program.signature.predicates.items():
            weights = self._program.facts.tables[name].weights
            if predicate.value_type is None:
                continue
            atoms: dict[Row, dict[int, float]] = {}
            rows = self._program.facts.tables[name].true
            uncertain = np.flatnonzero(weights != 1) if weights is not None else []
            for place in uncertain:
                *atom, value = rows[place].tolist()
                atoms.setdefault(tuple(atom), {})[value] = float(weights[place])  # type: ignore[index]
            found[name] = {
                atom: ({value: place for place, value in enumerate(values)}, tuple(values.values()))
                for atom, values in atoms.items()
            }
        return found
