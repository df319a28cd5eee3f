"""Marginals of derived atoms by joins of whole tables, without a circuit, where events are independent.

A choice's head becomes a clause whose instances are drawn independently. Where clauses can be evaluated in
steps that add up independent events (:mod:`~herbrand.program.independent_steps`), a question over 100,000
choices takes a few joins. Anything else that could bear on an answer leaves it to the circuit: evidence on
derived atoms, formulas, many-valued predicates, recursion, facts that are not all known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.budget import Budget
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.facts.facts import Facts
from herbrand.language.signature import Signature
from herbrand.language.syntax import Atom, Choice, Computed, Learned, Rule, Variable, heads_of, leaf_terms
from herbrand.program.bindings import WEIGHT, Limit
from herbrand.program.clause_rows import ClauseRows, Source
from herbrand.program.clause_set import ClauseSet
from herbrand.program.clauses import Absence, Clause, Lookup
from herbrand.program.dependencies import derived_by
from herbrand.program.derive import FactRelations
from herbrand.program.evidence import Evidence
from herbrand.program.independent_steps import Steps, evaluation_of, steps_of
from herbrand.program.lower_rules import rule_clause
from herbrand.program.program import Program
from herbrand.program.question import AtomPattern, Question
from herbrand.relations.expression import column
from herbrand.row_keys import places_among, row_keys

LEAST_ROWS = 1_000
"""Least number of facts and constants; with fewer, the circuit is made in the time of the first join."""
MOST_STATEMENTS = 100
"""Most statements, as each is a separate query; where choices are written one by one, there are no tables to
join."""
MOST_JOINED, JOINED_A_SECOND = 2**25, 2_000_000
"""Most rows of one join, and per second of time left: the clock is not looked at within a join."""
MOST_PATTERNS = 16
"""Most patterns of one predicate; with more, all of its atoms are computed."""


class NotInStepsError(Exception):
    """Something bears on the answer that joins of whole tables cannot express."""


@dataclass(frozen=True, eq=False)
class WholeTables:
    """An answer from whole tables. ``possible``: for each derived predicate asked for, the codes of atoms
    that may hold, ascending, and their probabilities. ``total``: the log-partition."""

    evidence: Evidence
    question: Question
    possible: Mapping[str, tuple[np.ndarray, np.ndarray]]
    total: float

    def look_up(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """The probabilities [atom, (false, true)]; true has 0 for atoms that cannot hold."""
        known, probabilities = self.possible[predicate]
        holds = np.append(probabilities, 0.0)[places_among(known, codes)]
        return np.stack([1 - holds, holds], axis=1)


def in_whole_tables(program: Program, question: Question, budget: Budget) -> WholeTables | None:
    """The answer to a question about derived atoms; ``None`` where it needs a circuit, or is small."""
    if question.formulas or question.most_probable or program.templates or program.tables:
        return None
    facts = program.facts
    size = sum(len(table.true) for table in facts.tables.values()) + sum(map(len, facts.domains.values()))
    if size < LEAST_ROWS or len(program.uncertain) > MOST_STATEMENTS:
        return None
    try:
        return _QueriedStep(program, question, budget).answer()
    except OutOfTimeError:
        raise
    except (NotInStepsError, BudgetError):  # the circuit may need less memory than the joins
        return None


@dataclass(eq=False)
class DrawnClauses(ClauseSet):
    """Clauses of rules and choices by the predicate that they derive, for predicates on which ``asked`` ones
    depend. Raises :class:`NotInStepsError` where a statement is no such clause."""

    statements: Sequence[Choice | Rule]
    signature: Signature
    facts: Facts
    asked: Collection[str]
    of_choices = True

    def __post_init__(self) -> None:
        self._chance_types, self._drawn = set[str](), set[int]()
        clauses: dict[str, tuple[Clause, ...]] = {}
        self.clauses = clauses
        self.derived = derived_by(self.statements)
        waiting = [*self.asked]
        while waiting:
            name = waiting.pop()
            if name in self.derived and name not in clauses:
                clauses[name] = tuple(self._of(name))
                waiting += (part for clause in clauses[name] for part in clause.predicates())

    def _of(self, predicate: str) -> Iterator[Clause]:
        if self.signature.predicates[predicate].value_type is not None:
            raise NotInStepsError
        for statement in self.statements:
            if predicate in heads_of(statement):
                clause = self._lowered(statement, predicate)
                if clause is not None:
                    yield clause

    def _lowered(self, statement: Choice | Rule, predicate: str) -> Clause | None:
        """The clause for one of a statement's heads; ``None`` where the body cannot hold."""
        if any(isinstance(literal, Computed) for literal in statement.body):
            raise NotInStepsError
        if isinstance(statement, Rule):
            if statement.weight is not None:
                raise NotInStepsError
            return rule_clause(statement, self.signature, self.facts)
        (drawn, *twice) = (one for one in statement.alternatives if one.predicate == predicate)
        # Heads of one choice exclude each other, so they are not independent events.
        if twice or id(statement) in self._drawn:
            raise NotInStepsError
        if isinstance(drawn.probability, Learned) or not isinstance(drawn.head, Atom):
            raise NotInStepsError
        self._drawn.add(id(statement))
        rule = Rule(drawn.head, statement.body, span=statement.span)
        clause = rule_clause(rule, self.signature, self.facts)
        if clause is None:
            return None
        if len(statement.alternatives) > 1 and not _is_whole(statement, clause):
            raise NotInStepsError
        self.chances += (self._chance(drawn.probability, clause),)
        return replace(clause, weight=len(self.chances) - 1)

    def _chance(self, stated: object, clause: Clause) -> float | str:
        if not isinstance(stated, Variable):
            return float(stated)  # type: ignore[arg-type]
        if stated.name not in clause.variables():  # an equation has given it another name
            raise NotInStepsError
        self._chance_types.add(clause.types[stated.name])
        return stated.name

    def refuse_improbable(self, source: Source) -> None:
        """Raise where a constant of a probability's type is no probability, even if no instance uses it."""
        value = column("value")
        for name in self._chance_types:
            if source.numbers(name).where((value < 0) | (value > 1)).count():
                raise NotInStepsError


def _is_whole(choice: Choice, clause: Clause) -> bool:
    """Whether the clause of one head has an instance for each of the choice's, and all heads have numbers as
    probabilities."""
    terms = (term for one in choice.alternatives for term in leaf_terms(one.head))
    named = {term.name for term in terms if isinstance(term, Variable)}
    numbers = all(isinstance(one.probability, float | int) for one in choice.alternatives)
    return numbers and named <= set(clause.variables())


@dataclass(eq=False)
class _QueriedStep:
    """One question about a program."""

    program: Program
    question: Question
    budget: Budget

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self.program)

    def answer(self) -> WholeTables:
        """Compute the answer. Raises :class:`NotInStepsError` where it needs a circuit, or is small."""
        derived, tables = derived_by(self.program.uncertain), self.program.facts.tables
        patterns = self._patterns(derived)
        if any(tables[name].fact_count for name in derived) or any(len(t.soft) for t in tables.values()):
            raise NotInStepsError
        drawn = DrawnClauses(self.program.uncertain, self.program.signature, self.program.facts, patterns)
        self._check_facts(drawn)
        rows = min(MOST_JOINED, JOINED_A_SECOND * self.budget.seconds_left)
        source = FactRelations(drawn.signature, self.program.facts, Limit(self.budget, rows), complete=False)
        drawn.refuse_improbable(source)
        evaluation = evaluation_of(source, drawn.chances)
        steps = {name: [self._steps(drawn, one) for one in own] for name, own in patterns.items()}
        by_predicate = {name: self._found(name, own, evaluation) for name, own in steps.items()}
        free = (name for name in drawn.signature.predicates if name not in derived)
        total = sum(
            self._evidence.known(name).latent_count() * math.log(self.program.value_count(name))
            for name in free
        )
        return WholeTables(self._evidence, self.question, by_predicate, total)

    def _patterns(self, derived: Collection[str]) -> dict[str, list[AtomPattern]]:
        """Patterns asked for of each derived predicate; questions about other predicates need the circuit."""
        signature = self.program.signature
        patterns: dict[str, list[AtomPattern]] = {}
        for one in self.question.atoms:
            patterns.setdefault(one.predicate, []).append(one)
        if self.question.everything:
            latent = (name for name in signature.listed if self._evidence.known(name).latent_count())
            patterns = {name: [AtomPattern.whole(signature.predicates[name])] for name in latent}
        if not patterns.keys() <= set(derived):
            raise NotInStepsError
        for name, own in patterns.items():
            if len(own) > MOST_PATTERNS or any(one.latent for one in own):
                patterns[name] = [AtomPattern.whole(signature.predicates[name])]
        return patterns

    def _check_facts(self, drawn: DrawnClauses) -> None:
        """Raise where the facts that clauses read are few, or not all known."""
        facts, size = self.program.facts, 0
        for clause in (clause for own in drawn.clauses.values() for clause in own):
            size += sum(len(facts.domains[clause.types[name]]) for name in clause.ranging())
            for part in clause.body:
                if isinstance(part, Lookup | Absence) and part.predicate not in drawn.derived:
                    if self._evidence.known(part.predicate).latent_count():
                        raise NotInStepsError
                    size += len(facts.tables[part.predicate].true)
        if size < LEAST_ROWS:
            raise NotInStepsError

    def _steps(self, drawn: DrawnClauses, pattern: AtomPattern) -> Steps:
        names = tuple(f"x{place}" for place in range(len(pattern.arguments)))
        types = dict(zip(names, drawn.signature.predicates[pattern.predicate].types, strict=True))
        constants = {
            name: one for name, one in zip(names, pattern.arguments, strict=True) if isinstance(one, int)
        }
        goal = Clause("asked", names, (Lookup(pattern.predicate, names),), types)
        steps = steps_of(drawn, goal, constants, (), None)
        if steps is None:
            raise NotInStepsError
        return steps

    def _found(
        self, predicate: str, steps: Sequence[Steps], evaluation: ClauseRows
    ) -> tuple[np.ndarray, np.ndarray]:
        """The codes of atoms that may hold, ascending, and their probabilities."""
        sizes, codes, weights = self._evidence.sizes(predicate), list[np.ndarray](), list[np.ndarray]()
        for one in steps:
            rows = one.rows(evaluation)
            arrays, count = dict(rows.arrays()), rows.count()
            weights.append(np.broadcast_to(arrays.pop(WEIGHT), count))
            codes.append(row_keys(list(arrays.values()), sizes, count))
        every, first = np.unique(np.concatenate(codes), return_index=True)
        probabilities = np.concatenate(weights)[first]
        return every[probabilities > 0], probabilities[probabilities > 0]
