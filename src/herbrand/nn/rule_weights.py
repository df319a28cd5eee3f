"""Weights of a theory's learned facts and rules as torch parameters.

Each existing fact of a learned predicate has a weight. The parameters are logarithms, so that weights stay
positive and proofs never cancel; for probabilities they are log-odds.

>>> import herbrand as hb
>>> theory = hb.parse('''
... predicate e(n, n): learned
... predicate p(n, n)
... p(x, y) :- e(x, y) @ ?
... e("a", "b") @ 2
... ''')
>>> model = hb.Model(theory)
>>> weights = RuleWeights(HornProgram.of(theory.rules, model.signature, model.stated_program.facts))
>>> weights.facts()["e"].tolist(), weights.rules().tolist()
([2.0], [1.0])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from herbrand.engines.proof.horn_program import HornProgram, rule_number
from herbrand.errors import UnsupportedError
from herbrand.language.comparisons import aggregates
from herbrand.language.formulas import row_atom
from herbrand.language.show import show_atom
from herbrand.language.syntax import (
    Atom,
    BodyLiteral,
    Choice,
    Computed,
    FactRows,
    Learned,
    Rule,
    Statement,
    Value,
)
from herbrand.language.theory import Theory


class RuleWeights(nn.Module):
    """Weights to be learned. ``learned``: predicates whose facts have such weights; by default the declared
    ones.

    ``probabilities``: weights are between 0 and 1, and start at 0.5 if none is stated.
    """

    _places: Tensor
    _stated: Tensor

    def __init__(
        self, program: HornProgram, learned: Sequence[str] | None = None, probabilities: bool = False
    ) -> None:
        super().__init__()
        self.probabilities = probabilities
        if learned is None:
            learned = [name for name, p in program.signature.predicates.items() if p.role == "learned"]
        self.program = program
        self.predicates = tuple(name for name in learned if program.relation(name).count)
        self.learned_rules = tuple(r for r in program.weighted if isinstance(r.weight, Learned))
        self.of_facts = nn.ParameterList(nn.Parameter(self._started(name)) for name in self.predicates)
        starts = [1.0 if w.start is None else w.start for w in map(_learned, self.learned_rules)]
        self.of_rules = nn.Parameter(self._free(torch.tensor(starts, dtype=torch.float64)))
        places = [i for i, rule in enumerate(program.weighted) if isinstance(rule.weight, Learned)]
        stated = [rule_number(rule) for rule in program.weighted]
        self.register_buffer("_places", torch.tensor(places, dtype=torch.int64), persistent=False)
        self.register_buffer("_stated", torch.tensor(stated, dtype=torch.float64), persistent=False)

    def __len__(self) -> int:
        """Number of weights to be learned."""
        return sum(parameter.numel() for parameter in self.parameters())

    def facts(self) -> dict[str, Tensor]:
        """Weight of each fact of the learned predicates, in the order of their relations."""
        if not self.predicates:
            return {}
        return {name: self._weights(free) for name, free in zip(self.predicates, self.of_facts, strict=True)}

    def rules(self) -> Tensor | None:
        """Weights of all weighted rules of the program, in its order; ``None`` if none is learned."""
        return self.all_rules() if len(self.learned_rules) else None

    def all_rules(self) -> Tensor:
        """Weights of all weighted rules of the program, in its order, whether or not any is learned."""
        if not len(self.learned_rules):
            return self._stated.double()
        return self._stated.double().index_put((self._places,), self._weights(self.of_rules.double()))

    def rule_weights(self) -> Iterator[tuple[Rule, float]]:
        """The learned rules and their weights."""
        weights = self._weights(self.of_rules.detach().double())
        yield from zip(self.learned_rules, weights.tolist(), strict=True)

    def written(self, theory: Theory, left_out: Sequence[str] = ()) -> Theory:
        """The theory with numbers in place of its rules' question marks, and learned facts with weights.

        ``left_out``: predicates whose facts are left out.
        """
        numbers = iter([weight for _, weight in self.rule_weights()])
        gone = {*self.predicates, *left_out}
        kept: list[Statement] = []
        for statement in theory.statements:
            if isinstance(statement, Rule) and isinstance(statement.weight, Learned):
                kept.append(replace(statement, weight=next(numbers)))
            elif self.probabilities and isinstance(statement, Choice) and _is_learned(statement):
                (head,) = statement.alternatives
                kept.append(replace(statement, alternatives=(replace(head, probability=next(numbers)),)))
            elif not (isinstance(statement, FactRows) and statement.predicate in gone):
                kept.append(statement)
        for name, tensor in self.facts().items():
            kept.append(FactRows(name, self.rows(name), len(tensor), "weighted", tuple(tensor.tolist())))
        return Theory(tuple(kept))

    def rows(self, predicate: str) -> tuple[tuple[Value, ...], ...]:
        """Constants of a learned predicate's facts, a tuple for each argument, in the order of its
        weights."""
        relation, domains = self.program.relation(predicate), self.program.facts.domains
        types = self.program.column_types(predicate)
        return tuple(
            tuple(domains[name].values_at(column))
            for name, column in zip(types, relation.columns, strict=True)
        )

    def _weights(self, free: Tensor) -> Tensor:
        """Weights of the parameters: exponentials, or probabilities of log-odds."""
        return free.sigmoid() if self.probabilities else free.exp()

    def _free(self, weights: Tensor) -> Tensor:
        """Parameters of the weights: logarithms, or log-odds of probabilities."""
        if not self.probabilities:
            return weights.log()
        return torch.where(weights == 1, 0.5, weights).logit()

    def _started(self, name: str) -> Tensor:
        relation = self.program.relation(name)
        weights = np.ones(relation.count) if relation.weights is None else relation.weights
        wrong = np.flatnonzero(~(weights > 0))
        if len(wrong):
            row = tuple(column[wrong[0]] for column in self.rows(name))
            raise UnsupportedError(
                f"{show_atom(name, row)} weighs {weights[wrong[0]]:g}, and a weight that is to be learned "
                "starts above 0",
                hint="leave the fact out if it should not count",
            )
        return self._free(torch.tensor(weights))


def as_rule(choice: Choice) -> Choice | Rule:
    """Convert a choice with one head and one probability to a rule of that weight; others unchanged.

    >>> from herbrand.language.parse import parse_theory
    >>> from herbrand.language.show import statement_text
    >>> theory = parse_theory("0.3 :: wet(x) :- rain(x)")
    >>> statement_text(as_rule(theory.choices[0]))
    'wet(x) :- rain(x) @ 0.3'
    """
    (first, *others) = choice.alternatives
    weight, head = first.probability, first.head
    if others or not isinstance(head, Atom) or not isinstance(weight, int | float | Learned):
        return choice
    if isinstance(weight, Learned) and weight.by:
        return choice
    return Rule(head, choice.body, weight, choice.label, choice.span)


def rules_of_alternatives(choice: Choice) -> tuple[Rule, ...]:
    """A rule for each head of a choice with the choice's body; no rules if a number is learned. The value of
    a many-valued head becomes the last argument, as it is the last column of that predicate's facts.

    >>> from herbrand.language.parse import parse_theory
    >>> from herbrand.language.show import statement_text
    >>> (choice,) = parse_theory("0.3 :: a(x); p :: b(x) :- c(x, p)").choices
    >>> [statement_text(rule) for rule in rules_of_alternatives(choice)]
    ['a(x) :- c(x, p)', 'b(x) :- c(x, p)']
    """
    rules = tuple(
        Rule(row_atom(one.head), choice.body, None, choice.label, choice.span)
        for one in choice.alternatives
        if not isinstance(one.probability, Learned)
    )
    return rules if len(rules) == len(choice.alternatives) else ()


def rule_of_totals(rule: Rule) -> Rule:
    """The rule with the atoms of its aggregates in place of their comparisons, so that it has all predicates
    that it depends on.

    >>> from herbrand.language.parse import parse_theory
    >>> from herbrand.language.show import statement_text
    >>> (rule,) = parse_theory("many(y) :- place(y), count(x: lives(x, y)) >= 2").rules
    >>> statement_text(rule_of_totals(rule))
    'many(y) :- place(y), lives(x, y)'
    """
    body = list[BodyLiteral]()
    for part in rule.body:
        parts = (
            (one for each in aggregates(part) for one in each.body) if isinstance(part, Computed) else (part,)
        )
        body += cast(Iterable[BodyLiteral], parts)
    return rule if body == [*rule.body] else replace(rule, body=tuple(body))


def _is_learned(choice: Choice) -> bool:
    rule = as_rule(choice)
    return isinstance(rule, Rule) and isinstance(rule.weight, Learned)


def relearned_rules(theory: Theory) -> Theory:
    """The theory with a ``?`` in place of the number behind each rule, which starts there.

    >>> from herbrand.language.parse import parse_theory
    >>> relearned_rules(parse_theory("p(x) :- q(x) @ 0.5")).rules[0].weight.start
    0.5
    """
    return Theory(tuple(_relearned(s) if isinstance(s, Rule) else s for s in theory.statements))


def _relearned(rule: Rule) -> Rule:
    """A weight that is learned is positive: others stay as they are given."""
    positive = isinstance(rule.weight, float | int) and rule.weight > 0
    return replace(rule, weight=Learned(start=float(cast(float, rule.weight)))) if positive else rule


def _learned(rule: Rule) -> Learned:
    return cast(Learned, rule.weight)
