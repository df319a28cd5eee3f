"""``learn --method proof``: learn weights of facts and rules under which proofs give the right answers.

Facts of the targets, which rules derive, are hidden and serve as right answers; all other facts are known.
Learned are the weights of facts of ``learned`` predicates, of rules ``@ ?``, and of features: a learned
predicate without facts gets all atoms that its rules can reach.

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
from contextlib import contextmanager
from dataclasses import replace

from herbrand.answers.guarantee import Status
from herbrand.engines.proof.features import features_of, learned_predicates, refuse_absence, with_features
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import DEPTH
from herbrand.errors import LanguageError, Mistake, UnsupportedError, nearest
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom, statement_text
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim, World, world_named
from herbrand.learning.learned import LearnedWeight, Learning
from herbrand.learning.proof.losses import LOSSES
from herbrand.learning.proof.questions import Questions
from herbrand.learning.proof.training import STEPS, Training
from herbrand.learning.settings import LearningSettings
from herbrand.learning.steps import mark_of, run_steps
from herbrand.nn.rule_weights import RuleWeights, relearned_rules
from herbrand.row_keys import zipped


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with weights for which the answers to the targets' questions have the least loss."""
    began = time.perf_counter()
    _refuse(aim, settings)
    targets = _targets(theory, worlds, aim)
    mark = mark_of(theory, worlds, targets, settings.asked, settings.relearn)
    if settings.relearn:
        theory = relearned_rules(theory)
    asked: list[tuple[Proof, Questions]] = []
    weights: RuleWeights | None = None
    for number, world in enumerate(worlds, 1):
        with _naming(world_named(number, len(worlds))):
            program, learned = _program(theory, world, targets, settings)
        _refuse_facts_of_several(worlds, learned)
        weights = weights or RuleWeights(program, learned)
        _refuse_nothing(weights, learned)
        proof = Proof(program)
        asked += [
            (proof, Questions.of(name, world.signature, world.facts, settings.asked))
            for name in targets
            if name in world.facts.tables and len(world.facts.tables[name].true)
        ]
    assert weights is not None
    depth, loss = DEPTH if settings.depth is None else settings.depth, settings.loss or "cross-entropy"
    proofs, questions = zip(*asked, strict=True)
    state = Training.of(proofs, weights, questions, settings, depth, loss, mark)
    before = state.measured(settings.budget)
    if before["without_proof"] == before["questions"]:
        several = before["questions"] > 1
        answers = f"any of the {before['questions']:,} right answers" if several else "the right answer"
        raise UnsupportedError(
            f"no proof leads to {answers} within depth {depth}",
            hint="allow more by --method proof --depth, or look at the rules with: herbrand query",
        )
    status = run_steps(state, settings, STEPS)
    metrics = {
        **state.measured(),
        "loss_at_start": before["loss"],
        "accuracy_at_start": before["accuracy"],
        "weights": len(weights),
    }
    status = Status(status.converged, status.iterations, time.perf_counter() - began, status.advice)
    # The targets' facts are the right answers that were learned from, hidden while the rules were trained;
    # each would add a proof of itself to the rules' answers.
    written = weights.written(theory, targets)
    return Learning("proof", written, status, tuple(_listed(weights)), metrics)


@contextmanager
def _naming(world: str) -> Iterator[None]:
    """Name the world in errors about what its facts leave unbound."""
    try:
        yield
    except LanguageError as error:
        raise LanguageError([replace(one, message=one.message + world) for one in error.mistakes]) from None


def _program(
    theory: Theory, world: World, targets: Sequence[str], settings: LearningSettings
) -> tuple[HornProgram, list[str]]:
    """The rules over the known facts of a world, those of targets hidden; and the predicates whose facts are
    learned."""
    tables = world.facts.tables
    hidden = {name: FactTable.empty(tables[name].columns, "closed") for name in targets if name in tables}
    facts = Facts(world.facts.domains, {**tables, **hidden})
    learned = [n for n in learned_predicates(theory.rules, world.signature, facts) if n not in targets]
    features = features_of(learned, facts)
    facts = with_features(theory.rules, world.signature, facts, learned, settings.budget)
    program = HornProgram.of(theory.rules, world.signature, facts)
    clauses = [clause for name in targets for clause in program.clauses.get(name, ())]
    refuse_absence(program, clauses, features)
    return program, learned


def _targets(theory: Theory, worlds: Sequence[World], aim: Aim) -> tuple[str, ...]:
    derived = dict.fromkeys(rule.head.predicate for rule in theory.rules)
    known = {name for world in worlds for name in world.signature.predicates}
    answered = {n for world in worlds for n, table in world.facts.tables.items() if len(table.true)}
    mistakes = []
    for name in aim.targets:
        if name not in known:
            mistakes.append(Mistake(f"--target: there is no predicate '{name}'", hint=nearest(name, known)))
        elif name not in derived:
            mistakes.append(
                Mistake(
                    f"--target {name}: no rule derives it", hint=f"derived: {', '.join(derived) or 'nothing'}"
                )
            )
        elif name not in answered:
            mistakes.append(
                Mistake(
                    f"--target {name}: no fact says what is right", hint=f"point at facts of {name}: --facts"
                )
            )
    if mistakes:
        raise UnsupportedError(mistakes)
    targets = aim.targets or tuple(name for name in derived if name in answered)
    if not targets:
        raise UnsupportedError(
            "nothing is there to learn from: no fact is of a predicate that rules derive",
            hint='give right answers as facts, such as: uncle("liam", "bob")',
        )
    return tuple(targets)


def _refuse_facts_of_several(worlds: Sequence[World], learned: Sequence[str]) -> None:
    if len(worlds) > 1 and learned:
        raise UnsupportedError(
            f"proof learns the weights of facts, here those of {learned[0]}, in one world alone",
            hint="leave --worlds out; questions of several worlds can be put into one, under other names",
        )


def _refuse(aim: Aim, settings: LearningSettings) -> None:
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
    """Yield the weights of rules, then those of facts."""
    for rule, weight in weights.rule_weights():
        yield LearnedWeight(statement_text(rule), {}, weight)
    for name, tensor in weights.facts().items():
        for row, weight in zip(zipped(weights.rows(name), len(tensor)), tensor.tolist(), strict=True):
            yield LearnedWeight(show_atom(name, row), {}, weight)
