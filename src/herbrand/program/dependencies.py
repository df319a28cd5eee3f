"""Dependencies between predicates: on rules in order, on choices, and on weights of proofs.

Rules are evaluated in an order in which a predicate is complete before it is negated.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("lone(x) :- node(x), not linked(x)\\nlinked(x) :- edge(x, y)")
>>> [[rule.head.predicate for rule in stratum] for stratum in strata(theory.rules)]
[['linked'], ['lone']]

Formulas, bounds and choices do not count weights of proofs. For ``infer`` and ``bound`` a fact with a weight
is a fact, and what a rule derives holds. So a probability asked of a predicate that depends on weights would
be 0 or 1, or that of a choice alone, while ``query --algebra probability`` computes the correct one.

>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('edge("a", "b") @ 0.5\\npath(x, y) :- edge(x, y)\\nnear(x, y) :- road(x, y)')
>>> resting_on_weights(theory.rules, ["edge"])
{'edge': 'facts of edge have weights', 'path': 'facts of edge have weights'}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from herbrand.errors import LanguageError, Mistake, UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.graphs import reached, strong_components
from herbrand.language.comparisons import atoms_in
from herbrand.language.formulas import Computed, Formula, Not, predicates_in, row_atom, walk
from herbrand.language.names import is_made, text_of_made
from herbrand.language.show import statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, Learned, Rule, heads_of
from herbrand.program.program import Program


def strata(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Groups of rules, each to be evaluated to its fixpoint before the next: those of predicates that depend
    on each other.

    Raise LanguageError, naming every rule in which a predicate depends on its own negation.
    """
    check_strata(rules)
    own: dict[str, list[Rule]] = {}
    for rule in rules:
        own.setdefault(rule.head.predicate, []).append(rule)
    return [[rule for name in group for rule in own[name]] for group in strong_components(_needs(rules))]


def check_strata(rules: Sequence[Rule], kinds: tuple[type[Formula], ...] = (Not, Computed)) -> None:
    """Raise LanguageError, naming every rule in which a predicate depends on its own negation.

    ``kinds``: classes of the literals that need their predicates to be complete.
    """
    if not any(isinstance(literal, kinds) for rule in rules for literal in rule.body):
        return
    group = {name: place for place, names in enumerate(strong_components(_needs(rules))) for name in names}
    mistakes = [
        Mistake(
            f"{rule.head.predicate} depends on its own negation",
            literal.span or rule.span,
            "'not' stands before a predicate that is complete without this rule",
        )
        for rule in rules
        for name, literal in body_predicates(rule)
        if isinstance(literal, kinds) and group.get(name) == group[rule.head.predicate]
    ]
    if mistakes:
        raise LanguageError(mistakes)


def _needs(rules: Sequence[Rule]) -> dict[str, dict[str, None]]:
    """For each derived predicate, the derived predicates that it depends on directly."""
    needs: dict[str, dict[str, None]] = {rule.head.predicate: {} for rule in rules}
    for rule in rules:
        needs[rule.head.predicate].update((name, None) for name, _ in body_predicates(rule) if name in needs)
    return needs


def body_predicates(rule: Rule) -> Iterator[tuple[str, Formula]]:
    """Yield each predicate of a rule's body, inside aggregates too, with the literal that contains it."""
    return ((atom.predicate, literal) for literal in rule.body for atom in atoms_in(literal))


def unusable_by(name: str, statement: Choice | Rule, signature: Signature) -> UnsupportedError:
    """The error for an engine that cannot use a statement that depends on choices."""
    hint = (
        "infer and sample do, by --engine circuit, which auto takes; query does in a theory with choices (::)"
    )
    head = heads_of(statement)[0]
    if isinstance(statement, Rule) and signature.predicates[head].computed:
        message = f"{name} cannot count what is uncertain: {text_of_made(head)}"
    else:
        message = f"{name} cannot use this statement: {statement_text(statement)}"
    return UnsupportedError(message, span=statement.span, hint=hint)


def refuse_resting(program: Program, what: str) -> None:
    """Raise UnsupportedError if a statement depends on choices or counts over uncertain predicates."""
    for statement in program.uncertain[:1]:
        raise unusable_by(what, statement, program.signature)


def derived_by(statements: Iterable[Choice | Rule]) -> set[str]:
    """Predicates that rules and choices derive."""
    return set(chain.from_iterable(map(heads_of, statements)))


def only_count(statements: Sequence[Choice | Rule]) -> bool:
    """Whether all statements are rules, some of which count, and none is recursive: then no choice is
    sampled."""
    rules = [statement for statement in statements if isinstance(statement, Rule)]
    counts = any(isinstance(part, Computed) for rule in rules for part in rule.body)
    if not counts or len(rules) < len(statements):
        return False
    needs = _needs(rules)
    return all(len(c) == 1 and c[0] not in needs[c[0]] for c in strong_components(needs))


def as_rules(choices: Iterable[Choice]) -> list[Rule]:
    """A rule for each head of a choice, a value as its last argument, for the analysis of dependencies."""
    heads = ((row_atom(one.head), choice) for choice in choices for one in choice.alternatives)
    return [Rule(head, choice.body, span=choice.span) for head, choice in heads]


def resting_on_choices(
    choices: Sequence[Choice], rules: Sequence[Rule], unknown: Collection[str] = ()
) -> tuple[Choice | Rule, ...]:
    """Choices and all rules whose conclusions depend on choices, or on ``unknown`` predicates.

    If one rule of a predicate makes it uncertain, all its rules are included. Raise LanguageError if a
    predicate depends on an aggregate of itself, or a certain one on its own negation: for uncertain
    predicates the ground atoms may be stratified although their predicates are not, which only grounding
    shows.
    """
    if any(isinstance(literal, Computed) for stated in (*choices, *rules) for literal in stated.body):
        check_strata([*as_rules(choices), *rules], (Computed,))
    uncertain = derived_by(choices)
    uncertain |= {rule.head.predicate for rule in rules} & set(unknown)
    above = _above(rules)
    uncertain |= {head for name in reached({*uncertain, *unknown}, above.__getitem__) for head in above[name]}
    check_strata([rule for rule in rules if rule.head.predicate not in uncertain])
    return (*choices, *(rule for rule in rules if rule.head.predicate in uncertain))


def _above(rules: Iterable[Rule]) -> dict[str, dict[str, None]]:
    """For each predicate, those that depend on it directly."""
    above = defaultdict[str, dict[str, None]](dict)
    for rule in rules:
        for name, _ in body_predicates(rule):
            above[name][rule.head.predicate] = None
    return above


def resting_on_weights(rules: Sequence[Rule], weighted: Iterable[str]) -> dict[str, str]:
    """A reason for each predicate with facts of a weight other than 1, or with proofs that use such a
    weight."""
    reasons = {name: f"facts of {name} have weights" for name in weighted}
    for rule in rules:
        if rule.weight not in (None, 1) and not isinstance(rule.weight, Learned):
            reasons.setdefault(rule.head.predicate, f"this rule has a weight: {statement_text(rule)}")
    return _carried(reasons, rules)


def resting_on(rules: Sequence[Rule], names: Collection[str]) -> dict[str, str]:
    """A reason for each predicate that rules derive from ``names``, directly or not; ``names`` are left
    out."""
    reasons: dict[str, str] = {}
    for rule in rules:
        for name, _ in body_predicates(rule):
            if name in names:
                reasons.setdefault(
                    rule.head.predicate, f"this rule derives from {name}: {statement_text(rule)}"
                )
    return _carried(reasons, rules)


def _carried(reasons: dict[str, str], rules: Sequence[Rule]) -> dict[str, str]:
    """Extend the reasons to all predicates that depend on those which have one."""
    above = _above(rules) if reasons else {}
    waiting = list(reasons)
    for name in waiting:
        fresh = [head for head in above.get(name, ()) if head not in reasons]
        reasons |= dict.fromkeys(fresh, reasons[name])
        waiting += fresh
    return reasons


def weighted_predicates(facts: Facts) -> list[str]:
    """Predicates with facts of a weight other than 1."""
    tables = facts.tables.items()
    return [name for name, table in tables if table.weights is not None and (table.weights != 1).any()]


def refuse_weighted(
    command: str, asked: Iterable[str], resting: Mapping[str, str], beside_choices: bool = False
) -> None:
    """Raise UnsupportedError if an asked predicate depends on weights of proofs. ``beside_choices``: the
    program has choices, so the hint is to state the weights as choices."""
    for name in sorted(set(asked) & resting.keys()):
        generated = is_made(name)
        hint = f"herbrand query ... '{name}(...)' --algebra probability takes them as probabilities"
        if generated or beside_choices:
            what = "what is to be counted" if generated else "what has a weight"
            hint = f"state by choices, such as 0.3 :: p(x), {what}"
        raise UnsupportedError(
            f"{text_of_made(name) if generated else name} depends on weights of proofs, which {command} does "
            f"not count: {resting[name]}",
            hint=hint,
        )


def negated_in(part: Formula) -> Iterator[str]:
    """Predicates under ``not`` in a literal or a goal."""
    for inner in walk(part):
        if isinstance(inner, Not):
            yield from predicates_in(inner)


@dataclass(frozen=True)
class Depth:
    """The number of nested calls after which recursion makes no more values, where no rule bounds them;
    ``negated``: predicates under ``not`` in what is asked."""

    calls: int
    negated: frozenset[str] = frozenset()
