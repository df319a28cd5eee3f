"""Compute the domain of every type from the claims of tables: its constants and their kind.

A closed type has its declared constants and refuses others; an open one has all constants of its columns and
of formulas.

>>> level = Type("level", ("junior", "senior"), "text", declared=True)
>>> domains = domains_of({"level": level, "person": Type("person")}, [], {"person": ["bob", "anna"]})
>>> {name: list(domain) for name, domain in domains.items()}
{'level': ['junior', 'senior'], 'person': ['anna', 'bob']}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from herbrand.errors import FactsError, Mistake, nearest
from herbrand.facts.column import ABSENT, Column
from herbrand.facts.domain import Domain, arrays_of, one_number_type
from herbrand.facts.place import Place, mixed_mistake, shown
from herbrand.facts.table_claims import Claims, rows_with, such_as
from herbrand.language.signature import Kind, Type, kind_of
from herbrand.language.syntax import Value

MENTIONED = Place("a formula")
MOST_LISTED = 8


@dataclass(frozen=True, eq=False)
class Use:
    """A column of some table that holds constants of the type."""

    claims: Claims
    number: int

    @property
    def column(self) -> Column:
        return self.claims.columns[self.number]

    @property
    def kind(self) -> Kind | None:
        """Kind of the constants; ``None`` without rows."""
        return self.column.kind if len(self.column.values) else None

    def first(self) -> tuple[Value, Place]:
        """Constant of the table's first row, and its place."""
        return self.column.constant(0), self.claims.place(0)


def domains_of(
    types: Mapping[str, Type], claims: Sequence[Claims], mentioned: Mapping[str, Sequence[Value]]
) -> dict[str, Domain]:
    """Domain of every type; raises a ``FactsError`` with all constants that do not fit their type."""
    uses: dict[str, list[Use]] = {name: [] for name in types}
    for claim in claims:
        for number, name in enumerate(claim.predicate.column_types):
            uses[name].append(Use(claim, number))
    domains: dict[str, Domain] = {}
    mistakes: list[Mistake] = []
    for name, declared in types.items():
        try:
            domains[name] = _domain(declared, uses[name], mentioned.get(name, ()))
        except FactsError as error:
            mistakes += error.mistakes
    if mistakes:
        raise FactsError(mistakes)
    return domains


def _domain(declared: Type, uses: Sequence[Use], mentioned: Sequence[Value]) -> Domain:
    domain = None if declared.values is None else closed_domain(declared.name, declared.values)
    mistakes = _wrong_kind(declared, uses, mentioned)
    if domain is not None:
        mistakes = mistakes or [mistake for use in uses for mistake in _outside(use, domain)]
    if mistakes:
        raise FactsError(mistakes)
    return domain or _open_domain(declared, uses, mentioned)


def closed_domain(name: str, values: Sequence[Value]) -> Domain:
    """Domain of the declared constants; raises an error if one cannot be represented with the others."""
    if not isinstance(values, range) and len(set(map(type, values))) > 1:
        try:
            one_number_type(arrays_of(values))
        except pa.ArrowInvalid:
            raise mixed_numbers(name) from None
    return Domain.of(name, values, declared=True)


def _open_domain(declared: Type, uses: Sequence[Use], mentioned: Sequence[Value]) -> Domain:
    seen = {id(use.column.values): use.column.values for use in uses if use.kind is not None}
    parts = [*seen.values(), *arrays_of(mentioned)]
    if not parts and declared.kind == "number":
        parts = [pa.array([], pa.int64())]
    try:
        return Domain.merged(declared.name, parts)
    except pa.ArrowInvalid:
        raise mixed_numbers(declared.name) from None


def mixed_numbers(type_name: str) -> FactsError:
    """Error for a type whose numbers fit neither int64 nor float64 exactly."""
    return FactsError(
        f"type '{type_name}' mixes fractions with whole numbers beyond 2^53; "
        "they cannot be kept exactly together"
    )


# Constants of the wrong kind


def _wrong_kind(declared: Type, uses: Sequence[Use], mentioned: Sequence[Value]) -> list[Mistake]:
    if declared.declared and declared.kind is not None:
        return [_other_kind(use, declared) for use in uses if use.kind not in (None, declared.kind)]
    kinds = {use.kind for use in uses} | {kind_of(value) for value in mentioned}
    if not {"text", "number"} <= kinds:
        return []
    text, number = _first_of("text", uses, mentioned), _first_of("number", uses, mentioned)
    return [mixed_mistake(declared.name, text, number)]


def _other_kind(use: Use, declared: Type) -> Mistake:
    constant, place = use.first()
    given, hint = "is text", "numbers are written without quotes"
    if use.kind == "number":
        given, hint = "is a number", f"if they are numbers, declare `type {declared.name} = number`"
    holds = "numbers" if declared.kind == "number" else "text"
    if declared.calendar is not None:
        holds, hint = f"{declared.calendar}s", such_as(declared.calendar)
    message = f"{shown(constant)} in column {use.number + 1} {given}; type '{declared.name}' holds {holds}"
    return place.mistake(message, "" if declared.values else hint)


def _first_of(kind: Kind, uses: Sequence[Use], mentioned: Sequence[Value]) -> tuple[Value, Place]:
    """First constant of a kind, in tables if there is one, else in formulas."""
    for use in uses:
        if use.kind == kind:
            return use.first()
    return next(value for value in mentioned if kind_of(value) == kind), MENTIONED


# Constants that a closed type does not have


def _outside(use: Use, domain: Domain) -> list[Mistake]:
    outside = domain.indices_of(use.column.values) == ABSENT
    if not outside.any():
        return []
    expected = _range(domain)

    def message(position: int) -> str:
        given = use.column.constant(position)
        return f"{shown(given)} in column {use.number + 1} is not in type '{domain.name}' ({expected})" + (
            _nearest(given, domain)
        )

    return use.claims.mistakes_at(rows_with(use.column, outside), message)


def _nearest(given: Value, domain: Domain) -> str:
    near = nearest(given, map(str, domain)) if isinstance(given, str) else ""
    return f"; {near}" if near else ""


def _range(domain: Domain) -> str:
    if domain.kind == "number" and len(domain) > 2:
        numbers = domain.values.to_numpy(zero_copy_only=False)
        if np.all(np.diff(numbers) == 1):
            return f"{shown(numbers[0])}..{shown(numbers[-1])}"
    few = domain.values_at(range(min(len(domain), MOST_LISTED)))
    return ", ".join(map(shown, few)) + (", ..." if len(domain) > MOST_LISTED else "")
