"""Questions whose facts and rules get their probabilities with each call, as forms to be evaluated.

This is the method of :mod:`herbrand.engines.proof.probability` with symbolic numbers. Questions that differ
only in their constants share one form, compiled once.

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> from herbrand.engines.proof.query import Proof
>>> theory = parse_theory('wet(x) :- rain(x)\\nwet(x) :- not rain(x), hose(x)\\nhose("a") @ 0.5\\nrain("a")')
>>> program = HornProgram.of(theory.rules, *load_facts(theory.facts, check(theory)))
>>> goal = Proof(program).read("wet(x)")
>>> sources = Sources(program, ("rain",))
>>> worlds = ScoredWorlds(sources, goal.shape.clause, None, UNLIMITED)
>>> worlds.prepare(())
>>> answers = worlds.answers((), None)
>>> answers.places.tolist(), answers.sources.tolist(), answers.less.tolist()
([0], [1, 0, 0], [False, False, True])
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.choices import Drawn, impossible_evidence
from herbrand.engines.circuit.constraints import FALSE, TRUE
from herbrand.engines.circuit.forms import ZERO
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.probability import ANY, Calls, Grounded, PossibleWorlds
from herbrand.engines.proof.scored_answers import (
    CachedAnswers,
    Forms,
    ScoredAnswers,
    SeparateChoices,
    place_of,
)
from herbrand.engines.proof.sources import Row, Sources
from herbrand.facts.facts import Facts
from herbrand.language.syntax import Choice, Rule
from herbrand.program.clauses import Clause

DOUBT = 0.5
"""Probability of a scored fact during grounding; any number but 0 and 1 serves."""


class ScoredWorlds(CachedAnswers):
    """A goal weighted over all possible worlds; ``depth`` bounds nested calls, ``None`` for no bound."""

    def __init__(self, sources: Sources, goal: Clause, depth: int | None, budget: Budget) -> None:
        super().__init__()
        program = sources.program
        facts = _doubted(program, sources.scored)
        self._worlds = PossibleWorlds(program.with_facts(facts))
        self._worlds.check(goal)
        self._sources, self._goal = sources, self._worlds.lowered(goal)
        self._sizes = [program.sizes[goal.types[name]] for name in goal.head]
        self._calls, self._budget = Calls(None if depth is None else depth + 2), budget
        self._forms = Forms(budget)

    def _computed_answers(self, inputs: Row) -> ScoredAnswers:
        pattern = (*inputs, *(ANY,) * (len(self._sizes) - len(inputs)))
        choices = SeparateChoices()
        grounded = Grounded(self._worlds, self._goal, [pattern], self._calls, self._budget, choices)
        grounded.observe()
        known, sizes = len(inputs), self._sizes[len(inputs) :]
        literals = {
            place_of(atom[1][known:], sizes): literal
            for _, atom in grounded.answers
            if (literal := grounded.derived.literal(atom)) != FALSE
        }
        places = sorted(literals)
        form = self._forms.of(
            choices, [*(literals[place] for place in places), *[TRUE] * bool(choices.evidence)]
        )
        observed = len(form.roots) - len(places)
        if observed and form.roots[len(places)] == ZERO:
            raise impossible_evidence(choices.smallest_evidence(self._budget))
        return ScoredAnswers.of(form, places, self._numbered(grounded), observed)

    def _numbered(self, grounded: Grounded) -> dict[int, int]:
        """The source of each variable of a choice."""
        numbers = dict[int, int]()
        for name, rows, drawn in grounded.drawn:
            for row, chance, variable in zip(rows, drawn.chances, drawn.variables, strict=True):
                numbers[variable] = self._sources.of_fact(name, row, chance)
        for instance, drawn in grounded.derived.drawn:
            numbers |= zip(drawn.variables, self._chances(instance.lowered.statement, drawn), strict=True)
        assert isinstance(grounded.made, SeparateChoices)
        return numbers | {v: self._sources.of_number(p) for v, p in grounded.made.numbers.items()}

    def _chances(self, statement: Choice | Rule, drawn: Drawn) -> Iterable[int]:
        """The source of each outcome's probability: the rule, or the numbers of the choice's instance."""
        if isinstance(statement, Rule):
            return [self._sources.of_rule(statement)]
        return map(self._sources.of_number, drawn.chances)


def _doubted(program: HornProgram, scored: Collection[str]) -> Facts:
    """The facts with a probability for each scored one; those of an atom's values are equal and sum to 1."""
    tables = dict(program.facts.tables)
    for name in scored:
        rows, chances = tables[name].true, np.full(len(tables[name].true), DOUBT)
        if program.signature.predicates[name].value_type is not None and len(rows):
            _, of_atom, counts = np.unique(rows[:, :-1], axis=0, return_inverse=True, return_counts=True)
            chances = 1 / counts[of_atom.reshape(-1)]
        tables[name] = replace(tables[name], weights=chances)
    return Facts(program.facts.domains, tables)
