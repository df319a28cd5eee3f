"""The methods of ``learn`` by name. A new one is one file and one row; its module is imported when chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from herbrand.engines.engine import options_in
from herbrand.engines.registry import imported
from herbrand.errors import UnsupportedError, nearest
from herbrand.facts.facts import Facts
from herbrand.language.signature import Signature
from herbrand.language.syntax import Learned, Theory
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import Learning
from herbrand.learning.settings import LearningSettings, Progress, settings_from
from herbrand.learning.worlds import separate_facts
from herbrand.options.table import unused, uses
from herbrand.program.program import Program

__all__ = ["METHODS", "learned", "method_named", "separate_facts", "settings_from"]

Method = Callable[[Theory, Sequence[World], Aim, LearningSettings], Learning]

METHODS = {
    "likelihood": "herbrand.learning.likelihood:learn",
    "pseudo-likelihood": "herbrand.learning.pseudo_likelihood:learn",
    "contrastive-divergence": "herbrand.learning.contrastive_divergence:learn",
    "layers": "herbrand.learning.layers:learn",
    "distillation": "herbrand.learning.distillation:learn",
    "proof": "herbrand.learning.proof.method:learn",
}


AUTOMATIC = ("likelihood", "pseudo-likelihood")
"""What ``auto`` chooses from: it takes options that one of them uses."""


def held_out(settings: LearningSettings) -> list[Any]:
    """The facts of each world that is held out."""
    return [] if settings.held_out is None else separate_facts(settings.held_out)


def method_named(name: str) -> Method:
    """A method of ``learn``: takes a theory, worlds to learn from, what to predict in them, and settings."""
    _refuse_no_method(name)
    return imported("herbrand.learning.automatic:learn" if name == "auto" else METHODS[name])


def learned(
    method: str,
    theory: Theory,
    worlds: Iterable[tuple[Signature, Facts]],
    targets: tuple[str, ...],
    latent: tuple[str, ...],
    settings: LearningSettings,
    held_out: Iterable[tuple[Signature, Facts]] = (),
) -> Learning:
    """What a method makes of a theory and worlds, which are gone through after the options."""
    learn = method_named(method)
    refuse_unused(method, settings)
    found_worlds = [World(*w) for w in worlds]
    aim = Aim(targets, latent, tuple(World(*w) for w in held_out))
    return with_curve(lambda watched: learn(theory, found_worlds, aim, watched), settings)


def choices_to_learn(theory: Theory, relearn: bool) -> Theory | None:
    """The theory, if the probability of some choice is to be learned; with ``relearn`` those that are given,
    too, from where they are."""
    if relearn and theory.choices:
        theory = imported("herbrand.learning.interpretations:relearned")(theory)
    learned = any(isinstance(a.probability, Learned) for c in theory.choices for a in c.alternatives)
    return theory if learned else None


def with_starts(theory: Theory) -> Theory:
    """The theory with numbers in place of ``? ::``."""
    return imported("herbrand.learning.interpretations:with_starts")(theory)


def in_world(theory: Theory, stated: Theory) -> Theory:
    """The theory with what is stated of one world."""
    return imported("herbrand.learning.interpretations:in_world")(theory, stated)


def learned_choices(
    theory: Theory, worlds: Iterable[Program], settings: LearningSettings, closed: Collection[str]
) -> Learning:
    """The theory with the likeliest probabilities in place of ``? ::``."""
    learn = imported("herbrand.learning.interpretations:learn")
    return with_curve(lambda watched: learn(theory, worlds, watched, closed), settings)


def refuse_unused(method: str, settings: LearningSettings) -> None:
    """Raise for an option that the method does not use, or where there is no such method."""
    _refuse_no_method(method)
    candidates, options = AUTOMATIC if method == "auto" else (method,), options_in("learn", settings)
    refused = [[o for o in options if not uses("learn", name, o)] for name in candidates]
    if all(refused):
        raise unused("learn", f"{method} does not use", refused[0][0])


def _refuse_no_method(name: str) -> None:
    if name not in ("auto", *METHODS):
        raise UnsupportedError(
            f"there is no method '{name}' for learn",
            hint=nearest(str(name), METHODS) or f"methods: auto, {', '.join(METHODS)}",
        )


def with_curve(learn: Callable[[LearningSettings], Learning], settings: LearningSettings) -> Learning:
    """What is learned by these settings, and what was watched on the way."""
    curve: list[Progress] = []

    def watch(progress: Progress) -> None:
        curve.append(progress)
        if settings.watch is not None:
            settings.watch(progress)

    return replace(learn(replace(settings, watch=watch)), curve=tuple(curve))
