"""Whether `not` stands only before predicates that are complete without the rule it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from herbrand.errors import LanguageError, Mistake
from herbrand.language.syntax import Atom, Not, Rule, ValueIn, ValueIs, walk


def check_strata(rules: Sequence[Rule]) -> None:
    """Raise a ``LanguageError`` that names every rule in which a predicate depends on its own negation."""
    needs: dict[str, set[str]] = {rule.head.predicate: set() for rule in rules}
    for rule in rules:
        needs[rule.head.predicate].update(name for name, _ in _predicates(rule) if name in needs)
    reached = {name: _reached(name, needs) for name in needs}
    mistakes = [
        Mistake(
            f"{rule.head.predicate} depends on its own negation",
            literal.span or rule.span,
            "'not' stands before a predicate that is complete without this rule",
        )
        for rule in rules
        for name, literal in _predicates(rule)
        if isinstance(literal, Not) and rule.head.predicate in reached.get(name, ())
    ]
    if mistakes:
        raise LanguageError(mistakes)


def _predicates(rule: Rule) -> Iterator[tuple[str, object]]:
    """Each predicate of the body, with the literal it stands in."""
    for literal in rule.body:
        for part in walk(literal):
            atom = part.atom if isinstance(part, ValueIs | ValueIn) else part
            if isinstance(atom, Atom):
                yield atom.predicate, literal


def _reached(name: str, needs: dict[str, set[str]]) -> set[str]:
    """What a predicate rests on, itself included."""
    found, waiting = {name}, [name]
    while waiting:
        for other in needs[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found
