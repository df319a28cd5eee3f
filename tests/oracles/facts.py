"""Loading of facts by dictionaries and sets, a row at a time: too slow to be wrong.

>>> rows = [Said("smokes", ("bob",)), Said("smokes", ("anna",), truth=False), Said("smokes", ("bob",))]
>>> domains, known = load(rows, {"smokes": ("person",)})
>>> domains["person"], known["smokes"].true, known["smokes"].false
(['anna', 'bob'], {('bob',)}, {('anna',)})
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Constant = str | int | float
Row = tuple[Constant, ...]


class ContradictionError(Exception):
    """Rows that no world satisfies together, or that say two different numbers of one atom."""


@dataclass(frozen=True)
class Said:
    """One row of a table; a many-valued predicate's value is the last constant."""

    predicate: str
    row: Row
    truth: bool = True
    probability: float | None = None
    weight: float | None = None


@dataclass
class Known:
    true: set[Row] = field(default_factory=set)
    false: set[Row] = field(default_factory=set)
    soft: dict[Row, float] = field(default_factory=dict)
    weights: dict[Row, float] = field(default_factory=dict)


def load(
    said: Iterable[Said],
    columns: Mapping[str, Sequence[str]],
    closed: Mapping[str, Sequence[Constant]] | None = None,
    many_valued: Collection[str] = (),
) -> tuple[dict[str, list[Constant]], dict[str, Known]]:
    """``columns``: the types of each predicate's columns; ``closed``: the constants of closed types."""
    closed = closed or {}
    seen: dict[str, set[Constant]] = {name: set() for types in columns.values() for name in types}
    known = {predicate: Known() for predicate in columns}
    for one in said:
        for name, constant in zip(columns[one.predicate], one.row, strict=True):
            seen[name].add(constant)
        _note(one, known[one.predicate])
    domains = {name: list(closed.get(name, sorted(constants))) for name, constants in seen.items()}
    for predicate, facts in known.items():
        if facts.true & facts.false:
            raise ContradictionError("true and false")
        if predicate in many_valued:
            _check_values(facts, domains[columns[predicate][-1]])
    return domains, known


def _note(said: Said, known: Known) -> None:
    if said.probability is not None and 0 < said.probability < 1:
        if known.soft.setdefault(said.row, said.probability) != said.probability:
            raise ContradictionError("two probabilities")
    elif said.probability == 0 or not said.truth:
        known.false.add(said.row)
    else:
        known.true.add(said.row)
    if said.weight is not None and known.weights.setdefault(said.row, said.weight) != said.weight:
        raise ContradictionError("two weights")


def _check_values(known: Known, values: Sequence[Constant]) -> None:
    atoms = [row[:-1] for row in known.true]
    if len(set(atoms)) < len(atoms):
        raise ContradictionError("two values")
    for atom in {row[:-1] for row in known.false}:
        if all((*atom, value) in known.false for value in values):
            raise ContradictionError("no value")
