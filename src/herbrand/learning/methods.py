"""Methods of ``learn`` by name. A new one is one file and one row; its module is imported when chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from herbrand.engines.engine import options_in
from herbrand.engines.registry import imported
from herbrand.errors import UnsupportedError, nearest
from herbrand.extras import imported as imported_module
from herbrand.facts.source import FactSource, fact_sources
from herbrand.facts.sources.text import without_empty_tables
from herbrand.language.network_choices import with_rows_as_choices
from herbrand.language.theory import Theory
from herbrand.learning.contradiction import pointing_out_unlisted
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import Learning
from herbrand.learning.settings import LearningSettings, Progress, settings_from
from herbrand.learning.worlds import separate_facts
from herbrand.options.table import unused, uses
from herbrand.program.knowledge import Knowledge
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
"""Methods that ``auto`` chooses from: it accepts options that one of them uses."""


def method_named(name: str) -> Method:
    """The method of that name, or ``auto``: a function of a theory, worlds, an aim, and settings."""
    _refuse_no_method(name)
    return imported("herbrand.learning.automatic:learn" if name == "auto" else METHODS[name])


def sources_apart(knowledge: Knowledge, worlds: Sequence[Any]) -> list[tuple[FactSource, ...]]:
    """Sources of each world's facts."""
    declared = {predicate.name for predicate in knowledge.theory.predicates}
    return without_empty_tables([fact_sources(facts) for facts in worlds], declared)


def learned(
    method: str,
    knowledge: Knowledge,
    worlds: Iterable[Sequence[FactSource]],
    aim: tuple[tuple[str, ...], tuple[str, ...]],
    settings: LearningSettings,
) -> Learning:
    """Learn by a method from a theory and the facts of worlds, which are read once the options have been
    checked. ``aim``: the targets, and the latent predicates."""
    learn = method_named(method)
    refuse_unused(method, settings)

    def read(sources: Iterable[Sequence[FactSource]]) -> list[World]:
        return [World(*knowledge.open_facts(each, settings.budget)) for each in sources]

    apart = [] if settings.held_out is None else separate_facts(settings.held_out)
    if settings.held_out is not None and not apart:
        raise UnsupportedError(
            "--held-out: no world is given", hint="name a folder that holds a folder a world"
        )
    held_out = sources_apart(knowledge, apart)
    stated = read(worlds)
    whole = Aim(*aim, tuple(read(held_out)))
    with pointing_out_unlisted():
        learning = with_curve(lambda watched: learn(knowledge.used, stated, whole, watched), settings)
    return learning.as_written if knowledge.definitions else learning


def choices_to_learn(theory: Theory, relearn: bool) -> Theory | None:
    """The theory if some probability of a choice is to be learned, else ``None``; with ``relearn`` given ones
    are learned too, with their values as starts."""
    if relearn or theory.rules:
        theory = with_rows_as_choices(theory)
    if relearn and theory.choices:
        theory = imported("herbrand.learning.interpretations:relearned")(theory)
    return theory if any(choice.learned for choice in theory.choices) else None


def learned_choices(
    theory: Theory, knowledge: Knowledge, worlds: Any, unused: Mapping[str, Any], settings: LearningSettings
) -> Learning:
    """Learn the probabilities ``? ::`` of a theory from :func:`choices_to_learn`; listed facts are evidence.
    ``unused``: options that only apply to weights."""
    knowledge.refuse_unusable("learn", "weights", "rules", "choices")
    for option in (name for name, value in unused.items() if value):
        raise UnsupportedError(
            f"--{option} is for weights; probabilities of derived atoms are learned from "
            "what is listed, and the rest is unknown",
            hint=f"leave out --{option}",
        )
    interpretations = imported_module("herbrand.learning.interpretations")
    started = interpretations.with_starts(theory)
    settled = started.derived.keys() | {name for table in started.tables for name in table.scope}
    closed = knowledge.signature.named.keys() - settled - set(knowledge.open)
    given = separate_facts(worlds, examples=True) or [()]
    separate = sources_apart(knowledge, [() if isinstance(own, Theory) else own for own in given])

    def programs() -> Iterator[Program]:
        for own, facts in zip(given, separate, strict=True):
            stated = interpretations.with_starts(own if isinstance(own, Theory) else Theory(()))
            whole = Knowledge(
                interpretations.in_world(started, stated),
                (*knowledge.sources, *facts),
                open=knowledge.open,
                closed=tuple(sorted(closed)),
                header=knowledge.header,
            )
            program = whole.program(budget=settings.budget)
            knowledge.refuse_unknown_worlds(program.signature)
            yield program

    def learn(watched: LearningSettings) -> Learning:
        return interpretations.learn(theory, programs(), watched, knowledge.closed)

    return with_curve(learn, settings)


def refuse_unused(method: str, settings: LearningSettings) -> None:
    """Raise UnsupportedError for an option that the method does not use, or if there is no such method."""
    _refuse_no_method(method)
    refused = [unused_options(name, settings) for name in (AUTOMATIC if method == "auto" else (method,))]
    if all(refused):
        raise unused("learn", f"{method} does not use", refused[0][0])


def unused_options(method: str, settings: LearningSettings) -> list[str]:
    """Options among the settings that a method does not use."""
    return [option for option in options_in("learn", settings) if not uses("learn", method, option)]


def _refuse_no_method(name: str) -> None:
    if name not in ("auto", *METHODS):
        raise UnsupportedError(
            f"there is no method '{name}' for learn",
            hint=nearest(str(name), METHODS) or f"methods: auto, {', '.join(METHODS)}",
        )


def with_curve(learn: Callable[[LearningSettings], Learning], settings: LearningSettings) -> Learning:
    """Learn by these settings, and add the progress that was reported to the result."""
    curve: list[Progress] = []

    def watch(progress: Progress) -> None:
        curve.append(progress)
        if settings.watch is not None:
            settings.watch(progress)

    return replace(learn(replace(settings, watch=watch)), curve=tuple(curve))
