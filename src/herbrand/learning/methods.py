"""The methods of ``learn`` by name. A new one is one file and one row; its module is imported when chosen."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from herbrand.errors import UnsupportedError, nearest
from herbrand.facts.facts import Facts
from herbrand.language.signature import Signature
from herbrand.language.syntax import Theory
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import Learning
from herbrand.learning.settings import LearningSettings, Progress, settings_from
from herbrand.learning.worlds import separate_facts

__all__ = ["METHODS", "learned", "method_named", "separate_facts"]

Method = Callable[[Theory, Sequence[World], Aim, LearningSettings], Learning]

METHODS = {
    "pseudo-likelihood": "herbrand.learning.pseudo_likelihood:learn",
    "layers": "herbrand.learning.layers:learn",
    "distillation": "herbrand.learning.distillation:learn",
    "proof": "herbrand.learning.proof.method:learn",
}


CLIPPING = "distillation"
WITHOUT_STATE = "layers"


def method_named(name: str) -> Method:
    """A method of ``learn``: takes a theory, worlds to learn from, what to predict in them, and settings."""
    if name not in METHODS:
        raise UnsupportedError(
            f"there is no method '{name}' for learn",
            hint=nearest(name, METHODS) or f"methods: {', '.join(METHODS)}",
        )
    module, _, member = METHODS[name].partition(":")
    return getattr(importlib.import_module(module), member)


def learned(
    method: str,
    theory: Theory,
    worlds: Iterable[tuple[Signature, Facts]],
    targets: tuple[str, ...],
    latent: tuple[str, ...],
    settings: Mapping[str, Any],
) -> Learning:
    """What a method makes of a theory and worlds, which are gone through after the options."""
    learn = method_named(method)
    told = settings_from(settings)
    refuse_clip(method, told)
    refuse_state(method, told)
    found_worlds, aim = [World(*w) for w in worlds], Aim(targets, latent)
    return with_curve(lambda watched: learn(theory, found_worlds, aim, watched), told)


def refuse_clip(method: str, told: LearningSettings) -> None:
    """Raise where clipped messages are wanted of a method that has none."""
    if told.clip is not None and method != CLIPPING:
        raise UnsupportedError(
            f"{method} learns weights of the theory's own model, and clipped messages are of another",
            hint=f"leave out --clip, or take --method {CLIPPING}",
        )


def refuse_state(method: str, told: LearningSettings) -> None:
    """Raise where a training is to be kept, or gone on with, by a method that keeps none."""
    given = [name for name in ("save", "resume") if getattr(told, name) is not None]
    if given and method == WITHOUT_STATE:
        raise UnsupportedError(
            f"{method} keeps no state of its training",
            hint=f"leave out --{given[0]}, or take --method pseudo-likelihood",
        )


def with_curve(learn: Callable[[LearningSettings], Learning], told: LearningSettings) -> Learning:
    """What is learned by these settings, and what was watched on the way."""
    curve: list[Progress] = []

    def watch(progress: Progress) -> None:
        curve.append(progress)
        if told.watch is not None:
            told.watch(progress)

    return replace(learn(replace(told, watch=watch)), curve=tuple(curve))
