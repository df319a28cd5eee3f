"""The engines by name. A new one is one file and one row here; its module is imported when it is chosen.

An engine of ``infer`` outside this package is added by :func:`register`, or by an entry point of its
distribution: ``[project.entry-points."herbrand.engines"]``, ``name = "module:Class"``. One of an entry point
runs when it is named; ``auto`` does not choose what a user never named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from herbrand.budget import Budget
from herbrand.engines.engine import Engine, Refusal, options_in, without
from herbrand.errors import UnsupportedError, nearest
from herbrand.extras import MissingPackageError, member
from herbrand.language.collection import collector_paused
from herbrand.options.kinds import Name
from herbrand.options.table import Option, options_of, unused, uses

Given = TypeVar("Given")

INFERENCE: dict[str, str | type] = {
    "exact": "herbrand.engines.exact:Exact",
    "lifted": "herbrand.engines.lifted.engine:Lifted",
    "circuit": "herbrand.engines.circuit.engine:CircuitEngine",
    "regions": "herbrand.engines.regions.engine:Regions",
    "bp": "herbrand.engines.belief.engine:BeliefPropagation",
    "mean-field": "herbrand.engines.mean_field.engine:MeanField",
    "gibbs": "herbrand.engines.gibbs.engine:Gibbs",
}
"""Engines of ``infer``, in the order in which ``auto`` prefers them."""

WORLDS: dict[str, str | type] = {"integer": "herbrand.engines.integer.engine:Integer"}
"""Engines of ``infer`` that only find the most probable world."""

APPROXIMATE = frozenset({"mean-field", "gibbs"})
"""Engines of ``infer`` that are never exact; they are last among the library's own."""

GROUP = "herbrand.engines"
"""Group of the entry points by which other distributions offer engines of ``infer``."""

BOUND = {
    "exact": "herbrand.engines.credal.exact:Exact",
    "ariel": "herbrand.engines.credal.ariel.engine:Ariel",
}
"""Engines of ``bound``, in the order in which ``auto`` prefers them."""

QUERY = {"proof": "herbrand.engines.proof.engine:ByProofs"}
"""Engines of ``query``."""

MEMORY, DATABASE = "memory", "database"
"""Places where facts are stored, and engines run."""

ENGINES: Mapping[str, Mapping[str, Mapping[str, str | type]]] = {
    MEMORY: {"infer": INFERENCE, "bound": BOUND, "query": QUERY},
    DATABASE: {
        "infer": {
            "mean-field": "herbrand.scale.mean_field:StoredMeanField",
            "bp": "herbrand.scale.belief.engine:StoredBeliefPropagation",
        },
        "bound": {"ariel": "herbrand.scale.bounds.intervals:StoredAriel"},
        "query": {"proof": "herbrand.scale.queries:StoredProofs"},
    },
}
"""Engines by place and command; on a database ``auto`` takes the first that does not refuse."""


def values_of(command: str, option: Option) -> tuple[str, ...]:
    """Names that an option of a command accepts; empty if they cannot be listed."""
    if isinstance(option.kind, Name):
        return tuple(option.kind.names)
    if option.name == "method":  # the methods that use some option
        named = (name for other in options_of(command).values() for name in other.used_by)
        return tuple(dict.fromkeys(named))
    if option.name != "engine":
        return ()
    if command == "induce":
        return "auto", "search", "nlm"
    known = ENGINES[MEMORY]
    return ("auto", *known.get(command, known["infer"]))


def register(name: str, engine: str | type) -> None:
    """Register an engine of ``infer``, as a class or as ``"module:Class"``; ``auto`` asks it last."""
    own = INFERENCE.get(name)
    if isinstance(own, str) and own.startswith("herbrand."):
        raise UnsupportedError(f"there is an engine '{name}' already")
    INFERENCE[name] = engine


def engine_named(
    command: str, name: str, settings: Any, place: str = MEMORY
) -> Engine[Any, Any, Any, Any, Any]:
    """The engine of a command with these settings; ``auto`` is the first, for callers that compare none."""
    known = ENGINES[place][command]
    if name == "auto":
        name = next(iter(known))
    if place == DATABASE:
        refuse_in_memory_only(command, name)
    own = command == "infer" and place == MEMORY
    engine = _inference_engine(name) if own else _named(known, name, command)
    return engine.with_settings(settings)


def runs_on_database(command: str, name: str) -> bool:
    """Whether an engine, or ``auto``, answers a command on a database."""
    return name in ("auto", *ENGINES[DATABASE][command])


def refuse_in_memory_only(command: str, name: str) -> None:
    """Raise UnsupportedError for an engine that does not run on a database."""
    if runs_on_database(command, name):
        return
    known = ENGINES[DATABASE][command]
    several = len(known) > 1
    raise UnsupportedError(
        f"{name} does not {'run' if command == 'infer' else command} on a database",
        hint=f"one of {', '.join(known)}" if several else f"--engine {next(iter(known))}, or leave out --on",
    )


def _inference_engine(name: str) -> Any:
    known = INFERENCE | WORLDS
    offered = {} if name in known else offered_engines()
    return _loaded(offered[name]) if name in offered else _named(known, name, "infer", offered)


def offered_engines() -> dict[str, EntryPoint]:
    """Engines of other distributions by name; those with a name of ours are left out."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in INFERENCE}


def _loaded(point: EntryPoint) -> Any:
    by = f"'{point.name}' of {point.dist.name} {point.dist.version}" if point.dist else f"'{point.name}'"
    try:
        engine = point.load()
    except Exception as error:  # another distribution's module may raise anything
        raise UnsupportedError(
            f"the engine {by} cannot be loaded: {type(error).__name__}: {error}",
            hint=f"its entry point says {point.value}",
        ) from error
    if not hasattr(engine, "with_settings"):
        raise UnsupportedError(
            f"the engine {by} is none: {point.value} has no with_settings",
            hint="docs/extending/engine.md lists what an engine has",
        )
    return engine


def takes(command: str, name: str, option: str) -> bool:
    """Whether an engine uses an option: by the table of options, or for another distribution's engine by its
    ``options`` (all, if it has none)."""
    if name == "auto":
        return not options_of(command)[option].another_model
    if command != "infer" or str((INFERENCE | WORLDS).get(name)).startswith("herbrand."):
        return uses(command, name, option)
    declared = getattr(_inference_engine(name), "options", None)
    return declared is None or not options_of(command)[option].used_by or option in declared


def used_settings(command: str, name: str, settings: Given) -> Given:
    """The settings without options that the engine does not use. Options that define another model stay, so
    that no engine silently answers for another theory."""
    known = options_of(command)
    given = [option for option in options_in(command, settings) if not known[option].another_model]
    return without(settings, [option for option in given if not takes(command, name, option)])


def refuse_unused(command: str, name: str, settings: Any, place: str = MEMORY) -> None:
    """Raise for an option that the engine does not use; for ``auto``, one that none of its engines uses."""
    given = options_in(command, settings)
    if name == "auto":
        _refuse_unused_by_all(command, ENGINES[place][command], given)
    _refuse_unused_by_all(command, [name], given)


def engines_using(command: str, name: str, settings: Any, place: str) -> list[str]:
    """Names of the engines to try: this one, or for ``auto`` those of the place that use all given options,
    in order. Raises if there are none, for an option that the first does not use."""
    if name != "auto":
        return [name]
    first, *others = ENGINES[place][command]
    given = options_in(command, settings)
    using = [own for own in (first, *others) if all(takes(command, own, option) for option in given)]
    if not using:
        refuse_unused(command, first, settings, place)
    return using


def refuse_unused_by_all(command: str, names: Iterable[str], settings: Any) -> None:
    """Raise for an option that none of these engines uses."""
    _refuse_unused_by_all(command, names, options_in(command, settings))


def _refuse_unused_by_all(command: str, names: Iterable[str], given: Iterable[str]) -> None:
    names = tuple(names)
    for option in given:
        if not any(takes(command, name, option) for name in names):
            who = f"{names[0]} does not use" if len(names) == 1 else f"none of {', '.join(names)} uses"
            raise unused(command, who, option)


def _named(table: Mapping[str, str | type], name: str, command: str, offered: Iterable[str] = ()) -> Any:
    if name not in table:
        known = (*table, *offered)
        raise UnsupportedError(
            f"there is no engine '{name}' for {command}",
            hint=nearest(str(name), known) or f"engines: auto, {', '.join(known)}",
        )
    entry = table[name]
    if isinstance(entry, type):
        return entry
    return imported(entry)


@dataclass(frozen=True)
class NotInstalled:
    """Placeholder of an engine whose packages are not installed: it refuses, and says what to install."""

    name: str
    reason: str

    def prepare(self, program: Any, question: Any, within: Budget) -> Refusal:
        return Refusal(UnsupportedError(self.reason))


def installed(command: str, name: str, settings: Any) -> Any:
    """The engine of this name, or a placeholder if a package is missing."""
    try:
        return engine_named(command, name, settings)
    except MissingPackageError as error:
        mistake = error.mistakes[0]
        return NotInstalled(name, f"{mistake.message} ({mistake.hint})")


@cache
def imported(named: str) -> Any:
    """The member of a module, written ``module:member``."""
    # Imported modules stay: collecting garbage among them takes a sixth of torch's import.
    with collector_paused():
        return member(named)
