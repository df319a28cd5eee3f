"""Rewrite choices of several heads as rules over a new predicate that holds where their bodies do.

A single proof identifies an instance of a choice by the constants of its body. Rules that each repeated the
whole body would order its variables, and split it, each differently; these all depend on one atom.

    0.4 :: heads(c); 0.6 :: tails(c) :- coin(c)        `choice 1(c) :- coin(c)
                                                        heads(c) :- `choice 1(c) @ 0.4
                                                        tails(c) :- `choice 1(c) @ 0.6

>>> from herbrand.facts.load import load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> from herbrand.program.lower import lower
>>> theory = parse_theory("0.4 :: heads(c); 0.6 :: tails(c) :- coin(c)")
>>> program = lower(theory, *load_facts((), check(theory)), uncertain=theory.choices)
>>> [rule.head.predicate for rule in with_choice_instances(program).statements]
['`choice 1', 'heads', 'tails']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from herbrand.facts.facts import Facts, FactTable
from herbrand.language.formulas import AnyAtom, Atom, Comparison, Not, Truth, Variable, leaf_terms
from herbrand.language.scope import free_names, variable_types
from herbrand.language.signature import Predicate
from herbrand.language.syntax import Choice, Rule, Statement
from herbrand.program.program import Program

_MADE = "`choice "
"""Prefix of the new predicates: no written name holds a back-quote. Calls of them take no depth."""


def chosen_by(rule: Rule | None) -> str | None:
    """The predicate of a choice's instances that a rule's head depends on; ``None`` for any other rule."""
    match rule:
        case Rule(body=(Atom(predicate=name),)) if name.startswith(_MADE):
            return name
    return None


def with_choice_instances(program: Program) -> Program:
    """Replace each choice of several boolean heads with numeric probabilities by rules; keep other
    statements."""
    statements, predicates = list[Statement](), dict[str, Predicate]()
    for statement in program.statements:
        if not isinstance(statement, Choice) or not (heads := _heads(statement)):
            statements.append(statement)
            continue
        parts = (*(head for _, head in heads), *statement.body)
        types, free = variable_types(parts, program.signature), free_names(parts)
        name = f"{_MADE}{len(predicates) + 1}"
        predicates[name] = Predicate(name, tuple(types[variable] for variable in free), computed=True)
        instance = Atom(name, tuple(map(Variable, free)), statement.span)
        statements.append(Rule(instance, statement.body, span=statement.span))
        statements += [Rule(head, (instance,), p, statement.label, statement.span) for p, head in heads]
    tables = {name: FactTable.empty(len(one.types), "open") for name, one in predicates.items()}
    return replace(
        program,
        statements=tuple(statements),
        signature=replace(program.signature, predicates={**program.signature.predicates, **predicates}),
        facts=Facts(program.facts.domains, {**program.facts.tables, **tables}),
    )


def _heads(choice: Choice) -> Sequence[tuple[float, Atom]]:
    """Heads with their probabilities; empty if the choice has one head or parts that rules cannot express."""
    heads = [
        (float(one.probability), one.head)
        for one in choice.alternatives
        if isinstance(one.probability, int | float) and isinstance(one.head, Atom)
    ]
    plain = all(isinstance(part, AnyAtom | Comparison | Truth | Not) for part in choice.body)
    terms = [term for part in choice.body for term in leaf_terms(part)] if plain else []
    named = not any(isinstance(term, Variable) and term.anonymous for term in terms)
    return heads if plain and named and 1 < len(heads) == len(choice.alternatives) else ()
