"""Which predicates carry weights of proofs, which formulas and bounds do not count.

To ``infer`` and ``bound`` a fact with a weight is a fact, and what a rule derives holds. So a probability
asked of a predicate that rests on weights would be 0 or 1 where ``query --algebra probability`` has it right.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('edge("a", "b") @ 0.5\\npath(x, y) :- edge(x, y)\\nnear(x, y) :- road(x, y)')
>>> resting_on_weights(theory.rules, ["edge"])
{'edge': 'facts of edge have weights', 'path': 'facts of edge have weights'}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.language.show import show_statement
from herbrand.language.syntax import Learned, Rule
from herbrand.program.strata import body_predicates


def resting_on_weights(rules: Sequence[Rule], weighted: Iterable[str]) -> dict[str, str]:
    """Why, for each predicate with facts of a weight other than 1, or with proofs that use such a weight."""
    found = {name: f"facts of {name} have weights" for name in weighted}
    for rule in rules:
        if rule.weight not in (None, 1) and not isinstance(rule.weight, Learned):
            found.setdefault(rule.head.predicate, f"this rule has a weight: {next(show_statement(rule))}")
    grown = True
    while grown:
        grown = False
        for rule in rules:
            reasons = [found[name] for name, _ in body_predicates(rule) if name in found]
            if reasons and rule.head.predicate not in found:
                found[rule.head.predicate] = reasons[0]
                grown = True
    return found


def weighted_predicates(facts: Facts) -> list[str]:
    """The predicates with facts of a weight other than 1."""
    tables = facts.tables.items()
    return [name for name, table in tables if table.weights is not None and (table.weights != 1).any()]


def refuse_weighted(command: str, asked: Iterable[str], resting: Mapping[str, str]) -> None:
    """Raise where what is asked rests on weights of proofs."""
    for name in sorted(set(asked) & resting.keys()):
        raise UnsupportedError(
            f"{name} rests on weights of proofs, which {command} does not count: {resting[name]}",
            hint=f"herbrand query ... '{name}(...)' --algebra probability takes them as probabilities",
        )
