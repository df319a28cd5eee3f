"""In which order rules can be run so that a predicate is complete before it stands behind ``not``.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("lone(x) :- node(x), not linked(x)\\nlinked(x) :- edge(x, y)")
>>> [[rule.head.predicate for rule in stratum] for stratum in strata(theory.rules)]
[['linked'], ['lone']]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from herbrand.errors import LanguageError, Mistake
from herbrand.graphs import reached
from herbrand.language.computed import aggregates, inner_parts
from herbrand.language.syntax import Atom, Computed, Formula, Not, Rule, ValueIn, ValueIs, walk


def strata(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules in groups, each to be run to its fixpoint before the next one.

    Raises a ``LanguageError`` that names every rule in which a predicate depends on its own negation.
    """
    check_strata(rules)
    level = {rule.head.predicate: 0 for rule in rules}
    grown = True
    while grown:
        grown = False
        for rule in rules:
            for name, literal in body_predicates(rule):
                least = level.get(name, 0) + (isinstance(literal, Not | Computed) and name in level)
                if level[rule.head.predicate] < least:
                    level[rule.head.predicate], grown = least, True
    return [
        [rule for rule in rules if level[rule.head.predicate] == number]
        for number in sorted(set(level.values()))
    ]


def check_strata(rules: Sequence[Rule], kinds: tuple[type[Formula], ...] = (Not, Computed)) -> None:
    """Raise a ``LanguageError`` that names every rule in which a predicate depends on its own negation.

    ``kinds``: the literals that need a predicate complete.
    """
    needs: dict[str, set[str]] = {rule.head.predicate: set() for rule in rules}
    for rule in rules:
        needs[rule.head.predicate].update(name for name, _ in body_predicates(rule) if name in needs)
    below = {name: reached([name], needs.__getitem__) for name in needs}
    mistakes = [
        Mistake(
            f"{rule.head.predicate} depends on its own negation",
            literal.span or rule.span,
            "'not' stands before a predicate that is complete without this rule",
        )
        for rule in rules
        for name, literal in body_predicates(rule)
        if isinstance(literal, kinds) and rule.head.predicate in below.get(name, ())
    ]
    if mistakes:
        raise LanguageError(mistakes)


def body_predicates(rule: Rule) -> Iterator[tuple[str, Formula]]:
    """Each predicate of a rule's body, those that it counts among them, with the literal it stands in."""
    for literal in rule.body:
        counts = aggregates(literal) if isinstance(literal, Computed) else ()
        inner = [part for one in counts for part in inner_parts(one, (Atom, ValueIs, ValueIn))]
        for part in (*walk(literal), *inner):
            atom = part.atom if isinstance(part, ValueIs | ValueIn) else part
            if isinstance(atom, Atom):
                yield atom.predicate, literal
