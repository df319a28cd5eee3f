"""The method that ``learn`` chooses by default: likelihood if it is cheap, else pseudo-likelihood; proof if
only rules, or facts of ``learned`` predicates, have weights to be learned.

The likelihood is the proper objective: it also learns from atoms that hard statements tie, and sums out what
is hidden. Each step needs exact counts, however. Whether they are cheap is decided by their estimated cost,
never by the clock, so that equal inputs are learned by equal methods.

>>> import herbrand as hb
>>> predicates = 'predicate smokes(person): observed\\npredicate cancer(person)'
>>> theory = hb.parse(predicates + '\\n?: smokes(x) => cancer(x)')
>>> facts = {"smokes": ["anna", "bob", "carl"], "cancer": ["anna", "bob"]}
>>> hb.Model(theory, facts).learn().method
'likelihood'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from herbrand.engines.engine import options_in
from herbrand.engines.registry import imported
from herbrand.errors import BudgetError, OutOfTimeError, UnsupportedError
from herbrand.language.syntax import Learned
from herbrand.language.theory import Theory
from herbrand.language.written_weights import weight_statements
from herbrand.learning import likelihood
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import Learning
from herbrand.learning.settings import LearningSettings
from herbrand.options.table import uses

PROOF = "herbrand.learning.proof.method:learn"
PSEUDO_LIKELIHOOD = "herbrand.learning.pseudo_likelihood:learn"
"""Methods that need PyTorch, which the likelihood does not."""

CHEAP = 3e7
"""Most operations for one gradient of the likelihood up to which it is used without alternatives."""


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """Learn by likelihood if it is cheap, or if pseudo-likelihood cannot learn from these worlds."""
    if of_proofs := _weights_of_proofs(theory, settings.relearn):
        learned = imported(PROOF)(theory, worlds, aim, settings)
        return replace(learned, reason=f"only {of_proofs} have weights to be learned")
    if not _used_by("likelihood", settings):
        return imported(PSEUDO_LIKELIHOOD)(theory, worlds, aim, settings)
    try:
        return likelihood.exactly(theory, worlds, aim, settings, CHEAP)
    except OutOfTimeError:
        raise
    except BudgetError as error:
        refused = error
    if not _used_by("pseudo-likelihood", settings):
        return likelihood.learn(theory, worlds, aim, settings)
    try:
        learned = imported(PSEUDO_LIKELIHOOD)(theory, worlds, aim, settings)
    except UnsupportedError:
        return likelihood.learn(theory, worlds, aim, settings)
    return replace(learned, reason=refused.mistakes[0].message)


def _weights_of_proofs(theory: Theory, relearn: bool) -> str:
    """What alone has weights to learn, if that is rules or facts of ``learned`` predicates; else empty."""
    if any(isinstance(s.weight, Learned) or relearn for s in weight_statements(theory)):
        return ""
    if any(isinstance(r.weight, Learned) or (relearn and r.weight is not None) for r in theory.rules):
        return "rules"
    if any(predicate.role == "learned" for predicate in theory.predicates):
        return "facts of learned predicates"
    return ""


def _used_by(method: str, settings: LearningSettings) -> bool:
    return all(uses("learn", method, option) for option in options_in("learn", settings))
