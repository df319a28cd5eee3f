"""Statements with ``::``: what rests on them, and who cannot use them.

>>> from herbrand.language.parse import parse_theory
>>> refuse_choices(parse_theory("1.5: smokes(x)").statements, "induce")
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from herbrand.errors import UnsupportedError
from herbrand.graphs import reached, strong_components
from herbrand.language.names import text_of_made
from herbrand.language.show import show_statement
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, Computed, Rule, Statement
from herbrand.program.program import Program
from herbrand.program.strata import body_predicates, check_strata


def refuse_choices(statements: Iterable[Statement], what: str) -> None:
    """An ``UnsupportedError`` that names the first choice among the statements, if there is one."""
    for statement in statements:
        if isinstance(statement, Choice):
            message = f"{what} cannot use this statement: {next(show_statement(statement))}"
            raise UnsupportedError(message, span=statement.span)


def unusable_by(name: str, statement: Choice | Rule, signature: Signature) -> UnsupportedError:
    """Why an engine other than the one of choices cannot use a statement that rests on them."""
    hint = "infer, query and sample do, by --engine circuit, which auto takes"
    head = next(heads_of(statement))
    if signature.predicates[head].computed:
        message = f"{name} cannot count what is uncertain: {text_of_made(head)}"
    else:
        message = f"{name} cannot use this statement: {next(show_statement(statement))}"
    return UnsupportedError(message, span=statement.span, hint=hint)


def refuse_resting(program: Program, what: str) -> None:
    """An ``UnsupportedError`` that names a statement which rests on choices or counts what is uncertain."""
    for statement in program.uncertain[:1]:
        raise unusable_by(what, statement, program.signature)


def heads_of(statement: Choice | Rule) -> Iterator[str]:
    """The predicates that a rule or a choice derives."""
    if isinstance(statement, Rule):
        yield statement.head.predicate
    else:
        yield from (alternative.predicate for alternative in statement.alternatives)


def only_count(statements: Sequence[Choice | Rule]) -> bool:
    """Whether these are rules that count, and none rests on itself: then no choice is to be drawn."""
    below: dict[str, set[str]] = {}
    counts = False
    for statement in statements:
        if isinstance(statement, Choice):
            return False
        counts = counts or any(isinstance(part, Computed) for part in statement.body)
        below.setdefault(statement.head.predicate, set()).update(
            name for name, _ in body_predicates(statement)
        )
    known = {name: parts & below.keys() for name, parts in below.items()}
    return counts and all(len(c) == 1 and c[0] not in known[c[0]] for c in strong_components(known))


def resting_on_choices(
    choices: Sequence[Choice], rules: Sequence[Rule], unknown: Collection[str] = ()
) -> tuple[Choice | Rule, ...]:
    """The choices and all rules whose conclusions depend on what is chosen, or on what is ``unknown``.

    All rules of a predicate that one of them makes uncertain are among them. Raises where a predicate depends
    on a count of itself, or a certain one on its own negation: of uncertain ones the ground atoms may be
    stratified where their predicates are not, which grounding shows.
    """
    as_rules = [
        Rule(a.atom, choice.body, span=choice.span) for choice in choices for a in choice.alternatives
    ]
    check_strata([*as_rules, *rules], (Computed,))
    found = {name for choice in choices for name in heads_of(choice)}
    found |= {rule.head.predicate for rule in rules} & set(unknown)
    above = defaultdict[str, set[str]](set)
    for rule in rules:
        for name, _ in body_predicates(rule):
            above[name].add(rule.head.predicate)
    found |= {head for name in reached({*found, *unknown}, above.__getitem__) for head in above[name]}
    check_strata([rule for rule in rules if rule.head.predicate not in found])
    return (*choices, *(rule for rule in rules if rule.head.predicate in found))
