"""Loading of facts by dictionaries and sets, a row at a time: too slow to be wrong.

>>> rows = [Said("smokes", ("bob",)), Said("smokes", ("anna",), truth=False), Said("smokes", ("bob",))]
>>> domains, known = load(rows, {"smokes": ("person",)})
>>> domains["person"], known["smokes"].true, known["smokes"].false
(['anna', 'bob'], {('bob',)}, {('anna',)})
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Constant = str | int | float
Row = tuple[Constant, ...]


class ContradictionError(Exception):
    """Rows that no world satisfies together, or that say two different numbers of one atom."""


@dataclass(frozen=True)
class Said:
    """One row of a table, or one statement of a theory (``source`` is ``None``); a many-valued predicate's
    value is the last constant."""

    predicate: str
    row: Row
    truth: bool = True
    probability: float | None = None
    weight: float | None = None
    source: str | None = None


@dataclass
class Known:
    true: set[Row] = field(default_factory=set)
    false: set[Row] = field(default_factory=set)
    soft: dict[Row, float] = field(default_factory=dict)
    weights: dict[Row, float] = field(default_factory=dict)
    opinions: dict[Row, list[Said]] = field(default_factory=dict)


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
        values = domains[columns[predicate][-1]] if predicate in many_valued else (False, True)
        facts.soft = {row: _together(told, len(values)) for row, told in facts.opinions.items()}
        if predicate in many_valued:
            _check_values(facts, values)
    return domains, known


def _note(said: Said, known: Known) -> None:
    if said.probability is not None and 0 < said.probability < 1:
        known.opinions.setdefault(said.row, []).append(said)
    elif said.probability == 0 or not said.truth:
        known.false.add(said.row)
    else:
        known.true.add(said.row)
    if said.weight is not None and known.weights.setdefault(said.row, said.weight) != said.weight:
        raise ContradictionError("two weights")


def _together(told: Sequence[Said], values: int) -> float:
    """The probability of a value under independent opinions: their products, normalised."""
    every = [one for place, one in enumerate(told) if one.source is None or one not in told[:place]]
    own, other = Fraction(1), Fraction(1)
    for one in every:
        p = Fraction(one.probability or 0)
        own, other = own * p, other * (1 - p) / max(1, values - 1)
    return float(own / (own + max(1, values - 1) * other))


def _check_values(known: Known, values: Sequence[Constant]) -> None:
    atoms = [row[:-1] for row in known.true]
    if len(set(atoms)) < len(atoms):
        raise ContradictionError("two values")
    for atom in {row[:-1] for row in known.false}:
        if all((*atom, value) in known.false for value in values):
            raise ContradictionError("no value")
