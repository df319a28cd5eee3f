"""Example worlds of a user: a folder of fact tables each, with the true tuples of the target.

A world becomes numbered objects (:mod:`.objects`) and tuples. The target is closed in a world that lists only
true tuples of it; it is open in a world that lists false ones too, so tuples that are not listed are unknown
there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from herbrand.errors import ContradictionError, FactsError, Mistake, UnsupportedError, nearest
from herbrand.facts.facts import Facts
from herbrand.facts.source import fact_sources, inner_folders
from herbrand.facts.sources.text import without_empty_tables
from herbrand.induction.database import Rows
from herbrand.induction.machine import WIDEST
from herbrand.induction.number_columns import unordered_numbers
from herbrand.induction.objects import Object, declared_types, known_facts, numbered
from herbrand.language.check import check
from herbrand.language.signature import Predicate, Signature
from herbrand.language.theory import Theory
from herbrand.program.usable import IGNORABLE, refuse_unusable


@dataclass(frozen=True, eq=False)
class GivenWorld:
    """One example world. ``objects`` by number; ``facts``: rows of each predicate but the target; ``true``
    and ``false``: rows of the target, the latter ``None`` where all others are false; ``typed``: mask of the
    objects that fit each argument of the target."""

    name: str
    objects: tuple[Object, ...]
    facts: dict[str, Rows]
    true: Rows
    false: Rows | None
    typed: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class GivenWorlds:
    """All example worlds, and their common vocabulary: predicate names with their arities, the target's
    apart."""

    target: str
    arity: int
    predicates: dict[str, int]
    worlds: tuple[GivenWorld, ...]

    @property
    def widest(self) -> int:
        return max([self.arity, *self.predicates.values()])


def read_worlds(
    theory: Theory,
    target: str,
    folder: str | Path,
    progress: Callable[[str, float], None] | None = None,
    facts: Any = None,
    header: bool | None = None,
    note: Callable[[str], None] | None = None,
) -> GivenWorlds:
    """Read the worlds of a folder; the theory's facts and ``facts`` hold in each, and rules derive more.
    ``note`` is called with each assumption made in reading tables.

    Raise if there is no world, one has no constants, the target has no examples, a predicate is many-valued,
    soft, too wide or of several arities, or worlds with equal facts disagree about the target.
    """
    refuse_unusable(theory.statements, "induce", *IGNORABLE)
    signature = check(theory)
    shared = fact_sources(facts)
    folders = _world_folders(Path(folder))
    separate = without_empty_tables(
        [fact_sources(path) for path in folders], {p.name for p in theory.predicates}
    )
    loaded = []
    for number, (path, sources) in enumerate(zip(folders, separate, strict=True)):
        name = path.name
        if progress is not None:
            progress(f"reading {name}", number / len(folders))
        loaded.append((name, *known_facts(theory, signature, (*shared, *sources), header, target)))
    if note is not None:
        for text in dict.fromkeys(text for *_, notes in loaded for text in notes.notes):
            note(text)
        for text in unordered_numbers([(known, notes) for _, known, notes in loaded]):
            note(text)
    _refuse_unknown(target, [known for _, known, _ in loaded])
    predicates: dict[str, int] = {}
    for _, known, facts in loaded:
        for predicate in known.predicates.values():
            _refuse_unreadable(predicate, facts)
            arity = predicates.setdefault(predicate.name, predicate.arity)
            if arity != predicate.arity:
                raise FactsError(
                    f"'{predicate.name}' has {arity} columns in one world and {predicate.arity} in another"
                )
    arity = predicates.pop(target)
    worlds = tuple(_world(name, known, facts, target, arity) for name, known, facts in loaded)
    given = GivenWorlds(target, arity, predicates, worlds)
    _refuse_unlearnable(given)
    return given


def read_world(
    theory: Theory,
    target: str,
    arity: int,
    facts: Any,
    header: bool | None = None,
    note: Callable[[str], None] | None = None,
) -> GivenWorld:
    """Read one world from tables, which may lack the target."""
    known, loaded = known_facts(theory, check(theory), fact_sources(facts), header, target)
    if note is not None:
        for text in loaded.notes:
            note(text)
    for predicate in known.predicates.values():
        _refuse_unreadable(predicate, loaded)
    return _world("facts", known, loaded, target, arity)


def _world_folders(folder: Path) -> list[Path]:
    """Folders of the worlds: the inner folders, or the folder itself if it has none."""
    if not folder.is_dir():
        raise FactsError(
            f"there is no folder '{folder}'", hint="--worlds names a folder that holds a folder a world"
        )
    return inner_folders(folder) or [folder]


def _world(name: str, known: Signature, facts: Facts, target: str, arity: int) -> GivenWorld:
    numbers: dict[Object, int] = {}
    places = numbered(known, facts, facts.domains, numbers)
    if not numbers:
        raise FactsError(f"the world '{name}' has no constants", hint="leave empty worlds out")

    def rows(predicate: Predicate, indices: np.ndarray) -> Rows:
        columns = [places[t][indices[:, i]] for i, t in enumerate(predicate.types)]
        return np.stack(columns, 1) if columns else np.zeros((len(indices), 0), np.int64)

    tables = {
        p.name: rows(p, facts.tables[p.name].true) for p in known.predicates.values() if p.name != target
    }
    if target not in known.predicates:
        every = np.ones(len(numbers), bool)
        return GivenWorld(
            name, tuple(numbers), tables, np.zeros((0, arity), np.int64), None, (every,) * arity
        )
    predicate, table = known.predicates[target], facts.tables[target]
    named_types = declared_types(known)
    typed = tuple(_typed(places, t, named_types, len(numbers)) for t in predicate.types)
    false = rows(predicate, table.false) if len(table.false) else None
    return GivenWorld(name, tuple(numbers), tables, rows(predicate, table.true), false, typed)


def _typed(places: dict[str, np.ndarray], type_name: str, named_types: set[str], objects: int) -> np.ndarray:
    """Mask of the objects of a declared type; all objects if the type was invented for a column."""
    if type_name not in named_types:
        return np.ones(objects, bool)
    result = np.zeros(objects, bool)
    result[places[type_name]] = True
    return result


def _refuse_unknown(target: str, known: Sequence[Signature]) -> None:
    names = {name for signature in known for name in signature.predicates}
    if target not in names:
        raise FactsError(
            f"no world has a table of the target '{target}'",
            hint=nearest(target, names) or f"give its true tuples in a table named {target}",
        )


def _refuse_unreadable(predicate: Predicate, facts: Facts) -> None:
    table = facts.tables[predicate.name]
    if predicate.value_type is not None:
        raise UnsupportedError(
            f"'{predicate.name}' is many-valued, and rules are induced over what is true or false",
            hint="give it as a predicate with one more argument",
        )
    if len(table.soft):
        raise UnsupportedError(
            f"'{predicate.name}' has probabilities, and rules are induced from what is true or false"
        )
    if predicate.arity > WIDEST:
        raise UnsupportedError(
            f"'{predicate.name}' has {predicate.arity} arguments, more than "
            f"a machine's largest breadth, {WIDEST}"
        )


def _refuse_unlearnable(given: GivenWorlds) -> None:
    if not any(len(world.true) for world in given.worlds):
        raise FactsError(
            f"the target '{given.target}' has no examples: it has no true tuple in any world",
            hint=f"give its true tuples in a table named {given.target} in each world's folder",
        )
    if not any(
        given.predicates.get(name) is not None and len(rows)
        for w in given.worlds
        for name, rows in w.facts.items()
    ):
        raise FactsError(
            f"the worlds have no table but that of '{given.target}'", hint="add tables to predict it from"
        )
    groups: dict[object, list[GivenWorld]] = {}
    for world in given.worlds:
        key = (world.objects, tuple((n, world.facts[n].tobytes()) for n in sorted(world.facts)))
        alike = groups.setdefault(key, [])
        for other in alike:
            if _denies(other, world) or _denies(world, other):
                raise ContradictionError(
                    Mistake(
                        f"the worlds '{other.name}' and '{world.name}' say the same, "
                        f"but not of '{given.target}'",
                        hint="no rule can distinguish them",
                    )
                )
        if world.false is not None or all(other.false is not None for other in alike):
            alike.append(world)  # of equal closed worlds one is enough


def _denies(one: GivenWorld, other: GivenWorld) -> bool:
    """Whether some tuple of the target is false in ``one`` world and listed as true in the ``other``."""
    known = one.true if one.false is None else one.false
    listed = set(map(tuple, known.tolist()))
    return any((tuple(row) in listed) == (one.false is not None) for row in other.true.tolist())
