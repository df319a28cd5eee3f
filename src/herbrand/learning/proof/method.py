"""``learn --method proof``: weights of facts and rules under which proofs lead to the right answers.

What facts say of the targets, which rules derive, is hidden and asked for; everything else is known. Learned
are the weights of facts of ``learned`` predicates, of rules ``@ ?``, and of features: a learned predicate of
which nothing is stated holds of all that its rules can reach.

>>> import herbrand as hb
>>> theory = hb.parse('''
... likes(x, y) :- knows(x, y) @ ?
... likes(x, y) :- works_with(x, y) @ ?
... ''')
>>> facts = {"knows": [("ann", "bob"), ("dora", "bob")], "works_with": [("ann", "carl"), ("dora", "eve")],
...          "likes": [("ann", "bob"), ("dora", "bob")]}
>>> found = hb.Model(theory, facts).learn("proof")
>>> found.weights[0].weight > 10 * found.weights[1].weight, found.metrics["accuracy"]
(True, 1.0)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from herbrand.answers.status import Status
from herbrand.engines.proof.features import features_of, learned_predicates, refuse_absence, with_features
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import DEPTH
from herbrand.errors import Mistake, UnsupportedError, nearest
from herbrand.facts.facts import Facts
from herbrand.facts.table import FactTable
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.syntax import Theory
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import LearnedWeight, Learning, statement_text
from herbrand.learning.proof.losses import LOSSES
from herbrand.learning.proof.questions import Questions
from herbrand.learning.proof.training import Training, train
from herbrand.learning.settings import LearningSettings
from herbrand.nn.rule_weights import RuleWeights


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with weights under which the targets' facts are answered best."""
    began = time.perf_counter()
    _refuse(worlds, aim, settings)
    (world,) = worlds
    targets = _targets(theory, world.signature, world.facts, aim)
    asked = [Questions.of(name, world.signature, world.facts, settings.asked) for name in targets]
    hidden = {name: FactTable.empty(world.facts.tables[name].columns, "closed") for name in targets}
    facts = Facts(world.facts.domains, {**world.facts.tables, **hidden})
    learned = [n for n in learned_predicates(theory.rules, world.signature, facts) if n not in targets]
    features = features_of(learned, facts)
    facts = with_features(theory.rules, world.signature, facts, learned, settings.budget)
    program = HornProgram.of(theory.rules, world.signature, facts)
    refuse_absence(
        program, [clause for name in targets for clause in program.clauses.get(name, ())], features
    )
    weights = RuleWeights(program, learned)
    _refuse_nothing(weights, learned)
    depth, loss = DEPTH if settings.depth is None else settings.depth, settings.loss or "cross-entropy"
    state = Training.of(Proof(program), weights, asked, settings, depth, loss)
    before = state.measured()
    if before["without_proof"] == before["questions"]:
        raise UnsupportedError(
            f"no proof leads to any of the {before['questions']:,} right answers within depth {depth}",
            hint="allow more by --depth, or look at the rules with: herbrand query",
        )
    status = train(state, settings)
    metrics = {
        **state.measured(),
        "loss_at_start": before["loss"],
        "accuracy_at_start": before["accuracy"],
        "weights": len(weights),
    }
    status = Status(status.converged, status.iterations, time.perf_counter() - began, status.advice)
    # The targets' facts are the right answers that were learned from, hidden while the rules were trained;
    # each would add a proof of itself to what the rules answer.
    written = weights.written(theory, targets)
    return Learning("proof", written, status, tuple(_listed(weights)), metrics)


def _targets(theory: Theory, signature: Signature, facts: Facts, aim: Aim) -> tuple[str, ...]:
    derived = dict.fromkeys(rule.head.predicate for rule in theory.rules)
    mistakes = []
    for name in aim.targets:
        if name not in signature.predicates:
            mistakes.append(
                Mistake(f"--target: there is no predicate '{name}'", hint=nearest(name, signature.predicates))
            )
        elif name not in derived:
            mistakes.append(
                Mistake(
                    f"--target {name}: no rule derives it", hint=f"derived: {', '.join(derived) or 'nothing'}"
                )
            )
        elif not len(facts.tables[name].true):
            mistakes.append(
                Mistake(
                    f"--target {name}: no fact says what is right", hint=f"point at facts of {name}: --facts"
                )
            )
    if mistakes:
        raise UnsupportedError(mistakes)
    found = aim.targets or tuple(name for name in derived if len(facts.tables[name].true))
    if not found:
        raise UnsupportedError(
            "nothing is there to learn from: no fact is of a predicate that rules derive",
            hint='give right answers as facts, such as: uncle("liam", "bob")',
        )
    return tuple(found)


def _refuse(worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> None:
    if len(worlds) > 1:
        raise UnsupportedError(
            "proof learns the weights of one world's facts",
            hint="leave --worlds out; questions of several worlds can be put into one, under other names",
        )
    if aim.latent:
        raise UnsupportedError(
            f"--latent {aim.latent[0]}: proof takes what is not listed as false",
            hint="learn through latent predicates by --method layers",
        )
    if settings.loss is not None and settings.loss not in LOSSES:
        raise UnsupportedError(
            f"there is no loss '{settings.loss}'",
            hint=nearest(settings.loss, LOSSES) or f"one of {', '.join(LOSSES)}",
        )


def _refuse_nothing(weights: RuleWeights, learned: Sequence[str]) -> None:
    if len(weights):
        return
    if learned:
        raise UnsupportedError(
            f"{learned[0]} is to be learned, but it has no facts and no rule leads to any",
            hint=f"point at facts of {learned[0]}, or use it in the body of a rule",
        )
    raise UnsupportedError(
        "no weight is to be learned",
        hint="write @ ? behind a rule, or declare a predicate of facts: predicate edge(node, node): learned",
    )


def _listed(weights: RuleWeights) -> Iterator[LearnedWeight]:
    """Rules first, then facts."""
    for rule, weight in weights.rule_weights():
        yield LearnedWeight(statement_text(rule), {}, weight)
    for name, tensor in weights.facts().items():
        rows = zip(*weights.rows(name), strict=True) if weights.rows(name) else [()] * len(tensor)
        for row, weight in zip(rows, tensor.tolist(), strict=True):
            yield LearnedWeight(show_atom(name, row), {}, weight)
