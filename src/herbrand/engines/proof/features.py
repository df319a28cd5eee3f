"""The facts of a learned predicate without stated facts: all rows that the rest of its rules' bodies binds.

In ``topic(d, t) :- word(d, w), label(t), about(w, t)`` a learned ``about`` without facts gets a fact, with
weight 1 before learning, for each pair of a word of some document and a label. These are the features of
TensorLog's ``{f(W) : g(X,W)}``.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("topic(d, t) :- word(d, w), label(t), about(w, t)")
>>> sources = fact_sources({"word": [("d1", "ball")], "label": ["sport", "art"]})
>>> signature, facts = load_facts((), check(theory), sources)
>>> with_features(theory.rules, signature, facts, ["about"]).table("about").true.tolist()
[[0, 0], [0, 1]]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import FIXPOINT, Request
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.graphs import linked
from herbrand.language.formulas import unnegated
from herbrand.language.names import shown_name
from herbrand.language.scope import written
from herbrand.language.signature import Signature
from herbrand.language.syntax import Atom, BodyLiteral, Comparison, Rule, Variable, leaf_terms
from herbrand.program.clauses import Clause


def learned_predicates(rules: Sequence[Rule], signature: Signature, facts: Facts) -> tuple[str, ...]:
    """The predicates whose facts' weights are to be learned.

    These are the ones declared ``learned`` and, in theories without declarations, those in bodies that have
    neither facts nor rules.
    """
    derived = {rule.head.predicate for rule in rules}
    used = {part.predicate for rule in rules for part in rule.body if isinstance(part, Atom)}
    return tuple(
        name
        for name, predicate in signature.predicates.items()
        if predicate.role == "learned"
        or (not signature.strict and name in used - derived and not len(facts.tables[name].true))
    )


def features_of(learned: Collection[str], facts: Facts) -> set[str]:
    """The learned predicates without facts, which get all facts that their rules' bodies can use."""
    return {name for name in learned if not len(facts.tables[name].true)}


def refuse_absence(program: HornProgram, goals: Sequence[Clause], scored: Collection[str]) -> None:
    """Raise UnsupportedError if ``not`` or an aggregate is over a predicate that depends on scores.

    ``not`` means that an atom has no proof, and every atom with a score has one, whatever the score; an
    aggregate is over all atoms with a proof.
    """
    for clause, predicate in program.absences(goals):
        for rests, name in _scored_below(program, predicate, scored):
            raise UnsupportedError(
                f"'not' stands before {predicate}{rests}: {name} takes scores, and 'not' means that there is "
                "no proof, so no score would count",
                span=clause.span,
                hint="give scores to a predicate of their own for what does not hold, such as 1 - s; "
                "a query layer with algebra='probability' takes 'not'",
            )
    for reached_clause in program.reached(goals):
        for predicate, aggregate in program.signature.predicates[reached_clause].aggregated:
            for rests, name in _scored_below(program, predicate, scored):
                raise UnsupportedError(
                    f"{aggregate.function} is over {predicate}{rests}: {name} takes scores, and an aggregate "
                    "is over all that has a proof, so no score would count",
                    span=aggregate.span,
                )


def _scored_below(program: HornProgram, predicate: str, scored: Collection[str]) -> Iterator[tuple[str, str]]:
    """The scored predicates among a predicate and those it depends on, each after a phrase for an error."""
    below = {predicate, *program.reached(program.clauses.get(predicate, ()))}
    for name in sorted(below & set(scored)):
        yield "" if name == predicate else f", which rests on {name}", name


def with_features(
    rules: Sequence[Rule],
    signature: Signature,
    facts: Facts,
    learned: Collection[str],
    budget: Budget = UNLIMITED,
) -> Facts:
    """Add to the facts all that learned predicates without facts could use.

    Raises LanguageError where the rules do not bind all their variables.
    """
    derived = {rule.head.predicate for rule in rules}
    empty = features_of(learned, facts) - derived
    if not empty:
        return facts
    generated = [clause for rule in rules for clause in _generating(rule, empty, derived)]
    proof = Proof.of([*rules, *generated], signature, facts)
    _refuse_unbound(proof.program, empty)
    tables = dict(facts.tables)
    for name in dict.fromkeys(rule.head.predicate for rule in generated):
        names = ", ".join(f"x{place}" for place in range(signature.predicates[name].arity))
        goal = proof.read(f"{shown_name(name)}({names})" if names else shown_name(name))
        request = Request(algebra="boolean", depth=FIXPOINT, budget=budget)
        answers = proof.found(goal.shape, [()], request).table
        rows = np.empty((len(answers), len(answers.columns) - 1), np.int32)
        for place, column in enumerate(answers.columns[1:]):
            rows[:, place] = column
        rows = np.asfortranarray(rows[np.lexsort(rows.T[::-1])] if rows.shape[1] else rows)
        tables[name] = replace(tables[name], true=rows)
    return Facts(facts.domains, tables)


def _refuse_unbound(program: HornProgram, empty: Collection[str]) -> None:
    for name in sorted(empty & program.clauses.keys()):
        for clause in program.clauses[name]:
            for variable in sorted(clause.ranging()):
                raise LanguageError(
                    f"nothing else in the body binds {written(variable)}",
                    span=clause.span,
                    hint=f"state the facts of {name}, whose weights are to be learned",
                )


def _generating(rule: Rule, empty: Collection[str], derived: Collection[str]) -> Iterator[Rule]:
    """For each atom of an ``empty`` predicate in a body, a rule that derives it from the rest of the body.

    The body is the stated atoms that share variables with it, directly or not, if these bind its variables,
    else all other atoms; atoms of ``empty`` predicates are left out.
    """
    rest = [part for part in rule.body if not (isinstance(part, Atom) and part.predicate in empty)]
    atoms = [part for part in rest if isinstance(part, Atom)]
    for part in rule.body:
        if not isinstance(part, Atom) or part.predicate not in empty:
            continue
        others = [atom for atom in atoms if atom.predicate not in derived]
        _, *stated = linked([part, *others], lambda atom: _variables([atom]))[0]
        bound = _variables([*stated, *(test for test in rest if _names_constant(test))])
        chosen = stated if _variables([part]) <= bound else atoms
        known = _variables([part, *chosen])
        tests = [test for test in rest if _compares(test) and _variables([test]) <= known]
        yield Rule(part, (*chosen, *tests), span=rule.span)


def _names_constant(part: BodyLiteral) -> bool:
    return isinstance(part, Comparison) and part.operator == "=" and len(_variables([part])) == 1


def _compares(part: BodyLiteral) -> bool:
    return isinstance(unnegated(part), Comparison)


def _variables(parts: Sequence[BodyLiteral]) -> set[str]:
    return {term.name for part in parts for term in leaf_terms(part) if isinstance(term, Variable)}
